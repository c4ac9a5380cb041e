//! When nobody answers in time the run ends as pending, and goes on later without doing anything twice.

use std::time::Duration;

use mux_tests::process;
use serde_json::json;

use super::Home;

const SOON: &str = "[approvals]\nwait = \"1s\"\n";
/// A run that goes on asks for what calls itself destructive, unless somebody has allowed it.
pub(super) const MARKS: &str = "[[policy]]\nmatch = \"fix.side_effect\"\naction = \"allow\"\n";

/// A mark, a call that has to be approved, and another mark.
fn between(home: &Home) -> String {
    let (before, after) = (home.mark("before"), home.mark("after"));
    format!(
        "{before}const n = await mux.fix.counter({{ key: 'a', by: 3 }});\n{after}return [mux.input, n]"
    )
}

#[test]
fn a_run_that_nobody_answered_goes_on_without_sending_anything_twice() {
    let home = Home::with(&format!("{MARKS}{SOON}"));
    let env = &home.env;
    let code = between(&home);
    let ended = env.mux([
        "--json",
        "run",
        "--no-check",
        "--input",
        "\"in\"",
        "-e",
        &code,
    ]);
    assert_eq!(ended.code, 5, "{ended:#?}");
    let error = &ended.json()["error"];
    assert_eq!(error["kind"], "pending", "{error:#}");
    assert_eq!(error["details"]["approvalId"], "A1");
    let hint = error["hint"].as_str().unwrap();
    assert!(
        hint.contains("mux approve A1") && hint.contains("mux resume A1"),
        "{hint}"
    );
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("approvals.wait")
    );
    assert_eq!(
        (home.marks(), home.records()),
        (vec!["before".to_owned()], 1)
    );
    let listed = home.approvals();
    assert_eq!((listed.len(), &listed[0]["state"]), (1, &json!("pending")));
    // Nobody has said a word: it is asked again, under the same name, and ends so again.
    env.mux(["resume", "A1"])
        .fails(5, &["waiting for approval A1", "error[pending]"]);
    assert_eq!((home.called("counter"), home.records()), (0, 1));
    let said = env.mux(["approve", "A1"]).ok();
    assert!(said.stderr.contains("mux resume A1"), "{said:?}");
    assert_eq!(home.approvals()[0]["state"], "approved");
    env.mux(["approve", "A1"]).fails(1, &["answered before"]);
    let resumed = env.mux(["resume", "A1"]).ok();
    assert!(
        resumed.stderr.contains("answered from the record: 1 call"),
        "{resumed:?}"
    );
    let result: serde_json::Value = serde_json::from_str(&resumed.stdout).unwrap();
    assert_eq!(result, json!(["in", "3"]));
    assert_eq!(home.marks(), ["before", "after"]);
    assert_eq!((home.called("counter"), home.called("side_effect")), (1, 2));
    assert!(home.approvals().is_empty() && home.records() == 0);
    env.mux(["resume", "A1"])
        .fails(1, &["there is no approval `A1`"]);
}

#[test]
fn a_run_that_waits_survives_the_daemon() {
    let home = Home::with(MARKS);
    let env = &home.env;
    let run = home.held(&between(&home), "A1");
    let pid = env.daemon().unwrap();
    process::kill(pid);
    assert!(process::wait_for_end(pid, Duration::from_secs(20)));
    run.wait().fails(6, &["unknown_outcome"]);
    let listed = home.approvals();
    assert_eq!(
        (listed.len(), &listed[0]["state"]),
        (1, &json!("pending")),
        "{listed:#?}"
    );
    assert_eq!(listed[0]["arguments"], json!({ "key": "a", "by": 3 }));
    env.mux(["approve", "A1"]).ok();
    // The answer does as well.
    env.stop();
    assert_eq!(home.approvals()[0]["state"], "approved");
    env.mux(["resume", "A1"]).ok();
    assert_eq!(home.marks(), ["before", "after"]);
    assert_eq!((home.called("counter"), home.called("side_effect")), (1, 2));
    // No name comes twice.
    let mut call = env.begin(["call", "fix.counter", "key=a"]);
    call.hear("waiting for approval A");
    let next = home.approvals()[0]["approval"].as_str().unwrap()[1..]
        .parse::<u64>()
        .unwrap();
    assert!(next > 1, "{next}");
}

