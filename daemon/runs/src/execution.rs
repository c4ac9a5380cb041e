//! Executes one run, from its acceptance to its outcome.
//!
//! Invariant: on every path [`OutcomeGuard`] writes the last event, after the run's resumable state is closed.

use std::sync::Arc;

use mux_sandbox::RunRequest;
use mux_wire::{Fault, FaultKind};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{
    Runs, content_block,
    event_writer::{EventWriter, console_warning},
    events::RunEvent,
    outcome_guard::{OutcomeGuard, with_warning},
    program_check::HintScope,
    recording_mode::RecordingMode,
    run::Run,
    run_context::RunContext,
    steps,
    tool_host::RunToolHost,
};
use crate::program_check::{CheckFindings, ProgramChecker, ToolViewer};
use mux_gateway::CallContext;
use mux_handles::InlineOrStored;
use mux_program::StepPlan;
use mux_telemetry::trace::SpanKind;

/// Options of one execution.
pub(super) struct ExecutionOptions {
    /// The agent whose check mode applies. The outer `None` skips the type check.
    pub(super) checked_for: Option<Option<String>>,
    /// The run that this run resumes, and the number of its calls that had ended.
    pub(super) again: Option<(String, usize)>,
    /// Set if the run is recorded, or replayed from a recording.
    pub(super) recording_mode: Option<RecordingMode>,
}

impl Runs {
    /// Executes the run to its end. Returns the kind of its fault, if it failed.
    pub(super) async fn execute_run(
        self: Arc<Self>,
        run: Arc<Run>,
        (request, plan): (RunRequest, Option<Result<StepPlan, Fault>>),
        asking: CallContext,
        ExecutionOptions {
            checked_for,
            again,
            recording_mode,
        }: ExecutionOptions,
    ) -> Option<FaultKind> {
        info!("run accepted");
        let handles = self.handles.for_origin(run.origin());
        let recorder = EventWriter::new(Arc::clone(&run), handles.clone());
        let finish = OutcomeGuard {
            runs: &self,
            run: &run,
            recorder: &recorder,
            outcome: None,
        };
        let gateway = Arc::clone(&self.gateway);
        let approvals = self.gateway.approvals();
        let resumable = asking.resumable.clone();
        let is_again = again.is_some();
        if let (Some((former, calls)), Some(resumable)) = (again, &resumable) {
            if let Err(fault) = approvals.take_over_record(resumable, &former).await {
                let kind = fault.kind;
                finish.set_outcome(Err(fault));
                return Some(kind);
            }
            let run = former;
            recorder.push(RunEvent::Resumed { run, calls });
        }
        let recording_mode = recording_mode.map(Arc::new);
        let reach = RunContext::new(
            gateway,
            handles.clone(),
            asking,
            Arc::clone(&recorder),
            recording_mode.clone(),
        );
        let checks = checked_for.map(|agent| (&self.inspector, agent));
        let outcome = match plan {
            Some(plan) => match plan {
                Ok(plan) => steps::run_steps(plan, request, (reach, checks), &run.cancel).await,
                Err(fault) => Err(fault),
            },
            None => {
                self.run_in_isolate(request, (reach, checks), &run.cancel)
                    .await
            }
        };
        let upstreams = self.gateway.upstreams();
        let recording = recording_mode
            .and_then(|recording_mode| recording_mode.finish_recording(&outcome, upstreams));
        let outcome = match outcome {
            Ok(text) => content_block::store_result(text, &handles).await,
            Err(fault) => Err(fault),
        };
        let outcome = outcome.map(|(held, word)| {
            if let Some(word) = word {
                recorder.push(console_warning(&word));
            }
            held
        });
        match &outcome {
            Ok(InlineOrStored::Inline(text)) => info!(bytes = text.len(), "run ended"),
            Ok(InlineOrStored::Stored(handle)) => info!(bytes = handle.bytes, "run ended"),
            Err(fault) => info!(kind = %fault.kind, bytes = fault.message.len(), "run failed"),
        }
        recorder.wait_until_written().await;
        if let Some(recording) = recording {
            let kept = match recording {
                Ok(text) => handles.keep(text, "the recording").await,
                Err(fault) => Err(fault),
            };
            recorder.push(match kept {
                Ok(handle) => RunEvent::Recorded(handle),
                Err(fault) => console_warning(&fault.message),
            });
        }
        let failed = outcome.as_ref().err().map(|fault| fault.kind);
        if let Some(resumable) = &resumable {
            let keeps = failed.is_some_and(|kind| {
                keeps_pending_approvals(kind, is_again, resumable.has_new_calls())
            });
            approvals.end_run(resumable, keeps).await;
        }
        finish.set_outcome(outcome);
        failed
    }

