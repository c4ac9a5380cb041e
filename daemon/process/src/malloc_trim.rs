//! Settings and calls that make the allocator return freed memory to the system.
//!
//! Invariant: a long value costs memory only while it is held, not for the daemon's life.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

/// Allocations of at least this size get separate pages (`M_MMAP_THRESHOLD`).
const MMAP_THRESHOLD_BYTES: usize = 256 << 10;
/// The delay before a trim, to let work with several parts finish.
const TRIM_DELAY: Duration = Duration::from_secs(1);
/// The delay before another trim: on a busy machine, a value may be freed only after the first.
const SECOND_TRIM_DELAY: Duration = Duration::from_secs(9);

/// True if a trim is scheduled. A static, because the process has one allocator.
static TRIM_REQUESTED: AtomicBool = AtomicBool::new(false);

/// Makes glibc return long strings to the system when they are freed. By default it raises its threshold after the
/// first such allocation and keeps room for more, 100 MiB and above after one run with large arguments. A fixed
/// threshold disables that. Must be called before threads exist.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no safe wrapper of mallopt is at hand")]
pub fn give_back_long_texts() {
    use nix::libc;
    let bytes = libc::c_int::try_from(MMAP_THRESHOLD_BYTES).unwrap_or(libc::c_int::MAX);
    // SAFETY: the call takes two integers and changes how later allocations are made.
    let _taken = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, bytes) };
}

/// Does nothing: other allocators return long strings by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back_long_texts() {
    let _not_needed = MMAP_THRESHOLD_BYTES;
}

/// Schedules a [`give_back_small_values`] for all requests within the next second, and another nine seconds later, and
/// returns immediately. Must be called inside a tokio runtime.
pub fn give_back_soon() {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    if TRIM_REQUESTED.swap(true, Ordering::AcqRel) {
        return;
    }
    // The guard clears the flag even if the runtime ends before the trim.
    let asked = TrimRequest;
    runtime.spawn(async move {
        tokio::time::sleep(TRIM_DELAY).await;
        drop(asked);
        drop(tokio::task::spawn_blocking(give_back_small_values).await);
        tokio::time::sleep(SECOND_TRIM_DELAY).await;
        drop(tokio::task::spawn_blocking(give_back_small_values).await);
    });
}

struct TrimRequest;

impl Drop for TrimRequest {
    fn drop(&mut self) {
        TRIM_REQUESTED.store(false, Ordering::Release);
    }
}

/// Returns the free pages between small values that are still held: a long list of tools consists of small values only.
/// Takes milliseconds, so it must not run on the runtime's threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no safe wrapper of malloc_trim is at hand")]
pub fn give_back_small_values() {
    // SAFETY: the call frees unused pages, under the allocator's own locks.
    let _any = unsafe { nix::libc::malloc_trim(0) };
}

/// Does nothing: other allocators return such pages by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back_small_values() {}
