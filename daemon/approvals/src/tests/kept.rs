//! The files of waiting runs: concurrent writers, restarts of the daemon, and failing writes.

use std::path::Path;

use super::*;

fn target(tool: &str) -> CallTarget {
    CallTarget::Path {
        path: format!("s.{tool}"),
        raw: false,
    }
}

/// Begins a call of this run and records it, as the `runs` crate does.
async fn call(
    approvals: &Arc<Approvals>,
    run: &Arc<ResumableRun>,
    arguments: &str,
) -> Option<usize> {
    let BegunCall::New(place) = run.begin_logged_call(&target("t"), &arguments.into()) else {
        panic!("{arguments} is new");
    };
    approvals.record_begun_call(run).await.unwrap();
    place
}

async fn made(approvals: &Arc<Approvals>, run: &Arc<ResumableRun>, arguments: &str, result: &str) {
    let place = call(approvals, run, arguments).await;
    run.end_logged_call(place, &Ok(result.into()));
    approvals.record_ended_call(run).await;
}

fn soon(approvals: &Approvals) {
    approvals.set_terms(ApprovalTerms {
        wait: Duration::from_millis(1),
        ..ApprovalTerms::default()
    });
}

/// The run to resume.
async fn resumed(approvals: &Arc<Approvals>, id: &str) -> Box<ResumedRun> {
    match approvals.find_resumable(id, &ALL, |_| false).await.unwrap() {
        ResumeTarget::Anew(resumed) => resumed,
        ResumeTarget::As(run) => panic!("nothing is kept of {run}"),
    }
}

fn file(home: &TempDir, name: &str) -> std::path::PathBuf {
    home.path().join("approvals").join(name)
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_answers_and_calls_of_one_run_are_all_saved() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    soon(&approvals);
    let run = resumable("r-1", None);
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
    answers.into_iter().for_each(|answer| answer.unwrap());
    let approvals = open(&home);
    let views = approvals.list().await;
    let approved =
        |view: &ApprovalSnapshot| view.state == AnswerStatus::Answered(ApprovalVerdict::Approved);
    assert!(
        views.len() == 20 && views.iter().all(approved),
        "{views:#?}"
    );
    let resumed = resumed(&approvals, "r-1").await;
    assert_eq!(resumed.past.ended_call_count(), 40);
    let again = resumable("r-2", Some(resumed.past));
    for n in 0..41 {
        let begun = again.begin_logged_call(&target("t"), &format!("{{\"n\":{n}}}").into());
        let BegunCall::Known(outcome) = begun else {
            panic!("{n} would be sent a second time");
        };
        let lost = outcome.err().map(|fault| fault.kind);
        assert_eq!(lost, (n == 40).then_some(FaultKind::UnknownOutcome), "{n}");
    }
}

#[tokio::test]
async fn recording_a_call_writes_only_its_own_bytes() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    soon(&approvals);
    let run = resumable("r-1", None);
    let caller = caller(None);
    made(&approvals, &run, "{}", &"x".repeat(500_000)).await;
    assert_eq!(
        ask(&approvals, 1, &caller, Some(&run)).await,
        Err(FaultKind::Pending)
    );
    let journal = file(&home, "r-1.calls");
    let record = file(&home, "r-1.json");
    let before = length(&journal);
    let stands = std::fs::metadata(&record).unwrap();
    assert!(before > 500_000 && stands.len() < 2_000);
    for n in 0..100 {
        made(&approvals, &run, &format!("{{\"n\":{n}}}"), "1").await;
    }
    assert!(length(&journal) - before < 100 * 300);
    // The record was not rewritten: calls are only in the journal.
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        assert_eq!(std::fs::metadata(&record).unwrap().ino(), stands.ino());
    }
    // Over the log limit: nothing more is written.
    made(&approvals, &run, "[]", &"x".repeat(2 << 20)).await;
    let full = length(&journal);
    made(&approvals, &run, "[1]", &"x".repeat(2 << 20)).await;
    assert!(full < before + 100_000 && length(&journal) == full);
    let refused = approvals.find_resumable("r-1", &ALL, |_| false).await;
    assert_eq!(refused.unwrap_err().kind, FaultKind::Limit);
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
    for n in 1..=5 {
        let path = file(&home, &format!("call-{n}.json"));
        let mut record: Value =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let since = record["approvals"][0]["since_ms"].as_u64().unwrap();
        record["approvals"][0]["since_ms"] = (since - 2 * 24 * 3_600_000).into();
        std::fs::write(&path, record.to_string()).unwrap();
    }
    let approvals = open(&home);
    // The configuration was not read yet.
    assert_eq!((approvals.list().await.len(), records(&home)), (5, 5));
    let keep = |days: u64| {
        approvals.set_terms(ApprovalTerms {
            wait: Duration::from_millis(1),
            keep: Duration::from_secs(days * 24 * 3_600),
            ..ApprovalTerms::default()
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
    assert!(!file(&home, "call-3.calls").exists());
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
    approvals.set_terms(ApprovalTerms {
        keep: Duration::ZERO,
        ..ApprovalTerms::default()
    });
    while records(&home) > 0 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(!file(&home, "call-1.calls").exists());
}

#[tokio::test]
async fn failed_resume_restores_the_run_and_can_be_retried() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    soon(&approvals);
    let run = resumable("r-1", None);
    let caller = caller(None);
    made(&approvals, &run, "{}", "1").await;
    assert_eq!(
        ask(&approvals, 1, &caller, Some(&run)).await,
        Err(FaultKind::Pending)
    );
    approvals.end_run(&run, true).await;
    // The journal cannot be created.
    std::fs::create_dir(file(&home, "r-2.calls")).unwrap();
    let first = resumed(&approvals, "A1").await;
    approvals.adopt(&first, "r-2").unwrap();
    let said = approvals
        .decide("A1", &ALL, UserDecision::Once)
        .await
        .unwrap();
    assert_eq!(said.warning, None);
    let second = resumable("r-2", Some(first.past));
    let refused = approvals.take_over_record(&second, "r-1").await;
    assert_eq!(refused.unwrap_err().kind, FaultKind::Unavailable);
    assert!(!file(&home, "r-2.json").exists());
    // The answer given meanwhile is kept, in this process and the next.
    for approvals in [Arc::clone(&approvals), open(&home)] {
        let view = approvals.find("A1", &ALL).await.unwrap();
        assert_eq!(
            view.state,
            AnswerStatus::Answered(ApprovalVerdict::Approved)
        );
        assert_eq!(view.owner.run(), Some("r-1"));
        let again = resumed(&approvals, "r-1").await;
        assert_eq!(again.past.ended_call_count(), 1);
    }
    let third = resumed(&approvals, "A1").await;
    approvals.adopt(&third, "r-3").unwrap();
    let third = resumable("r-3", Some(third.past));
    approvals.take_over_record(&third, "r-1").await.unwrap();
    assert!(!file(&home, "r-1.json").exists() && !file(&home, "r-1.calls").exists());
    assert_eq!(ask(&approvals, 1, &caller, Some(&third)).await, Ok(()));
}

#[tokio::test]
async fn answer_that_cannot_be_saved_has_a_warning() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    soon(&approvals);
    let run = resumable("r-1", None);
    let caller = caller(None);
    for (n, of) in [(1, None), (2, Some(&run))] {
        let pending = ask(&approvals, n, &caller, of).await;
        assert_eq!(pending, Err(FaultKind::Pending));
    }
    approvals.end_run(&run, true).await;
    std::fs::remove_file(file(&home, "call-1.json")).unwrap();
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
    let run = resumable("r-1", None);
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
