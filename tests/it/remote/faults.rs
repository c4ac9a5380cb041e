//! Failures of one call, and the error that its caller gets.

use std::fs;

use super::{Remote, info, marking, with_remote};
use mux_tests::TestEnv;

fn marks(file: &std::path::Path) -> usize {
    fs::read_to_string(file).unwrap_or_default().lines().count()
}

#[test]
fn call_with_a_lost_response_is_not_repeated() {
    // The fault, the kind of error, and how often the call happened.
    for (fault, kind, happened) in [
        ("reset", "unknown_outcome", 1),
        ("cut", "unknown_outcome", 1),
        ("status=500", "unknown_outcome", 0),
        ("status=503", "unknown_outcome", 0),
        ("html", "unknown_outcome", 0),
        ("status=400", "unavailable", 0),
        ("status=429", "unavailable", 0),
        ("status=401", "auth_required", 0),
        ("status=403", "auth_required", 0),
    ] {
        let (env, remote) = with_remote(&["--fault", fault, "--times", "1"]);
        let mark = env.path("mark");
        let error = env.error(&marking(&mark));
        assert_eq!(error["kind"], kind, "{fault}: {error:#}");
        assert_eq!(error["path"], "fix.side_effect", "{fault}");
        assert_eq!(marks(&mark), happened, "{fault}");
        assert_eq!(remote.count("POST", "tools/call"), 1, "{fault}");
        // Neither the fault nor the session persists.
        assert_eq!(env.result(&marking(&mark)), "done", "{fault}");
        assert_eq!(marks(&mark), happened + 1, "{fault}");
        assert_eq!(remote.count("POST", "tools/call"), 2, "{fault}");
    }
}

#[test]
fn response_on_a_dropped_stream_is_resumed_and_delivered_once() {
    let (env, remote) = with_remote(&["--fault", "drop", "--times", "3"]);
    let mark = env.path("mark");
    for times in 1..=3 {
        assert_eq!(env.result(&marking(&mark)), "done");
        assert_eq!(marks(&mark), times);
    }
    assert_eq!(remote.calls("side_effect"), 3);
    let resumed = remote.requests();
    let resumed = resumed
        .iter()
        .filter_map(|r| r["headers"]["last-event-id"].as_str())
        .filter(|id| id.starts_with("stream-"));
    assert_eq!(resumed.count(), 3);
    assert_eq!(info(&env, "fix")["starts"], 1);
}

#[test]
fn session_forgotten_by_the_server_is_replaced_and_the_call_sent_there() {
    for flags in [&[][..], &["--sse"]] {
        let flags = [flags, &["--fault", "forget", "--times", "1"]].concat();
        let (env, remote) = with_remote(&flags);
        let mark = env.path("mark");
        assert_eq!(env.result(&marking(&mark)), "done", "{flags:?}");
        assert_eq!(marks(&mark), 1);
        assert_eq!(remote.count("POST", "tools/call"), 2);
        assert_eq!(remote.calls("side_effect"), 1);
        assert_eq!(info(&env, "fix")["starts"], 2);
    }
}

#[test]
fn session_that_the_server_refuses_in_its_own_way_is_replaced_and_the_call_sent_there() {
    for (status, words) in [
        ("400", "Invalid session ID"),
        ("400", "Bad Request: No valid session ID provided"),
        ("401", "Unknown session"),
        ("410", "gone"),
        ("200", "Session not found"),
        ("200", "the client is not initialized"),
    ] {
        let flags = ["--fault", "forget", "--times", "1", "--lost", status];
        let (env, remote) = with_remote(&[&flags[..], &["--lost-words", words]].concat());
        let mark = env.path("mark");
        assert_eq!(env.result(&marking(&mark)), "done", "{status} {words}");
        assert_eq!((marks(&mark), remote.calls("side_effect")), (1, 1));
        assert_eq!(info(&env, "fix")["starts"], 2, "{status} {words}");
    }
}

