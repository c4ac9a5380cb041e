//! The sandbox layers for programs and servers that this machine lacks, why, and what a user can do about it.
//!
//! Invariant: nothing is reported from the version of a system: each layer is tried, or asked of the kernel.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use self::unix::sandbox_support;
#[cfg(windows)]
pub use self::windows::sandbox_support;
