//! The exit code of a worker, which is the exception that ended it or the code that another process has chosen.

use std::process::ExitStatus;

use super::DeathCause;

/// `STATUS_STACK_OVERFLOW`.
const STACK_OVERFLOW: u32 = 0xC000_00FD;
/// `STATUS_NO_MEMORY` and `STATUS_COMMITMENT_LIMIT`.
const OUT_OF_MEMORY: [u32; 2] = [0xC000_0017, 0xC000_012D];
/// The exit code that muxd's own libraries and the Task Manager pass to `TerminateProcess`.
const TERMINATED: u32 = 1;

pub(super) fn cause_of_status(status: ExitStatus) -> DeathCause {
    match status.code().map(i32::cast_unsigned) {
        Some(STACK_OVERFLOW) => DeathCause::Depth,
        Some(code) if OUT_OF_MEMORY.contains(&code) => DeathCause::Memory,
        Some(TERMINATED) => DeathCause::Killed,
        _ => DeathCause::Unknown,
    }
}
