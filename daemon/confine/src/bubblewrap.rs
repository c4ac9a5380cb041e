//! The bubblewrap arguments for the files that a server sees. Pure.
//!
//! Invariant: the sandbox's file system has only what is named here. A path is mounted after the paths above it, and
//! hidden folders after everything else.

use std::{ffi::OsString, path::Path};

use super::plan::{SystemPath, VisibleFiles, VisiblePath};

/// The size of a hidden folder, which is empty: room for the folders that are mounted in it.
const HIDDEN_FOLDER_BYTES: u64 = 64 << 10;

/// One mount that an entry or a program asks for.
#[derive(Clone, Copy)]
enum Mount<'a> {
    Empty(&'a Path),
    ReadOnly(&'a VisiblePath),
    Writable(&'a VisiblePath),
}

impl<'a> Mount<'a> {
    fn at(self) -> &'a Path {
        match self {
            Self::Empty(at) => at,
            Self::ReadOnly(path) | Self::Writable(path) => &path.at,
        }
    }
}

pub(super) fn arguments(visible: &VisibleFiles) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut add = |parts: &[&std::ffi::OsStr]| {
        words.extend(parts.iter().map(|part| (*part).to_owned()));
    };
    add(&["--unshare-all".as_ref()]);
    if visible.has_network {
        add(&["--share-net".as_ref()]);
    }
    add(&[
        "--die-with-parent".as_ref(),
        "--cap-drop".as_ref(),
        "ALL".as_ref(),
    ]);
    for path in &visible.system {
        match path {
            SystemPath::Link { at, target } => {
                add(&["--symlink".as_ref(), target.as_ref(), at.as_ref()]);
            }
            SystemPath::Real { from, at } => {
                add(&["--ro-bind".as_ref(), from.as_ref(), at.as_ref()]);
            }
        }
    }
    let size = OsString::from(visible.tmp_size.to_string());
    let empty = |path: &Path, add: &mut dyn FnMut(&[&std::ffi::OsStr])| {
        add(&["--size".as_ref(), &size, "--tmpfs".as_ref(), path.as_ref()]);
    };
    for mount in mounts(visible) {
        match mount {
            Mount::Empty(at) => empty(at, &mut add),
            Mount::ReadOnly(path) => {
                add(&["--ro-bind".as_ref(), path.from.as_ref(), path.at.as_ref()]);
            }
            Mount::Writable(path) => {
                add(&["--bind".as_ref(), path.from.as_ref(), path.at.as_ref()]);
            }
        }
    }
    // After the mounts, one of which may cover the whole file system.
    add(&[
        "--proc".as_ref(),
        "/proc".as_ref(),
        "--dev".as_ref(),
        "/dev".as_ref(),
    ]);
    empty(Path::new("/dev/shm"), &mut add);
    // In /dev, because every other folder may be a granted folder that cannot be changed.
    if let Some((folder, at)) = &visible.egress {
        add(&["--ro-bind".as_ref(), folder.as_ref(), at.as_ref()]);
    }
    add(&["--remount-ro".as_ref(), "/dev".as_ref()]);
    let size = HIDDEN_FOLDER_BYTES.to_string();
    for path in &visible.hidden {
        add(&[
            "--size".as_ref(),
            size.as_ref(),
            "--tmpfs".as_ref(),
            path.as_ref(),
        ]);
    }
    // muxd's folders that were hidden above, or lie outside every other mount.
    for path in visible
        .write
        .iter()
        .filter(|path| is_below_hidden(path, visible))
    {
        add(&["--bind".as_ref(), path.from.as_ref(), path.at.as_ref()]);
    }
    for path in &visible.hidden {
        add(&["--remount-ro".as_ref(), path.as_ref()]);
    }
    add(&["--dir".as_ref(), visible.cwd.as_ref()]);
    add(&["--remount-ro".as_ref(), "/".as_ref()]);
    add(&["--chdir".as_ref(), visible.cwd.as_ref()]);
    words
}

fn is_below_hidden(path: &VisiblePath, visible: &VisibleFiles) -> bool {
    visible.hidden.iter().any(|own| path.at.starts_with(own))
}

/// The mounts in their order: the paths above first, and for one path the mount that allows more.
fn mounts(visible: &VisibleFiles) -> Vec<Mount<'_>> {
    let mut mounts = Vec::new();
    let tmp = Path::new("/tmp");
    let all = || visible.read.iter().chain(&visible.write);
    if !all().any(|path| tmp.starts_with(&path.at)) {
        mounts.push(Mount::Empty(tmp));
    }
    mounts.extend(visible.empty_home.as_deref().map(Mount::Empty));
    let is_writable = |read: &&VisiblePath| visible.write.iter().any(|path| path.at == read.at);
    let read = visible.read.iter().filter(|path| !is_writable(path));
    mounts.extend(read.map(Mount::ReadOnly));
    let write = visible.write.iter();
    let write = write.filter(|path| !is_below_hidden(path, visible));
    mounts.extend(write.map(Mount::Writable));
    mounts.sort_by_key(|mount| mount.at().components().count());
    mounts
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn arguments_name_everything_that_is_visible() {
        let real = |path: &str| SystemPath::Real {
            from: path.into(),
            at: path.into(),
        };
        let visible = |path: &str| VisiblePath::from(PathBuf::from(path));
        let visible = VisibleFiles {
            system: vec![
                real("/usr"),
                SystemPath::Link {
                    at: "/bin".into(),
                    target: "usr/bin".into(),
                },
            ],
            read: vec![visible("/home/me/notes"), visible("/home/me/.nvm")],
            write: vec![
                VisiblePath {
                    from: "/data/out".into(),
                    at: "/home/me/notes/out".into(),
                },
                visible("/home/me/state/own"),
            ],
            empty_home: Some("/home/me".into()),
            cwd: "/home/me".into(),
            hidden: vec!["/home/me/state".into()],
            egress: Some(("/run/user/1/mux/egress/7".into(), "/dev/mux-egress".into())),
            has_network: false,
            tmp_size: 1024,
        };
        let words: Vec<String> = arguments(&visible)
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect();
        let text = words.join(" ").replace(" --", "\n--");
        assert_eq!(
            text,
            "--unshare-all\n--die-with-parent\n--cap-drop ALL\n--ro-bind /usr /usr\n--symlink usr/bin /bin\n\
             --size 1024\n--tmpfs /tmp\n--size 1024\n--tmpfs /home/me\n\
             --ro-bind /home/me/notes /home/me/notes\n--ro-bind /home/me/.nvm /home/me/.nvm\n\
             --bind /data/out /home/me/notes/out\n\
             --proc /proc\n--dev /dev\n--size 1024\n--tmpfs /dev/shm\n\
             --ro-bind /run/user/1/mux/egress/7 /dev/mux-egress\n--remount-ro /dev\n\
             --size 65536\n--tmpfs /home/me/state\n--bind /home/me/state/own /home/me/state/own\n\
             --remount-ro /home/me/state\n--dir /home/me\n--remount-ro /\n--chdir /home/me"
        );
    }
}
