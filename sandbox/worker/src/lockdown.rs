//! What the process gives up before it runs anybody's code, and the two ways in which it ends.

#[cfg(target_os = "linux")]
mod linux;

/// Called first, while there is one thread.
pub(crate) fn before_engine() {
    #[cfg(target_os = "linux")]
    linux::before_engine();
}

/// A line for the daemon's log; the guest cannot reach it.
pub(crate) fn complain(line: &str) {
    use std::io::Write;
    // Nobody is left to tell if this fails.
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// Ends the process at once: the script may be spinning and would never unwind.
#[expect(
    clippy::exit,
    reason = "the script's thread cannot be joined while it spins"
)]
pub(crate) fn leave() -> ! {
    std::process::exit(0)
}

/// Ends the process after the engine found no memory, with the code by which the daemon knows it.
#[expect(
    clippy::exit,
    reason = "the engine would abort the process next, without a reason"
)]
pub(crate) fn out_of_memory() -> ! {
    std::process::exit(mux_wire::EXIT_OUT_OF_MEMORY)
}
