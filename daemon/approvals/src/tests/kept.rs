//! Waiting runs on disk: concurrent writers, restarts of the daemon, and failing writes.

use std::fs;

use mux_journal::CallState;

use super::*;

fn target(tool: &str) -> CallTarget {
    CallTarget::Path {
        path: format!("s.{tool}"),
        raw: false,
    }
}

/// Begins a call of this run and records it, as the `runs` crate does.
async fn call(approvals: &Arc<Approvals>, run: &Arc<RunJournal>, arguments: &str) -> Option<usize> {
    let BegunCall::New(index) = run.begin_call(&target("t"), &arguments.into()) else {
        panic!("{arguments} is new");
    };
    approvals.save_begun_call(run).await.unwrap();
    index
}

async fn made(approvals: &Arc<Approvals>, run: &Arc<RunJournal>, arguments: &str, result: &str) {
    let index = call(approvals, run, arguments).await;
    run.end_call(index, &Ok(result.into()));
    approvals.save_ended_call(run).await;
}

fn soon(approvals: &Approvals) {
    approvals.set_settings(ApprovalSettings {
        wait: Duration::from_millis(1),
        ..ApprovalSettings::default()
    });
}

/// The owner to resume.
async fn resumed(approvals: &Arc<Approvals>, id: &str) -> ApprovalOwner {
    match approvals.find_resumable(id, &ALL, |_| false).await.unwrap() {
        ResumeTarget::Again(view) => view.owner,
        ResumeTarget::As(run) => panic!("nothing is kept of {run}"),
    }
}

/// Executes SQL in the database, as nothing else does.
fn execute(home: &TempDir, sql: &str) {
    let database = rusqlite::Connection::open(home.path().join("history.db")).unwrap();
    database.execute_batch(sql).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_answers_and_calls_of_one_run_are_all_saved() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    soon(&approvals);
    let run = run("r-1", None);
    let caller = caller(None);
    for n in 1..=20 {
        let pending = ask(&approvals, n, &caller, Some(&run)).await;
        assert_eq!(pending, Err(FaultKind::Pending));
    }
    let calls = async {
        for n in 0..40 {
            made(&approvals, &run, &format!("{{\"n\":{n}}}"), "done").await;
        }
        // The daemon dies while this call is in flight.
        call(&approvals, &run, "{\"n\":40}").await;
    };
    let answers = (1..=20).map(|n| {
        let approvals = Arc::clone(&approvals);
        tokio::spawn(async move {
            let id = format!("A{n}");
            let decided = approvals
                .decide(&id, &ALL, UserDecision::Once)
                .await
                .unwrap();
            assert_eq!((decided.live, decided.warning), (false, None));
        })
    });
    let (answers, ()) = tokio::join!(futures::future::join_all(answers), calls);
    for answer in answers {
        answer.unwrap();
    }
    let approvals = open(&home);
    let views = approvals.list().await;
    let approved =
        |view: &ApprovalSnapshot| view.state == AnswerStatus::Answered(ApprovalVerdict::Approved);
    assert!(
        views.len() == 20 && views.iter().all(approved),
        "{views:#?}"
    );
    assert_eq!(resumed(&approvals, "r-1").await.run(), Some("r-1"));
    let (_, calls) = saved(&approvals, "r-1").await;
    assert_eq!(mux_journal::count_ended_calls(&calls), 40);
    let again = super::run("r-2", Some(("r-1", calls)));
    for n in 0..41 {
        let begun = again.begin_call(&target("t"), &format!("{{\"n\":{n}}}").into());
        let BegunCall::Known(outcome, _) = begun else {
            panic!("{n} would be sent a second time");
        };
        let lost = outcome.err().map(|fault| fault.kind);
        assert_eq!(lost, (n == 40).then_some(FaultKind::UnknownOutcome), "{n}");
    }
}

#[tokio::test]
async fn run_over_its_call_limit_cannot_be_resumed() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    soon(&approvals);
    let run = run("r-1", None);
    let caller = caller(None);
    made(&approvals, &run, "{}", "1").await;
    let pending = ask(&approvals, 1, &caller, Some(&run)).await;
    assert_eq!(pending, Err(FaultKind::Pending));
    made(&approvals, &run, "[]", &"x".repeat(2 << 20)).await;
    made(&approvals, &run, "[1]", "1").await;
    let held = approvals.history.read_held_run("r-1".into()).await.unwrap();
    let held = held.unwrap();
    assert!(!held.program.source.is_empty() && held.calls.is_none());
}

