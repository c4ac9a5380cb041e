//! One request of each method, as clients of this contract send it.

mod agents;
mod approvals;
mod login;
mod metrics;
mod pins;
mod policy;
mod programs;
mod projects;
mod sandboxes;
mod secrets;
mod sources;
mod upgrade;

use mux_proto::{
    CallRequest, CheckRequest, ClientInfo, EventsRequest, ForgetTypesRequest, Hello, KeepRequest,
    ReadRequest, RunJournalRequest, RunRequest, RunsRequest, StopRequest, ToolsRequest,
    TypesRequest, WatchTypesRequest, service::MuxRequest,
};
use serde_json::json;

/// The recorded handle of the result of `call_stored`.
pub(super) const HANDLE: &str = "h_404bbc5ff7e0599c4ce536226a039a85";

/// All requests, with the names of their recordings. `start_run` comes before `events`, `call_stored` before `read`,
/// and the requests that end the daemon come last.
pub(crate) fn all() -> Vec<(&'static str, MuxRequest)> {
    let mut all = of_everybody();
    all.extend(agents::all());
    all.extend(approvals::all());
    all.extend(login::all());
    all.extend(sources::all());
    all.extend(upgrade::all());
    all.extend(pins::all());
    all.extend(policy::all());
    all.extend(programs::all());
    all.extend(projects::all());
    all.extend(sandboxes::all());
    all.extend(secrets::all());
    all.extend(metrics::all());
    all.extend(ends());
    all
}

fn of_everybody() -> Vec<(&'static str, MuxRequest)> {
    vec![
        ("hello", MuxRequest::Hello { hello: hello() }),
        ("status", MuxRequest::Status {}),
        ("start_run", MuxRequest::StartRun { request: run() }),
        ("events", MuxRequest::Events { request: events() }),
        ("cancel_run", MuxRequest::CancelRun { run: "r-1".into() }),
        ("runs", MuxRequest::Runs { request: runs() }),
        ("run_info", MuxRequest::RunInfo { run: "r-1".into() }),
        (
            "run_journal",
            MuxRequest::RunJournal {
                request: RunJournalRequest {
                    run: "r-1".into(),
                    call: None,
                },
            },
        ),
        ("check", MuxRequest::Check { request: check() }),
        ("call", MuxRequest::Call { request: call() }),
        (
            "keep",
            MuxRequest::Keep {
                request: KeepRequest {
                    value: json!(["kept"]).into(),
                },
            },
        ),
        (
            "call_typed",
            MuxRequest::Call {
                request: call_typed(),
            },
        ),
        (
            "call_traced",
            MuxRequest::Call {
                request: call_traced(),
            },
        ),
        (
            "call_stored",
            MuxRequest::Call {
                request: call_stored(),
            },
        ),
        ("read", MuxRequest::Read { request: read() }),
        ("tools", MuxRequest::Tools { request: tools() }),
        ("types", MuxRequest::Types { request: types() }),
        ("servers", MuxRequest::Servers {}),
        (
            "restart_server",
            MuxRequest::RestartServer {
                server: "fix".into(),
            },
        ),
        ("reload", MuxRequest::Reload {}),
        (
            "watch_types",
            MuxRequest::WatchTypes {
                request: WatchTypesRequest {
                    known: Some("5f0c".into()),
                    wait_ms: 1000,
                },
            },
        ),
        (
            "forget_types",
            MuxRequest::ForgetTypes {
                request: ForgetTypesRequest {
                    paths: vec!["fix".into(), "fix.get_thing".into()],
                },
            },
        ),
    ]
}

/// Requests that end the daemon.
fn ends() -> Vec<(&'static str, MuxRequest)> {
    vec![
        (
            "retire",
            MuxRequest::Retire {
                reason: "a client needs contract 4".into(),
            },
        ),
        (
            "stop",
            MuxRequest::Stop {
                request: StopRequest { now: true },
            },
        ),
    ]
}

fn hello() -> Hello {
    Hello {
        contract: 1,
        build: "0.1.0".into(),
        client: ClientInfo {
            name: "mux".into(),
            version: "0.1.0".into(),
        },
        agent: Some("small-model".into()),
        workspace: Some("/home/me/project".into()),
        for_agent: false,
        profile: None,
        features: Vec::new(),
    }
}

fn run() -> RunRequest {
    RunRequest {
        source: "return mux.input.n + 1".into(),
        name: Some("report.ts".into()),
        input: json!({ "n": 1 }).into(),
        timeout_ms: Some(5000),
        traceparent: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
        detach: true,
        no_check: true,
        ..RunRequest::default()
    }
}

fn events() -> EventsRequest {
    EventsRequest {
        run: "r-1".into(),
        after: 0,
        wait_ms: 1000,
    }
}

fn check() -> CheckRequest {
    CheckRequest {
        source: "let y = ;".into(),
    }
}

fn call() -> CallRequest {
    CallRequest {
        path: "fix.add".into(),
        arguments: json!({ "a": 1, "b": 2.5 }).into(),
        ..CallRequest::default()
    }
}

fn call_typed() -> CallRequest {
    CallRequest {
        path: "fix.add".into(),
        arguments: json!(null).into(),
        typed: vec![("a".into(), "1".into()), ("b".into(), "2".into())],
        raw: true,
        timeout_ms: Some(2000),
        ..CallRequest::default()
    }
}

fn call_traced() -> CallRequest {
    CallRequest {
        traceparent: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
        tracestate: Some("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE".into()),
        ..call()
    }
}

fn call_stored() -> CallRequest {
    CallRequest {
        path: "fix.blob".into(),
        arguments: json!({ "bytes": 300_000 }).into(),
        ..CallRequest::default()
    }
}

fn read() -> ReadRequest {
    ReadRequest {
        handle: HANDLE.into(),
        offset: 26,
        length: Some(27),
    }
}

fn runs() -> RunsRequest {
    RunsRequest {
        running: false,
        limit: Some(10),
    }
}

fn tools() -> ToolsRequest {
    ToolsRequest {
        query: Some("adds two".into()),
        server: Some("fix".into()),
        limit: Some(3),
        ..ToolsRequest::default()
    }
}

fn types() -> TypesRequest {
    TypesRequest {
        paths: vec!["fix.add".into()],
    }
}