    /// Runs a TypeScript program, after a type check if `checks` is set.
    async fn run_in_isolate(
        &self,
        request: RunRequest,
        (reach, checks): (RunContext, Option<(&ProgramChecker, Option<String>)>),
        cancel: &CancellationToken,
    ) -> Result<String, Fault> {
        let mut warnings = Vec::new();
        if let Some((inspector, agent)) = checks {
            let whom = ToolViewer {
                scope: &reach.asking.scope,
                whose: &reach.whose,
                reader: &reach.reader(&reach.asking.scope),
            };
            let span = reach
                .asking
                .caller
                .trace
                .begin_span(SpanKind::Internal, || "check".into());
            let source = &request.source;
            let agent = agent.as_deref();
            let look =
                inspector.check_before_run(source, agent, HintScope::All, whom, &request.turn);
            let found = tokio::select! {
                found = look => found,
                // The pool reports the cancellation.
                () = cancel.cancelled() => CheckFindings::default(),
            };
            let refusal = found.refusal();
            span.end_with(|| refusal.as_ref().map(|fault| fault.kind.to_string()));
            if let Some(refusal) = refusal {
                info!(errors = found.errors.len(), "run refused");
                return Err(refusal);
            }
            warnings.clone_from(&found.warnings);
            if found.unchecked.is_some() || !found.warnings.is_empty() {
                reach.observer.writer().push(RunEvent::Checked {
                    warnings: found.warnings,
                    unchecked: found.unchecked,
                });
            }
        }
        let host = Arc::new(RunToolHost::new(reach));
        let outcome = self.pool.run(request, host, cancel).await;
        outcome.map_err(|fault| with_warning(fault, &warnings))
    }
}

/// True if the pending approvals of a failed run stay pending. Those of a resumed run stay if the failure is not the
/// program's (the run was cancelled, or no worker was available), or if it made no new calls.
fn keeps_pending_approvals(kind: FaultKind, is_again: bool, has_news: bool) -> bool {
    match kind {
        FaultKind::Pending => true,
        FaultKind::Cancelled | FaultKind::Busy | FaultKind::Unavailable | FaultKind::Internal => {
            is_again
        }
        _ => is_again && !has_news,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_approvals_are_kept_unless_the_program_continued_and_failed() {
        for kind in [
            FaultKind::Cancelled,
            FaultKind::Busy,
            FaultKind::Unavailable,
            FaultKind::Internal,
        ] {
            assert!(keeps_pending_approvals(kind, true, true), "{kind}");
            assert!(!keeps_pending_approvals(kind, false, false), "{kind}");
        }
        for kind in [
            FaultKind::Runtime,
            FaultKind::Timeout,
            FaultKind::Memory,
            FaultKind::Denied,
        ] {
            assert!(keeps_pending_approvals(kind, true, false), "{kind}");
            assert!(!keeps_pending_approvals(kind, true, true), "{kind}");
            assert!(!keeps_pending_approvals(kind, false, false), "{kind}");
        }
        assert!(keeps_pending_approvals(FaultKind::Pending, false, true));
    }
}
