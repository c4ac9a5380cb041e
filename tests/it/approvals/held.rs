//! A call is held until any client answers.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::Home;

const ONE: &str = "return await mux.fix.counter({ key: 'a', by: 2 })";

#[test]
fn held_call_is_listed_and_sent_when_approved_from_another_terminal() {
    let home = Home::new();
    let env = &home.env;
    let mut run = env.begin(["run", "--timeout", "1s", "-e", ONE]);
    run.wait_for("waiting for approval A1: fix.counter {\"key\":\"a\",\"by\":2}; mux approve A1");
    let listed = home.approvals();
    assert_eq!(listed.len(), 1);
    let one = &listed[0];
    assert_eq!(one["arguments"], json!({ "key": "a", "by": 2 }));
    for (name, value) in [
        ("approval", "A1"),
        ("state", "waiting"),
        ("path", "fix.counter"),
        ("client", "mux"),
    ] {
        assert_eq!(one[name], value, "{one:#}");
    }
    assert!(
        one["run"].is_string() && one["left_ms"].as_u64() > Some(60_000),
        "{one:#}"
    );
    assert!(one["rule"].as_str().unwrap().contains("fix.counter"));
    assert_eq!(home.records(), 1);
    let runs = env.mux(["runs"]).ok().stdout;
    assert!(runs.contains("  waiting for approval  "), "{runs}");
    let list = env.mux(["--json", "runs"]).ok().json();
    let state = &list["runs"][0]["state"];
    let waiting = &list["runs"][0]["approvals"];
    assert_eq!((state, waiting), (&json!("running"), &json!(1)));
    let record = env.dirs.state.join("history.db");
    let mode = std::fs::metadata(&record).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The run's timeout of one second is paused.
    for _ in 0..3 {
        env.mux(["call", "fix.sleep", "ms=500"]).ok();
    }
    assert_eq!(home.called("counter"), 0);
    let shown = env.mux(["approvals", "A1"]).ok().stdout;
    assert!(
        shown.contains("\"by\": 2") && shown.contains("fix.counter"),
        "{shown}"
    );
    let said = env.mux(["approve", "A1"]).ok().stdout;
    assert!(said.contains("A1: fix.counter approved"), "{said}");
    let ended = run.wait().ok();
    assert_eq!(ended.stdout, "2\n");
    assert!(
        ended.stderr.contains("A1: fix.counter approved"),
        "{ended:?}"
    );
    assert_eq!((home.called("counter"), home.records()), (1, 0));
    let list = env.mux(["--json", "runs"]).ok().json();
    assert_eq!(list["runs"][0].get("approvals"), None, "{list:#}");
    assert!(home.approvals().is_empty());
    env.mux(["approve", "A1"])
        .fails(1, &["there is no approval `A1`", "mux approvals"]);
    // The log contains no arguments.
    assert!(!env.log().contains("\"key\""));
}

#[test]
fn answer_releases_only_the_approvals_it_names() {
    let home = Home::new();
    let code = "return (await Promise.all(Array.from({ length: 25 }, (_, n) => mux.fix.counter({ key: 'k' + n })))).length";
    let first = home.held(code, "A1");
    while home.approvals().len() < 25 {}
    let second = home.env.begin(["run", "--no-check", "-e", code]);
    while home.approvals().len() < 50 {}
    let said = home.env.mux(["approve", "A1", "--session"]).ok();
    assert!(said.stdout.contains("A1: fix.counter approved"), "{said:?}");
    assert!(
        said.stderr.contains("A2, A3, ") && said.stderr.contains("also waiting"),
        "{said:?}"
    );
    assert_eq!(home.approvals().len(), 49);
    let ids = |numbers: std::ops::RangeInclusive<u32>| numbers.map(|number| format!("A{number}"));
    let rest: Vec<String> = ids(2..=25).collect();
    let answer: Vec<&str> = ["approve"]
        .into_iter()
        .chain(rest.iter().map(String::as_str))
        .collect();
    home.env.mux(&answer).ok();
    assert_eq!(first.wait().ok().stdout, "25\n");
    assert_eq!(home.approvals().len(), 25);
    // Approving an answered call fails, and the others are approved.
    let all: Vec<String> = ids(25..=50).collect();
    let mut answer: Vec<&str> = all.iter().map(String::as_str).collect();
    answer.splice(0..0, ["approve", "--always"]);
    let said = home.env.mux(&answer);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("no approval `A25`"), "{said:?}");
    assert_eq!(said.stdout.matches("approved always").count(), 25);
    assert_eq!(second.wait().ok().stdout, "25\n");
    assert_eq!((home.called("counter"), home.records()), (50, 0));
}
