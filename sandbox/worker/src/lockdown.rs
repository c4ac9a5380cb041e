//! What the process gives up before it runs anybody's code, and the two ways in which it ends.
//!
//! Invariant: a layer that the system does not have is left out and not named; it never keeps a
//! program from running, because the daemon's deadline and SIGKILL stand behind all of them.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod none;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod time_zone;

#[cfg(target_os = "linux")]
pub(crate) use self::linux::Lockdown;
#[cfg(target_os = "macos")]
pub(crate) use self::macos::Lockdown;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) use self::none::Lockdown;
use crate::memory::Memory;

/// What every system offers of it, in the same two steps. Each says by name what holds.
pub(crate) trait Walls: Sized {
    /// Called first, while there is one thread.
    fn before_engine() -> Self;

    /// Called when the engine and its threads are up, and before any program.
    fn before_programs(self, memory: Memory) -> Vec<String>;
}

/// A line for the daemon's log; the guest cannot reach it.
pub(crate) fn complain(line: &str) {
    use std::io::Write;
    // Nobody is left to tell if this fails.
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// Ends the process because the daemon has gone. The script may be spinning and would never unwind.
pub(crate) fn leave() -> ! {
    at_once(0)
}

/// Ends the process after the engine found no memory, with the code by which the daemon knows it.
#[cfg(any(feature = "v8", target_os = "macos"))]
pub(crate) fn out_of_memory() -> ! {
    at_once(mux_wire::EXIT_OUT_OF_MEMORY)
}

/// Without destructors: those of the engine wait for a script that still runs, or need memory.
#[expect(
    unsafe_code,
    reason = "the standard library has no exit that runs no destructors"
)]
fn at_once(code: i32) -> ! {
    // SAFETY: the call takes an integer, and nothing of this process is used after it.
    unsafe { nix::libc::_exit(code) }
}
