//! Programs of steps.

use mux_proto::{
    Error, Event, EventKind, EventPage, Explained, Kind, RunStarted, service::MuxResponse,
};

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    let started = RunStarted { run: "r-2".into() };
    let explained = Explained {
        source: "const a = await mux.fix.add({ a: mux.input.n, b: 1 });\nreturn a.sum;\n".into(),
    };
    vec![
        ("start_program", MuxResponse::StartRun(Ok(started))),
        ("events_of_steps", MuxResponse::Events(Ok(events()))),
        (
            "explain_program",
            MuxResponse::ExplainProgram(Ok(explained)),
        ),
    ]
}

fn events() -> EventPage {
    let step = || "a".to_owned();
    let tool = || "fix.add".to_owned();
    let ended = |error| EventKind::StepEnded {
        step: step(),
        tool: tool(),
        ms: 1.5,
        bytes: 9,
        error,
    };
    let kinds = [
        EventKind::StepStarted {
            step: step(),
            tool: tool(),
            description: Some("adds".into()),
        },
        ended(None),
        ended(Some(Error::new(Kind::Tool, "no"))),
        EventKind::StepSkipped {
            step: step(),
            tool: tool(),
            reason: "`b`, to which it refers, failed".into(),
        },
    ];
    let numbered = kinds.into_iter().zip(1..);
    EventPage {
        events: numbered
            .map(|(event, seq)| Event {
                seq,
                at_ms: seq,
                event,
            })
            .collect(),
    }
}
