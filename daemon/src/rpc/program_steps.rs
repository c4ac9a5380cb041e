//! Step programs: their TypeScript equivalent, and their events.

use mux_proto as wire;

use super::connection::ConnectionState;
use crate::daemon::Daemon;
use mux_journal::{StepEvent, StepProgress};

pub(super) fn explain(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: &wire::ExplainRequest,
) -> wire::Result<wire::Explained> {
    let origin = connection.origin();
    let scope = connection.scope();
    let agent = origin.agent.as_deref();
    let source = daemon.runs.explain(&request.source, agent, &scope)?;
    Ok(wire::Explained { source })
}

pub(super) fn step(event: StepEvent) -> wire::EventKind {
    let StepEvent {
        step,
        tool,
        progress,
    } = event;
    match progress {
        StepProgress::Started { description } => wire::EventKind::StepStarted {
            step,
            tool,
            description,
        },
        StepProgress::Ended { took, outcome } => wire::EventKind::StepEnded {
            step,
            tool,
            ms: took.as_secs_f64() * 1e3,
            bytes: *outcome.as_ref().unwrap_or(&0),
            error: outcome.err().map(wire::Error::from),
        },
        StepProgress::Skipped { reason } => wire::EventKind::StepSkipped { step, tool, reason },
    }
}
