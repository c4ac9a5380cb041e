//! `mux tools`, `types`, `servers`, `status` and the logs, as text and as JSON.

use mux_tests::{
    TestEnv, mux_snapshot,
    output_snapshot::{TABLE, bind_filters},
};
use serde_json::{Value, json};

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
    mux_snapshot!(env.mux(["tools", "other words", "--cursor", cursor]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: the cursor belongs to another query
      hint: search again without a cursor
    ");
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

    mux_snapshot!(env.mux(["tools", "zzzz", "yyyy"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    no tool matches
    ");

    // Schemas are only included on request.
    assert!(found["tools"][0].get("input_schema").is_none());
    let schemas = env
        .mux(["tools", "adds two", "--json", "--schemas"])
        .ok()
        .json();
    mux_snapshot!(env.mux(["tools", "--schemas"]), @"
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: the following required arguments were not provided:
      --json

    Usage: mux tools --json --schemas [QUERY]...

    For more information, try '--help'.
    ");
    let add = env
        .mux(["tools", "adds", "two", "--json", "--schemas"])
        .ok()
        .json();
    assert_eq!(
        add["tools"][0]["output_schema"]["required"],
        json!(["sum"]),
        "{schemas}"
    );
    let list = env.mux(["tools", "--json", "--schemas"]).ok().json();
    let tools = list["tools"].as_array().unwrap();
    let echo = tools.iter().find(|tool| tool["name"] == "echo").unwrap();
    assert_eq!(echo["annotations"]["readOnlyHint"], true, "{echo}");
    let plain = env.mux(["tools", "--json"]).ok().json();
    assert!(!plain.to_string().contains("\"annotations\""));
}

#[test]
fn commands_tools_says_that_a_server_or_tool_does_not_exist() {
    let env = TestEnv::new();
    mux_snapshot!(env.transcript(&[&["tools"], &["tools", "files"]]), @"
    $ mux tools
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    no server is configured: `mux import` imports those of your agents, `mux servers add` adds one

    $ mux tools files
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no server or tool `files`
      hint: no server is configured; see `mux servers`, and `mux status` if there should be one
    ");

    let env = TestEnv::with_fixtures(&[("fix", &[]), ("zzgone", &["--exit-at-start", "9"])]);
    mux_snapshot!(
        env.transcript(&[&["tools", "fixnosuchserver"], &["tools", "fix.ehco"]]),
        @"
    $ mux tools fixnosuchserver
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no server or tool `fixnosuchserver`
      hint: did you mean `fix`?

    $ mux tools fix.ehco
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no tool `fix.ehco`
      hint: did you mean
            fix.echo(args: { text: string })
    "
    );
    let document = env.mux(["--json", "tools", "fix.ehco"]);
    assert_eq!(document.code, 1, "{document:#?}");
    assert_eq!(document.json()["error"]["kind"], "not_found");
    // A server that cannot be started is not missing.
    mux_snapshot!(env.mux(["tools", "zzgone"]), @"
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: the server `zzgone` cannot be started: the process ended at once (exit code 9); its last output:
        fatal line 1 of 3
        fatal line 2 of 3
        fatal line 3 of 3
      hint: its log: [HOME]/state/log/servers/zzgone.log; its command: [BIN]/mux-fixture-server --pid-file [HOME]/zzgone.pids --exit-at-start 9
    ");
    mux_snapshot!(env.mux(["tools", "fix.get-thing"]), @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    /** Has a name that is no identifier. */
    mux.fix.get_thing(args: { id: string });
    // also mux["fix"]["get-thing"]

    read-only
    ----- stderr -----
    "#);
}

#[test]
fn commands_tools_reports_ambiguous_names_and_missing_servers() {
    let env =
        TestEnv::with_fixtures(&[("fix", &["--collide"]), ("gone", &["--exit-at-start", "9"])]);
    // A search does not repeat the problems of servers that have no tool among the results.
    mux_snapshot!(
        env.transcript(&[
            &["tools", "collides"],
            &["tools", "collides", "--server", "gone"],
            &["tools", "zzzz", "yyyy"],
        ]),
        @r#"
    $ mux tools collides
    success: true
    exit_code: 0
    ----- stdout -----
    fix.a-b(args?: { id?: string })
        Collides with another tool by its name.
    fix.a_b(args?: { id?: string })
        Collides with another tool by its name.
    ----- stderr -----
    warning: `a_b` is ambiguous in fix; call mux.fix["a-b"] or mux.fix["a_b"] by exact name

    $ mux tools collides --server gone
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    no tool matches
    warning: gone: the server `gone` cannot be started: the process ended at once (exit code 9); its last output:
        fatal line 1 of 3
        fatal line 2 of 3
        fatal line 3 of 3

    $ mux tools zzzz yyyy
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    no tool matches
    warning: `a_b` is ambiguous in fix; call mux.fix["a-b"] or mux.fix["a_b"] by exact name
    note: not searched: gone; `mux servers` shows why
    "#
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
    mux_snapshot!(env.mux(["types", "fix.echo", "my-server.pid"]), @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    /** Returns its text. */
    mux.fix.echo(args: { text: string });
    /** Returns the server's process id. */
    mux.my_server.pid();
    // also mux["my-server"]["pid"]
    ----- stderr -----
    "#);
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
    let _filters = bind_filters(&[
        TABLE,
        (r"  ready  -  \d+  ", "  ready  -  [COUNT]  "),
        (r"  \d{2,}  user  ", "  [PID]  user  "),
    ]);
    mux_snapshot!(output, @"
    success: true
    exit_code: 0
    ----- stdout -----
    SERVER  STATE  WHO  TOOLS  START  CALLS  PID  SHARE  COMMAND
    fix  ready  -  [COUNT]  [DURATION]  1  [PID]  user  [BIN]/mux-fixture-server --pid-file [HOME]/fix.pids
    idle  cold  -  -  -  0  -  user  [BIN]/mux-fixture-server --pid-file [HOME]/idle.pids
    ----- stderr -----
    ");

    let before = env.mux(["servers", "--json"]).ok().json();
    assert_eq!(before[0]["pid"], env.starts("fix")[0]);
    assert_eq!(
        before[0]["identity"],
        format!("fixture {}", env!("CARGO_PKG_VERSION"))
    );
    mux_snapshot!(env.mux(["servers", "restart", "fix"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    fix restarted in [DURATION], [COUNT] tools
    ----- stderr -----
    ");
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
    let last = env.mux(["servers", "logs", "fix", "-n", "2"]);
    mux_snapshot!(last, @"
    success: true
    exit_code: 0
    ----- stdout -----
    [DATE] [TIME]       fix      stderr line 2 of 3
    [DATE] [TIME]       fix      stderr line 3 of 3
    ----- stderr -----
    ");
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
