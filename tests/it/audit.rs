//! The audit log of calls and decisions, as `mux audit` prints it.

use std::{fs, io::Write as _};

use mux_tests::{Agent, TestEnv, process};
use serde_json::{Value, json};

fn entries(env: &TestEnv, args: &[&str]) -> Vec<Value> {
    let args = [&["--json", "audit"], args].concat();
    let list = env.mux(args).ok().json();
    list["entries"].as_array().unwrap().clone()
}

/// The entries after the daemon is stopped and has written all of them.
fn settled(env: &TestEnv, args: &[&str]) -> Vec<Value> {
    env.stop();
    entries(env, args)
}

fn kinds(entries: &[Value]) -> Vec<&str> {
    entries
        .iter()
        .map(|entry| entry["kind"].as_str().unwrap())
        .collect()
}

#[test]
fn calls_by_all_means_are_audited_with_same_path_and_hash() {
    let env = TestEnv::with_fixtures(&[("my-fix", &[])]);
    for program in [
        "return mux.my_fix.add({ a: 1, b: 2 })",
        "return mux['my-fix']['add']({ b: 2, a: 1 })",
        "return mux['my-fix.add']({ a: 1.0, b: 2 })",
        "return mux.call('my_fix.add', { a: 1, b: 2 })",
        "return mux.call.raw('my-fix.add', { a: 1, b: 2 })",
    ] {
        env.mux(["run", "-e", program]).ok();
    }
    env.mux(["call", "my-fix.add", "a=1", "b=2"]).ok();
    env.mux(["call", "my_fix.add", "{\"b\":2,\"a\":1}"]).ok();
    let mut agent = Agent::legacy(&env, &["--passthrough"], json!({}));
    agent.call("my-fix__add", json!({ "a": 1, "b": 2 }));
    let mut agent = Agent::legacy(&env, &["--agent", "small"], json!({}));
    agent.call(
        "run",
        json!({ "code": "return mux.my_fix.add({ a: 1, b: 2 })" }),
    );
    drop(agent);

    let calls = settled(&env, &["--tool", "my-fix.*", "-n", "100"]);
    assert_eq!(calls.len(), 9, "{calls:#?}");
    for call in &calls {
        assert_eq!(call["path"], "my-fix.add", "{call}");
        assert_eq!(call["arguments"], calls[0]["arguments"], "{call}");
        let decided = ["decision", "by", "outcome"].map(|key| call[key].as_str().unwrap());
        assert_eq!(decided, ["allow", "default", "ok"]);
        assert!(call["pid"].is_number() && call["bytes"].is_number() && call["ms"].is_number());
        assert_eq!(call["uid"], nix::unistd::geteuid().as_raw());
    }
    let of = |key: &str| calls.iter().filter(|call| !call[key].is_null()).count();
    assert_eq!((of("run"), of("call"), of("agent")), (6, 6, 1));
    assert_eq!(
        (&calls[0]["client"], &calls[8]["agent"]),
        (&"mux".into(), &"small".into())
    );
    assert_eq!(calls[8]["call"], 1);
    assert_eq!(entries(&env, &["--agent", "small"]).len(), 1);
    let run = calls[1]["run"].as_str().unwrap();
    assert_eq!(entries(&env, &["--run", run]).len(), 1);
    let shown = env.mux(["audit", "--tool", "*.add"]).ok();
    assert_eq!(shown.stdout.lines().count(), 9, "{shown:?}");
    assert!(shown.stdout.contains("allow by default"), "{shown:?}");
}

#[test]
fn failed_calls_are_audited_with_their_outcome() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}[[policy]]\nmatch = \"fix.env\"\naction = \"deny\"\n[[policy]]\nmatch = \"fix.*\"\naction = \"allow\"\n",
        env.fixture("fix", &[])
    ));
    env.mux(["call", "fix.env", "name=HOME"])
        .fails(5, &["denied"]);
    env.mux(["call", "fix.fail", "message=no"])
        .fails(1, &["no"]);
    env.mux(["call", "fix.add", "a=x"])
        .fails(1, &["validation"]);
    env.mux(["call", "fix.nope"]).fails(1, &["not_found"]);
    env.mux(["call", "none.nope"]).fails(1, &["not_found"]);
    env.mux(["call", "fix.sleep", "ms=60000", "--timeout", "50ms"])
        .fails(124, &["timeout"]);
    // The end of the run cancels its calls.
    let program = "mux.fix.sleep({ ms: 60000 }); await mux.fix.add({ a: 1, b: 2 }); return 1";
    env.mux(["run", "-e", program]).ok();
    let calls = settled(&env, &["--tool", "*"]);
    let short = |call: &Value| {
        ["path", "decision", "by", "outcome"]
            .map(|key| call[key].as_str().unwrap_or("-").to_owned())
    };
    let mut found: Vec<String> = calls.iter().map(|call| short(call).join(" ")).collect();
    found.sort();
    assert_eq!(
        found,
        [
            "fix.add allow fix.* ok",
            "fix.add allow fix.* validation",
            "fix.env deny fix.env denied",
            "fix.fail allow fix.* tool",
            "fix.nope - - not_found",
            "fix.sleep allow fix.* cancelled",
            "fix.sleep allow fix.* timeout",
            "none.nope - - not_found",
        ]
    );
    assert_eq!(entries(&env, &["--outcome", "denied"]).len(), 1);
    assert_eq!(entries(&env, &["--outcome", "failed"]).len(), 7);
    assert_eq!(
        entries(&env, &["--since", "1h", "--outcome", "ok"]).len(),
        1
    );
    assert_eq!(
        entries(&env, &["--since", "2026-01-01", "-n", "3"]).len(),
        3
    );
    env.mux(["audit", "--since", "soon"]).fails(2, &["--since"]);
    env.mux(["audit", "-f", "--json"]).fails(2, &["--follow"]);
}

