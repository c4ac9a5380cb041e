//! Runs of earlier daemons.

use std::{fs, time::Duration};

use mux_tests::{TestEnv, process};
use serde_json::json;

const PROGRAM: &str = "console.log('said'); return await mux.fix.add({ a: mux.input.n, b: 2 })";

/// Kills the daemon once all runs are in the history.
fn kill_after_a_list(env: &TestEnv) {
    env.mux(["runs"]).ok();
    let pid = env.daemon().unwrap();
    process::kill(pid);
    assert!(process::wait_for_end(pid, Duration::from_secs(20)));
}

#[test]
fn runs_history_outlives_a_killed_daemon() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let input = json!({ "n": 1, "password": "hunter22" }).to_string();
    env.mux(["run", "-e", PROGRAM, "--input", &input]).ok();
    let run = env.mux([
        "--json",
        "run",
        "-e",
        "return await mux.fix.sleep({ ms: 60000 })",
        "--detach",
    ]);
    let open = run.ok().json()["run"].as_str().unwrap().to_owned();
    kill_after_a_list(&env);

    let list = env.mux(["--json", "runs"]).ok().json();
    let runs = list["runs"].as_array().unwrap();
    let states: Vec<_> = runs
        .iter()
        .map(|run| run["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["failed", "succeeded"], "{list:#}");
    let lost = env.mux(["--json", "runs", "show", &open]).ok().json();
    assert_eq!(lost["error"]["kind"], "unknown_outcome", "{lost:#}");

    let kept = env.mux(["--json", "runs", "show", "1"]).ok().json();
    assert_eq!(kept["result"], json!({ "sum": 3 }));
    assert_eq!(kept["console"][0]["text"], "said");
    let journal = &kept["journal"];
    assert_eq!(journal["program"]["source"], PROGRAM);
    let input = &journal["program"]["input"]["value"];
    assert_eq!(input, &json!({ "n": 1, "password": "***" }));
    let call = &journal["calls"][0];
    assert_eq!(call["tool"], "fix.add");
    assert_eq!(call["arguments"]["value"], json!({ "a": 1, "b": 2 }));
    assert_eq!(call["result"]["value"], json!({ "sum": 3 }));
    let shown = env.mux(["runs", "1"]).ok().stdout;
    assert!(
        shown.contains(PROGRAM) && shown.contains(r#"{"sum":3}"#),
        "{shown}"
    );
    // Numbers go on.
    let next = env.mux(["--json", "run", "-e", "return 1"]).ok().json();
    assert!(next["run"].as_str().unwrap().ends_with("-3"), "{next}");
}

#[test]
fn runs_history_keeps_what_the_configuration_says() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    let config = config.replace("[servers.fix]", "[servers.fix]\nhistory = false");
    env.write_config(&config);
    env.mux(["run", "-e", "return await mux.fix.add({ a: 1, b: 2 })"])
        .ok();
    let kept = env.mux(["--json", "runs", "show", "1"]).ok().json();
    assert_eq!(
        kept["journal"]["calls"][0]["arguments"]["withheld"], true,
        "{kept:#}"
    );

    env.write_config(&format!("{config}\n[history]\nkeep = \"0\"\n"));
    env.mux(["reload"]).ok();
    env.mux(["run", "-e", "return 1"]).ok();
    let kept = env.mux(["--json", "runs", "show", "2"]).ok().json();
    assert!(kept["journal"].is_null() && kept["result"] == 1, "{kept:#}");
}

#[test]
fn runs_go_on_without_a_history() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    fs::create_dir_all(env.dirs.state.join("history.db")).unwrap();
    let run = env.mux([
        "--json",
        "run",
        "-e",
        "return await mux.fix.add({ a: 1, b: 2 })",
    ]);
    assert_eq!(run.ok().json()["result"], json!({ "sum": 3 }));
    let status = env.mux(["--json", "status"]).ok().json();
    let problems = status["problems"].as_array().unwrap();
    let history = problems.iter().find(|problem| problem["code"] == "history");
    let message = history.unwrap()["message"].as_str().unwrap();
    assert!(
        message.contains("history.db cannot be written"),
        "{message}"
    );
}
