//! Identifies a file or folder independently of its path.
//!
//! - `unix`: device and inode.
//! - `windows`: serial number of the volume and index of the file.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// The volume, and the file in it.
pub type FileIdentity = (u64, u64);

/// The identity of an open file, and its length in bytes.
pub use system::of_file;

/// The identity of the file or folder at a path, behind symbolic links.
pub use system::of_path;
