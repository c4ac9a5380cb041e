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
    outcome_guard::{OutcomeGuard, with_warning},
    program_check::HintScope,
    recording,
    run_context::RunContext,
    steps,
    tool_host::RunToolHost,
};
use crate::program_check::ProgramChecker;
use mux_gateway::CallContext;
use mux_journal::RunJournal;
use mux_messages::{Error, EventKind, Held};
use mux_program::StepPlan;
use mux_telemetry::trace::SpanKind;

/// A run that is about to be executed.
pub(super) struct Execution {
    pub(super) run: Arc<RunJournal>,
    /// Without `names`, unless it is a replay.
    pub(super) request: RunRequest,
    /// The parsed program, if it is a step program.
    pub(super) plan: Option<Result<StepPlan, Fault>>,
    pub(super) call_context: CallContext,
    /// The agent whose check mode applies. The outer `None` skips the type check.
    #[expect(
        clippy::option_option,
        reason = "no check, a check without an agent, or for one"
    )]
    pub(super) checked_for: Option<Option<String>>,
    /// The number of calls that the resumed run had completed, if this run resumes one.
    pub(super) resumed_calls: Option<usize>,
    pub(super) is_recorded: bool,
    /// Set if a recording answers all calls.
    pub(super) is_replay: bool,
}

impl Runs {
    /// Executes the run to its end. Returns the kind of its fault, if it failed.
    pub(super) async fn execute_run(self: Arc<Self>, execution: Execution) -> Option<FaultKind> {
        let Execution {
            run,
            mut request,
            plan,
            call_context,
            checked_for,
            resumed_calls,
            is_recorded,
            is_replay,
        } = execution;
        info!("run accepted");
        let handles = self.handles.for_origin(run.origin());
        let writer = EventWriter::new(Arc::clone(&run), handles.clone());
        let finish = OutcomeGuard {
            runs: &self,
            run: &run,
            writer: &writer,
            outcome: None,
        };
        let gateway = Arc::clone(&self.gateway);
        let approvals = self.gateway.approvals();
        if let (Some(resumed), Some(calls)) = (run.resumes.clone(), resumed_calls) {
            if let Err(fault) = approvals.take_over(&run).await {
                let kind = fault.kind;
                finish.set_outcome(Err(fault));
                return Some(kind);
            }
            writer.push(EventKind::Resumed {
                run: resumed,
                calls,
            });
        }
        let mut context =
            RunContext::new(gateway, handles.clone(), call_context, Arc::clone(&writer));
        context.logs_builtins = is_recorded || is_replay;
        context.is_replay = is_replay;
        let checks = checked_for.map(|agent| (&self.inspector, agent));
        let checked = match (&plan, &checks) {
            (None, Some((inspector, agent))) => {
                check_types(
                    inspector,
                    agent.as_deref(),
                    &request,
                    &context,
                    &run.cancellation,
                )
                .await
            }
            _ => Ok(Vec::new()),
        };
        // After the check, which asks servers that the program names.
        if !is_replay {
            request.names = self.global_names_json(&context.call_context.scope);
        }
        let names = is_recorded.then(|| request.names.clone());
        let outcome = match (plan, checked) {
            (Some(Ok(plan)), _) => {
                steps::run_steps(plan, request, context, checks, &run.cancellation).await
            }
            (Some(Err(fault)), _) | (None, Err(fault)) => Err(fault),
            (None, Ok(warnings)) => {
                let host = Arc::new(RunToolHost::new(context));
                let outcome = self.pool.run(request, host, &run.cancellation).await;
                outcome.map_err(|fault| with_warning(fault, &warnings))
            }
        };
        let recording = names.map(|names| {
            let secrets = recording::collect_known_secrets(self.gateway.upstreams());
            recording::recording_of(&run, names, &outcome, secrets)
        });
        let outcome = match outcome {
            Ok(text) => content_block::store_result(text, &handles).await,
            Err(fault) => Err(fault),
        };
        let outcome = outcome.map(|(held, warning)| {
            if let Some(warning) = warning {
                writer.push(console_warning(&warning));
            }
            held
        });
        match &outcome {
            Ok(Held::Value(value)) => info!(bytes = value.as_str().len(), "run ended"),
            Ok(Held::Stored(handle)) => info!(bytes = handle.bytes, "run ended"),
            Err(fault) => info!(kind = %fault.kind, bytes = fault.message.len(), "run failed"),
        }
        writer.wait_until_written().await;
        if let Some(recording) = recording {
            let kept = match recording {
                Ok(text) => handles.keep(text, "the recording").await,
                Err(fault) => Err(fault),
            };
            writer.push(match kept {
                Ok(recording) => EventKind::Recorded { recording },
                Err(fault) => console_warning(&fault.message),
            });
        }
        let failed = outcome.as_ref().err().map(|fault| fault.kind);
        let is_again = resumed_calls.is_some();
        let keeps =
            failed.is_some_and(|kind| keeps_pending_approvals(kind, is_again, run.has_new_calls()));
        approvals.end_run(&run, keeps).await;
        finish.set_outcome(outcome);
        failed
    }
}

/// Checks the types of a TypeScript program. Returns its warnings, or the error that keeps it from running.
async fn check_types(
    inspector: &ProgramChecker,
    agent: Option<&str>,
    request: &RunRequest,
    context: &RunContext,
    cancel: &CancellationToken,
) -> Result<Vec<Fault>, Fault> {
    let viewer = context.first_viewer();
    let trace = &context.call_context.caller.trace;
    let span = trace.begin_span(SpanKind::Internal, || "check".into());
    let source = &request.source;
    let check = inspector.check_before_run(source, agent, HintScope::All, &viewer, &request.turn);
    // The pool reports the cancellation.
    let found = cancel.run_until_cancelled(check).await.unwrap_or_default();
    let refusal = found.refusal();
    span.end_with(|| refusal.as_ref().map(|fault| fault.kind.to_string()));
    if let Some(refusal) = refusal {
        info!(errors = found.errors.len(), "run refused");
        return Err(refusal);
    }
    let warnings = found.warnings.clone();
    if found.unchecked.is_some() || !warnings.is_empty() {
        context.observer.writer().push(EventKind::Checked {
            warnings: found.warnings.into_iter().map(Error::from).collect(),
            unchecked: found.unchecked,
        });
    }
    Ok(warnings)
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
