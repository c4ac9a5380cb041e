//! The end of a run, which is written whatever happens on the way.
//!
//! Invariant: a run has one last event, and everybody who follows it gets that.

use std::sync::Arc;

use mux_wire::{Fault, Kind};

use super::{Run, RunEvent, Runs, event_writer::EventWriter};
use mux_handles::InlineOrStored;

/// What the checker was not sure of may be why a program failed.
pub(super) fn with_warning(fault: Fault, warnings: &[Fault]) -> Fault {
    if fault.kind != Kind::Runtime || fault.hint.is_some() {
        return fault;
    }
    let suspect = warnings
        .iter()
        .find(|warning| warning.line.is_some() && warning.line == fault.line);
    match suspect {
        Some(warning) => fault.hint(format!(
            "before it ran, the type checker said: {}",
            warning.message
        )),
        None => fault,
    }
}

/// Writes the last event of a run, whatever happens to the task that runs it.
pub(super) struct OutcomeGuard<'a> {
    pub(super) runs: &'a Runs,
    pub(super) run: &'a Arc<Run>,
    pub(super) recorder: &'a EventWriter,
    pub(super) outcome: Option<Result<InlineOrStored, Fault>>,
}

impl OutcomeGuard<'_> {
    pub(super) fn set_outcome(mut self, outcome: Result<InlineOrStored, Fault>) {
        self.outcome = Some(outcome);
    }
}

impl Drop for OutcomeGuard<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.take().unwrap_or_else(|| {
            Err(Fault::new(Kind::Internal, "the run was lost in the daemon")
                .user_hint("see `mux logs`"))
        });
        self.runs.gateway.upstreams().end_run(&self.run.id);
        self.runs.registry().count_ended(outcome.is_ok());
        self.run.set_ended(outcome.as_ref().err());
        let kind = outcome.as_ref().err().map(|fault| fault.kind);
        let metrics = self.runs.gateway.upstreams().metrics();
        metrics.runs.ended(kind, self.run.snapshot().took);
        self.recorder.push(RunEvent::Ended(outcome));
        self.runs.registry().keep_ended(self.run);
    }
}
