//! The table of methods and tools with the owner of the data that each reaches, tried by an agent that may not see or
//! call any tool.

use std::collections::BTreeSet;

use mux_proto::{
    ApprovalsRequest, DecideRequest, Decision, EventsRequest, LoginFinishRequest, LoginWaitRequest,
    ReadRequest, ResumeRequest, RunJournalRequest, RunsRequest, service::MuxRequest,
};
use mux_tests::{Agent, frames::Wire, program_result};
use serde_json::{Value, json};
use tarpc::RequestName;

use super::{Home, SECRET, agent, asked, client};
use crate::protocol::requests;

/// The owner of the data that a method reaches.
#[derive(Clone, Copy)]
enum Whose {
    /// The client and agent of the run, and the user. Others get `not_found` for every id.
    Owner(fn(&str) -> MuxRequest),
    /// As `Owner`, for a list, which does not contain data of others.
    OwnList(fn() -> MuxRequest),
    /// Any client that knows the handle, which is not listed and cannot be guessed.
    Bearer(fn(&str) -> MuxRequest),
    /// The connection, or the processes that it starts.
    Connection,
    /// Clients whose scope and policy allow it.
    Scope,
    /// The pool and its user: the same for all connections, with no data of runs.
    Pool,
    /// The pool, for methods that end the daemon or a server.
    End,
}
use Whose::{Bearer, Connection, End, OwnList, Owner, Pool, Scope};

const METHODS: &[(&str, Whose)] = &[
    ("hello", Connection),
    ("retire", End),
    ("status", Pool),
    ("start_run", Connection),
    ("events", Owner(events)),
    (
        "cancel_run",
        Owner(|id| MuxRequest::CancelRun { run: id.into() }),
    ),
    ("check", Scope),
    ("call", Scope),
    ("tools", Scope),
    ("types", Scope),
    ("servers", Pool),
    ("restart_server", End),
    ("reload", Pool),
    ("stop", End),
    ("runs", OwnList(runs)),
    (
        "run_info",
        Owner(|id| MuxRequest::RunInfo { run: id.into() }),
    ),
    (
        "run_journal",
        Owner(|id| MuxRequest::RunJournal {
            request: RunJournalRequest {
                run: id.into(),
                call: None,
            },
        }),
    ),
    ("read", Bearer(read)),
    ("watch_types", Scope),
    ("forget_types", Pool),
    ("search", Scope),
    ("describe", Scope),
    ("inventory", Scope),
    ("offers", Scope),
    ("read_resource", Scope),
    ("get_prompt", Scope),
    ("complete", Scope),
    ("subscribe", Scope),
    ("notices", Connection),
    ("answer", Connection),
    ("pins", Pool),
    ("accept_pins", Pool),
    ("refresh", Pool),
    ("projects", Pool),
    ("approve_project", Pool),
    ("revoke_project", Pool),
    ("login", Pool),
    ("login_wait", Owner(login_wait)),
    ("login_finish", Owner(login_finish)),
    ("logout", Pool),
    ("refresh_source", Pool),
    ("explain_program", Scope),
    ("set_secret", Pool),
    ("list_secrets", Pool),
    ("remove_secret", Pool),
    ("approvals", Owner(approval)),
    ("approvals", OwnList(|| approvals(false))),
    ("approvals", OwnList(|| approvals(true))),
    ("decide", Owner(decide)),
    (
        "revoke_approval",
        Owner(|id| MuxRequest::RevokeApproval { grant: id.into() }),
    ),
    ("resume_run", Owner(resume)),
    ("policy", Pool),
    ("explain_policy", Pool),
    ("settings", Pool),
    ("check_config", Pool),
    ("upgrade", Pool),
    ("metrics", Pool),
    ("sandbox", Pool),
    ("suggest_sandbox", End),
    ("end_observation", End),
    ("keep", Connection),
];