#[test]
fn a_daemon_that_is_told_to_stop_keeps_what_waits() {
    let home = Home::new();
    let run = home.held(&between(&home), "A1");
    home.env.mux(["stop"]).ok();
    run.wait().fails(5, &["error[pending]", "A1"]);
    assert_eq!(home.records(), 1);
    home.env.mux(["deny", "A1"]).ok();
    home.env.mux(["resume", "A1"]).fails(5, &["error[denied]"]);
    assert_eq!(
        (home.marks(), home.called("counter")),
        (vec!["before".to_owned()], 0)
    );
    assert_eq!(home.records(), 0);
}

#[test]
fn what_was_on_its_way_is_told_as_unknown_and_not_sent_again() {
    let home = Home::with(SOON);
    let code = "return await Promise.all([mux.fix.hang({}).catch((e) => e.kind), mux.fix.counter({ key: 'a' })])";
    home.env
        .mux(["run", "--no-check", "-e", code])
        .fails(5, &["error[pending]"]);
    let hung = home.called("hang");
    home.env.mux(["approve", "A1"]).ok();
    let resumed = home.env.mux(["--json", "resume", "A1"]).ok().json();
    assert_eq!(
        resumed["result"],
        json!(["unknown_outcome", "1"]),
        "{resumed:#}"
    );
    assert_eq!((home.called("hang"), home.called("counter")), (hung, 1));
}

#[test]
fn an_error_that_is_caught_leaves_nothing_behind() {
    let home = Home::with(SOON);
    let code =
        "return await mux.fix.counter({ key: 'a' }).catch((e) => [e.kind, e.details.approvalId])";
    let ended = home.env.mux(["run", "-e", code]).ok().stdout;
    assert!(ended.contains("pending") && ended.contains("A1"), "{ended}");
    assert!(home.approvals().is_empty() && home.records() == 0);
}

#[test]
fn a_call_outside_of_runs_goes_on_as_well() {
    let home = Home::with(SOON);
    let call = ["call", "fix.counter", "key=a", "by=4"];
    home.env.mux(call).fails(5, &["error[pending]", "A1"]);
    home.env.mux(["approve", "A1"]).ok();
    assert_eq!(home.env.mux(["resume", "A1"]).ok().stdout, "4\n");
    assert_eq!(home.records(), 0);
    // Or it is made again, and finds its answer, once.
    home.env.mux(call).fails(5, &["error[pending]", "A2"]);
    home.env.mux(["approve", "A2"]).ok();
    assert_eq!(home.env.mux(call).ok().stdout, "8\n");
    assert_eq!((home.called("counter"), home.records()), (2, 0));
    home.env.mux(call).fails(5, &["error[pending]", "A"]);
}

#[test]
fn a_run_whose_calls_are_too_much_to_be_kept_says_so() {
    let home = Home::with("[approvals]\nwait = \"1s\"\nlog = \"64KiB\"\n");
    let code = "await mux.fix.blob({ bytes: 100000 }); return await mux.fix.counter({ key: 'a' })";
    home.env
        .mux(["run", "--no-check", "-e", code])
        .fails(5, &["error[pending]"]);
    home.env.mux(["approve", "A1"]).ok();
    home.env
        .mux(["resume", "A1"])
        .fails(1, &["error[limit]", "approvals.log"]);
    assert_eq!((home.called("blob"), home.called("counter")), (1, 0));
}

#[test]
fn a_run_that_still_waits_is_only_followed() {
    let home = Home::new();
    let started = home
        .env
        .mux([
            "run",
            "--detach",
            "-e",
            "return await mux.fix.counter({ key: 'a' })",
        ])
        .ok();
    let run = started.stdout.trim().to_owned();
    while home.approvals().is_empty() {}
    let mut resumed = home.env.begin(["resume", &run]);
    resumed.hear("waiting for approval A1");
    home.env.mux(["approve", "A1"]).ok();
    assert_eq!(resumed.wait().ok().stdout, "1\n");
    assert_eq!(home.called("counter"), 1);
}
