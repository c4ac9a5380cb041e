//! Step programs: their TypeScript equivalent, and their events for clients with and without the feature `program`.

use mux_proto as wire;
use mux_wire::ConsoleLevel;

use super::{connection::ConnectionState, convert};
use crate::daemon::Daemon;
use mux_journal::{RunEvent, SequencedEvent, StepEvent, StepProgress};

/// The feature of clients that are sent the events of steps.
const PROGRAM_FEATURE: &str = "program";

pub(super) fn explain(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: &wire::ExplainRequest,
) -> wire::Result<wire::Explained> {
    let origin = connection.origin();
    let scope = connection.scope();
    let agent = origin.agent.as_deref();
    let source = daemon.runs.explain(&request.source, agent, &scope);
    let source = source.map_err(convert::error)?;
    Ok(wire::Explained { source })
}

/// Converts the event of a step to a console line, for a client without the feature `program`.
pub(super) fn readable(event: SequencedEvent, connection: &ConnectionState) -> SequencedEvent {
    if connection.knows(PROGRAM_FEATURE) {
        event
    } else {
        SequencedEvent {
            what: as_console(event.what),
            ..event
        }
    }
}

fn as_console(what: RunEvent) -> RunEvent {
    let RunEvent::Step(StepEvent {
        step,
        tool,
        progress,
    }) = what
    else {
        return what;
    };
    let (level, words) = match progress {
        StepProgress::Started { .. } => (ConsoleLevel::Info, "begins".to_owned()),
        StepProgress::Ended {
            outcome: Ok(bytes), ..
        } => (ConsoleLevel::Info, format!("gave {bytes} bytes")),
        StepProgress::Ended {
            outcome: Err(fault),
            ..
        } => (ConsoleLevel::Warn, format!("failed: {}", fault.message)),
        StepProgress::Skipped { reason } => (ConsoleLevel::Warn, format!("is skipped: {reason}")),
    };
    let text = format!("step {step} ({tool}) {words}");
    RunEvent::Console { level, text }
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
            error: outcome.err().map(convert::error),
        },
        StepProgress::Skipped { reason } => wire::EventKind::StepSkipped { step, tool, reason },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn step_events_become_console_lines_for_older_clients() {
        let took = Duration::ZERO;
        let outcome = Ok(3);
        let reason = "`b` failed".to_owned();
        for (progress, line) in [
            (
                StepProgress::Started { description: None },
                "step a (s.t) begins",
            ),
            (
                StepProgress::Ended { took, outcome },
                "step a (s.t) gave 3 bytes",
            ),
            (
                StepProgress::Skipped { reason },
                "step a (s.t) is skipped: `b` failed",
            ),
        ] {
            let step = "a".to_owned();
            let tool = "s.t".to_owned();
            let RunEvent::Console { text, .. } = as_console(RunEvent::Step(StepEvent {
                step,
                tool,
                progress,
            })) else {
                panic!("no line: {line}");
            };
            assert_eq!(text, line);
        }
        assert!(matches!(as_console(RunEvent::Started), RunEvent::Started));
    }
}