/// The texts of an agent that the work of other callers changes, by the beginning of the request, and why it may. An agent
/// whose policy denies every tool has none of them.
pub(super) const CROSSINGS: &[(&str, &str)] = &[
    (
        "tools/list",
        "signatures have the kinds of results that two callers, or calls with three arguments, got, and are ordered by levels of use; both without words of others",
    ),
    ("search", "signatures, as in tools/list"),
    ("return await mux.search", "signatures, as in tools/list"),
    ("return await mux.discover", "signatures, as in tools/list"),
    (
        "return await mux.catalog.tools",
        "signatures, as in tools/list",
    ),
    (
        "return await mux.describe",
        "the kinds of confirmed results",
    ),
    (
        "describe",
        "the kinds of confirmed results, and their names within a fence",
    ),
    (
        "const { id }",
        "the program is checked against confirmed results",
    ),
    (
        "return (await",
        "the program is checked against confirmed results",
    ),
];

const TOOLS: &[(&str, ToolRow)] = &[
    ("run", ToolRow::Programs),
    ("search", ToolRow::Once(|_| json!({ "query": SECRET }))),
    (
        "describe",
        ToolRow::Once(|_| json!({ "paths": ["fix", "fix.counter"] })),
    ),
    (
        "call",
        ToolRow::Once(|_| json!({ "path": "fix.counter", "arguments": { "key": "a" } })),
    ),
    ("read", ToolRow::EachId(|id| json!({ "handle": id }))),
    (
        "resume",
        ToolRow::EachId(|id| json!({ "run": id, "wait_seconds": 0 })),
    ),
    (
        "run_program",
        ToolRow::Once(
            |_| json!({ "steps": [{ "id": "a", "tool": "fix.counter", "args": { "key": "a" } }] }),
        ),
    ),
];

/// How a tool is tried by an agent without any rights.
enum ToolRow {
    /// Called with each id: no data is found.
    EachId(fn(&str) -> Value),
    /// Called once: no data is seen, and no tool called.
    Once(fn(&Home) -> Value),
    /// Called with programs that try everything that a program can do.
    Programs,
}

fn events(id: &str) -> MuxRequest {
    MuxRequest::Events {
        request: EventsRequest {
            run: id.into(),
            after: 0,
            wait_ms: 0,
        },
    }
}

fn runs() -> MuxRequest {
    let request = RunsRequest {
        running: false,
        limit: Some(1_000),
    };
    MuxRequest::Runs { request }
}

fn read(id: &str) -> MuxRequest {
    let request = ReadRequest {
        handle: id.into(),
        ..ReadRequest::default()
    };
    MuxRequest::Read { request }
}

fn login_wait(id: &str) -> MuxRequest {
    let request = LoginWaitRequest {
        login: id.into(),
        wait_ms: 0,
    };
    MuxRequest::LoginWait { request }
}

fn login_finish(id: &str) -> MuxRequest {
    let request = LoginFinishRequest {
        login: id.into(),
        redirect_url: "http://127.0.0.1:1/callback?code=c&state=s".into(),
    };
    MuxRequest::LoginFinish { request }
}

fn approvals(granted: bool) -> MuxRequest {
    let request = ApprovalsRequest {
        granted,
        ..ApprovalsRequest::default()
    };
    MuxRequest::Approvals { request }
}

fn approval(id: &str) -> MuxRequest {
    let request = ApprovalsRequest {
        approval: Some(id.into()),
        ..ApprovalsRequest::default()
    };
    MuxRequest::Approvals { request }
}

fn decide(id: &str) -> MuxRequest {
    let request = DecideRequest {
        shown: Vec::new(),
        approval: id.into(),
        decision: Decision::Once,
        reason: None,
    };
    MuxRequest::Decide { request }
}

fn resume(id: &str) -> MuxRequest {
    let request = ResumeRequest {
        id: id.into(),
        detach: true,
    };
    MuxRequest::ResumeRun { request }
}

