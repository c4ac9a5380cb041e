//! A run whose approval is not answered in time ends as pending, and can be resumed without repeating a call.

use std::time::Duration;

use mux_tests::process;
use serde_json::json;

use super::Home;

const SOON: &str = "[approvals]\nwait = \"1s\"\n";
/// Allows `side_effect`: a resumed run would need approval for it, because it calls itself destructive.
pub(super) const MARKS: &str = "[[policy]]\nmatch = \"fix.side_effect\"\naction = \"allow\"\n";

/// Code that writes a mark, makes a call that needs approval, and writes another mark.
fn between(home: &Home) -> String {
    let before = home.mark("before");
    let after = home.mark("after");
    format!(
        "{before}const n = await mux.fix.counter({{ key: 'a', by: 3 }});\n{after}return [mux.input, n]"
    )
}

#[test]
fn unanswered_run_is_resumed_without_repeating_calls() {
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
    // Without an answer, resuming asks again under the same id and ends as pending again.
    env.mux(["resume", "A1"])
        .fails(5, &["waiting for approval A1", "error[pending]"]);
    assert_eq!((home.called("counter"), home.records()), (0, 1));
    let said = env.mux(["approve", "A1"]).ok();
    assert!(said.stderr.contains("mux resume A1"), "{said:?}");
    assert_eq!(home.approvals()[0]["state"], "approved");
    env.mux(["approve", "A1"]).fails(1, &["already answered"]);
    let resumed = env.mux(["resume", "A1"]).ok();
    assert!(
        resumed.stderr.contains("1 call answered from the record"),
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
fn held_run_and_its_answer_survive_the_daemon() {
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
    // So does the answer.
    env.stop();
    assert_eq!(home.approvals()[0]["state"], "approved");
    env.mux(["resume", "A1"]).ok();
    assert_eq!(home.marks(), ["before", "after"]);
    assert_eq!((home.called("counter"), home.called("side_effect")), (1, 2));
    // Approval ids are not reused.
    let mut call = env.begin(["call", "fix.counter", "key=a"]);
    call.wait_for("waiting for approval A");
    let next = home.approvals()[0]["approval"].as_str().unwrap()[1..]
        .parse::<u64>()
        .unwrap();
    assert!(next > 1, "{next}");
}

#[test]
fn stopped_daemon_keeps_held_runs() {
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
fn caught_pending_error_leaves_no_approval() {
    let home = Home::with(SOON);
    let code =
        "return await mux.fix.counter({ key: 'a' }).catch((e) => [e.kind, e.details.approvalId])";
    let ended = home.env.mux(["run", "-e", code]).ok().stdout;
    assert!(ended.contains("pending") && ended.contains("A1"), "{ended}");
    assert!(home.approvals().is_empty() && home.records() == 0);
}

#[test]
fn call_in_flight_is_reported_as_unknown_and_not_repeated() {
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
fn call_outside_runs_is_resumed() {
    let home = Home::with(SOON);
    let call = ["call", "fix.counter", "key=a", "by=4"];
    home.env.mux(call).fails(5, &["error[pending]", "A1"]);
    home.env.mux(["approve", "A1"]).ok();
    assert_eq!(home.env.mux(["resume", "A1"]).ok().stdout, "4\n");
    assert_eq!(home.records(), 0);
    // Repeating the call also uses the answer, but only once.
    home.env.mux(call).fails(5, &["error[pending]", "A2"]);
    home.env.mux(["approve", "A2"]).ok();
    assert_eq!(home.env.mux(call).ok().stdout, "8\n");
    assert_eq!((home.called("counter"), home.records()), (2, 0));
    home.env.mux(call).fails(5, &["error[pending]", "A"]);
}
