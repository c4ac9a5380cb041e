//! Spans at a collector: a run with its calls; and collectors that are down or not configured.

use std::{collections::BTreeMap, process::Command};

use mux_tests::{
    Output, TestEnv,
    env::{binary, output},
};
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::Value;

use super::{ALL, Collector, Home, PARENT, STATE, TRACE, collector::texts};

/// `mux` with a daemon that can send spans.
fn mux(env: &TestEnv) -> Command {
    let mut command = env.command("mux");
    command.env("MUX_DAEMON", binary("muxd-otel"));
    command
}

fn run(env: &TestEnv, code: &str) -> Output {
    output(mux(env).args(["--json", "run", "-e", code]))
}

fn endpoint(collector: &Collector) -> String {
    format!(
        "[telemetry]\nendpoint = {:?}\nheaders = {{ x-key = \"${{KEY:-k3y}}\" }}\n",
        collector.url
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The spans by name, each of which must be there once.
fn by_name(spans: &[Span]) -> BTreeMap<&str, &Span> {
    let named: BTreeMap<&str, &Span> = spans.iter().map(|s| (s.name.as_str(), s)).collect();
    assert_eq!(named.len(), spans.len(), "{spans:#?}");
    named
}

#[test]
fn a_run_with_its_calls_is_one_trace_with_the_right_parents() {
    let spans = Collector::start();
    let home = Home::with(&[], ["", "", &endpoint(&spans)]);
    let mut traced = mux(&home.env);
    traced.env("TRACEPARENT", PARENT).env("TRACESTATE", STATE);
    output(traced.args(["run", "-e", ALL])).ok();
    // Pending spans are sent when the daemon ends.
    home.env.stop();
    let seen = spans.now();
    assert!(seen.keys.iter().all(|key| key == "k3y") && !seen.keys.is_empty());
    assert_eq!(seen.resource["service.name"], "muxd");
    let opened = |span: &&Span| span.name == "session open";
    assert_eq!(
        seen.spans.iter().filter(opened).count(),
        3,
        "{:#?}",
        seen.spans
    );
    let named = |span: &&Span| !opened(span) && span.name != "tools/call echo";
    let others: Vec<Span> = seen.spans.iter().filter(named).cloned().collect();
    let named = by_name(&others);
    let run = named["run"];
    assert_eq!(hex(&run.parent_span_id), "00f067aa0ba902b7");
    for span in &seen.spans {
        assert_eq!(hex(&span.trace_id), TRACE, "{}", span.name);
        assert_eq!(span.trace_state, STATE, "{}", span.name);
        assert!(span.status.is_none(), "{span:#?}");
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
        if span.name != "run" {
            assert_eq!(span.parent_span_id, run.span_id, "{}", span.name);
            assert!(span.start_time_unix_nano >= run.start_time_unix_nano);
        }
    }
    assert!(texts(&run.attributes)["mux.run.id"].ends_with("-1"));
    assert!(named.contains_key("check"), "{:?}", named.keys());
    // The servers got the ids of the spans that the collector has.
    let pipe = "near";
    let http = "far";
    for (server, call) in [(pipe, 0), (http, 1)] {
        let calls: Vec<&Span> = seen
            .spans
            .iter()
            .filter(|span| {
                texts(&span.attributes)
                    .get("mux.server")
                    .map(String::as_str)
                    == Some(server)
            })
            .filter(|span| span.name == "tools/call echo")
            .collect();
        let [span] = calls[..] else {
            panic!("{call}: {calls:#?}");
        };
        let shown = format!("00-{TRACE}-{}-01", hex(&span.span_id));
        assert_eq!(home.meta(server)["traceparent"], shown);
        assert_eq!(home.meta(server)["tracestate"], STATE);
        let attributes = texts(&span.attributes);
        assert_eq!(attributes["mcp.method.name"], "tools/call");
        assert_eq!(attributes["gen_ai.tool.name"], "echo");
        assert_eq!(attributes["gen_ai.operation.name"], "execute_tool");
        assert!(
            attributes.contains_key("mcp.protocol.version"),
            "{attributes:?}"
        );
        let transport = if server == pipe { "pipe" } else { "tcp" };
        assert_eq!(attributes["network.transport"], transport);
    }
    let of_api = named["execute_tool ping.ping"];
    let shown = format!("00-{TRACE}-{}-01", hex(&of_api.span_id));
    assert_eq!(home.header_of_api("traceparent"), Some(shown));
}

#[test]
fn failed_spans_have_an_error_type_and_no_content_of_calls() {
    let spans = Collector::start();
    let home = Home::with(&[], ["", "", &endpoint(&spans)]);
    let env = &home.env;
    let code = "const secret = 'c4nary-argument';
        const echoed = await mux.near.echo({ text: secret });
        try { await mux.near.fail({ message: secret }) } catch {}
        throw new Error('c4nary-error ' + echoed)";
    let failed = run(env, code).json();
    assert_eq!(failed["error"]["kind"], "runtime", "{failed}");
    let refused = run(env, "const c4nary: = 'c4nary-syntax'; return c4nary");
    assert_eq!(refused.json()["error"]["kind"], "syntax");
    env.stop();
    let seen = spans.now();
    let failed = |name: &str| {
        let of_name = seen.spans.iter().filter(|span| span.name == name);
        of_name
            .filter(|span| span.status.as_ref().is_some_and(|status| status.code == 2))
            .map(|span| texts(&span.attributes)["error.type"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(failed("tools/call fail"), ["tool_error"]);
    assert!(failed("tools/call echo").is_empty());
    assert!(
        failed("run").contains(&"runtime".to_owned()),
        "{:?}",
        failed("run")
    );
    for body in &seen.bodies {
        let text = String::from_utf8_lossy(body);
        assert!(!text.contains("c4nary"), "{text}");
    }
}

#[test]
fn without_a_trace_context_each_run_and_call_begins_its_own_trace() {
    let spans = Collector::start();
    let home = Home::with(&[], ["", "", &endpoint(&spans)]);
    let env = &home.env;
    let code = "return await mux.near.echo({ text: 'x' })";
    run(env, code).ok();
    let first = home.meta("near")["traceparent"].clone();
    run(env, code).ok();
    let second = home.meta("near")["traceparent"].clone();
    assert!(first.is_string() && second.is_string() && first != second);
    output(mux(env).args(["call", "near.echo", "text=x"])).ok();
    let seen = spans.until("call", 1);
    let call = seen.spans.iter().find(|span| span.name == "call").unwrap();
    assert!(call.parent_span_id.is_empty());
    let within = |span: &&Span| span.parent_span_id == call.span_id;
    assert_eq!(seen.spans.iter().filter(within).count(), 1);
    drop(seen);
    // An unsampled trace context is passed on unchanged.
    let unsampled = PARENT.replace("-01", "-00");
    let mut quiet = mux(env);
    output(
        quiet
            .env("TRACEPARENT", &unsampled)
            .args(["run", "-e", code]),
    )
    .ok();
    assert_eq!(home.meta("near")["traceparent"], unsampled);
    env.stop();
    let kept = |span: &Span| hex(&span.trace_id) == TRACE;
    assert!(!spans.now().spans.iter().any(kept));
}

#[test]
fn collector_that_is_down_affects_only_the_spans() {
    // No process listens on this port.
    let down = "[telemetry]\nendpoint = \"http://127.0.0.1:9\"\n";
    let home = Home::with(&[], ["", "", down]);
    let env = &home.env;
    run(env, ALL).ok();
    let telemetry = |env: &TestEnv| -> Value {
        let mut status = output(mux(env).args(["--json", "status"])).ok().json();
        status["telemetry"].take()
    };
    // The first attempt is made after a second.
    let shown = (0..2000)
        .map(|_| telemetry(env))
        .find(|shown| shown["problem"].is_string())
        .unwrap();
    assert_eq!(shown["built_in"], true, "{shown}");
    assert_eq!(shown["endpoint"], "http://127.0.0.1:9", "{shown}");
    assert_eq!(shown["sent"], 0, "{shown}");
    let doctor = output(mux(env).arg("doctor"));
    assert!(
        doctor
            .stdout
            .contains("spans do not reach http://127.0.0.1:9"),
        "{doctor:?}"
    );
    assert!(
        output(mux(env).arg("status"))
            .ok()
            .stdout
            .contains("0 sent to")
    );
    // Another endpoint takes effect without a restart.
    let spans = Collector::start();
    let config = std::fs::read_to_string(env.dirs.config_file()).unwrap();
    env.write_config(&config.replace("http://127.0.0.1:9", &spans.url));
    env.mux(["reload"]).ok();
    run(env, ALL).ok();
    assert!(spans.until("run", 1).spans.len() > 1);
    assert_eq!(telemetry(env)["problem"], Value::Null);
    env.stop();
}

#[test]
fn daemon_built_without_opentelemetry_reports_that_if_an_endpoint_is_set() {
    let home = Home::with(
        &[],
        [
            "",
            "",
            "[telemetry]\nendpoint = \"http://me:pw@127.0.0.1:9\"\n",
        ],
    );
    let env = &home.env;
    env.result(ALL);
    assert!(home.meta("near").get("traceparent").is_none());
    let doctor = env.mux(["doctor"]).stdout;
    assert!(doctor.contains("built without OpenTelemetry"), "{doctor}");
    assert!(
        doctor.contains("--features otel") && !doctor.contains("pw"),
        "{doctor}"
    );
    let status = env.mux(["status"]).ok().stdout;
    assert!(status.contains("built without OpenTelemetry"), "{status}");
    let version = |command: &mut Command| output(command.arg("--version")).ok().stdout;
    assert!(!version(&mut env.command("mux")).contains("otel"));
    assert!(version(&mut mux(env)).contains(", otel)"));
}

#[test]
fn opentelemetry_variables_apply_if_the_configuration_has_no_endpoint() {
    let spans = Collector::start();
    let home = Home::new();
    let env = &home.env;
    // The user's environment, which the daemon reads from the file next to the configuration, has the endpoint.
    let variables = format!(
        "OTEL_EXPORTER_OTLP_ENDPOINT={}\nOTEL_SERVICE_NAME=mine\nOTEL_EXPORTER_OTLP_HEADERS=x-key=a%20b\n",
        spans.url
    );
    std::fs::write(env.dirs.env_file(), variables).unwrap();
    // The environment of the client that starts the daemon is ignored.
    let mut first = mux(env);
    first.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    first.env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=wrong");
    output(first.args(["run", "-e", "return 1"])).ok();
    env.stop();
    let seen = spans.until("run", 1);
    assert_eq!(seen.resource["service.name"], "mine");
    assert_eq!(seen.keys, ["a b"]);
}
