//! Signal handlers that tell an abort for lack of memory from others: C++ code that cannot allocate aborts without a
//! message.
//!
//! Invariant: an abort while most of the budget is in use ends with the exit code for a program that ran out of memory.
//! Any other abort keeps its signal and is reported as an internal error.

use std::{
    ptr,
    sync::atomic::{AtomicUsize, Ordering},
};

use nix::{
    libc,
    sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction},
};

/// If this many bytes cannot be mapped, the abort was for lack of memory. Written once, before the handlers are
/// installed.
static PROBE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The signals by which V8, the C library and Rust abort a process.
const ABORT_SIGNALS: [Signal; 3] = [Signal::SIGABRT, Signal::SIGTRAP, Signal::SIGILL];

#[expect(unsafe_code, reason = "a signal handler cannot be set otherwise")]
pub(super) fn install_abort_handlers(budget: usize) -> bool {
    PROBE_BYTES.store(budget / 2, Ordering::Relaxed);
    let flags = SaFlags::SA_ONSTACK | SaFlags::SA_RESETHAND;
    let action = SigAction::new(SigHandler::Handler(handle_abort), flags, SigSet::empty());
    ABORT_SIGNALS.into_iter().all(|signal| {
        // SAFETY: the handler makes two system calls, touches no memory of the process, and either ends it
        // or returns to code that will raise the signal again, by then without a handler.
        unsafe { sigaction(signal, &action) }.is_ok()
    })
}

#[expect(
    unsafe_code,
    reason = "only bare system calls are allowed in a signal handler"
)]
extern "C" fn handle_abort(_signal: libc::c_int) {
    // SAFETY: a new private mapping at no given address changes no existing mapping, and the process ends either way.
    unsafe {
        let probe = libc::mmap(
            ptr::null_mut(),
            PROBE_BYTES.load(Ordering::Relaxed),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        if probe == libc::MAP_FAILED {
            libc::_exit(mux_wire::EXIT_OUT_OF_MEMORY);
        }
    }
}
