//! The CPU time of the calling thread.
//!
//! Invariant: if the system does not provide the clock, there is no reading, rather than a zero.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::thread_cpu_time;
#[cfg(windows)]
pub use windows::thread_cpu_time;
