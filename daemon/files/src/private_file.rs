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

pub(crate) use system::FolderHandle;

/// Options that create something for its owner alone.
pub trait PrivateMode {
    /// Whatever these options create is for its owner alone.
    fn private(&mut self) -> &mut Self;
}

/// Returns when renames and removals in this folder are on disk.
pub(crate) use system::sync_folder;
