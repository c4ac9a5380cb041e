//! Settings and calls that make the allocator return freed memory to the system.
//!
//! Invariant: a long value costs memory only while it is held, not for the daemon's life.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

/// Allocations of at least this size get pages of their own (`M_MMAP_THRESHOLD`).
const MMAP_THRESHOLD_BYTES: usize = 256 << 10;
/// The delay before a trim, so that work that is done in several parts has finished.
const TRIM_DELAY: Duration = Duration::from_secs(1);
/// The delay before another trim after the last request: on a busy machine, a value may be freed only after the first.
const LATE_TRIM_DELAY: Duration = Duration::from_secs(10);

/// Whether a trim is scheduled. A static, because the process has one allocator.
static TRIM_REQUESTED: AtomicBool = AtomicBool::new(false);
/// The same for the late trim.
static LATE_TRIM_REQUESTED: AtomicBool = AtomicBool::new(false);
/// Counts the requests, by which the late trim knows the last one.
static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// Makes glibc return long texts to the system when they are freed. By default it raises its threshold after the first
/// such allocation and keeps room for more, 100 MiB and above after one run with large arguments; a fixed threshold
/// disables that. Must be called before threads exist.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no safe wrapper of mallopt is at hand")]
pub fn give_back_long_texts() {
    use nix::libc;
    let bytes = libc::c_int::try_from(MMAP_THRESHOLD_BYTES).unwrap_or(libc::c_int::MAX);
    // SAFETY: the call takes two integers and changes how later allocations are made.
    let _taken = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, bytes) };
}

/// Does nothing: other allocators return long texts by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back_long_texts() {
    let _not_needed = MMAP_THRESHOLD_BYTES;
}

/// Schedules one [`give_back_small_values`] for all requests within the next second, and one for all that follow each
/// other within ten, and returns at once. Must be called inside a tokio runtime.
pub fn give_back_soon() {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    REQUESTS.fetch_add(1, Ordering::AcqRel);
    if let Some(request) = TrimRequest::unless_pending(&TRIM_REQUESTED) {
        runtime.spawn(async move {
            tokio::time::sleep(TRIM_DELAY).await;
            trim(request).await;
        });
    }
    if let Some(request) = TrimRequest::unless_pending(&LATE_TRIM_REQUESTED) {
        runtime.spawn(async move {
            let mut counted = 0;
            while REQUESTS.load(Ordering::Acquire) != counted {
                counted = REQUESTS.load(Ordering::Acquire);
                tokio::time::sleep(LATE_TRIM_DELAY).await;
            }
            trim(request).await;
        });
    }
}

async fn trim(request: TrimRequest) {
    drop(request);
    drop(tokio::task::spawn_blocking(give_back_small_values).await);
}

/// A pending trim. Dropped, it allows the next, also if the runtime ends before the trim.
struct TrimRequest(&'static AtomicBool);

impl TrimRequest {
    fn unless_pending(flag: &'static AtomicBool) -> Option<Self> {
        (!flag.swap(true, Ordering::AcqRel)).then_some(Self(flag))
    }
}

impl Drop for TrimRequest {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Returns the free pages between small values that are still held: a long list of tools consists of small values only.
/// Takes milliseconds, so it must not run on the runtime's threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no safe wrapper of malloc_trim is at hand")]
pub fn give_back_small_values() {
    // SAFETY: the call frees pages that hold nothing, under the allocator's own locks.
    let _any = unsafe { nix::libc::malloc_trim(0) };
}

/// Does nothing: other allocators return such pages by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back_small_values() {}
