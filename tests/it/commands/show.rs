//! `mux tools`, `types`, `servers`, `status` and the logs, as text and as JSON.

use mux_tests::TestEnv;
use serde_json::{Value, json};

use super::{complains, prints};

#[test]
fn commands_tools_lists_searches_and_paginates() {
    let env = TestEnv::with_fixtures(&[("fix", &["--tools", "20"]), ("other", &[])]);
    let all = env.mux(["tools"]).ok();
    assert!(
        all.stdout
            .starts_with("fix\n  fix.echo(args: { text: string })"),
        "{all:#?}"
    );
    assert!(all.stdout.contains("\n\nother\n  other.echo("), "{all:#?}");
    assert!(
        all.stdout
            .contains("fix.side_effect(args: { file: string; line: string }) destructive\n")
    );
    assert_eq!(all.stderr, "");

    // The best match first, case-insensitively.
    let found = env
        .mux(["tools", "TEXT", "returns its", "--json", "--limit", "2"])
        .ok()
        .json();
    assert_eq!(paths(&found), ["fix.echo", "other.echo"]);
    assert_eq!(found["tools"][0]["read_only"], true);
    let one = env
        .mux(["tools", "--server", "other", "echo", "--limit", "1"])
        .ok();
    assert!(one.stdout.starts_with("other.echo(args: "), "{one:#?}");
    let (said, cursor) = one.stderr.split_once("--cursor ").unwrap();
    assert!(said.starts_with("1 of "), "{said}");
    let cursor = cursor.split(' ').next().unwrap();
    let next = env.mux([
        "tools", "--server", "other", "echo", "--limit", "1", "--cursor", cursor,
    ]);
    assert!(next.ok().stdout.starts_with("other.echo_json("));
    complains(
        env.mux(["tools", "other words", "--cursor", cursor]),
        1,
        &["another query"],
    );
    let limited = env
        .mux(["tools", "--server", "fix", "--limit", "3", "--json"])
        .ok()
        .json();
    assert_eq!(limited["tools"].as_array().unwrap().len(), 3);
    assert!(
        limited["total"].as_u64().unwrap() > 40,
        "{}",
        limited["total"]
    );

    let none = env.mux(["tools", "zzzz", "yyyy"]).ok();
    assert_eq!(
        (none.stdout.as_str(), none.stderr.as_str()),
        ("", "no tool matches\n")
    );

    // Schemas are only included on request.
    assert!(found["tools"][0].get("input_schema").is_none());
    let schemas = env
        .mux(["tools", "adds two", "--json", "--schemas"])
        .ok()
        .json();
    complains(env.mux(["tools", "--schemas"]), 2, &["--json"]);
    let add = env
        .mux(["tools", "adds", "two", "--json", "--schemas"])
        .ok()
        .json();
    assert_eq!(
        add["tools"][0]["output_schema"]["required"],
        json!(["sum"]),
        "{schemas}"
    );
}

#[test]
fn commands_tools_says_that_a_server_or_tool_does_not_exist() {
    let env = TestEnv::new();
    let none = env.mux(["tools"]).ok();
    assert_eq!(none.stdout, "");
    for part in ["no server is configured", "mux import", "mux servers add"] {
        assert!(none.stderr.contains(part), "{none:#?}");
    }
    complains(
        env.mux(["tools", "files"]),
        1,
        &[
            "error[not_found]: there is no server or tool `files`",
            "no server is configured",
        ],
    );

    let env = TestEnv::with_fixtures(&[("fix", &[]), ("zzgone", &["--exit-at-start", "9"])]);
    complains(
        env.mux(["tools", "fixnosuchserver"]),
        1,
        &[
            "error[not_found]: there is no server or tool `fixnosuchserver`",
            "did you mean `fix`?",
        ],
    );
    complains(
        env.mux(["tools", "fix.ehco"]),
        1,
        &[
            "error[not_found]: there is no tool `fix.ehco`",
            "did you mean",
            "fix.echo(",
        ],
    );
    let document = env.mux(["--json", "tools", "fix.ehco"]);
    assert_eq!(document.code, 1, "{document:#?}");
    assert_eq!(document.json()["error"]["kind"], "not_found");
    // A server that cannot be started is not missing.
    complains(env.mux(["tools", "zzgone"]), 3, &["error[unavailable]"]);
    let shown = env.mux(["tools", "fix.get-thing"]).ok();
    assert!(shown.stdout.contains("mux.fix.get_thing("), "{shown:#?}");
}

#[test]
fn commands_tools_reports_ambiguous_names_and_missing_servers() {
    let env =
        TestEnv::with_fixtures(&[("fix", &["--collide"]), ("gone", &["--exit-at-start", "9"])]);
    let output = env.mux(["tools", "collides"]).ok();
    assert!(
        output.stdout.contains("fix.a-b(") && output.stdout.contains("fix.a_b("),
        "{output:#?}"
    );
    assert!(
        output
            .stderr
            .contains("`a_b` is ambiguous in fix; call mux.fix[\"a-b\"] or mux.fix[\"a_b\"]"),
        "{output:#?}"
    );
    // A search does not repeat the problems of servers that have no tool among the results.
    assert!(!output.stderr.contains("gone"), "{output:#?}");
    let of_it = env.mux(["tools", "collides", "--server", "gone"]).ok();
    assert!(
        of_it
            .stderr
            .contains("gone: the server `gone` cannot be started"),
        "{of_it:#?}"
    );
    let none = env.mux(["tools", "zzzz", "yyyy"]).ok();
    assert!(
        none.stderr
            .contains("not searched: gone; `mux servers` says why"),
        "{none:#?}"
    );
    let list = env.mux(["tools", "--json"]).ok().json();
    assert_eq!(list["missing"][0]["server"], "gone");
    assert_eq!(list["missing"][0]["error"]["kind"], "unavailable");
}

