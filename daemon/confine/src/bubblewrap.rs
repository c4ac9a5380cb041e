//! The bubblewrap arguments for the files that a server sees. Pure.
//!
//! Invariant: the sandbox's file system has only what is named here. A path is mounted after the paths above it, and
//! hidden folders after everything else.

use std::{ffi::OsString, path::Path};

use super::plan::{VisibleFiles, VisiblePath};

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

/// bubblewrap's arguments so far.
#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    /// Adds the words of this text.
    fn add(&mut self, words: &str) {
        self.0.extend(words.split(' ').map(OsString::from));
    }

    fn add_path(&mut self, option: &str, path: &Path) {
        self.0.extend([option.into(), path.into()]);
    }

    fn add_mount(&mut self, option: &str, path: &VisiblePath) {
        self.add_path(option, &path.from);
        self.0.push(path.at.clone().into());
    }

    /// Adds an empty folder of this size.
    fn add_empty(&mut self, bytes: u64, at: &Path) {
        self.add(&format!("--size {bytes}"));
        self.add_path("--tmpfs", at);
    }
}

pub(super) fn arguments(visible: &VisibleFiles) -> Vec<OsString> {
    let mut arguments = Arguments::default();
    arguments.add("--unshare-all");
    if visible.has_network {
        arguments.add("--share-net");
    }
    arguments.add("--die-with-parent --cap-drop ALL");
    for path in &visible.system {
        arguments.add_mount("--ro-bind", path);
    }
    for link in &visible.system_links {
        arguments.add_mount("--symlink", link);
    }
    for mount in mounts(visible) {
        match mount {
            Mount::Empty(at) => arguments.add_empty(visible.tmp_size, at),
            Mount::ReadOnly(path) => arguments.add_mount("--ro-bind", path),
            Mount::Writable(path) => arguments.add_mount("--bind", path),
        }
    }
    // After the mounts, one of which may cover the whole file system.
    arguments.add("--proc /proc --dev /dev");
    arguments.add_empty(visible.tmp_size, Path::new("/dev/shm"));
    // In /dev, because every other folder may be a granted folder that cannot be changed.
    if let Some(egress) = &visible.egress {
        arguments.add_mount("--ro-bind", egress);
    }
    arguments.add("--remount-ro /dev");
    for path in &visible.hidden {
        arguments.add_empty(HIDDEN_FOLDER_BYTES, path);
    }
    // muxd's folders that were hidden above, or lie outside every other mount.
    let write = visible.write.iter();
    for path in write.filter(|path| is_below_hidden(path, visible)) {
        arguments.add_mount("--bind", path);
    }
    for path in &visible.hidden {
        arguments.add_path("--remount-ro", path);
    }
    arguments.add_path("--dir", &visible.cwd);
    arguments.add("--remount-ro /");
    arguments.add_path("--chdir", &visible.cwd);
    arguments.0
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
        let visible = |path: &str| VisiblePath::from(PathBuf::from(path));
        let visible = VisibleFiles {
            system: vec![visible("/usr")],
            system_links: vec![VisiblePath {
                from: "usr/bin".into(),
                at: "/bin".into(),
            }],
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
            egress: Some(VisiblePath {
                from: "/run/user/1/mux/egress/7".into(),
                at: "/dev/mux-egress".into(),
            }),
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
