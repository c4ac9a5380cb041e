//! Counts the console output and the emitted parts of a worker against their limits.
//!
//! Invariant: the counting is the same as in `mux-worker`, so only a worker that was taken over causes an error here.

use mux_wire::{LINE_COST, PART_COST};

use crate::{Limits, worker_process::WorkerError};

/// Extra bytes for the lines that the worker itself prints when a budget is used up or a run ends.
const SLACK: u32 = 64 << 10;

#[derive(Default)]
pub(super) struct Spoken {
    console: u32,
    emitted: u32,
}

impl Spoken {
    pub(super) fn is_nothing(&self) -> bool {
        self.console == 0 && self.emitted == 0
    }

    pub(super) fn print(&mut self, text: &str, limits: &Limits) -> Result<(), WorkerError> {
        let most = limits.console.saturating_add(SLACK);
        count(&mut self.console, text, LINE_COST, most, "console output")
    }

    pub(super) fn emit(&mut self, part: &str, limits: &Limits) -> Result<(), WorkerError> {
        count(
            &mut self.emitted,
            part,
            PART_COST,
            limits.emitted,
            "emitted parts",
        )
    }
}

fn count(used: &mut u32, text: &str, cost: u32, most: u32, what: &str) -> Result<(), WorkerError> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    *used = used.saturating_add(length).saturating_add(cost);
    if *used <= most {
        return Ok(());
    }
    Err(WorkerError::Protocol(format!(
        "{what} of more than {most} bytes"
    )))
}
