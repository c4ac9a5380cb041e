//! Files and folders that only their user may read, as each system protects them.
//!
//! - `unix`: by mode 0600 and 0700, and the owner's uid.
//! - `windows`: by the access list that files inherit from the user's profile: the user, the system and its
//!   administrators. Single files get no separate access list.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::{fs::DirBuilder, io, path::Path};

pub(crate) use system::FolderHandle;

/// Options that create something for its owner alone.
pub trait PrivateMode {
    /// Whatever these options create is for its owner alone.
    fn private(&mut self) -> &mut Self;
}

/// Creates a folder for its owner alone, and refuses something else there or a folder of another user.
pub fn ensure_folder(path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_err() {
        DirBuilder::new().recursive(true).private().create(path)?;
    }
    let found = path.symlink_metadata()?;
    if !found.is_dir() {
        return Err(io::Error::other("it is not a directory; remove it"));
    }
    #[cfg(unix)]
    {
        use std::{
            fs::{Permissions, set_permissions},
            os::unix::fs::{MetadataExt, PermissionsExt},
        };
        if found.uid() != nix::unistd::geteuid().as_raw() {
            return Err(io::Error::other("it belongs to another user; remove it"));
        }
        if found.mode() & 0o777 != 0o700 {
            set_permissions(path, Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// Returns when renames and removals in this folder are on disk.
pub(crate) use system::sync_folder;