#[tokio::test]
async fn approvals_expire_after_the_configured_time_wherever_they_are_used() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    soon(&approvals);
    let caller = caller(None);
    for n in 1..=5 {
        assert_eq!(
            ask(&approvals, n, &caller, None).await,
            Err(FaultKind::Pending)
        );
    }
    approvals
        .decide("A5", &ALL, UserDecision::Once)
        .await
        .unwrap();
    // Make them two days old.
    execute(
        &home,
        "UPDATE held_approvals SET subject = \
         json_set(subject, '$.since_ms', json_extract(subject, '$.since_ms') - 172800000)",
    );
    let approvals = open(&home);
    // The configuration was not read yet.
    assert_eq!((approvals.list().await.len(), records(&home)), (5, 5));
    let keep = |days: u64| {
        approvals.set_settings(ApprovalSettings {
            wait: Duration::from_millis(1),
            keep: Duration::from_secs(days * 24 * 3_600),
            ..ApprovalSettings::default()
        });
    };
    keep(3);
    assert_eq!((approvals.list().await.len(), records(&home)), (5, 5));
    keep(1);
    let gone = approvals.decide("A1", &ALL, UserDecision::Once).await;
    assert_eq!(gone.unwrap_err().kind, FaultKind::NotFound);
    let gone = approvals.find_resumable("A2", &ALL, |_| false).await;
    assert_eq!(gone.unwrap_err().kind, FaultKind::NotFound);
    // An expired answer is not used either.
    assert_eq!(
        ask(&approvals, 5, &caller, None).await,
        Err(FaultKind::Pending)
    );
    assert_eq!((approvals.list().await.len(), records(&home)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn expired_approvals_are_removed_without_a_request() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    soon(&approvals);
    let _follows = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(
        Arc::clone(&approvals).expire_periodically(),
    ));
    assert_eq!(
        ask(&approvals, 1, &caller(None), None).await,
        Err(FaultKind::Pending)
    );
    assert_eq!(records(&home), 1);
    approvals.set_settings(ApprovalSettings {
        keep: Duration::ZERO,
        ..ApprovalSettings::default()
    });
    while records(&home) > 0 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test]
async fn failed_resume_restores_the_run_and_can_be_retried() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    soon(&approvals);
    let run = run("r-1", None);
    let caller = caller(None);
    made(&approvals, &run, "{}", "1").await;
    assert_eq!(
        ask(&approvals, 1, &caller, Some(&run)).await,
        Err(FaultKind::Pending)
    );
    approvals.end_run(&run, true).await;
    let first = resumed(&approvals, "A1").await;
    approvals.adopt(&first, "r-2").unwrap();
    let said = approvals
        .decide("A1", &ALL, UserDecision::Once)
        .await
        .unwrap();
    assert_eq!(said.warning, None);
    let (_, calls) = saved(&approvals, "r-1").await;
    execute(
        &home,
        "CREATE TRIGGER refuse BEFORE INSERT ON held_owners WHEN NEW.owner = 'r-2' \
         BEGIN SELECT RAISE(FAIL, 'no'); END",
    );
    let second = super::run("r-2", Some(("r-1", calls.clone())));
    let refused = approvals.take_over(&second).await;
    assert_eq!(refused.unwrap_err().kind, FaultKind::Unavailable);
    // The answer given meanwhile is kept, in this process and the next.
    for approvals in [Arc::clone(&approvals), open(&home)] {
        let view = approvals.find("A1", &ALL).await.unwrap();
        assert_eq!(
            view.state,
            AnswerStatus::Answered(ApprovalVerdict::Approved)
        );
        assert_eq!(view.owner.run(), Some("r-1"));
        assert_eq!(saved(&approvals, "r-1").await.1.len(), 1);
    }
    let third = resumed(&approvals, "A1").await;
    approvals.adopt(&third, "r-3").unwrap();
    let third = super::run("r-3", Some(("r-1", calls)));
    approvals.take_over(&third).await.unwrap();
    assert!(
        approvals
            .history
            .read_held_run("r-1".into())
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(ask(&approvals, 1, &caller, Some(&third)).await, Ok(()));
}

