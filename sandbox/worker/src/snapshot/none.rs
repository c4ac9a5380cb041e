//! The stub for engines without snapshots.
//!
//! Invariant: a request for a snapshot fails with its own exit code, and isolates are built from the scripts.

use std::{path::Path, process::ExitCode};

use crate::lockdown;

pub(crate) fn load(_path: &Path) -> Result<&'static [u8], &'static str> {
    Err("this engine has none")
}

pub(crate) fn make() -> ExitCode {
    lockdown::log_line("mux-worker: this engine has no snapshots");
    ExitCode::from(mux_wire::EXIT_NO_SNAPSHOT)
}
