//! What the daemon asks of its allocator.
//!
//! Invariant: a long value costs memory for as long as it is held, and not for the daemon's life.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

/// Texts of at least so many bytes have pages of their own.
const MMAP_THRESHOLD_BYTES: usize = 256 << 10;
/// Work on a long list is done in parts, and so are its answers: after that the last of them has ended.
const TRIM_DELAY: Duration = Duration::from_secs(1);

/// Whether somebody is about to give back. It speaks of the process's allocator, of which there is one.
static TRIM_REQUESTED: AtomicBool = AtomicBool::new(false);

/// Asks for long texts to be given back to the system when they are freed. glibc would learn from the
/// first of them that such sizes are usual and keep room for them, 100 MiB and more after one run with
/// large arguments; a fixed threshold makes it stop learning. Before there are threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no safe wrapper of mallopt is at hand")]
pub fn give_back_long_texts() {
    use nix::libc;
    let bytes = libc::c_int::try_from(MMAP_THRESHOLD_BYTES).unwrap_or(libc::c_int::MAX);
    // SAFETY: the call takes two integers and changes how later allocations are made.
    let _taken = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, bytes) };
}

/// Other allocators give long texts back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back_long_texts() {
    let _not_needed = MMAP_THRESHOLD_BYTES;
}

/// Gives back, a moment from now and once for all who ask until then, what work on a long list leaves behind. To be called
/// inside a tokio runtime; nobody waits for it.
pub fn give_back_soon() {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    if TRIM_REQUESTED.swap(true, Ordering::AcqRel) {
        return;
    }
    // Cleared as well if the runtime ends meanwhile.
    let asked = TrimRequest;
    runtime.spawn(async move {
        tokio::time::sleep(TRIM_DELAY).await;
        drop(asked);
        drop(tokio::task::spawn_blocking(give_back_small_values).await);
    });
}

struct TrimRequest;

impl Drop for TrimRequest {
    fn drop(&mut self) {
        TRIM_REQUESTED.store(false, Ordering::Release);
    }
}

/// Gives back what is free between small values that are still held: a long list of tools is made of
/// nothing but small ones, and leaves as much as it took. Takes milliseconds: not on the runtime's threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no safe wrapper of malloc_trim is at hand")]
pub fn give_back_small_values() {
    // SAFETY: the call frees pages that hold nothing, under the allocator's own locks.
    let _any = unsafe { nix::libc::malloc_trim(0) };
}

/// Other allocators do so in time.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back_small_values() {}
