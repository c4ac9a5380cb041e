//! Programs of steps by the command line, and beside busy workers.

use mux_tests::TestEnv;
use serde_json::json;

#[test]
fn steps_of_an_ended_run_are_shown() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let program = json!({ "steps": [
        { "id": "a", "tool": "fix.fail", "args": { "message": "no" }, "on_error": "continue" },
        { "id": "b", "tool": "fix.echo", "args": { "text": "{{a}}" } },
        { "id": "c", "tool": "fix.echo", "args": { "text": "x" }, "after": ["b"] },
    ] });
    env.mux(["program", "-e", &program.to_string()]).ok();
    let listed = env.mux(["runs"]).ok().stdout;
    assert!(
        listed.contains("3 steps: fix.fail, fix.echo, fix.echo"),
        "{listed}"
    );
    let shown = env.mux(["runs", "show", "1"]).ok().stdout;
    for line in [
        "\u{2717} a  fix.fail",
        "\u{2013} b  fix.echo  skipped",
        "\u{2713} c  fix.echo",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let whole = env.mux(["--json", "runs", "show", "1"]).json();
    assert_eq!(whole["steps"].as_array().unwrap().len(), 3);
    assert_eq!(whole["result"], "x");
}

#[test]
fn program_times_out_and_names_the_step() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let program = json!({ "steps": [{ "id": "a", "tool": "fix.hang" }] }).to_string();
    let output = env.mux(["program", "--timeout", "1s", "-e", &program]);
    output.fails(124, &["longer than its 1 s", "step `a` (fix.hang)"]);
}

#[test]
fn program_of_steps_needs_no_worker() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!("{fix}[limits]\nworkers = 1\n"));
    let mut busy = env.begin(["run", "-e", "console.error('busy'); await mux.fix.hang({})"]);
    busy.wait_for("busy");
    let program =
        json!({ "steps": [{ "id": "a", "tool": "fix.echo", "args": { "text": "free" } }] });
    assert_eq!(
        env.mux(["program", "-e", &program.to_string()]).ok().stdout,
        "free\n"
    );
}
