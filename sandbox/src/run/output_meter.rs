//! Counts the console output and the emitted parts of a worker against their limits.
//!
//! Invariant: the counting is the same as in `mux-worker`, so only a worker that was taken over causes an error here.

use mux_wire::{CONSOLE_LINE_OVERHEAD_BYTES, EMITTED_PART_OVERHEAD_BYTES};

use crate::{ProgramLimits, worker_process::WorkerError};

/// Extra bytes for the lines that the worker itself prints when a budget is used up or a run ends.
const CONSOLE_SLACK_BYTES: u32 = 64 << 10;

#[derive(Default)]
pub(super) struct OutputMeter {
    console: u32,
    emitted: u32,
}

impl OutputMeter {
    pub(super) fn is_empty(&self) -> bool {
        self.console == 0 && self.emitted == 0
    }

    pub(super) fn count_console(
        &mut self,
        text: &str,
        limits: &ProgramLimits,
    ) -> Result<(), WorkerError> {
        let most = limits.console.saturating_add(CONSOLE_SLACK_BYTES);
        charge_budget(
            &mut self.console,
            text,
            CONSOLE_LINE_OVERHEAD_BYTES,
            most,
            "console output",
        )
    }

    pub(super) fn count_part(
        &mut self,
        part: &str,
        limits: &ProgramLimits,
    ) -> Result<(), WorkerError> {
        charge_budget(
            &mut self.emitted,
            part,
            EMITTED_PART_OVERHEAD_BYTES,
            limits.emitted,
            "emitted parts",
        )
    }
}

fn charge_budget(
    used: &mut u32,
    text: &str,
    cost: u32,
    most: u32,
    what: &str,
) -> Result<(), WorkerError> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    *used = used.saturating_add(length).saturating_add(cost);
    if *used <= most {
        return Ok(());
    }
    Err(WorkerError::Protocol(format!(
        "{what} of more than {most} bytes"
    )))
}