#[test]
fn denied_call_with_typed_arguments_has_the_hash_of_its_values() {
    let env = TestEnv::new();
    let rule = "[[policy]]\nmatch = \"fix.add\"\naction = \"deny\"\n";
    env.write_config(&(env.fixture("fix", &[]) + rule));
    env.mux(["call", "fix.add", "a=1", "b=2"])
        .fails(5, &["denied"]);
    env.mux(["call", "fix.add", "{\"b\":2,\"a\":1}"])
        .fails(5, &["denied"]);
    let calls = settled(&env, &["--tool", "fix.add"]);
    assert_eq!(calls.len(), 2);
    assert!(calls[0]["arguments"].is_string(), "{calls:#?}");
    assert_eq!(calls[0]["arguments"], calls[1]["arguments"]);
}

#[test]
fn approval_answers_and_granted_calls_are_audited() {
    let env = TestEnv::new();
    let rule = "[[policy]]\nmatch = \"fix.counter\"\naction = \"ask\"\n";
    env.write_config(&(env.fixture("fix", &[]) + rule));
    let code = "return await mux.fix.counter({ key: 'a' })";
    let asks = json!({ "elicitation": { "form": {} } });
    let mut agent = Agent::legacy(&env, &["--agent", "small"], asks);
    let run = json!({ "name": "run", "arguments": { "code": code } });
    for word in ["deny", "always allow"] {
        let id = agent.begin("tools/call", run.clone());
        let form = agent.wait_for("elicitation/create");
        let answer = json!({ "action": "accept", "content": { "decision": word } });
        agent.reply(&form, answer);
        agent.result(id);
    }
    agent.call("run", json!({ "code": code }));
    drop(agent);
    for (answer, name) in [("approve", "A3"), ("deny", "A4")] {
        let mut held = env.begin(["run", "--no-check", "-e", code]);
        held.wait_for(&format!("waiting for approval {name}"));
        env.mux([answer, name]).ok();
        held.wait();
    }
    let granted = env.mux(["--json", "approvals", "--granted"]).ok().json();
    let grant = granted["granted"][0]["grant"].as_str().unwrap();
    env.mux(["approvals", "revoke", grant]).ok();
    let all = settled(&env, &["-n", "100"]);
    let deeds: Vec<String> = all
        .iter()
        .filter(|entry| entry["subject"].is_string() && entry["kind"] != "policy_loaded")
        .filter(|entry| entry["kind"] != "servers_changed")
        .map(|entry| {
            let text = |key: &str| entry[key].as_str().unwrap_or("-");
            format!("{} {} {}", text("kind"), text("subject"), text("agent"))
        })
        .collect();
    assert_eq!(
        deeds,
        [
            "call_denied A1 fix.counter (deny) small".to_owned(),
            "call_approved A2 fix.counter (always) small".to_owned(),
            "call_approved A3 fix.counter (once) -".to_owned(),
            "call_denied A4 fix.counter (deny) -".to_owned(),
            format!("approval_revoked {grant} fix.counter -"),
        ]
    );
    let calls = all.iter().filter(|entry| entry["kind"] == "call");
    let decided: Vec<&str> = calls
        .map(|call| call["decision"].as_str().unwrap())
        .collect();
    assert_eq!(
        decided,
        ["denied", "approved", "granted", "approved", "denied"]
    );
}

