//! Writes the outcome of a run, even if its task is lost.
//!
//! Invariant: a run has exactly one last event, and every client that follows the run receives it.

use std::{sync::Arc, time::Duration};

use mux_wire::{Fault, FaultKind};

use super::{Runs, event_writer::EventWriter};
use mux_journal::RunJournal;
use mux_messages::{EventKind, Held, Outcome};

/// Adds the type checker's warning about the failing line, if there is one, as a hint.
pub(super) fn with_warning(fault: Fault, warnings: &[Fault]) -> Fault {
    if fault.kind != FaultKind::Runtime || fault.hint.is_some() {
        return fault;
    }
    let suspect = warnings
        .iter()
        .find(|warning| warning.line.is_some() && warning.line == fault.line);
    match suspect {
        Some(warning) => fault.hint(format!(
            "the type checker warned about this line: {}",
            warning.message
        )),
        None => fault,
    }
}

/// Writes the last event of a run on drop, even if the task that runs it is lost.
pub(super) struct OutcomeGuard<'a> {
    pub(super) runs: &'a Runs,
    pub(super) run: &'a Arc<RunJournal>,
    pub(super) writer: &'a EventWriter,
    pub(super) outcome: Option<Result<Held, Fault>>,
}

impl OutcomeGuard<'_> {
    pub(super) fn set_outcome(mut self, outcome: Result<Held, Fault>) {
        self.outcome = Some(outcome);
    }
}

impl Drop for OutcomeGuard<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.take().unwrap_or_else(|| {
            Err(
                Fault::new(FaultKind::Internal, "the run was lost in the daemon")
                    .user_hint("see `mux logs`"),
            )
        });
        self.runs.gateway.upstreams().end_run(&self.run.id);
        self.runs.registry().count_ended(outcome.is_ok());
        let kind = outcome.as_ref().err().map(|fault| fault.kind);
        let metrics = self.runs.gateway.upstreams().metrics();
        let took = Duration::from_millis(self.run.info().ms);
        metrics.runs.ended(kind, took);
        let outcome = match outcome {
            Ok(held) => held.into(),
            Err(fault) => Outcome::Error(fault.into()),
        };
        self.writer.push(EventKind::Ended { outcome });
        self.runs.registry().keep_ended(self.run);
    }
}
