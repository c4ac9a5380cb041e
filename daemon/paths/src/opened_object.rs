//! Opens what is at a real path, without following a link that was put there in the meantime.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use nix::fcntl::OFlag;

use super::file_identity::{self, FileIdentity};

/// Opens the file or folder at `real`, a path without links, for nothing but telling what it is. Fails if a link leads
/// elsewhere now. It never blocks, and never triggers a device.
pub fn open_object(real: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW;
    #[cfg(not(target_os = "linux"))]
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let object = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(real)?;
    match path_of(&object)? == real {
        true => Ok(object),
        false => Err(io::Error::other("a link leads elsewhere now")),
    }
}

/// The identity of the file or folder at `real`, a path without links.
pub fn identify_object(real: &Path) -> io::Result<FileIdentity> {
    file_identity::of_file(&open_object(real)?).map(|(identity, _)| identity)
}

/// The path of an open file, as the kernel knows it.
#[cfg(target_os = "linux")]
pub fn path_of(object: &File) -> io::Result<std::path::PathBuf> {
    use std::os::fd::AsRawFd as _;
    std::fs::read_link(format!("/proc/self/fd/{}", object.as_raw_fd()))
}

/// The path of an open file, as the kernel knows it.
#[cfg(not(target_os = "linux"))]
pub fn path_of(object: &File) -> io::Result<std::path::PathBuf> {
    let mut path = std::path::PathBuf::new();
    nix::fcntl::fcntl(object, nix::fcntl::FcntlArg::F_GETPATH(&mut path))?;
    Ok(path)
}

#[cfg(test)]
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
