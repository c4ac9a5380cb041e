//! Approvals for this session, and lasting grants.

use std::{fs, os::unix::fs::PermissionsExt as _};

use mux_tests::Agent;
use serde_json::json;

use super::Home;

const ONE: &str = "return await mux.fix.counter({ key: 'a' })";
const THREE: &str =
    "let n; for (let i = 0; i < 3; i++) n = await mux.fix.counter({ key: 'a', by: i }); return n";

#[test]
fn session_approval_ends_with_the_connection() {
    let home = Home::new();
    let run = home.held(THREE, "A1");
    home.env.mux(["approve", "A1", "--session"]).ok();
    assert_eq!(run.wait().ok().stdout, "3\n");
    let run = home.held(ONE, "A2");
    home.env.mux(["approve", "A2"]).ok();
    assert_eq!(run.wait().ok().stdout, "4\n");
}

#[test]
fn lasting_grant_is_stored_listed_and_revocable() {
    let home = Home::new();
    let env = &home.env;
    let run = home.held(ONE, "A1");
    env.mux(["approve", "A1", "--always"]).ok();
    run.wait().ok();
    env.run(THREE).ok();
    let file = env.dirs.state.join("approvals.json");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    env.stop();
    env.run(ONE).ok();
    let granted = env.mux(["--json", "approvals", "--granted"]).ok().json();
    let grant = &granted["granted"][0];
    assert_eq!(
        (&grant["path"], &grant["agent"]),
        (&json!("fix.counter"), &json!(null))
    );
    assert!(
        env.mux(["approvals", "--granted"])
            .ok()
            .stdout
            .contains("fix.counter")
    );
    let name = grant["grant"].as_str().unwrap();
    env.mux(["approvals", "revoke", "nothing"])
        .fails(1, &["no approval `nothing`"]);
    env.mux(["approvals", "revoke", name]).ok();
    let run = home.held(ONE, "A");
    drop(run);
    // An invalid grants file grants nothing.
    fs::write(&file, "rubbish").unwrap();
    env.stop();
    env.run("return 1").ok();
    let problems = env.mux(["--json", "status"]).ok().json()["problems"].to_string();
    assert!(problems.contains("approvals.json"), "{problems}");
}

#[test]
fn changed_tool_needs_approval_again() {
    let home = Home::new();
    let env = &home.env;
    let run = home.held(ONE, "A1");
    env.mux(["approve", "A1", "--always"]).ok();
    run.wait().ok();
    env.run(ONE).ok();
    let changes = json!({ "counter": { "list": { "description": "Does something else." } } });
    fs::write(env.path("changes.json"), changes.to_string()).unwrap();
    env.mux(["call", "fix.list_changed"]).ok();
    drop(home.held(ONE, "A2"));
    // A changed rule requires approval again, too.
    fs::remove_file(env.path("changes.json")).unwrap();
    env.mux(["call", "fix.list_changed"]).ok();
    env.run(ONE).ok();
    let text = fs::read_to_string(env.dirs.config_file()).unwrap();
    env.write_config(&text.replace("fix.counter", "fix.count*"));
    env.mux(["reload"]).ok();
    drop(home.held(ONE, "A3"));
}

#[test]
fn call_is_not_sent_if_its_tool_changes_while_held() {
    let home = Home::new();
    let env = &home.env;
    let run = home.held(ONE, "A1");
    let changes = json!({ "counter": { "list": { "description": "Does something else." } } });
    fs::write(env.path("changes.json"), changes.to_string()).unwrap();
    env.mux(["call", "fix.list_changed"]).ok();
    env.mux(["approve", "A1"]).ok();
    let ended = run.wait();
    assert_ne!(ended.code, 0, "{ended:#?}");
    assert_eq!(home.called("counter"), 0);
}

#[test]
fn approval_does_not_override_a_deny_rule_added_meanwhile() {
    let home = Home::new();
    let run = home.held(ONE, "A1");
    let text = fs::read_to_string(home.env.dirs.config_file()).unwrap();
    home.env.write_config(&text.replace("\"ask\"", "\"deny\""));
    home.env.mux(["reload"]).ok();
    home.env.mux(["approve", "A1"]).ok();
    run.wait()
        .fails(5, &["error[denied]", "denied by the policy"]);
    assert_eq!(home.called("counter"), 0);
}

/// Replaces a text in the configuration, and reloads it.
fn change(home: &Home, from: &str, to: &str) {
    let text = fs::read_to_string(home.env.dirs.config_file()).unwrap();
    assert!(text.contains(from), "{text}");
    home.env.write_config(&text.replacen(from, to, 1));
    home.env.mux(["reload"]).ok();
}

#[test]
fn grant_covers_only_the_rule_that_required_approval() {
    let home = Home::new();
    let env = &home.env;
    let rule = "match = \"fix.counter\"\naction = \"ask\"\n";
    let two = format!(
        "{rule}arguments = {{ by = {{ under = 10 }} }}\n[[policy]]\n{rule}arguments = {{ by = {{ over = 999 }} }}\n"
    );
    change(&home, rule, &two);
    let by = |n: u32| format!("return await mux.fix.counter({{ key: 'a', by: {n} }})");
    let run = home.held(&by(1), "A1");
    env.mux(["approve", "A1", "--always"]).ok();
    run.wait().ok();
    env.run(&by(2)).ok();
    let run = home.held(&by(5_000), "A2");
    env.mux(["deny", "A2"]).ok();
    run.wait().fails(5, &["denied"]);
    assert_eq!(home.called("counter"), 2);
    // A changed condition makes it a different rule.
    change(&home, "under = 10", "under = 100");
    drop(home.held(&by(1), "A3"));
    change(&home, "under = 100", "under = 10");
    env.run(&by(1)).ok();
}

#[test]
fn grant_covers_only_the_unchanged_server_entry() {
    let home = Home::new();
    let env = &home.env;
    let entry = "pins = \"off\"\n";
    change(
        &home,
        entry,
        &format!("{entry}env = {{ STAGE = \"test\" }}\n"),
    );
    let run = home.held(ONE, "A1");
    env.mux(["approve", "A1", "--always"]).ok();
    run.wait().ok();
    env.run(ONE).ok();
    // Settings that do not affect how the server is reached do not matter.
    change(&home, entry, &format!("{entry}call_timeout = \"3m\"\n"));
    env.run(ONE).ok();
    change(&home, "\"test\"", "\"production\"");
    drop(home.held(ONE, "A2"));
    assert_eq!(home.called("counter"), 3);
}

#[test]
fn grant_covers_only_one_agent() {
    let home = Home::new();
    let run = home.held(ONE, "A1");
    home.env.mux(["approve", "A1", "--always"]).ok();
    run.wait().ok();
    let asked = json!({ "name": "run", "arguments": { "code": ONE, "check": false } });
    let mut small = Agent::legacy(&home.env, &["--agent", "small"], json!({}));
    let id = small.begin("tools/call", asked.clone());
    while home.approvals().is_empty() {}
    home.env.mux(["approve", "A2", "--always"]).ok();
    assert_ne!(small.result(id)["isError"], true);
    let again = small.ask("tools/call", asked.clone());
    assert_ne!(again["isError"], true, "{again}");
    let mut other = Agent::legacy(&home.env, &["--agent", "other"], json!({}));
    other.begin("tools/call", asked);
    while home.approvals().is_empty() {}
    assert_eq!(home.approvals()[0]["agent"], "other");
    assert_eq!(home.called("counter"), 3);
}