/// The requests of a row, each with the id that it asks for.
fn of_row(method: &str, whose: Whose, ids: &[String]) -> Vec<(String, MuxRequest)> {
    match whose {
        Owner(request) => {
            let each = ids.iter().map(|id| (id.clone(), request(id)));
            each.collect()
        }
        OwnList(request) => vec![(String::new(), request())],
        Bearer(request) => {
            let guessed = ids.iter().filter(|id| !id.starts_with("h_"));
            guessed.map(|id| (id.clone(), request(id))).collect()
        }
        // The recorded request of the contract.
        Connection | Scope | Pool | End => {
            let of_method = |request: &MuxRequest| request.name().ends_with(&format!(".{method}"));
            let recorded = requests::all().into_iter().map(|(_, request)| request);
            let recorded = recorded.filter(|request| of_method(request));
            recorded.map(|request| (String::new(), request)).collect()
        }
    }
}

/// Sends the requests of a row as a client that may not see any data, and fails if it sees some.
fn play(home: &Home, wire: &mut Wire, method: &str, whose: Whose, ids: &[String]) {
    let requests = of_row(method, whose, ids);
    assert!(!requests.is_empty(), "{method} was not played");
    for (id, request) in requests {
        let answer = asked(wire, &request);
        home.hides(method, &id, &answer);
        match whose {
            Owner(_) => assert_eq!(
                answer["Err"]["kind"], "not_found",
                "{method} {id}: {answer}"
            ),
            Bearer(_) => assert!(answer["Err"].is_object(), "{method} {id}: {answer}"),
            OwnList(_) => assert!(answer["Ok"].is_object(), "{method}: {answer}"),
            Connection | Scope | Pool | End => {}
        }
    }
}

#[test]
fn every_method_has_a_row() {
    let service = include_str!("../../../proto/src/service.rs");
    let methods = service.split("async fn ").skip(1);
    let methods: BTreeSet<&str> = methods.filter_map(|rest| rest.split('(').next()).collect();
    assert!(methods.len() > 50, "{methods:?}");
    let rows: BTreeSet<&str> = METHODS.iter().map(|(method, _)| *method).collect();
    assert_eq!(
        rows, methods,
        "a row for each method says whose the things are that it reaches"
    );
}

#[test]
fn unprivileged_agent_reaches_no_data_of_others_by_any_method() {
    let home = Home::new();
    let ids = home.ids();
    let calls = home.called("counter");
    let mut small = client(&home.env, "test-agent", Some("small"));
    for (method, whose) in METHODS {
        if !matches!(whose, End) {
            play(&home, &mut small, method, *whose, &ids);
        }
    }
    // The requests had no effect.
    assert_eq!(home.state(&home.endless), "running");
    assert_eq!(home.called("counter"), calls);
    let waiting = home.env.mux(["--json", "approvals"]).ok().json();
    let waiting = waiting["approvals"].as_array().unwrap();
    let states: Vec<_> = waiting.iter().map(|approval| &approval["state"]).collect();
    assert_eq!(states, ["pending", "pending"], "{waiting:#?}");
    let granted = home
        .env
        .mux(["--json", "approvals", "--granted"])
        .ok()
        .json();
    assert_eq!(granted["granted"][0]["grant"], home.grant);
    // The client finds its own runs, but only by their whole ids.
    let list = asked(&mut small, &runs());
    let own = list["Ok"]["runs"][0]["run"].as_str().unwrap();
    let number = own.rsplit_once('-').unwrap().1;
    let info = |run: &str| MuxRequest::RunInfo { run: run.into() };
    assert_eq!(asked(&mut small, &info(own))["Ok"]["agent"], "small");
    assert_eq!(asked(&mut small, &info(number))["Err"]["kind"], "not_found");
    // Methods that end a run or a server reveal no data either.
    for (method, whose) in METHODS {
        if matches!(whose, End) && *method != "retire" {
            play(&home, &mut small, method, *whose, &ids);
        }
    }
}

