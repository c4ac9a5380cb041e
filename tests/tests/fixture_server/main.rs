//! The fixture server against itself: that it behaves where it should, and fails as it says.
//!
//! Invariant: nothing here waits for a time. Each test reads the line, the end of stdout or the
//! exit that it expects, and the test runner's deadline ends one that never comes.

mod peer;

use std::fs;

use serde_json::{Value, json};

use peer::{Peer, command};

#[test]
fn handshake_echoes_a_known_revision_and_offers_the_newest_otherwise() {
    for (asked, answered) in [("2024-11-05", "2024-11-05"), ("2031-01-01", "2025-11-25")] {
        let mut server = Peer::start(&["--name", "alice"]);
        let result = server.request("initialize", json!({ "protocolVersion": asked }));
        assert_eq!(result["result"]["protocolVersion"], answered);
        assert_eq!(result["result"]["serverInfo"]["name"], "alice");
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(server.request("ping", json!({}))["result"], json!({}));
        let unknown = server.request("server/discover", json!({}));
        assert_eq!(unknown["error"]["code"], -32601);
    }
}

#[test]
fn pages_hold_every_tool_once() {
    let mut server = Peer::start(&["--page-size", "7", "--tools", "20", "--collide"]);
    let (mut names, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = server.request("tools/list", json!({ "cursor": cursor }))["result"].take();
        let tools = page["tools"].as_array().expect("a page lists tools");
        assert!(tools.len() <= 7);
        names.extend(
            tools
                .iter()
                .map(|tool| tool["name"].as_str().expect("a name").to_owned()),
        );
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let whole = Peer::start(&["--tools", "20", "--collide"]).tool_names();
    assert_eq!(names, whole);
    for name in ["echo", "a-b", "a_b", "list_issue_0000"] {
        assert_eq!(
            names.iter().filter(|known| *known == name).count(),
            1,
            "{name}"
        );
    }
    let refused = server.request("tools/list", json!({ "cursor": "made-up" }));
    assert_eq!(refused["error"]["code"], -32602);
}

#[test]
fn calls_answer_by_the_book() {
    let mut server = Peer::start(&[]);
    let cases = [
        ("echo", json!({ "text": "hi" }), text("hi")),
        ("counter", json!({ "key": "k", "by": 2 }), text("2")),
        ("counter", json!({ "key": "k" }), text("3")),
        ("pid", json!({}), text(&server.pid().to_string())),
        (
            "blob",
            json!({ "bytes": 28 }),
            text("abcdefghijklmnopqrstuvwxyzab"),
        ),
        ("garbage", json!({ "lines": 0 }), text("after the noise")),
    ];
    for (tool, arguments, expected) in cases {
        assert_eq!(server.call(tool, arguments)["result"], expected, "{tool}");
    }
    let sum = server.call("add", json!({ "a": 2, "b": 3 }));
    assert_eq!(sum["result"]["structuredContent"], json!({ "sum": 5 }));
    let failure = server.call("fail", json!({ "message": "no" }));
    assert_eq!(failure["result"]["isError"], true);
    assert_eq!(
        server.call("no_such_tool", json!({}))["error"]["code"],
        -32602
    );
}

#[test]
fn a_slow_call_blocks_no_other_and_a_cancelled_one_stays_silent() {
    let mut server = Peer::start(&[]);
    let hung = server.begin("hang", json!({}));
    let slow = server.begin("sleep", json!({ "ms": 600_000 }));
    // Cancelled before it arrives, so that no clock decides which of the two comes first.
    let unwanted = slow + 2;
    server.send(&json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": unwanted },
    }));
    let listed = server.call("cancelled", json!({}));
    assert_eq!(listed["result"], text(&json!([unwanted]).to_string()));
    assert_eq!(server.begin("sleep", json!({ "ms": 0 })), unwanted);
    let last = server.begin("sleep", json!({ "ms": 20 }));
    assert_eq!(
        server.line()["id"],
        last,
        "{hung}, {slow} and {unwanted} stay open"
    );
}

#[test]
fn a_wrong_id_and_noise_come_as_asked() {
    let mut server = Peer::start(&["--noise-at-start", "2"]);
    for _ in 0..2 {
        let line = server.raw_line();
        assert!(serde_json::from_str::<Value>(&line).is_err(), "{line}");
    }
    server.begin("wrong_id", json!({}));
    assert_eq!(server.line()["id"], "nobody-asked");
    server.begin("huge_line", json!({ "bytes": 100_000 }));
    assert_eq!(server.raw_line().trim_end().len(), 100_000);
}

#[test]
fn deaths_leave_their_mark_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (tool, reply) in [
        ("die_before", None),
        ("die_mid", Some(false)),
        ("die_after", Some(true)),
    ] {
        let mark = folder.path().join(tool);
        let mut server = Peer::start(&[]);
        server.begin(tool, json!({ "file": mark, "line": "once" }));
        let rest = server.rest();
        let whole = serde_json::from_str::<Value>(&rest).is_ok();
        assert_eq!((!rest.is_empty()).then_some(whole), reply, "{tool}: {rest}");
        assert_eq!(server.exit_code(), Some(70));
        assert_eq!(
            fs::read_to_string(mark).expect("the mark was made"),
            "once\n"
        );
    }
}

#[test]
fn a_start_that_fails_is_counted_and_explained() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pids = folder.path().join("pids");
    let pid_file = pids.to_str().expect("a UTF-8 path");
    for _ in 0..2 {
        let output = command(&["--exit-at-start", "7", "--pid-file", pid_file])
            .output()
            .expect("the server starts");
        assert_eq!(output.status.code(), Some(7));
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).contains("fatal line 3 of 3"));
    }
    assert_eq!(
        fs::read_to_string(&pids)
            .expect("the pids were written")
            .lines()
            .count(),
        2
    );
}

#[test]
fn the_call_log_and_the_limit_of_calls_count_what_arrived() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder.path().join("calls");
    let log_file = log.to_str().expect("a UTF-8 path");
    let mut server = Peer::start(&["--call-log", log_file, "--die-after-calls", "2"]);
    server.call("echo", json!({ "text": "one" }));
    server.call("echo", json!({ "text": "two" }));
    assert_eq!(server.exit_code(), Some(70));
    let log = fs::read_to_string(log).expect("the log was written");
    let entries: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1]["arguments"], json!({ "text": "two" }));
}

/// The result of a tool that returns one text.
fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}
