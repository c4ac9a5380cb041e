//! Trace contexts from clients to servers, and spans for a collector.
//!
//! Invariant: an invalid trace context is dropped without an error. Without a client or a collector that traces, no
//! server gets a trace context.

mod collector;
mod export;

use std::fs;

use mux_tests::{Agent, Output, Running, TestEnv, env::output};
use serde_json::{Value, json};

use self::collector::Collector;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const STATE: &str = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";
const API: &str = "openapi: 3.0.0\ninfo: { title: api, version: '1' }\npaths:\n  /ping:\n    get:\n      operationId: ping\n      responses: { '200': { description: ok, content: { application/json: { schema: { type: object } } } } }\n";

/// A home with a server over stdio, one over HTTP and an API, all of which record their requests.
struct Home {
    env: TestEnv,
    api: Collector,
    _remote: Running,
}

impl Home {
    /// `more` is added to the entry of the remote server, to that of the API, and at the start of the configuration.
    fn with(flags: &[&str], more: [&str; 3]) -> Self {
        let env = TestEnv::new();
        let api = Collector::start();
        let mut command = env.command("mux-fixture-server");
        command.args(["--http", "--name", "far", "--request-log"]);
        command.arg(env.path("far.requests"));
        command.arg("--call-log").arg(env.path("far.calls"));
        let mut remote = Running::start(command.args(flags));
        let port = remote.next_line_of_output();
        let calls = env.path("near.calls");
        let [of_far, of_api, of_file] = more;
        let config = format!(
            "{of_file}\n{}[servers.far]\nurl = \"http://127.0.0.1:{}/mcp\"\n{of_far}\n{}",
            env.fixture("near", &["--call-log", calls.to_str().unwrap()]),
            port.trim(),
            api.source(of_api),
        );
        env.write_config(&config);
        fs::write(env.path("api.yaml"), API).unwrap();
        Self {
            env,
            api,
            _remote: remote,
        }
    }

    fn new() -> Self {
        Self::with(&[], ["", "", ""])
    }

    /// `_meta` of the latest call of a server.
    fn meta(&self, server: &str) -> Value {
        lines(&self.env, &format!("{server}.calls")).pop().unwrap()["meta"].take()
    }

    /// The headers of the latest call of the remote server.
    fn headers(&self) -> Value {
        let requests = lines(&self.env, "far.requests");
        let is_call = |request: &&Value| request["message"] == "tools/call";
        requests.iter().rfind(is_call).unwrap()["headers"].clone()
    }

    fn header_of_api(&self, name: &str) -> Option<String> {
        let seen = self.api.now();
        let value = seen.headers.last().unwrap().get(name)?;
        Some(value.to_str().unwrap().to_owned())
    }

    /// Runs `mux` in a trace.
    fn within(&self, parent: &str, state: &str, args: &[&str]) -> Output {
        let mut command = self.env.command("mux");
        command.env("TRACEPARENT", parent).env("TRACESTATE", state);
        output(command.args(args)).ok()
    }
}

