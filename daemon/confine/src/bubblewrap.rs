//! The arguments of bubblewrap for what a server sees. Pure.
//!
//! Invariant: the file system inside has only what is named here. A path is mounted after the paths above it, and what
//! is hidden after everything else.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::plan::{SystemPath, VisibleFiles};

/// The size of a folder that is empty because it is hidden: room for the folders that are mounted in it.
const HIDDEN_FOLDER_BYTES: u64 = 64 << 10;

/// One mount that an entry or a program asks for.
#[derive(Clone, Copy, Eq, PartialEq)]
enum MountKind {
    Empty,
    ReadOnly,
    Writable,
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
    for (path, kind) in mounts(visible) {
        match kind {
            MountKind::Empty => empty(path, &mut add),
            MountKind::ReadOnly => add(&["--ro-bind".as_ref(), path.as_ref(), path.as_ref()]),
            MountKind::Writable => add(&["--bind".as_ref(), path.as_ref(), path.as_ref()]),
        }
    }
    // After the mounts, one of which may be of the whole file system.
    add(&[
        "--proc".as_ref(),
        "/proc".as_ref(),
        "--dev".as_ref(),
        "/dev".as_ref(),
    ]);
    empty(Path::new("/dev/shm"), &mut add);
    // In /dev, because every other folder may be a granted one that cannot be changed.
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
    // Folders of muxd that were hidden above, or lie outside of every other mount.
    for path in visible
        .write
        .iter()
        .filter(|path| is_below_hidden(path, visible))
    {
        add(&["--bind".as_ref(), path.as_ref(), path.as_ref()]);
    }
    for path in &visible.hidden {
        add(&["--remount-ro".as_ref(), path.as_ref()]);
    }
    add(&["--dir".as_ref(), visible.cwd.as_ref()]);
    add(&["--remount-ro".as_ref(), "/".as_ref()]);
    add(&["--chdir".as_ref(), visible.cwd.as_ref()]);
    words
}

fn is_below_hidden(path: &Path, visible: &VisibleFiles) -> bool {
    visible.hidden.iter().any(|own| path.starts_with(own))
}

/// The mounts in their order: the paths above first, and of one path the one that allows more.
fn mounts(visible: &VisibleFiles) -> Vec<(&Path, MountKind)> {
    let mut mounts: Vec<(&Path, MountKind)> = Vec::new();
    let tmp = Path::new("/tmp");
    let grants_tmp = |paths: &[PathBuf]| paths.iter().any(|path| tmp.starts_with(path));
    if !grants_tmp(&visible.read) && !grants_tmp(&visible.write) {
        mounts.push((tmp, MountKind::Empty));
    }
    if let Some(home) = &visible.empty_home {
        mounts.push((home, MountKind::Empty));
    }
    for path in &visible.read {
        if !visible.write.contains(path) {
            mounts.push((path, MountKind::ReadOnly));
        }
    }
    for path in &visible.write {
        if !is_below_hidden(path, visible) {
            mounts.push((path, MountKind::Writable));
        }
    }
    mounts.sort_by_key(|(path, _)| path.components().count());
    mounts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_everything_that_is_visible() {
        let real = |path: &str| SystemPath::Real {
            from: path.into(),
            at: path.into(),
        };
        let visible = VisibleFiles {
            system: vec![
                real("/usr"),
                SystemPath::Link {
                    at: "/bin".into(),
                    target: "usr/bin".into(),
                },
            ],
            read: vec!["/home/me/notes".into(), "/home/me/.nvm".into()],
            write: vec!["/home/me/notes/out".into(), "/home/me/state/own".into()],
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
             --bind /home/me/notes/out /home/me/notes/out\n\
             --proc /proc\n--dev /dev\n--size 1024\n--tmpfs /dev/shm\n\
             --ro-bind /run/user/1/mux/egress/7 /dev/mux-egress\n--remount-ro /dev\n\
             --size 65536\n--tmpfs /home/me/state\n--bind /home/me/state/own /home/me/state/own\n\
             --remount-ro /home/me/state\n--dir /home/me\n--remount-ro /\n--chdir /home/me"
        );
    }
}
