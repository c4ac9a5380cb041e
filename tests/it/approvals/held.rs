//! A call is held until somebody answers, from wherever.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::Home;

const ONE: &str = "return await mux.fix.counter({ key: 'a', by: 2 })";

#[test]
fn a_held_call_is_listed_and_goes_on_when_it_is_approved_from_another_terminal() {
    let home = Home::new();
    let env = &home.env;
    let mut run = env.begin(["run", "--timeout", "1s", "-e", ONE]);
    run.hear("waiting for approval A1: fix.counter {\"key\":\"a\",\"by\":2}; mux approve A1");
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
    let record = env
        .dirs
        .state
        .join("approvals")
        .join(format!("{}.json", one["run"].as_str().unwrap()));
    let mode = std::fs::metadata(&record).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The run has a second, and that stands still.
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
    assert!(home.approvals().is_empty());
    env.mux(["approve", "A1"])
        .fails(1, &["there is no approval `A1`", "mux approvals"]);
    // No argument stands in the log.
    assert!(!env.log().contains("\"key\""));
}

#[test]
fn a_denied_call_is_never_sent_and_its_program_hears_why() {
    let home = Home::new();
    let run = home.held(ONE, "A1");
    home.env
        .mux(["deny", "A1", "--reason", "not before Friday"])
        .ok();
    run.wait().fails(
        5,
        &[
            "error[denied]",
            "fix.counter was denied by the user: not before Friday",
        ],
    );
    let code = "return await mux.fix.counter({ key: 'a' }).catch((e) => [e.kind, e.recoverable])";
    let run = home.held(code, "A2");
    home.env.mux(["deny", "a2"]).ok();
    let caught = run.wait().ok().stdout;
    assert!(
        caught.contains("denied") && caught.contains("false"),
        "{caught}"
    );
    assert_eq!((home.called("counter"), home.records()), (0, 0));
}

#[test]
fn two_calls_of_one_program_wait_together_and_are_answered_in_any_order() {
    let home = Home::new();
    let code = "return await Promise.all([mux.fix.counter({ key: 'a' }), mux.fix.counter({ key: 'b', by: 5 })])";
    let mut run = home.held(code, "A1");
    run.hear("waiting for approval A2");
    home.env.mux(["approve", "A2"]).ok();
    run.hear("A2: fix.counter approved");
    assert_eq!(home.approvals().len(), 1);
    home.env.mux(["approve", "A1"]).ok();
    let result = run.wait().ok().stdout;
    assert!(result.contains('1') && result.contains('5'), "{result}");
    assert_eq!((home.called("counter"), home.records()), (2, 0));
}

#[test]
fn a_run_that_is_cancelled_or_whose_client_goes_asks_no_more() {
    let home = Home::new();
    let run = home.held(ONE, "A1");
    home.env.mux(["runs", "cancel", "1"]).ok();
    run.wait().fails(130, &["cancelled"]);
    assert!(home.approvals().is_empty());
    let run = home.held(ONE, "A2");
    run.signal(nix::sys::signal::Signal::SIGKILL);
    run.end();
    home.env.until_logged("run failed");
    while !home.approvals().is_empty() {}
    assert_eq!((home.called("counter"), home.records()), (0, 0));
}

#[test]
fn a_call_outside_of_runs_is_held_too() {
    let home = Home::new();
    let mut call = home.env.begin(["call", "fix.counter", "key=a", "by=7"]);
    call.hear("waiting for approval A1: fix.counter {\"key\":\"a\",\"by\":7}");
    assert_eq!(home.approvals()[0]["run"], json!(null));
    home.env.mux(["approve", "A1"]).ok();
    assert_eq!(call.wait().ok().stdout, "7\n");
    // One whose client goes is asked for no more.
    let mut call = home.env.begin(["call", "fix.counter", "key=a"]);
    call.hear("waiting for approval A2");
    call.signal(nix::sys::signal::Signal::SIGINT);
    call.end();
    while !home.approvals().is_empty() || home.records() > 0 {}
    assert_eq!(home.called("counter"), 1);
    // What is wrong with a call is told without asking anybody.
    home.env
        .mux(["call", "fix.counter", "by=7"])
        .fails(1, &["validation"]);
}

#[test]
fn many_wait_at_once_and_an_answer_lets_go_those_that_it_names() {
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
    // One that is over is told, and the others are answered.
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

#[test]
fn how_many_may_wait_has_limits_with_names() {
    let home = Home::with("[approvals]\nheld_per_run = 1\nheld = 2\n");
    let code = "return await Promise.allSettled([mux.fix.counter({ key: 'a' }), mux.fix.counter({ key: 'b' })])\n\
                .then((all) => all.map((one) => one.reason?.kind + ': ' + one.reason?.message))";
    let first = home.held(code, "A1");
    let second = home.held(ONE, "A2");
    home.env
        .mux(["run", "-e", ONE])
        .fails(3, &["error[busy]", "2 wait already (approvals.held)"]);
    home.env.mux(["deny", "A1"]).ok();
    let told = first.wait().ok().stdout;
    assert!(
        told.contains("busy: ") && told.contains("approvals.held_per_run"),
        "{told}"
    );
    home.env.mux(["deny", "A2"]).ok();
    second.wait().fails(5, &["denied"]);
    assert_eq!(home.called("counter"), 0);
}