fn lines(env: &TestEnv, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(env.path(file)).unwrap_or_default();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

const ALL: &str = "await mux.near.echo({ text: 'a' }); await mux.far.echo({ text: 'b' });
    return await mux.api.ping.ping({})";

#[test]
fn trace_context_goes_from_the_command_line_to_every_kind_of_server() {
    for flags in [&[][..], &["--sse"]] {
        let home = Home::with(flags, ["", "", ""]);
        home.within(PARENT, STATE, &["run", "-e", ALL]);
        for meta in [home.meta("near"), home.meta("far")] {
            // No spans are exported, so the parent stays that of the client.
            assert_eq!(meta["traceparent"], PARENT, "{meta}");
            assert_eq!(meta["tracestate"], STATE, "{meta}");
        }
        let headers = home.headers();
        assert_eq!(headers["traceparent"], PARENT, "{headers}");
        assert_eq!(headers["tracestate"], STATE, "{headers}");
        assert_eq!(home.header_of_api("traceparent").as_deref(), Some(PARENT));
        assert_eq!(home.header_of_api("tracestate").as_deref(), Some(STATE));
    }
}

#[test]
fn calls_programs_of_steps_and_agents_pass_on_their_trace_context() {
    let home = Home::new();
    let parent = |n: usize| PARENT.replace("00f067aa0ba902b7", &format!("{n:016x}"));
    // The flag overrides the environment.
    let one = parent(1);
    let two = parent(2);
    let call = ["call", "near.echo", "text=x", "--traceparent", &two];
    home.within(&one, STATE, &call);
    let meta = home.meta("near");
    assert_eq!(
        (&meta["traceparent"], meta.get("tracestate")),
        (&json!(two), None)
    );
    let steps = r#"{"steps":[{"id":"a","tool":"near.echo","args":{"text":"x"}}]}"#;
    let three = parent(3);
    home.within(&three, "", &["program", "-e", steps]);
    assert_eq!(home.meta("near")["traceparent"], three);
    let passthrough = ["--passthrough"];
    for (n, (args, tool, arguments)) in [
        (
            &[][..],
            "run",
            json!({ "code": "return await mux.near.echo({ text: 'x' })" }),
        ),
        (
            &[][..],
            "call",
            json!({ "path": "near.echo", "arguments": { "text": "x" } }),
        ),
        (&passthrough[..], "near__echo", json!({ "text": "x" })),
    ]
    .into_iter()
    .enumerate()
    {
        for modern in [false, true] {
            let mut agent = if modern {
                Agent::modern(&home.env, args, json!({}))
            } else {
                Agent::legacy(&home.env, args, json!({}))
            };
            let tools = agent.tools();
            assert!(tools.iter().any(|name| name == tool), "{tools:?}");
            let parent = parent(10 + 2 * n + usize::from(modern));
            let meta = json!({ "traceparent": parent, "tracestate": STATE });
            let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
            agent.ask("tools/call", params);
            let meta = home.meta("near");
            assert_eq!(meta["traceparent"], parent, "{tool} {modern}");
            assert_eq!(meta["tracestate"], STATE, "{tool} {modern}");
        }
    }
}

#[test]
fn invalid_trace_context_is_dropped_and_without_one_none_is_sent() {
    let home = Home::new();
    home.env.result(ALL);
    let is_silent = |what: &str| {
        for output in [home.meta("near"), home.meta("far"), home.headers()] {
            assert_eq!(output.get("traceparent"), None, "{what}: {output}");
            assert_eq!(output.get("tracestate"), None, "{what}: {output}");
        }
        assert_eq!(home.header_of_api("traceparent"), None, "{what}");
        assert_eq!(home.header_of_api("tracestate"), None, "{what}");
    };
    is_silent("nobody traces");
    for parent in [
        "rubbish",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        &PARENT.to_uppercase(),
        &format!("{PARENT}-more"),
        "é",
    ] {
        home.within(parent, STATE, &["run", "-e", ALL]);
        is_silent(parent);
    }
    home.within(PARENT, "no state,", &["run", "-e", ALL]);
    let meta = home.meta("near");
    assert_eq!(
        (&meta["traceparent"], meta.get("tracestate")),
        (&json!(PARENT), None)
    );
    // A later version is parsed like the first.
    let later = PARENT.replacen("00-", "cc-", 1) + "-what-will-be";
    home.within(&later, "", &["run", "-e", ALL]);
    assert_eq!(home.meta("near")["traceparent"], PARENT);
}

#[test]
fn header_of_an_entry_overrides_the_trace_context() {
    let own =
        "headers = { Traceparent = \"00-0123456789abcdef0123456789abcdef-0123456789abcdef-00\" }";
    let home = Home::with(&[], [own, own, ""]);
    home.within(PARENT, STATE, &["run", "-e", ALL]);
    let headers = home.headers();
    let kept = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-00";
    assert_eq!(headers["traceparent"], kept);
    assert_eq!(headers.get("tracestate"), None, "{headers}");
    assert_eq!(home.header_of_api("traceparent").as_deref(), Some(kept));
    assert_eq!(home.meta("far")["traceparent"], PARENT);
}

#[test]
fn recording_has_no_trace_context_and_replays_without_one() {
    let home = Home::new();
    home.within(PARENT, STATE, &["run", "-e", ALL, "--record", "all.muxrec"]);
    let recorded = fs::read_to_string(home.env.path("all.muxrec")).unwrap();
    assert!(!recorded.contains(TRACE), "{recorded}");
    home.env.mux(["replay", "all.muxrec", "--verify"]).ok();
}
