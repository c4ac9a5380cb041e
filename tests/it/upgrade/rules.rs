//! Restrictions that are configured after an upgrade also apply to the runs that continue in the old daemon.

use std::{fs, path::Path};

use mux_tests::{Agent, Running, TestEnv, env, program_result};
use serde_json::{Value, json};

use super::{assert_ends, upgrade};

/// A program that calls until it is refused, and then returns the kind of the error.
fn until_refused(call: &str) -> String {
    format!(
        "for (;;) {{\n\
           try {{ await mux.{call} }} catch (error) {{ return error.kind }}\n\
           console.log('allowed');\n\
           await mux.idle.sleep({{ ms: 50 }});\n\
         }}"
    )
}

/// Starts a run and upgrades. Returns the run, which has called again after the upgrade, and the old daemon's pid.
fn begin(env: &TestEnv, dir: &Path, call: &str) -> (Running, i32) {
    let code = until_refused(call);
    let mut command = env.command("mux");
    command.current_dir(dir).args(["run", "-e", &code]);
    let mut run = Running::start(&mut command);
    run.wait_for("allowed");
    let (old, _) = upgrade(env);
    run.wait_for_more("allowed");
    (run, old)
}

#[track_caller]
fn assert_refused(run: Running, old: i32, kind: &str) {
    assert_eq!(run.wait().ok().stdout.trim(), kind);
    assert_ends(old);
}

fn calls(log: &Path) -> usize {
    let log = fs::read_to_string(log).unwrap_or_default();
    log.matches("\"tool\":\"echo\"").count()
}

/// A home with a server that tests restrict, `fix`, and another, `idle`. Its configuration, and the call log of `fix`.
fn home() -> (TestEnv, String, std::path::PathBuf) {
    let env = TestEnv::new();
    let log = env.path("calls");
    let fix = env.fixture("fix", &["--call-log", log.to_str().unwrap()]);
    let both = format!("{}{fix}", env.fixture("idle", &[]));
    env.write_config(&both);
    (env, both, log)
}

#[test]
fn new_rule_applies_to_a_run_of_the_old_daemon_before_reload_returns() {
    let (env, both, log) = home();
    let (run, old) = begin(&env, env.home(), "fix.echo({ text: 'x' })");
    let noted = |env: &TestEnv| {
        let audit = env.mux(["--json", "audit", "-n", "1000"]).ok().stdout;
        audit.matches("policy_loaded").count()
    };
    let before = noted(&env);
    env.write_config(&format!(
        "{both}[[policy]]\nmatch = \"fix.echo\"\naction = \"deny\"\n\
         [[policy]]\nmatch = \"nothing.*\"\naction = \"dney\"\n{}start = \"eager\"\n",
        env.fixture("new", &[]),
    ));
    let output = env.mux(["reload"]).ok();
    // One call may have been sent before.
    let sent = calls(&log) + 1;
    assert_refused(run, old, "denied");
    assert!(calls(&log) <= sent, "{} and {sent}", calls(&log));
    // Both daemons read the invalid rule, and it is reported once.
    let all = format!("{}{}", output.stdout, output.stderr);
    assert_eq!(all.matches("\"dney\"").count(), 1, "{all}");
    // Only one of the two writes the audit event, and only one starts the eager server.
    assert_eq!(noted(&env), before + 1);
    env.mux(["call", "new.pid"]).ok();
    assert_eq!(env.starts("new").len(), 1);
}

#[test]
fn saved_config_applies_to_the_old_daemons_of_two_upgrades() {
    let (env, both, _) = home();
    let (run, first) = begin(&env, env.home(), "fix.echo({ text: 'x' })");
    let (second, _) = upgrade(&env);
    assert_ne!(first, second);
    env.write_config(&format!(
        "{both}[[policy]]\nmatch = \"fix.echo\"\naction = \"deny\"\n"
    ));
    assert_refused(run, first, "denied");
    assert_ends(second);
}

#[test]
fn removed_or_disabled_server_is_gone_in_the_old_daemon() {
    for disables in [true, false] {
        let (env, both, _) = home();
        let (run, old) = begin(&env, env.home(), "fix.echo({ text: 'x' })");
        let without = env.fixture("idle", &[]);
        env.write_config(&if disables {
            format!("{both}enabled = false\n")
        } else {
            without
        });
        env.mux(["reload"]).ok();
        assert_refused(run, old, "not_found");
    }
}

#[test]
fn revoked_project_and_removed_secret_are_gone_in_the_old_daemon() {
    let (env, _, _) = home();
    let root = env.path("shop");
    fs::create_dir(&root).unwrap();
    let servers = json!({ "db": { "command": env::binary("mux-fixture-server") } });
    let text = json!({ "mcpServers": servers }).to_string();
    fs::write(root.join(".mcp.json"), text).unwrap();
    let at = |args: &[&str]| env::output(env.command("mux").current_dir(&root).args(args));
    let shown = at(&["project", "show", "--json"]).ok().json();
    let digest = shown["digest"].as_str().unwrap();
    at(&["project", "approve", "--hash", digest]).ok();
    let (run, old) = begin(&env, &root, "db.echo({ text: 'x' })");
    at(&["project", "revoke"]).ok();
    assert_refused(run, old, "not_found");

    let (env, both, _) = home();
    env.write_config(&format!(
        "{both}env = {{ TOKEN = \"${{keyring:MINE}}\" }}\n"
    ));
    env.mux_with_input(["secrets", "set", "MINE"], b"s3cret")
        .ok();
    let (run, old) = begin(&env, env.home(), "fix.echo({ text: 'x' })");
    env.mux(["secrets", "remove", "MINE"]).ok();
    assert_refused(run, old, "unavailable");
}

#[test]
fn tool_excluded_for_an_agent_is_gone_for_its_run_in_the_old_daemon() {
    let (env, both, log) = home();
    let mut agent = Agent::legacy(&env, &["--agent", "small"], json!({}));
    let code = until_refused("fix.echo({ text: 'x' })");
    let run = agent.begin(
        "tools/call",
        json!({ "name": "run", "arguments": { "code": code } }),
    );
    env.until_called(&log, "echo", 1, "idle.pid");
    let (old, _) = upgrade(&env);
    let sent = calls(&log);
    env.until_called(&log, "echo", sent + 1, "idle.pid");
    env.write_config(&format!("{both}[agents.small]\nexclude = [\"fix.echo\"]\n"));
    env.mux(["reload"]).ok();
    let output: Value = agent.result(run);
    assert_eq!(program_result::value(&output), "not_found");
    assert_ends(old);
}
