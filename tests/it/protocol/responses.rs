//! One response of each method, every field filled in.

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
    AuthState, CallAnswer, CallRecord, CheckerStatus, ConnectedAgent, Diagnostics, EarlierLoad,
    Error, Event, EventKind, EventPage, FenceInfo, Forgotten, Handle, Held, KeptValue, Kind,
    Language, Level, MissingServer, Outcome, Problem, ReadPage, ReloadReport, RunCounts, RunInfo,
    RunJournal, RunList, RunProgram, RunStarted, RunState, SandboxInfo, SandboxState,
    SectionChange, ServerCause, ServerInfo, ServerState, ServerWarning, SessionInfo, SourceInfo,
    SourceNote, Started, StartedBy, Status, TelemetryStatus, TokenStatus, ToolInfo, ToolList,
    TypesPage, Welcome, WorkerStatus, service::MuxResponse,
};
use serde_json::{Value, json};

use super::requests::HANDLE;

/// All responses, with the names of their recordings.
pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
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
    all
}

fn of_everybody() -> Vec<(&'static str, MuxResponse)> {
    vec![
        ("hello", MuxResponse::Hello(Ok(welcome()))),
        ("retire", MuxResponse::Retire(Ok(()))),
        ("status", MuxResponse::Status(Ok(status()))),
        (
            "status_on_a_bad_day",
            MuxResponse::Status(Ok(status_on_a_bad_day())),
        ),
        (
            "status_of_a_service",
            MuxResponse::Status(Ok(status_of_a_service())),
        ),
        (
            "status_of_traces",
            MuxResponse::Status(Ok(status_of_traces())),
        ),
        (
            "start_run",
            MuxResponse::StartRun(Ok(RunStarted { run: "r-1".into() })),
        ),
        ("events", MuxResponse::Events(Ok(page()))),
        ("cancel_run", MuxResponse::CancelRun(Ok(()))),
        ("runs", MuxResponse::Runs(Ok(runs()))),
        ("run_info", MuxResponse::RunInfo(Ok(failed_run()))),
        ("run_journal", MuxResponse::RunJournal(Ok(journal()))),
        (
            "check",
            MuxResponse::Check(Ok(Diagnostics {
                errors: vec![error()],
                warnings: vec![error()],
                unchecked: Some("no compiler".into()),
            })),
        ),
        ("call", MuxResponse::Call(Ok(answer()))),
        ("keep", MuxResponse::Keep(Ok(handle()))),
        ("call_failed", MuxResponse::Call(Err(error()))),
        (
            "call_stored",
            MuxResponse::Call(Ok(CallAnswer {
                result: Held::Stored(handle()),
                last_notice: 0,
            })),
        ),
        ("read", MuxResponse::Read(Ok(read()))),
        ("tools", MuxResponse::Tools(Ok(tools()))),
        (
            "types",
            MuxResponse::Types(Ok("declare const mux: {};\n".into())),
        ),
        ("servers", MuxResponse::Servers(Ok(vec![server()]))),
        ("restart_server", MuxResponse::RestartServer(Ok(server()))),
        ("reload", MuxResponse::Reload(Ok(reload()))),
        ("stop", MuxResponse::Stop(Ok(()))),
        (
            "watch_types",
            MuxResponse::WatchTypes(Ok(TypesPage {
                name: "5f0c".into(),
                text: Some("declare const mux: {};\n".into()),
            })),
        ),
        (
            "forget_types",
            MuxResponse::ForgetTypes(Ok(Forgotten { tools: 2 })),
        ),
    ]
}

/// An error with every field filled in.
pub(super) fn error() -> Error {
    Error {
        line: Some(3),
        column: Some(7),
        path: Some("fix.fail".into()),
        details: Some(json!({ "content": [{ "type": "text", "text": "no" }] })),
        ..Error::new(Kind::Tool, "no").hint("try another")
    }
}

fn answer() -> CallAnswer {
    CallAnswer {
        result: Held::Value(json!({ "sum": 3.5 }).into()),
        last_notice: 4,
    }
}