#[test]
fn commands_types_prints_all_a_server_or_tools() {
    let env = TestEnv::with_fixtures(&[("fix", &[]), ("my-server", &[])]);
    let all = env.mux(["types"]).ok();
    for part in [
        "declare const mux: Mux;",
        "readonly fix: Mux.Fix;",
        "declare namespace Mux {",
        "interface ToolError",
    ] {
        assert!(all.stdout.contains(part), "{part:?} in {all:#?}");
    }
    let one = env.mux(["types", "my_server"]).ok();
    assert!(
        one.stdout.contains("my_server") && !one.stdout.contains("readonly fix:"),
        "{one:#?}"
    );
    prints(
        env.mux(["types", "fix.echo", "my-server.pid"]),
        "/** Returns its text. */\nmux.fix.echo(args: { text: string });\n\
         /** Returns the server's process id. */\nmux.my_server.pid(args?: {});\n\
         // also mux[\"my-server\"][\"pid\"]\n",
    );
    let document = env.mux(["types", "fix.pid", "--json"]).ok().json();
    assert!(
        document["types"].as_str().unwrap().contains("mux.fix.pid("),
        "{document}"
    );
}

#[test]
fn commands_servers_lists_and_restarts_servers() {
    let env = TestEnv::with_fixtures(&[("fix", &[]), ("idle", &[])]);
    env.mux(["call", "fix.pid"]).ok();
    let output = env.mux(["servers"]).ok();
    assert_eq!(output.stdout, env.mux(["servers", "list"]).ok().stdout);
    let rows: Vec<&str> = output.stdout.lines().collect();
    assert!(rows[0].starts_with("SERVER  STATE"), "{output:#?}");
    assert!(rows[1].starts_with("fix     ready"), "{output:#?}");
    assert!(rows[2].starts_with("idle    cold "), "{output:#?}");
    assert!(!output.stdout.contains('\u{1b}'), "{output:#?}");

    let before = env.mux(["servers", "--json"]).ok().json();
    assert_eq!(before[0]["pid"], env.starts("fix")[0]);
    assert_eq!(
        before[0]["identity"],
        format!("fixture {}", env!("CARGO_PKG_VERSION"))
    );
    let restarted = env.mux(["servers", "restart", "fix"]).ok();
    assert!(
        restarted.stdout.starts_with("fix restarted in "),
        "{restarted:#?}"
    );
    let after = env
        .mux(["servers", "restart", "idle", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&after["name"], &after["state"], &after["starts"]),
        (&json!("idle"), &json!("ready"), &json!(1))
    );
    let pids = env.starts("fix");
    assert_eq!(pids.len(), 2);
    assert_ne!(pids[0], pids[1]);
    assert!(
        !mux_tests::process::is_alive(pids[0]),
        "the old process is gone"
    );
}

#[test]
fn commands_status_shows_daemon_workers_runs_and_servers() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.run("return await mux.fix.pid()").ok();
    env.run("throw 1").fails(1, &[]);
    let status = env.mux(["status", "--json"]).ok().json();
    assert_eq!(status["running"], true);
    assert_eq!(status["pid"], env.daemon().unwrap());
    assert_eq!(
        status["runs"],
        json!({ "running": 0, "succeeded": 1, "failed": 1 })
    );
    assert_eq!(status["servers"][0]["state"], "ready");
    assert_eq!(status["problems"], json!([]));
    assert_eq!(status["config"], json!(env.dirs.config_file()));
    let output = env.mux(["status", "--all"]).ok();
    for part in [
        "muxd ",
        "engine",
        "snapshot ",
        "1 succeeded, 1 failed",
        "SERVER  STATE",
    ] {
        assert!(output.stdout.contains(part), "{part:?} in {output:#?}");
    }
    if cfg!(target_os = "linux") {
        assert!(output.stdout.contains("\nsandbox  "), "{output:#?}");
    }
    assert_eq!(output.stderr, "");
}

#[test]
fn commands_logs_show_the_last_lines_of_the_daemon_and_of_a_server() {
    let env = TestEnv::with_fixtures(&[("fix", &["--stderr-at-start", "60"])]);
    env.mux(["call", "fix.stderr", "lines=3"]).ok();
    // Standard error may arrive after the response: follow the log until it is complete.
    let mut followed = env.begin(["servers", "logs", "fix", "--follow", "-n", "1000"]);
    while !followed
        .next_line_of_output()
        .contains("stderr line 3 of 3")
    {}
    drop(followed);
    let last = env.mux(["servers", "logs", "fix", "-n", "2"]).ok();
    let last: Vec<&str> = last.stdout.lines().collect();
    assert!(last[0].ends_with(" stderr line 2 of 3"), "{last:#?}");
    assert!(last[1].ends_with(" stderr line 3 of 3"), "{last:#?}");
    let all = env.mux(["servers", "logs", "fix", "--lines", "100"]).ok();
    assert_eq!(all.stdout.lines().count(), 63, "{all:#?}");
    let first = all.stdout.lines().next().unwrap();
    assert!(first.ends_with(" start-up line 1 of 60"), "{first}");
    let default = env.mux(["servers", "logs", "fix"]).ok();
    assert_eq!(default.stdout.lines().count(), 50, "{default:#?}");

    let daemon = env.mux(["logs", "--daemon", "-n", "1000"]).ok();
    assert!(daemon.stdout.contains("session open"), "{daemon:#?}");
    assert!(!daemon.stdout.contains("stderr line"), "{daemon:#?}");
}

fn paths(list: &Value) -> Vec<&str> {
    let tools = list["tools"].as_array().unwrap();
    tools
        .iter()
        .filter_map(|tool| tool["path"].as_str())
        .collect()
}
