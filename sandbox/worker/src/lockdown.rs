//! Drops the privileges of the process before it runs guest code, and ends the process.
//!
//! Invariant: a layer that the system does not support is left out and not reported. A missing layer never prevents a
//! program from running, because the daemon enforces its limits with SIGKILL in any case.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
mod none;
// Compiled for tests on every system, to notice if the profile breaks.
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod time_zone;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use self::linux::Lockdown;
#[cfg(target_os = "macos")]
pub(crate) use self::macos::Lockdown;
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
pub(crate) use self::none::Lockdown;
#[cfg(windows)]
pub(crate) use self::windows::Lockdown;
use crate::memory::IsolateMemory;

/// The lockdown of a system, in three steps. [`LockdownSteps::before_programs`] returns the names of the active layers.
pub(crate) trait LockdownSteps: Sized {
    /// Called first, while there is one thread.
    fn before_engine() -> Self;

    /// Called when the engine has started its threads, and before any other thread starts.
    fn after_engine(&mut self) {}

    /// Called when the engine and its threads are up, and before any program.
    fn before_programs(self, memory: IsolateMemory) -> Vec<String>;
}

/// Writes a line to standard error, which the daemon logs. The guest cannot call this.
pub(crate) fn log_line(line: &str) {
    use std::io::Write;
    // An error here cannot be reported anywhere.
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// Ends the process because the daemon has exited. The script may be in an endless loop and would never unwind.
pub(crate) fn exit_process() -> ! {
    exit_without_destructors(0)
}

/// Ends the process after the engine ran out of memory, with the exit code that informs the daemon.
#[cfg(any(feature = "v8", target_os = "macos"))]
pub(crate) fn exit_out_of_memory() -> ! {
    exit_without_destructors(mux_wire::EXIT_OUT_OF_MEMORY)
}

/// Exits without running destructors: those of the engine wait for a script that is still running, or need memory.
#[cfg(unix)]
#[expect(
    unsafe_code,
    reason = "the standard library has no exit that runs no destructors"
)]
fn exit_without_destructors(code: i32) -> ! {
    // SAFETY: the call takes an integer, and this process does nothing after it.
    unsafe { nix::libc::_exit(code) }
}

/// Ends the process without running destructors: those of the engine wait for a script that is still running, or need
/// memory. `ExitProcess` would run those of libraries.
#[cfg(windows)]
#[expect(
    unsafe_code,
    reason = "the standard library has no exit that runs no destructors"
)]
fn exit_without_destructors(code: i32) -> ! {
    use windows_sys::Win32::System::Threading::{GetCurrentProcess, TerminateProcess};
    // SAFETY: the pseudo handle of this process is always valid, and the call does not return for it.
    unsafe { TerminateProcess(GetCurrentProcess(), code.cast_unsigned()) };
    std::process::abort()
}