fn welcome() -> Welcome {
    Welcome {
        contract: 1,
        build: "0.1.0".into(),
        pid: 4711,
        features: Vec::new(),
    }
}

fn handle() -> Handle {
    Handle {
        handle: HANDLE.into(),
        bytes: 300_002,
        preview: "\"abcdefghijklmnopqrstuvwxyz".into(),
        expires_ms: 86_400_000,
    }
}

fn read() -> ReadPage {
    ReadPage {
        text: "zabcdefghijklmnopqrstuvwxyz".into(),
        offset: 26,
        next: Some(53),
        total: 300_002,
    }
}

/// A run with every field filled in.
fn failed_run() -> RunInfo {
    RunInfo {
        run: "r-2".into(),
        state: RunState::Failed,
        client: "mux".into(),
        agent: Some("small-model".into()),
        workspace: Some("/home/me/project".into()),
        detached: true,
        title: "await mux.fix.fail({ message: \"no\" });".into(),
        accepted_ms: 1_790_000_000_000,
        ms: 120,
        calls: 3,
        calls_ended: 2,
        calls_failed: 1,
        approvals: 0,
        error: Some(Error {
            details: None,
            ..error()
        }),
        events: 9,
    }
}

/// A run with every kind of call.
fn journal() -> RunJournal {
    let kept = |value: Value| KeptValue {
        bytes: value.to_string().len(),
        value: Some(value),
        preview: None,
        withheld: false,
    };
    let call = |call, result, error| CallRecord {
        call,
        tool: "fix.add".into(),
        at_ms: 10,
        ms: 2,
        arguments: kept(json!({ "a": 1, "b": 2 })),
        result,
        error,
    };
    let long = KeptValue {
        bytes: 300_000,
        value: None,
        preview: Some("\"zabc".into()),
        withheld: false,
    };
    let withheld = KeptValue {
        bytes: 12,
        value: None,
        preview: None,
        withheld: true,
    };
    RunJournal {
        program: RunProgram {
            language: Language::Json,
            source: r#"{"steps":[{"id":"a","tool":"fix.add","args":{"a":1,"b":2}}]}"#.into(),
            name: Some("sums.json".into()),
            input: kept(json!({ "n": 1 })),
            timeout_ms: 30_000,
        },
        calls: vec![
            call(Some(1), Some(kept(json!(3))), None),
            call(Some(2), Some(long), None),
            call(Some(3), Some(withheld), None),
            call(None, None, Some(error())),
            call(Some(4), None, None),
        ],
        incomplete: true,
    }
}

/// One run in each state.
fn runs() -> RunList {
    let plain = |number: u64, state, calls, events| RunInfo {
        run: format!("r-{number}"),
        state,
        agent: None,
        workspace: None,
        detached: false,
        title: "return mux.input.n + 1".into(),
        calls,
        calls_ended: 0,
        calls_failed: 0,
        error: None,
        events,
        ..failed_run()
    };
    RunList {
        runs: vec![
            plain(4, RunState::Waiting, 0, 0),
            RunInfo {
                approvals: 1,
                ..plain(3, RunState::Running, 1, 2)
            },
            failed_run(),
            plain(1, RunState::Succeeded, 0, 2),
        ],
        total: 7,
    }
}

