//! The limit of open files: raised for this process as far as the system allows, restored for its children.
//!
//! Invariant: servers never see the raised limit: programs that use `select` break above 1,024.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{allowed, are_used_up, give_back, in_use, raise};
#[cfg(windows)]
pub use windows::{allowed, are_used_up, in_use, raise};

/// Below this a usual pool does not fit: the daemon itself uses two dozen, a server four, a worker three.
pub const MIN_DESCRIPTORS: u64 = 256;
