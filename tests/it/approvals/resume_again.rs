//! Runs that are resumed more than once, and runs that cannot be resumed: no call is repeated and no approval is lost.

use super::{Home, resume::MARKS};

const SHORT: &str = "[approvals]\nwait = \"1s\"\nlog = \"64KiB\"\n";

/// Code that makes a call, different each time and half as long as `approvals.log`, writes a mark, and makes a call
/// that needs approval.
fn longer_each_time(home: &Home) -> String {
    let mark = home.mark("once");
    format!(
        "await mux.fix.echo({{ text: Math.random() + 'x'.repeat(30000) }});\n\
         {mark}return await mux.fix.counter({{ key: 'a' }})"
    )
}

#[test]
fn no_call_is_repeated_when_the_journal_grows_too_long() {
    let home = Home::with(&format!("{MARKS}{SHORT}"));
    let env = &home.env;
    let code = longer_each_time(&home);
    env.mux(["run", "--no-check", "-e", &code])
        .fails(5, &["error[pending]", "A1"]);
    // The journal becomes too long while the run is resumed. The run's earlier calls are still known, and it waits once
    // more.
    env.mux(["resume", "A1"]).fails(5, &["error[pending]"]);
    assert_eq!((home.called("side_effect"), home.called("echo")), (1, 2));
    // From here on the calls that were made are unknown, so none is made.
    env.mux(["approve", "A1"]).ok();
    env.mux(["resume", "A1"])
        .fails(1, &["error[limit]", "approvals.log"]);
    assert_eq!((home.marks().len(), home.called("echo")), (1, 2));
    assert_eq!(home.called("counter"), 0);
    // Such a run succeeds if it is approved before the journal is too long.
    env.mux(["run", "--no-check", "-e", &code])
        .fails(5, &["error[pending]", "A2"]);
    env.mux(["approve", "A2"]).ok();
    assert_eq!(env.mux(["resume", "A2"]).ok().stdout, "1\n");
    assert_eq!((home.marks().len(), home.called("counter")), (2, 1));
}

#[test]
fn run_that_fails_to_resume_stays_resumable() {
    let home = Home::with(&format!("{MARKS}[approvals]\nwait = \"1s\"\n"));
    let env = &home.env;
    let mark = home.mark("once");
    let code = format!("{mark}return await mux.fix.counter({{ key: 'a' }})");
    env.mux(["run", "--no-check", "-e", &code])
        .fails(5, &["error[pending]"]);
    env.mux(["approve", "A1"]).ok();
    env.stop();
    // A daemon that cannot start a worker.
    let mut resume = env.command("mux");
    resume.env("MUX_WORKER", "/no/such/worker");
    let ended = mux_tests::env::output(resume.args(["resume", "A1"]));
    assert_eq!(ended.code, 3, "{ended:#?}");
    assert_eq!(home.approvals()[0]["state"], "approved");
    env.stop();
    assert_eq!(env.mux(["resume", "A1"]).ok().stdout, "1\n");
    assert_eq!((home.marks().len(), home.called("counter")), (1, 1));
    assert_eq!(home.records(), 0);
}

#[test]
fn concurrent_answers_and_calls_of_one_run_are_all_saved() {
    let home = Home::with(&format!("{MARKS}[approvals]\nwait = \"1s\"\n"));
    let env = &home.env;
    let mark = home.mark("once").replace("\"once\"", "'m' + n");
    let code = format!(
        "const all = Array.from({{ length: 12 }}, (_, n) => mux.fix.counter({{ key: 'k' + n }}).catch(() => 0));\n\
         await Promise.all(all);\n\
         for (let n = 0; n < 40; n++) {mark}\
         return await mux.fix.counter({{ key: 'last' }})"
    );
    let run = env.begin(["run", "--no-check", "-e", &code]);
    while home.marks().is_empty() {
        home.approvals();
    }
    for n in 1..=12 {
        env.mux(["approve", &format!("A{n}")]).ok();
    }
    run.wait().fails(5, &["error[pending]"]);
    env.mux(["approve", "A13"]).ok();
    env.stop();
    let approved = home.approvals();
    assert!(
        approved.len() == 13 && approved.iter().all(|one| one["state"] == "approved"),
        "{approved:#?}"
    );
    assert_eq!(env.mux(["resume", "A13"]).ok().stdout, "1\n");
    assert_eq!((home.marks().len(), home.called("counter")), (40, 13));
}
