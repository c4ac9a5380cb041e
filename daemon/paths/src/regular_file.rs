//! Opens regular files only, and tells whether another user could have written one.
//!
//! - `unix`: by owner and mode.
//! - `windows`: files inherit the access list of the user's profile. Single files are not checked.

use std::{
    fs::{File, Metadata},
    io::{self, Read as _},
    path::Path,
};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// Opens a file for reading, but neither a symbolic link nor, on Unix, a pipe that has no writer.
pub use system::open_unfollowed;

/// Opens a regular file for reading, through links. Does not wait for a pipe or a device.
pub fn open(path: &Path) -> io::Result<File> {
    let file = system::open_without_waiting(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a file"))
    }
}

/// Reads a regular file of at most `max_bytes`, as [`open`] opens it. The length is checked while reading, because
/// kernel files claim to be empty.
pub fn read_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    let file = open(path)?;
    let announced = file.metadata()?.len();
    let mut text = String::new();
    let length = file.take(max_bytes + 1).read_to_string(&mut text)?;
    if announced.max(length as u64) > max_bytes {
        return Err(io::Error::other(format!(
            "it is longer than {max_bytes} bytes"
        )));
    }
    Ok(text)
}

/// Why a file of the user may have been written by another user, if it may: it belongs to another user, or the mode
/// allows it to the group or to everyone.
pub use system::writable_by_others;

/// The user to whom a file belongs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Owner(Option<u32>);

impl Owner {
    /// The owner of the file or folder at `path`, or nobody if the owner is unknown.
    pub fn of(path: &Path) -> Self {
        Self(
            std::fs::metadata(path)
                .ok()
                .and_then(|found| system::owner(&found)),
        )
    }
}

/// Why a file may have been written by somebody else than the user, an administrator and `trusted`, if it may. Write access
/// of a group counts as the owner's decision, as for repositories that a team shares.
pub fn writable_by_strangers(meta: &Metadata, trusted: Owner) -> Option<&'static str> {
    system::writable_by_strangers(meta, trusted.0)
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn pipes_devices_and_long_files_are_errors_and_nothing_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        nix::unistd::mkfifo(&path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::write(path("text"), "12345").unwrap();
        std::os::unix::fs::symlink("text", path("link")).unwrap();
        for name in [path("pipe"), dir.path().to_owned(), "/dev/zero".into()] {
            let error = read_text(&name, 5).unwrap_err().to_string();
            assert_eq!(error, "it is not a file", "{}", name.display());
        }
        assert_eq!(read_text(&path("link"), 5).unwrap(), "12345");
        read_text(&path("text"), 4).unwrap_err();
        // This file claims to be empty, but is not.
        #[cfg(target_os = "linux")]
        read_text(Path::new("/proc/self/status"), 4).unwrap_err();
        open_unfollowed(&path("link")).unwrap_err();
    }

    #[test]
    fn writers_are_judged_by_owner_and_mode() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (mode, others, strangers) in [
            (0o600, false, false),
            (0o644, false, false),
            (0o664, true, false),
            (0o646, true, true),
        ] {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(file.path(), permissions).unwrap();
            let meta = fs::metadata(file.path()).unwrap();
            assert_eq!(writable_by_others(&meta).is_some(), others, "{mode:o}");
            assert_eq!(
                writable_by_strangers(&meta, Owner::default()).is_some(),
                strangers,
                "{mode:o}"
            );
        }
    }
}