#[tokio::test]
async fn answer_that_cannot_be_saved_has_a_warning() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    soon(&approvals);
    let run = run("r-1", None);
    let caller = caller(None);
    for (n, of) in [(1, None), (2, Some(&run))] {
        let pending = ask(&approvals, n, &caller, of).await;
        assert_eq!(pending, Err(FaultKind::Pending));
    }
    approvals.end_run(&run, true).await;
    execute(
        &home,
        "PRAGMA foreign_keys = ON; DELETE FROM held_owners WHERE owner = 'call-1'",
    );
    let decided = approvals
        .decide("A1", &ALL, UserDecision::Once)
        .await
        .unwrap();
    let warning = decided.warning.unwrap();
    assert!(warning.contains("could not be saved"), "{warning}");
    let decided = approvals
        .decide("A2", &ALL, UserDecision::Session)
        .await
        .unwrap();
    let warning = decided.warning.unwrap();
    assert!(warning.contains("has ended"), "{warning}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_aborted_at_any_moment_leave_no_held_approvals() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    let run = run("r-1", None);
    let holders = Arc::strong_count(&approvals);
    let mut cut = Vec::new();
    for n in 0..300 {
        let of = Arc::clone(&approvals);
        let caller = caller(None);
        let run = (n % 2 == 0).then(|| Arc::clone(&run));
        let call = tokio::spawn(async move { ask(&of, n, &caller, run.as_ref()).await });
        // Abort some before they begin, some while they are entered, some later.
        for _ in 0..n % 7 {
            tokio::task::yield_now().await;
        }
        call.abort();
        cut.push(call);
    }
    for call in cut {
        assert!(call.await.is_err_and(|lost| lost.is_cancelled()));
    }
    approvals.end_run(&run, false).await;
    // An aborted call may still be entered and removed on other threads.
    while Arc::strong_count(&approvals) > holders {
        tokio::task::yield_now().await;
    }
    assert_eq!(records(&home), 0);
    // A run that has ended asks no more questions.
    let late = ask(&approvals, 1, &caller(None), Some(&run)).await;
    assert_eq!(late, Err(FaultKind::Cancelled));
    assert!(approvals.list().await.is_empty());
}

#[tokio::test]
async fn approvals_in_files_of_the_build_before_are_read_once() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("approvals");
    fs::create_dir_all(&folder).unwrap();
    let digest = "07".repeat(32);
    let approval = |number: u64, answer: Value| {
        json!({
            "number": number, "token": "0a0b", "path": "s.t", "cover": digest, "arguments": "{\"n\":1}",
            "same": digest, "rule": "rule 1", "reason": null, "since_ms": 1_800_000_000_000_u64, "answer": answer,
        })
    };
    let record = |run: Value, approvals: Value| {
        json!({
            "version": 2, "run": run, "resumes": null, "client": "claude-code", "agent": null, "workspace": null,
            "approvals": approvals,
        })
    };
    let program = json!({ "program": { "version": 2, "source": "return 1", "input": "null", "wall_ms": 60_000 } });
    let ended = json!({
        "call": { "place": 0, "tool": "s.t", "arguments": "{\"n\":0}", "step": { "ended": { "Ok": "\"done\"" } } }
    });
    let asked =
        json!({ "call": { "place": 1, "tool": "s.t", "arguments": "{\"n\":1}", "step": "asked" } });
    let torn = "{\"step\":{\"place\":1,";
    for (name, content) in [
        (
            "r-1.json",
            record("r-1".into(), json!([approval(3, Value::Null)])).to_string(),
        ),
        ("r-1.calls", format!("{program}\n{ended}\n{asked}\n{torn}")),
        (
            "call-4.json",
            record(
                Value::Null,
                json!([approval(4, json!({ "denied": "not today" }))]),
            )
            .to_string(),
        ),
        ("call-4.calls", format!("{program}\n")),
        ("r-9.json", "{\"version\":2".into()),
    ] {
        fs::write(folder.join(name), content).unwrap();
    }
    for _ in 0..2 {
        let approvals = open(&home);
        let problems = approvals.problems();
        assert!(
            problems.len() == 1 && problems[0].contains("r-9.json"),
            "{problems:?}"
        );
        let waiting = approvals.find("A3", &ALL).await.unwrap();
        assert_eq!(waiting.state, AnswerStatus::Pending);
        assert_eq!(waiting.token_id(), "A3.0a0b");
        let denied = approvals.find("A4", &ALL).await.unwrap();
        let reason = Some("not today".to_owned());
        assert_eq!(
            denied.state,
            AnswerStatus::Answered(ApprovalVerdict::Denied { reason })
        );
        let saved = approvals.history.read_held_run("r-1".to_owned()).await;
        let calls = saved.unwrap().unwrap().calls.unwrap();
        assert_eq!(calls.len(), 2);
        assert!(matches!(&calls[0].state, CallState::Ended(Ok(text)) if &**text == "\"done\""));
        assert!(!folder.join("r-1.calls").exists());
    }
}