fn page() -> EventPage {
    let server = || "fix".to_owned();
    let path = || "fix.add".to_owned();
    let progress = EventKind::CallProgress {
        call: 1,
        path: "fix.add".into(),
        progress: 1.0,
        total: Some(2.0),
        message: Some("half".into()),
    };
    let ended = |call, error| EventKind::CallEnded {
        call,
        path: path(),
        ms: 0.25,
        bytes: 9,
        error,
    };
    let console = |level| EventKind::Console {
        level,
        text: "sum 3\u{2028}".into(),
    };
    let kinds = vec![
        EventKind::Checked {
            warnings: vec![error()],
            unchecked: Some("no compiler".into()),
        },
        EventKind::Started {},
        EventKind::ServerStarting { server: server() },
        EventKind::ServerReady {
            server: server(),
            ms: 12,
        },
        EventKind::CallStarted {
            call: 1,
            path: path(),
        },
        progress,
        ended(1, None),
        ended(2, Some(error())),
        console(Level::Debug),
        console(Level::Log),
        console(Level::Info),
        console(Level::Warn),
        console(Level::Error),
        EventKind::Emitted {
            part: Held::Value(
                json!({ "type": "image", "data": "eA==", "mimeType": "image/png" }).into(),
            ),
        },
        EventKind::Emitted {
            part: Held::Stored(handle()),
        },
        EventKind::Recorded {
            recording: handle(),
        },
        EventKind::Ended {
            outcome: Outcome::Error(error()),
        },
        EventKind::Ended {
            outcome: Outcome::Stored(handle()),
        },
        EventKind::Ended {
            outcome: Outcome::Result(json!([1, null, "x"]).into()),
        },
    ];
    let events = kinds.into_iter().zip(1..).map(|(event, seq)| Event {
        seq,
        at_ms: 10 * seq,
        event,
    });
    EventPage {
        events: events.collect(),
    }
}

fn missing() -> MissingServer {
    MissingServer {
        server: "down".into(),
        error: error(),
    }
}

fn tools() -> ToolList {
    ToolList {
        tools: vec![ToolInfo {
            path: "fix.get_thing".into(),
            server: "fix".into(),
            name: "get-thing".into(),
            title: Some("Get".into()),
            description: Some("Has a name that is no identifier.".into()),
            signature: "fix.get_thing(args: { id: string }): Promise<unknown>".into(),
            read_only: Some(true),
            destructive: Some(false),
            annotations: Some(json!({ "readOnlyHint": true, "idempotentHint": true })),
            input_schema: Some(json!({ "type": "object" })),
            output_schema: Some(json!({})),
            observed_calls: Some(3),
            changed: true,
            forbidden: true,
            for_apps: true,
            direct: false,
            definition: None,
        }],
        total: 2,
        missing: vec![missing()],
        warnings: vec!["two tools collide".into()],
        remembered: vec!["fix".into()],
        instructions: vec![agents::instructions()],
        fence: Some(FenceInfo {
            default: true,
            except: vec!["notes".into()],
        }),
    }
}

fn server() -> ServerInfo {
    ServerInfo {
        name: "fix".into(),
        state: ServerState::Ready,
        reason: Some("why".into()),
        detail: Some("searched /usr/bin, /bin".into()),
        cause: Some(ServerCause::UnsetVariable {
            name: "TOKEN".into(),
        }),
        has_log: true,
        command: "fixture --flag".into(),
        pid: Some(4712),
        tools: Some(27),
        identity: Some("fixture 0.1.0".into()),
        protocol: Some("2025-11-25".into()),
        start_ms: Some(12),
        starts: 1,
        calls: 2,
        in_flight: 3,
        transport: Some("stdio".into()),
        share: Some("workspace".into()),
        share_reason: Some("it asks for roots".into()),
        sessions: vec![SessionInfo {
            of: "/home/me/project".into(),
            state: ServerState::BackingOff,
            reason: Some("why".into()),
            pid: Some(4714),
        }],
        auth: Some(AuthState::Required),
        account: Some("work".into()),
        who: Some("ada@example.com".into()),
        retry_in_ms: Some(250),
        warnings: vec![ServerWarning {
            text: "something".into(),
            fix: Some("exclude the tool".into()),
        }],
        project: Some("/home/me/project".into()),
        source: Some(SourceInfo {
            kind: Some("openapi".into()),
            fetched_ms: Some(1_700_000_000_000),
            problem: Some("it cannot be reached".into()),
            missing: vec!["api_key".into()],
            notes: vec![SourceNote {
                text: "auth.kee is sent with nothing".into(),
                fix: Some("name it otherwise".into()),
            }],
            requests: 4,
        }),
        sandbox: Some(SandboxInfo {
            state: SandboxState::On,
            layers: vec!["namespaces".into()],
            read: vec!["/home/me/notes".into()],
            write: vec!["/home/me/notes/out".into()],
            network: Some("api.example.com:443".into()),
            denied: vec!["a connection to evil.example:443".into()],
        }),
    }
}