#[test]
fn unprivileged_agent_reaches_no_data_of_others_by_any_tool() {
    let home = Home::new();
    let ids = home.ids();
    let calls = home.called("counter");
    let mut small = agent(&home.env, "small");
    let mut rows: Vec<&str> = TOOLS.iter().map(|(tool, _)| *tool).collect();
    let mut tools = small.tools();
    rows.sort_unstable();
    tools.sort();
    assert_eq!(rows, tools, "a row for each tool says what it reaches");
    for (tool, row) in TOOLS {
        match row {
            ToolRow::EachId(arguments) => {
                for id in ids
                    .iter()
                    .filter(|id| *tool != "read" || !id.starts_with("h_"))
                {
                    let answer = small.call(tool, arguments(id));
                    assert_eq!(answer["isError"], true, "{tool} {id}: {answer}");
                    home.hides(tool, id, &answer);
                }
            }
            ToolRow::Once(arguments) => {
                let arguments = arguments(&home);
                // A search repeats its query.
                let query = arguments["query"].as_str().unwrap_or_default().to_owned();
                home.hides(tool, &query, &small.call(tool, arguments));
            }
            ToolRow::Programs => programs(&home, &mut small, &ids),
        }
    }
    assert_eq!(home.state(&home.endless), "running");
    assert_eq!(home.called("counter"), calls);
}

/// Everything that a program could try.
fn programs(home: &Home, small: &mut Agent, ids: &[String]) {
    let guessed: Vec<&String> = ids.iter().filter(|id| !id.starts_with("h_")).collect();
    let guessed = serde_json::to_string(&guessed).unwrap();
    for code in [
        format!(
            "for (const id of {guessed}) {{ try {{ return await mux.read(id); }} catch {{}} }} return null"
        ),
        "return await mux.fix.counter({ key: 'a' }).catch((e) => e.kind)".to_owned(),
        "return [await mux.search('payroll'), await mux.catalog.namespaces()]".to_owned(),
        "return Object.keys(mux)".to_owned(),
    ] {
        let answer = small.call("run", json!({ "code": code, "check": false }));
        home.hides("run", "", &program_result::value(&answer));
    }
}

#[test]
fn owner_and_user_reach_runs_and_approvals() {
    let home = Home::new();
    let mut big = client(&home.env, "test-agent", Some("big"));
    let info = |run: &str| MuxRequest::RunInfo { run: run.into() };
    for run in [&home.endless, &home.pending] {
        assert_eq!(asked(&mut big, &info(run))["Ok"]["run"], **run);
    }
    let list = asked(&mut big, &runs());
    assert_eq!(list["Ok"]["total"], 5, "{list}");
    let list = asked(&mut big, &approvals(false))["Ok"]["approvals"].take();
    let waiting: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["approval"])
        .collect();
    assert_eq!((waiting.len(), waiting[1]), (2, &json!(home.call)));
    let one = asked(&mut big, &approval(&home.call));
    assert_eq!(one["Ok"]["approvals"][0]["arguments"]["key"], SECRET);
    assert_eq!(asked(&mut big, &approval("A2"))["Err"]["kind"], "not_found");
    let read = asked(&mut big, &read(&home.handle));
    assert!(read["Ok"]["text"].as_str().unwrap().contains(SECRET));
    // The same client without the agent, and the same agent of another client, are other owners.
    for (client_name, agent) in [
        ("test-agent", None),
        ("other", Some("big")),
        ("mux", Some("big")),
    ] {
        let mut other = client(&home.env, client_name, agent);
        assert_eq!(
            asked(&mut other, &info(&home.endless))["Err"]["kind"],
            "not_found"
        );
    }
    // The user can use short numbers.
    for name in ["mux", "mux ui", "vscode"] {
        let mut user = client(&home.env, name, None);
        assert_eq!(asked(&mut user, &info("6"))["Ok"]["run"], home.endless);
        let list = asked(&mut user, &approvals(false));
        assert_eq!(list["Ok"]["approvals"][0]["approval"], "A1");
    }
    // `mux mcp` acts for an agent, regardless of the agent's name.
    let mut guest = Wire::connect(&home.env.dirs.socket());
    let hello = json!({ "contract": 5, "build": "0", "client": { "name": "mux", "version": "0" }, "for_agent": true });
    guest.call(&json!({ "Hello": { "hello": hello } }));
    assert_eq!(asked(&mut guest, &info("6"))["Err"]["kind"], "not_found");
    home.env.mux(["runs", "cancel", "6"]).ok();
    home.env.mux(["approve", "A2"]).ok();
    home.env.mux(["resume", "A2"]).ok();
}
