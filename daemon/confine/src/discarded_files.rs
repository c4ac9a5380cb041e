//! Files that a server wrote into the empty home of its sandbox. Such files are gone when the server ends, although the
//! server reported that it stored something.
//!
//! The home exists only in the namespaces of the server, so it is listed through `/proc` before the server is ended.
//! Because the server could change it meanwhile, links are not followed, and a limited number of entries is read.
//!
//! Invariant: the names go to the user alone, and no file is opened.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

/// The maximum number of files that are remembered for one server.
const MAX_FILES: usize = 20;

/// The files that were lost with the sessions of one server. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct DiscardedFiles(Arc<Mutex<BTreeSet<PathBuf>>>);

impl DiscardedFiles {
    /// Records the files in the empty home of this process tree, which is about to be ended. Reads the file system.
    pub fn record_home_of(&self, pid: u32, home: &Path) {
        let files = list_home(pid, home);
        let mut known = self.0.lock();
        for file in files {
            if known.len() < MAX_FILES {
                known.insert(file);
            }
        }
    }

    pub fn list(&self) -> Vec<PathBuf> {
        self.0.lock().iter().cloned().collect()
    }
}

#[cfg(not(target_os = "linux"))]
fn list_home(_pid: u32, _home: &Path) -> Vec<PathBuf> {
    Vec::new()
}

#[cfg(target_os = "linux")]
use linux::list_home;

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        collections::VecDeque,
        ffi::OsStr,
        fs,
        os::{fd::AsFd, unix::ffi::OsStrExt as _},
        path::{Path, PathBuf},
    };

    use nix::{
        dir::{Dir, Type},
        fcntl::{AtFlags, OFlag},
        sys::stat::{Mode, fstat, fstatat},
    };

    use super::MAX_FILES;

    /// The maximum number of directory entries that are read.
    const MAX_ENTRIES: usize = 2_000;
    /// The maximum number of processes of one server that are inspected.
    const MAX_PROCESSES: usize = 64;

    /// The files in the home directory of the first process below `pid` whose mounts differ from this process's.
    pub(super) fn list_home(pid: u32, home: &Path) -> Vec<PathBuf> {
        let Some(inner) = process_in_sandbox(pid) else {
            return Vec::new();
        };
        let Ok(relative) = home.strip_prefix("/") else {
            return Vec::new();
        };
        let root = format!("/proc/{inner}/root");
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let Ok(root) = Dir::open(root.as_str(), flags, Mode::empty()) else {
            return Vec::new();
        };
        files_below(&root, relative)
    }

    fn process_in_sandbox(pid: u32) -> Option<u32> {
        let mounts_of = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
        let ours = mounts_of("self")?;
        let mut processes = VecDeque::from([pid]);
        for _ in 0..MAX_PROCESSES {
            let pid = processes.pop_front()?;
            if mounts_of(&pid.to_string()).is_some_and(|mounts| mounts != ours) {
                return Some(pid);
            }
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
            let children = children.unwrap_or_default();
            processes.extend(
                children
                    .split_whitespace()
                    .filter_map(|pid| pid.parse::<u32>().ok()),
            );
        }
        None
    }

    /// The regular files below a directory, in the file system of that directory: anything mounted in it is granted,
    /// and stays.
    fn files_below(root: &Dir, home: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let Some(top) = open_below(root, home) else {
            return files;
        };
        let Ok(device) = fstat(top.as_fd()).map(|stat| stat.st_dev) else {
            return files;
        };
        let mut folders = VecDeque::from([(top, PathBuf::new())]);
        let mut entries = 0;
        while let Some((mut folder, path)) = folders.pop_front() {
            let listed: Vec<_> = folder.iter().take(MAX_ENTRIES).flatten().collect();
            for entry in listed {
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                entries += 1;
                if entries > MAX_ENTRIES || files.len() == MAX_FILES {
                    return files;
                }
                if name == "." || name == ".." {
                    continue;
                }
                match entry.file_type() {
                    Some(Type::File) => {
                        let stat = fstatat(folder.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW);
                        if stat.is_ok_and(|stat| stat.st_dev == device) {
                            files.push(path.join(name));
                        }
                    }
                    Some(Type::Directory) => {
                        let below = open_below(&folder, Path::new(name));
                        let is_here =
                            |dir: &Dir| fstat(dir.as_fd()).is_ok_and(|it| it.st_dev == device);
                        folders.extend(below.filter(is_here).map(|dir| (dir, path.join(name))));
                    }
                    _ => {}
                }
            }
        }
        files
    }

    /// Opens a directory step by step without following links.
    fn open_below(folder: &Dir, path: &Path) -> Option<Dir> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
        let mut opened: Option<Dir> = None;
        for name in path {
            let parent = opened.as_ref().unwrap_or(folder);
            opened = Some(Dir::openat(parent.as_fd(), name, flags, Mode::empty()).ok()?);
        }
        opened
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn files_are_listed_and_links_are_not_followed() {
            let folder = tempfile::tempdir().unwrap();
            let home = folder.path().join("home/me");
            fs::create_dir_all(home.join(".notes/deep")).unwrap();
            fs::write(home.join(".notes/deep/a.md"), "x").unwrap();
            fs::write(home.join("b"), "x").unwrap();
            std::os::unix::fs::symlink("/etc", home.join("link")).unwrap();
            std::os::unix::fs::symlink("/etc/hostname", home.join("file-link")).unwrap();
            let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
            let root = Dir::open(folder.path(), flags, Mode::empty()).unwrap();
            let mut files = files_below(&root, Path::new("home/me"));
            files.sort();
            assert_eq!(files, [Path::new(".notes/deep/a.md"), Path::new("b")]);
            assert!(files_below(&root, Path::new("home/nobody")).is_empty());
        }

        #[test]
        fn process_without_a_sandbox_has_no_empty_home() {
            assert!(list_home(std::process::id(), Path::new("/")).is_empty());
        }
    }
}