fn status() -> Status {
    Status {
        build: "0.1.0".into(),
        contract: 1,
        pid: 4711,
        engine: Some("v8".into()),
        engine_version: None,
        uptime_ms: 1000,
        rss_bytes: Some(30_000_000),
        clients: 1,
        agents: Vec::new(),
        workers: WorkerStatus {
            ready: 2,
            busy: 1,
            starting: 0,
            waiting: 0,
            layers: vec!["seccomp".into()],
            snapshot: true,
        },
        checker: CheckerStatus {
            compiler: Some("/home/me/.cache/mux/typescript/7.0.2/lib/tsc".into()),
            version: Some("7.0.2".into()),
            pid: Some(4713),
            rss_bytes: Some(50_000_000),
            checks: 5,
            cached: 4,
            problem: Some("why".into()),
        },
        runs: RunCounts {
            running: 1,
            succeeded: 2,
            failed: 3,
        },
        servers: vec![server()],
        config: "/home/me/.config/mux/config.toml".into(),
        socket: "/run/user/1000/mux/muxd.sock".into(),
        log: "/home/me/.local/state/mux/log".into(),
        problems: vec![Problem {
            code: "server".into(),
            server: Some("fix".into()),
            message: "something".into(),
            fix: "correct it".into(),
        }],
        degraded: Vec::new(),
        tokens: Some(TokenStatus {
            keyring: false,
            file: "/home/me/.local/state/mux/tokens.json".into(),
            note: Some("why".into()),
        }),
        started: None,
        telemetry: None,
    }
}

/// The status of a daemon that exports spans.
fn status_of_traces() -> Status {
    Status {
        telemetry: Some(TelemetryStatus {
            built_in: true,
            endpoint: Some("http://127.0.0.1:4318".into()),
            sent: 12,
            lost: 3,
            problem: Some("why".into()),
        }),
        ..status()
    }
}

/// The status of a daemon whose disk is full.
fn status_on_a_bad_day() -> Status {
    Status {
        servers: Vec::new(),
        problems: Vec::new(),
        tokens: None,
        degraded: vec![mux_proto::Degraded {
            mode: "disk_full".into(),
            message: "the disk of /home/me/.local/state/mux is full".into(),
            fix: "make room on it".into(),
        }],
        ..status()
    }
}

/// The status of a daemon that systemd started, with the engine's version.
fn status_of_a_service() -> Status {
    Status {
        engine_version: Some("15.0.245.4".into()),
        agents: vec![ConnectedAgent {
            name: "claude-code".into(),
            version: "2.1.197".into(),
            agent: Some("small".into()),
            profile: Some("claude-code".into()),
            workspace: Some("/home/me/notes".into()),
        }],
        started: Some(Started {
            by: StartedBy::Systemd,
            service: Some("muxd.service".into()),
            socket_passed: true,
            watchdog_ms: Some(120_000),
        }),
        ..status()
    }
}

pub(super) fn reload() -> ReloadReport {
    let one = |name: &str| vec![name.to_owned()];
    ReloadReport {
        added: one("a"),
        removed: one("b"),
        changed: one("c"),
        unchanged: one("d"),
        problems: one("e"),
        reasons: [(
            "c".to_owned(),
            vec!["args".to_owned(), "env.TOKEN".to_owned()],
        )]
        .into(),
        sources: one("d"),
        sections: vec![SectionChange {
            section: "policy".into(),
            added: one("deny a.*"),
            removed: one("ask b.*"),
            changed: one("order"),
        }],
        earlier: Some(Box::new(EarlierLoad {
            age_ms: 250,
            report: ReloadReport {
                added: one("f"),
                ..ReloadReport::default()
            },
        })),
    }
}
