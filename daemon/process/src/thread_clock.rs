//! The processor time of the calling thread.
//!
//! Invariant: where the system does not provide it there is no reading, never a zero.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::thread_cpu_time;
#[cfg(windows)]
pub use windows::thread_cpu_time;
