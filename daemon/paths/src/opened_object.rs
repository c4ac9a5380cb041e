//! Opens the object at a real path, without following a link that was put there in the meantime.
//!
//! Only on Linux: elsewhere servers have no sandbox, or one that is defined by paths.

use std::{io, path::Path};

use super::file_identity::{self, FileIdentity};

/// The identity of the file or folder at `real`, a path without links. On Linux, fails if a link leads elsewhere now.
/// Never blocks, and never triggers a device.
pub fn identify_object(real: &Path) -> io::Result<FileIdentity> {
    #[cfg(target_os = "linux")]
    return file_identity::of_file(&open_object(real)?).map(|(identity, _)| identity);
    #[cfg(not(target_os = "linux"))]
    file_identity::of_path(real)
}

/// Opens the file or folder at `real`, a path without links, only to identify and grant it. Fails if a link leads
/// elsewhere now.
#[cfg(target_os = "linux")]
pub fn open_object(real: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    use nix::fcntl::OFlag;

    let flags = (OFlag::O_PATH | OFlag::O_NOFOLLOW).bits();
    let mut options = std::fs::OpenOptions::new();
    let object = options.read(true).custom_flags(flags).open(real)?;
    // A link that replaced the file is opened itself.
    if path_of(&object)? != real || object.metadata()?.is_symlink() {
        return Err(io::Error::other("a link leads elsewhere now"));
    }
    Ok(object)
}

/// The path of an open file, as the kernel knows it.
#[cfg(target_os = "linux")]
pub fn path_of(object: &std::fs::File) -> io::Result<std::path::PathBuf> {
    use std::os::fd::AsRawFd as _;

    std::fs::read_link(format!("/proc/self/fd/{}", object.as_raw_fd()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn link_anywhere_in_the_path_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::create_dir_all(top.join("secret/b")).unwrap();
        let before = identify_object(&top.join("a/b")).unwrap();
        assert_eq!(before, file_identity::of_path(&top.join("a/b")).unwrap());
        fs::rename(top.join("a"), top.join("old")).unwrap();
        symlink("secret", top.join("a")).unwrap();
        identify_object(&top.join("a/b")).unwrap_err();
        identify_object(&top.join("a")).unwrap_err();
        assert_eq!(identify_object(&top.join("old/b")).unwrap(), before);
    }

    #[test]
    fn pipe_without_a_writer_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().canonicalize().unwrap().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        identify_object(&pipe).unwrap();
    }
}
