//! One run from its acceptance to its outcome.
//!
//! Invariant: whatever becomes of it, [`Finish`] tells how it ended, and its dossier is closed before.

use std::sync::Arc;

use mux_sandbox::RunRequest;
use mux_wire::{Fault, Kind};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{
    Runs,
    deck::Deck,
    events::Happening,
    finish::{Finish, with_warning},
    host::Host,
    parts,
    reach::Reach,
    recorder::{Recorder, warning},
    run::Run,
    steps,
};
use crate::inspect::{Inspection, Inspector};
use mux_gateway::Asking;
use mux_handles::Held;
use mux_program::Plan;
use mux_telemetry::trace::Kind as SpanKind;

/// What is special about one.
pub(super) struct Manner {
    /// The agent whose terms the check follows, if there is to be one.
    pub(super) checked_for: Option<Option<String>>,
    /// The run with which it goes on, and how many calls of that had ended.
    pub(super) again: Option<(String, usize)>,
    /// It is recorded, or answered from a recording.
    pub(super) deck: Option<Deck>,
}

impl Runs {
    /// In which way it failed, if it did.
    pub(super) async fn execute(
        self: Arc<Self>,
        run: Arc<Run>,
        (request, plan): (RunRequest, Option<Result<Plan, Fault>>),
        asking: Asking,
        Manner {
            checked_for,
            again,
            deck,
        }: Manner,
    ) -> Option<Kind> {
        info!("run accepted");
        let handles = self.handles.of(run.origin());
        let recorder = Recorder::new(Arc::clone(&run), handles.clone());
        let finish = Finish {
            runs: &self,
            run: &run,
            recorder: &recorder,
            outcome: None,
        };
        let gateway = Arc::clone(&self.gateway);
        let (approvals, dossier) = (self.gateway.approvals(), asking.dossier.clone());
        let is_again = again.is_some();
        if let (Some((former, calls)), Some(dossier)) = (again, &dossier) {
            if let Err(fault) = approvals.begin_again(dossier, &former).await {
                let kind = fault.kind;
                finish.with(Err(fault));
                return Some(kind);
            }
            let run = former;
            recorder.push(Happening::Resumed { run, calls });
        }
        let deck = deck.map(Arc::new);
        let reach = Reach::new(
            gateway,
            handles.clone(),
            asking,
            Arc::clone(&recorder),
            deck.clone(),
        );
        let checks = checked_for.map(|agent| (&self.inspector, agent));
        let outcome = match plan {
            Some(plan) => match plan {
                Ok(plan) => steps::run(plan, request, (reach, checks), &run.cancel).await,
                Err(fault) => Err(fault),
            },
            None => self.in_isolate(request, (reach, checks), &run.cancel).await,
        };
        let upstreams = self.gateway.upstreams();
        let recording = deck.and_then(|deck| deck.finish(&outcome, upstreams));
        let outcome = match outcome {
            Ok(text) => parts::held_result(text, &handles).await,
            Err(fault) => Err(fault),
        };
        let outcome = outcome.map(|(held, word)| {
            if let Some(word) = word {
                recorder.push(warning(&word));
            }
            held
        });
        match &outcome {
            Ok(Held::Inline(text)) => info!(bytes = text.len(), "run ended"),
            Ok(Held::Stored(handle)) => info!(bytes = handle.bytes, "run ended"),
            Err(fault) => info!(kind = %fault.kind, bytes = fault.message.len(), "run failed"),
        }
        recorder.settled().await;
        if let Some(recording) = recording {
            let kept = match recording {
                Ok(text) => handles.keep(text, "the recording").await,
                Err(fault) => Err(fault),
            };
            recorder.push(match kept {
                Ok(handle) => Happening::Recorded(handle),
                Err(fault) => warning(&fault.message),
            });
        }
        let failed = outcome.as_ref().err().map(|fault| fault.kind);
        if let Some(dossier) = &dossier {
            let keeps = failed.is_some_and(|kind| keeps(kind, is_again, dossier.has_news()));
            approvals.run_over(dossier, keeps).await;
        }
        finish.with(outcome);
        failed
    }

    /// A TypeScript program, checked first if that is asked for.
    async fn in_isolate(
        &self,
        request: RunRequest,
        (reach, checks): (Reach, Option<(&Inspector, Option<String>)>),
        cancel: &CancellationToken,
    ) -> Result<String, Fault> {
        let mut warnings = Vec::new();
        if let Some((inspector, agent)) = checks {
            let whom = (&*reach.asking.scope, &reach.whose);
            let span = reach
                .asking
                .caller
                .trace
                .begin(SpanKind::Internal, || "check".into());
            let look = inspector.before_run(&request.source, agent.as_deref(), whom, &request.turn);
            let found = tokio::select! {
                found = look => found,
                // The pool sees it, too, and says so.
                () = cancel.cancelled() => Inspection::default(),
            };
            let refusal = found.refusal();
            span.ended(|| refusal.as_ref().map(|fault| fault.kind.to_string()));
            if let Some(refusal) = refusal {
                info!(errors = found.errors.len(), "run refused");
                return Err(refusal);
            }
            warnings.clone_from(&found.warnings);
            if found.unchecked.is_some() || !found.warnings.is_empty() {
                reach.observer.recorder().push(Happening::Checked {
                    warnings: found.warnings,
                    unchecked: found.unchecked,
                });
            }
        }
        let host = Arc::new(Host::new(reach));
        let outcome = self.pool.run(request, host, cancel).await;
        outcome.map_err(|fault| with_warning(fault, &warnings))
    }
}

/// Whether what waits of a run that failed waits on. Of one that goes on with another it does where the failure says
/// nothing of the program, such as that somebody stopped it or no worker was there, and where it did nothing new.
fn keeps(kind: Kind, is_again: bool, has_news: bool) -> bool {
    match kind {
        Kind::Pending => true,
        Kind::Cancelled | Kind::Busy | Kind::Unavailable | Kind::Internal => is_again,
        _ => is_again && !has_news,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waited_waits_on_unless_its_program_went_on_and_failed() {
        for kind in [
            Kind::Cancelled,
            Kind::Busy,
            Kind::Unavailable,
            Kind::Internal,
        ] {
            assert!(keeps(kind, true, true), "{kind}");
            assert!(!keeps(kind, false, false), "{kind}");
        }
        for kind in [Kind::Runtime, Kind::Timeout, Kind::Memory, Kind::Denied] {
            assert!(keeps(kind, true, false), "{kind}");
            assert!(!keeps(kind, true, true), "{kind}");
            assert!(!keeps(kind, false, false), "{kind}");
        }
        assert!(keeps(Kind::Pending, false, true));
    }
}
