//! What the user forbids while another daemon has taken over is forbidden to runs that go on in the old one.

use std::{fs, path::Path};

use mux_tests::{Agent, Running, TestEnv, env};
use serde_json::{Value, json};

use super::{assert_ends, upgrade};

/// Calls until it may not, and then gives the kind of the error.
fn until_refused(call: &str) -> String {
    format!(
        "for (;;) {{\n\
           try {{ await mux.{call} }} catch (error) {{ return error.kind }}\n\
           console.log('allowed');\n\
           await mux.idle.sleep({{ ms: 50 }});\n\
         }}"
    )
}

/// A run in the old daemon that has made its call at least once, after another daemon has taken over.
fn begin(env: &TestEnv, dir: &Path, call: &str) -> (Running, i32) {
    let code = until_refused(call);
    let mut command = env.command("mux");
    command.current_dir(dir).args(["run", "-e", &code]);
    let mut run = Running::start(&mut command);
    run.hear("allowed");
    let (old, _) = upgrade(env);
    run.hear_more("allowed");
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

/// The servers of every test here: one that is forbidden, and one that is not.
fn home() -> (TestEnv, String, std::path::PathBuf) {
    let env = TestEnv::new();
    let log = env.path("calls");
    let fix = env.fixture("fix", &["--call-log", log.to_str().unwrap()]);
    let both = format!("{}{fix}", env.fixture("idle", &[]));
    env.write_config(&both);
    (env, both, log)
}

#[test]
fn a_new_rule_reaches_a_run_of_the_old_daemon_before_reload_returns() {
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
    let told = env.mux(["reload"]).ok();
    // One that went out before.
    let sent = calls(&log) + 1;
    assert_refused(run, old, "denied");
    assert!(calls(&log) <= sent, "{} and {sent}", calls(&log));
    // What is wrong is wrong in both, and told once.
    let all = format!("{}{}", told.stdout, told.stderr);
    assert_eq!(all.matches("\"dney\"").count(), 1, "{all}");
    // One of the two writes it down, and one opens what is to be open.
    assert_eq!(noted(&env), before + 1);
    env.mux(["call", "new.pid"]).ok();
    assert_eq!(env.starts("new").len(), 1);
}

#[test]
fn a_file_that_is_saved_reaches_the_old_daemons_of_two_upgrades() {
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
fn a_server_that_is_removed_or_disabled_is_gone_for_the_old_daemon() {
    for disables in [true, false] {
        let (env, both, _) = home();
        let (run, old) = begin(&env, env.home(), "fix.echo({ text: 'x' })");
        let without = env.fixture("idle", &[]);
        env.write_config(&match disables {
            true => format!("{both}enabled = false\n"),
            false => without,
        });
        env.mux(["reload"]).ok();
        assert_refused(run, old, "not_found");
    }
}

#[test]
fn a_project_that_is_revoked_and_a_secret_that_is_removed_are_gone_for_the_old_daemon() {
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
fn what_an_agent_is_not_to_see_any_more_is_gone_for_its_run_in_the_old_daemon() {
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
    let told: Value = agent.result(run);
    assert_eq!(told["structuredContent"]["result"], "not_found", "{told:#}");
    assert_ends(old);
}