#[test]
fn administrative_events_are_audited() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.mux(["call", "fix.add", "a=1", "b=2"]).ok();
    env.mux_with_input(["secrets", "set", "TOKEN"], b"s3cret-value")
        .ok();
    env.mux(["secrets", "remove", "TOKEN"]).ok();
    env.mux(["servers", "restart", "fix"]).ok();
    let project = env.path("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join(".mux.toml"), env.fixture("own", &[])).unwrap();
    let at = |args: &[&str]| {
        let mut command = env.command("mux");
        command.args(args).current_dir(&project);
        mux_tests::env::output(&mut command).ok()
    };
    let shown = at(&["--json", "project", "show"]).json();
    at(&[
        "project",
        "approve",
        "--hash",
        shown["digest"].as_str().unwrap(),
    ]);
    at(&["project", "revoke"]);
    let rule = "[[policy]]\nmatch = \"fix.env\"\naction = \"deny\"\n";
    env.write_config(&(env.fixture("fix", &[]) + rule));
    env.mux(["reload"]).ok();
    let all = settled(&env, &[]);
    assert_eq!(
        kinds(&all),
        [
            "policy_loaded",
            "servers_changed",
            "call",
            "secret_set",
            "secret_removed",
            "server_restarted",
            "servers_changed",
            "project_approved",
            "servers_changed",
            "project_revoked",
            "policy_loaded",
        ],
        "{all:#?}"
    );
    assert_eq!(
        (&all[3]["subject"], &all[3]["client"]),
        (&"TOKEN".into(), &"mux".into())
    );
    assert_eq!(all[10]["subject"], "1 rule");
    assert!(all[1]["client"].is_null(), "nobody asked for it");
    assert!(!format!("{all:?}").contains("s3cret"));
}

#[test]
fn torn_line_is_skipped_without_losing_others() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.mux(["call", "fix.add", "a=1", "b=2"]).ok();
    env.stop();
    let file = fs::read_dir(env.dirs.audit()).unwrap().flatten();
    let mut file = file
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some());
    let file = file.next().unwrap();
    let mut torn = fs::File::options().append(true).open(file).unwrap();
    torn.write_all(b"{\"at\":\"2026-11-22T0").unwrap();
    env.mux(["call", "fix.add", "a=1", "b=2"]).ok();
    let pid = env.daemon().unwrap();
    // Written lines are in the kernel's page cache and survive the daemon.
    for _ in 0..2000 {
        if entries(&env, &["--tool", "fix.add"]).len() == 2 {
            break;
        }
    }
    process::kill(pid);
    let list = env
        .mux(["--json", "audit", "--tool", "fix.add"])
        .ok()
        .json();
    assert_eq!(list["entries"].as_array().unwrap().len(), 2, "{list:#}");
    assert_eq!(list["torn"], 1);
    env.mux(["audit"]).fails(0, &["1 line cannot be read"]);
}

#[test]
fn unwritable_audit_log_does_not_stop_calls_and_lost_lines_are_counted() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.dirs.prepare().unwrap();
    fs::write(env.dirs.audit(), "in the way").unwrap();
    env.mux(["audit"]).fails(1, &["there is no audit log"]);
    for _ in 0..3 {
        env.mux(["call", "fix.add", "a=1", "b=2"]).ok();
    }
    env.mux(["status"])
        .fails(0, &["audit log", "cannot be written"]);
    fs::remove_file(env.dirs.audit()).unwrap();
    env.mux(["call", "fix.add", "a=1", "b=2"]).ok();
    for _ in 0..2000 {
        if env.dirs.audit().join("key").exists() && !entries(&env, &[]).is_empty() {
            break;
        }
    }
    env.mux(["status"])
        .fails(0, &["lines of the audit log were lost"]);
    let all = settled(&env, &[]);
    assert_eq!(kinds(&all), ["lines_lost", "call"]);
    assert!(env.log().contains("the audit log is written again"));
}

#[test]
fn audit_log_can_be_followed_and_disabled() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.mux(["call", "fix.add", "a=1", "b=2"]).ok();
    // The first entry creates the file.
    assert!((0..2000).any(|_| env.mux(["audit"]).code == 0));
    let mut follower = env.begin(["audit", "-f", "--tool", "fix.echo"]);
    env.mux(["call", "fix.echo", "text=x"]).ok();
    let line = follower.next_line_of_output();
    assert!(line.contains("fix.echo"), "{line}");
    follower.signal(nix::sys::signal::Signal::SIGINT);
    assert!(follower.end().success());

    env.write_config(&(env.fixture("fix", &[]) + "[audit]\nenabled = false\n"));
    env.mux(["reload"]).ok();
    let before = settled(&env, &["-n", "10000"]).len();
    env.mux(["call", "fix.add", "a=1", "b=2"]).ok();
    let after = settled(&env, &["-n", "10000"]);
    let calls = |all: &[Value]| {
        all.iter()
            .filter(|entry| entry["path"] == "fix.add")
            .count()
    };
    assert_eq!(calls(&after), 1, "{before}");
}