#[test]
fn session_that_is_lost_with_a_server_error_is_replaced_by_the_next_call() {
    for status in ["500", "503"] {
        let flags = ["--fault", "forget", "--times", "1", "--lost", status];
        let (env, remote) = with_remote(&flags);
        let mark = env.path("mark");
        let error = env.error(&marking(&mark));
        assert_eq!(error["kind"], "unknown_outcome", "{status}: {error:#}");
        assert_ne!(info(&env, "fix")["state"], "ready", "{status}");
        assert_eq!(env.result(&marking(&mark)), "done", "{status}");
        assert_eq!((marks(&mark), remote.calls("side_effect")), (1, 1));
        assert_eq!(info(&env, "fix")["starts"], 2, "{status}");
    }
}

#[test]
fn session_outlives_a_tool_that_speaks_of_other_sessions() {
    let (env, remote) = with_remote(&[]);
    let refused = "mux.fix.refuse({ message: 'Session not found', code: -32001 })";
    let code = format!("return await {refused}.catch((error) => error.message)");
    let message = env.result(&code);
    assert!(message.as_str().unwrap().contains("Session not found"));
    assert_eq!(remote.calls("refuse"), 1);
    assert_eq!(info(&env, "fix")["starts"], 1);
}

#[test]
fn server_that_fails_every_call_is_degraded() {
    let (env, _remote) = with_remote(&["--fault", "status=500"]);
    let mark = env.path("mark");
    for _ in 0..2 {
        env.error(&marking(&mark));
    }
    let found = info(&env, "fix");
    assert_eq!(found["state"], "degraded", "{found:#}");
    assert!(found["reason"].as_str().unwrap().contains("HTTP 500"));
    env.result("return await mux.fix.echo({ text: 'x' })");
    assert_eq!(info(&env, "fix")["state"], "ready");
}

#[test]
fn refusal_of_the_event_stream_alone_is_no_demand_for_a_login() {
    let (env, _remote) = with_remote(&["--stream-401"]);
    let mark = env.path("mark");
    for _ in 0..2 {
        assert_eq!(env.result(&marking(&mark)), "done");
    }
    let shown = env.mux(["servers"]).ok().stdout;
    assert!(
        !shown.contains("login") && !shown.contains("sign"),
        "{shown}"
    );
    assert_eq!(info(&env, "fix")["state"], "ready");
}

#[test]
fn session_that_is_always_forgotten_is_replaced_only_once() {
    let (env, remote) = with_remote(&["--fault", "forget"]);
    let mark = env.path("mark");
    let error = env.error(&marking(&mark));
    assert_eq!(error["kind"], "unavailable", "{error:#}");
    assert_eq!((marks(&mark), remote.count("POST", "tools/call")), (0, 2));
}

#[test]
fn sse_call_has_unknown_outcome_when_its_stream_ends() {
    for fault in ["cut", "reset"] {
        let (env, remote) = with_remote(&["--sse", "--fault", fault, "--times", "1"]);
        let mark = env.path("mark");
        let error = env.error(&marking(&mark));
        assert_eq!(error["kind"], "unknown_outcome", "{fault}: {error:#}");
        assert_eq!(env.result(&marking(&mark)), "done", "{fault}");
        assert_eq!(
            (marks(&mark), remote.calls("side_effect")),
            (2, 2),
            "{fault}"
        );
    }
}

#[test]
fn stopped_server_is_unavailable_until_it_is_back() {
    let env = TestEnv::new();
    let remote = Remote::start(&env, "fix", &[]);
    env.write_config(&remote.entry("fix"));
    let mark = env.path("mark");
    assert_eq!(env.result(&marking(&mark)), "done");
    let port = remote.url.split([':', '/']).nth(4).unwrap().to_owned();
    drop(remote);
    let error = env.error(&marking(&mark));
    assert_eq!(error["kind"], "unavailable", "{error:#}");
    assert_eq!(marks(&mark), 1);
    let _again = Remote::start(&env, "fix", &["--port", &port]);
    assert_eq!(env.result(&marking(&mark)), "done");
    assert_eq!(marks(&mark), 2);
}

#[test]
fn response_headers_are_awaited_until_the_call_times_out() {
    let (env, remote) = with_remote(&["--fault", "slow=60000"]);
    let entry = remote.entry("fix");
    env.write_config(&format!("{entry}call_timeout = \"300ms\"\n"));
    let mark = env.path("mark");
    let error = env.error(&marking(&mark));
    assert_eq!(error["kind"], "timeout", "{error:#}");
    assert_eq!(env.result("return await mux.fix.echo({ text: 'x' })"), "x");
    assert_eq!(marks(&mark), 0);
}
