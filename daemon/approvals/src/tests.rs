use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use mux_wire::CallTarget;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
mod beside;
mod kept;
use mux_caller::{
    CallCause, Caller, ClientAnswer, ClientNotice, ClientOrigin, ListChangeNotifier, Mailbox,
    QuestionKind, RunAccess,
};
use mux_journal::{BegunCall, History, JournalOptions, LoggedCall, Program, RunJournal};

const ALL: RunAccess = RunAccess::Everyone;

fn open(home: &TempDir) -> Arc<Approvals> {
    open_beside(home, true)
}

fn open_beside(home: &TempDir, alone: bool) -> Arc<Approvals> {
    let paths = ApprovalPaths {
        grants: home.path().join("approvals.json"),
        records: home.path().join("approvals"),
        desktop: false,
    };
    let history = History::open(Some(home.path().join("history.db")), alone);
    Approvals::open(paths, alone, history)
}

fn subject(n: u32) -> ApprovalSubject {
    let cover = ApprovalCover::new("s.t", "how", &json!({ "name": "t" }), "rule");
    let arguments = json!({ "n": n });
    let origin = Arc::new(ClientOrigin::new("test", None, None));
    ApprovalSubject::new(
        "s.t".into(),
        cover,
        &arguments,
        ("rule".into(), None),
        origin,
    )
}

fn caller(mailbox: Option<Arc<Mailbox>>) -> Arc<Caller> {
    Arc::new(Caller {
        mailbox,
        cause: CallCause::Run("r-1".into()),
        ..Caller::default()
    })
}

async fn ask(
    approvals: &Arc<Approvals>,
    n: u32,
    caller: &Arc<Caller>,
    run: Option<&Arc<RunJournal>>,
) -> Result<(), FaultKind> {
    let asker = ApprovalRequester {
        caller,
        run,
        call: None,
        raw: false,
    };
    let asked = approvals.ask(subject(n), asker, &|_| ());
    asked.await.map_err(|fault| fault.kind)
}

/// A run, which resumes a run with these calls.
fn run(id: &str, resumes: Option<(&str, Vec<LoggedCall>)>) -> Arc<RunJournal> {
    let program = Program {
        source: "return 1".into(),
        name: Some("report.ts".into()),
        input: "null".into(),
        wall: Duration::from_secs(30),
        origin: Arc::new(ClientOrigin::new("test", None, None)),
        ..Program::default()
    };
    let (resumes, past) = resumes.unzip();
    let options = JournalOptions {
        max_call_bytes: 1 << 20,
        resumes: resumes.map(str::to_owned),
        past: past.unwrap_or_default(),
        ..JournalOptions::default()
    };
    RunJournal::new(id.into(), program, options)
}

/// The program and the calls that are saved for a resumed run.
async fn saved(approvals: &Arc<Approvals>, owner: &str) -> (Program, Vec<LoggedCall>) {
    let held = approvals.history.read_held_run(owner.into()).await.unwrap();
    let held = held.expect("it is saved");
    (held.program, held.calls.expect("its calls fit"))
}

/// Waits until `count` approvals are listed.
async fn until(approvals: &Arc<Approvals>, count: usize) {
    let mut edition = approvals.subscribe_changes();
    while approvals.list().await.len() != count {
        edition.changed().await.unwrap();
    }
}

/// Waits until the client has this question, because an earlier answer is ignored.
async fn posed(mailbox: &Mailbox, question: u64) {
    let mut after = 0;
    let kinds = || vec![QuestionKind::Elicitation];
    loop {
        for notice in mailbox
            .read_after(after, Duration::from_secs(1), kinds())
            .await
        {
            after = notice.seq;
            if matches!(notice.notice, ClientNotice::Ask { ask, .. } if ask == question) {
                return;
            }
        }
    }
}

/// Waits until one approval is listed and on disk.
async fn written(approvals: &Arc<Approvals>, home: &TempDir) {
    until(approvals, 1).await;
    while records(home) != 1 {
        tokio::task::yield_now().await;
    }
}

/// The number of runs and calls that are saved.
fn records(home: &TempDir) -> usize {
    let history = History::open(Some(home.path().join("history.db")), false);
    history.read_held().unwrap().len()
}

#[tokio::test(start_paused = true)]
async fn answer_in_time_decides_and_clocks_are_paused_meanwhile() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    let caller = caller(None);
    let begun = tokio::time::Instant::now();
    let waits = Duration::from_secs(100);
    let answer = async {
        until(&approvals, 1).await;
        tokio::time::sleep(waits).await;
        let decided = approvals
            .decide("A1", &ALL, UserDecision::Once)
            .await
            .unwrap();
        assert!(decided.live);
        let late = approvals.decide("A1", &ALL, UserDecision::Deny).await;
        assert_eq!(late.unwrap_err().kind, FaultKind::NotFound);
    };
    let (asked, ()) = tokio::join!(ask(&approvals, 1, &caller, None), answer);
    assert_eq!(asked, Ok(()));
    assert!(caller.clock.paused_for() >= waits && caller.clock.paused_for() <= begun.elapsed());
    let deny = async {
        until(&approvals, 1).await;
        let said = UserAnswer {
            reason: Some("no".to_owned()),
            ..UserDecision::Deny.into()
        };
        approvals.decide("a2", &ALL, said).await.unwrap();
    };
    let (asked, ()) = tokio::join!(ask(&approvals, 1, &caller, None), deny);
    assert_eq!(asked, Err(FaultKind::Denied));
    assert_eq!(records(&home), 0);
}

#[tokio::test(start_paused = true)]
async fn unanswered_call_is_pending_and_a_later_answer_is_used_once() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    let caller = caller(None);
    let begun = tokio::time::Instant::now();
    assert_eq!(
        ask(&approvals, 1, &caller, None).await,
        Err(FaultKind::Pending)
    );
    assert_eq!(
        begun.elapsed().as_secs(),
        approvals.settings().wait.as_secs()
    );
    assert_eq!(
        approvals.find("A1", &ALL).await.unwrap().state,
        AnswerStatus::Pending
    );
    let decided = approvals
        .decide("A1", &ALL, UserDecision::Once)
        .await
        .unwrap();
    assert!(!decided.live);
    // The daemon dies, and the next one restores the approval.
    let approvals = open(&home);
    // Other arguments make another call.
    assert_eq!(
        ask(&approvals, 2, &caller, None).await,
        Err(FaultKind::Pending)
    );
    assert_eq!(ask(&approvals, 1, &caller, None).await, Ok(()));
    assert_eq!(
        ask(&approvals, 1, &caller, None).await,
        Err(FaultKind::Pending)
    );
    approvals.set_settings(ApprovalSettings {
        keep: Duration::ZERO,
        ..ApprovalSettings::default()
    });
    until(&approvals, 0).await;
    assert_eq!(records(&home), 0);
}

#[tokio::test(start_paused = true)]
async fn closing_makes_held_calls_pending() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    let end = async {
        until(&approvals, 1).await;
        approvals.close();
    };
    let caller = caller(None);
    let (asked, ()) = tokio::join!(ask(&approvals, 1, &caller, None), end);
    assert_eq!(asked, Err(FaultKind::Pending));
    assert!(caller.clock.paused_for() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn client_that_supports_elicitation_is_asked_and_cancelled_form_decides_nothing() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    let mailbox = Mailbox::new(7, Arc::default(), &ListChangeNotifier::default());
    let kinds = || vec![QuestionKind::Elicitation];
    mailbox.read_after(0, Duration::ZERO, kinds()).await;
    let caller = caller(Some(Arc::clone(&mailbox)));
    let reply = |ask, value: Value| mailbox.answer(ask, ClientAnswer::Result(value));
    let user = async {
        posed(&mailbox, 1).await;
        assert!(reply(1, json!({ "action": "accept", "content": {} })).is_err());
        reply(1, json!({ "action": "cancel" })).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(
            approvals.find("A1", &ALL).await.unwrap().state,
            AnswerStatus::Waiting
        );
        approvals
            .decide("A1", &ALL, UserDecision::Once)
            .await
            .unwrap();
    };
    let (asked, ()) = tokio::join!(ask(&approvals, 1, &caller, None), user);
    assert_eq!(asked, Ok(()));
    let user = async {
        posed(&mailbox, 2).await;
        let content = json!({ "decision": "allow for this session" });
        reply(2, json!({ "action": "accept", "content": content })).unwrap();
    };
    let (asked, ()) = tokio::join!(ask(&approvals, 1, &caller, None), user);
    assert_eq!(asked, Ok(()));
    assert_eq!(ask(&approvals, 9, &caller, None).await, Ok(()));
    approvals.connection_ended(7);
    assert_eq!(
        ask(&approvals, 9, &caller, None).await,
        Err(FaultKind::Pending)
    );
}

#[tokio::test(start_paused = true)]
async fn always_approves_the_shown_calls_and_can_be_revoked() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    let caller = caller(None);
    let user = async {
        until(&approvals, 2).await;
        let said = UserAnswer {
            shown: vec!["A2".to_owned()],
            ..UserDecision::Always.into()
        };
        let decided = approvals.decide("A1", &ALL, said).await.unwrap();
        assert_eq!(
            (decided.released, decided.warning),
            (vec!["A2".into()], None)
        );
        assert!(decided.unshown.is_empty());
    };
    let one = ask(&approvals, 1, &caller, None);
    let two = ask(&approvals, 2, &caller, None);
    let (one, two, ()) = tokio::join!(one, two, user);
    assert_eq!((one, two), (Ok(()), Ok(())));
    let approvals = open(&home);
    assert_eq!(ask(&approvals, 3, &caller, None).await, Ok(()));
    let granted = approvals.list_grants();
    assert_eq!((granted.len(), granted[0].1.path.as_str()), (1, "s.t"));
    approvals.revoke(granted[0].0.clone(), &ALL).await.unwrap();
    assert_eq!(
        ask(&open(&home), 3, &caller, None).await,
        Err(FaultKind::Pending)
    );
}

#[tokio::test(start_paused = true)]
async fn answer_does_not_release_calls_that_were_not_shown() {
    for decision in [UserDecision::Always, UserDecision::Session] {
        let home = tempfile::tempdir().unwrap();
        let approvals = open(&home);
        let mailbox = Mailbox::new(7, Arc::default(), &ListChangeNotifier::default());
        let caller = caller(Some(mailbox));
        let user = async {
            until(&approvals, 3).await;
            // Named approvals that do not exist are ignored.
            let said = UserAnswer {
                shown: ["A2", "A9", "x"].map(str::to_owned).to_vec(),
                ..decision.into()
            };
            let decided = approvals.decide("A1", &ALL, said).await.unwrap();
            assert_eq!(decided.released, ["A2"]);
            assert_eq!(decided.unshown, ["A3"]);
            until(&approvals, 1).await;
            let left = approvals.find("A3", &ALL).await.unwrap();
            assert_eq!(left.state, AnswerStatus::Waiting);
            // Later calls are covered.
            assert_eq!(ask(&approvals, 4, &caller, None).await, Ok(()));
            approvals
                .decide("A3", &ALL, UserDecision::Deny)
                .await
                .unwrap();
        };
        let calls = [1, 2, 3].map(|n| ask(&approvals, n, &caller, None));
        let (asked, ()) = tokio::join!(join_all(calls), user);
        let denied = asked.iter().filter(|it| **it == Err(FaultKind::Denied));
        assert_eq!(denied.count(), 1, "{decision:?}: {asked:?}");
        let passed = asked.iter().filter(|it| it.is_ok());
        assert_eq!(passed.count(), 2, "{decision:?}: {asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn ended_run_stays_saved_only_if_pending_and_can_be_resumed_once() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    let caller = caller(None);
    for is_pending in [false, true] {
        let run = run("r-1", None);
        let target = CallTarget::Own { name: "x".into() };
        let BegunCall::New(index) = run.begin_call(&target, &"{}".into()) else {
            panic!("it is new");
        };
        run.end_call(index, &Ok("1".into()));
        tokio::select! {
            _ = ask(&approvals, 1, &caller, Some(&run)) => panic!("nobody answers"),
            () = written(&approvals, &home) => {}
        }
        approvals.end_run(&run, is_pending).await;
        assert_eq!(records(&home), usize::from(is_pending));
        assert_eq!(approvals.list().await.len(), usize::from(is_pending));
    }
    // The run is resumed after a restart, under another name.
    let approvals = open(&home);
    let live = |_: &str| false;
    let ResumeTarget::Again(view) = approvals.find_resumable("1", &ALL, live).await.unwrap() else {
        panic!("it is kept");
    };
    let (program, calls) = saved(&approvals, "r-1").await;
    assert_eq!((calls.len(), program.source.as_ref()), (1, "return 1"));
    approvals.adopt(&view.owner, "r-2").unwrap();
    let late = approvals.adopt(&view.owner, "r-3");
    assert_eq!(late.unwrap_err().kind, FaultKind::Busy);
    let again = run("r-2", Some(("r-1", calls)));
    approvals.take_over(&again).await.unwrap();
    assert_eq!(records(&home), 1);
    let name = approvals.list().await[0].id();
    approvals
        .decide(&name, &ALL, UserDecision::Once)
        .await
        .unwrap();
    assert_eq!(ask(&approvals, 1, &caller, Some(&again)).await, Ok(()));
    // The record is removed before the call is sent, so the call cannot be sent again.
    assert_eq!(records(&home), 0);
    let ResumeTarget::As(run) = approvals.find_resumable("r-1", &ALL, live).await.unwrap() else {
        panic!("nothing is kept");
    };
    assert_eq!(run, "r-2");
}

#[tokio::test(start_paused = true)]
async fn held_calls_are_limited_in_total_and_per_run() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    approvals.set_settings(ApprovalSettings {
        held: 2,
        held_per_run: 1,
        ..ApprovalSettings::default()
    });
    let caller = caller(None);
    let run = run("r-1", None);
    let refused = async {
        until(&approvals, 1).await;
        assert_eq!(
            ask(&approvals, 2, &caller, Some(&run)).await,
            Err(FaultKind::Busy)
        );
        let other = async {
            until(&approvals, 2).await;
            assert_eq!(
                ask(&approvals, 3, &caller, None).await,
                Err(FaultKind::Busy)
            );
            for view in approvals.list().await {
                approvals
                    .decide(&view.id(), &ALL, UserDecision::Deny)
                    .await
                    .unwrap();
            }
        };
        tokio::join!(ask(&approvals, 2, &caller, None), other).0
    };
    let (first, second) = tokio::join!(ask(&approvals, 1, &caller, Some(&run)), refused);
    assert_eq!(
        (first, second),
        (Err(FaultKind::Denied), Err(FaultKind::Denied))
    );
}

#[tokio::test]
async fn invalid_or_writable_by_others_file_grants_nothing() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("approvals.json");
    grants::Grants::open(file.clone()).add(&subject(1)).unwrap();
    let good = std::fs::read_to_string(&file).unwrap();
    assert!(grants::Grants::open(file.clone()).covers(&subject(2)));
    for bad in [
        "",
        "{}",
        &good[..good.len() / 2],
        &good.replace(": 1,", ": 2,"),
    ] {
        std::fs::write(&file, bad).unwrap();
        let grants = grants::Grants::open(file.clone());
        assert!(
            !grants.covers(&subject(1)) && grants.problem().is_some(),
            "{bad}"
        );
    }
    std::fs::write(&file, &good).unwrap();
    // On other systems the directory decides who may write.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(!grants::Grants::open(file).covers(&subject(1)));
    }
}

#[test]
fn grant_is_matched_by_cover_and_agent_whatever_its_name() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("approvals.json");
    let of = |agent| {
        let origin = Arc::new(ClientOrigin::new("test", agent, None));
        ApprovalSubject {
            origin,
            ..subject(1)
        }
    };
    let nobody = of(None);
    let big = of(Some("big"));
    grants::Grants::open(file.clone()).add(&big).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let mut written: Value = serde_json::from_str(&text).unwrap();
    let grants = written["grants"].as_object_mut().unwrap();
    let (name, grant) = grants
        .iter()
        .next()
        .map(|(name, it)| (name.clone(), it.clone()))
        .unwrap();
    assert_eq!(name.len(), 33, "{name}");
    // A short name from an earlier version, and the full name.
    for name in [name[..9].to_owned(), name] {
        grants.clear();
        grants.insert(name.clone(), grant.clone());
        let text = json!({ "version": 1, "grants": grants }).to_string();
        mux_files::atomic_file::write(&file, text.as_bytes()).unwrap();
        let mut known = grants::Grants::open(file.clone());
        assert!(known.covers(&big) && !known.covers(&nobody), "{name}");
        // A repeated grant has one entry.
        known.add(&big).unwrap();
        assert_eq!(known.all().len(), 1);
        known.add(&nobody).unwrap();
        assert_eq!(known.all().len(), 2);
    }
    grants.clear();
    let mut theirs = grant;
    theirs["agent"] = json!("other");
    let name = grants::Grants::open(file.clone()).all()[0].0.clone();
    grants.insert(name.clone(), theirs);
    let text = json!({ "version": 1, "grants": grants }).to_string();
    mux_files::atomic_file::write(&file, text.as_bytes()).unwrap();
    let mut known = grants::Grants::open(file);
    assert!(!known.covers(&big) && !known.covers(&nobody));
    known.revoke(&name).unwrap();
    assert!(known.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn pending_call_is_found_by_its_client_with_its_token_across_restarts() {
    let home = tempfile::tempdir().unwrap();
    let approvals = open(&home);
    assert_eq!(
        ask(&approvals, 1, &caller(None), None).await,
        Err(FaultKind::Pending)
    );
    let whole = approvals.find("A1", &ALL).await.unwrap().token_id();
    let access = |agent| RunAccess::of(&Arc::new(ClientOrigin::new("test", agent, None)), false);
    let own = access(None);
    let other = access(Some("other"));
    let approvals = open(&home);
    for id in ["A1", "1", "A1.", "A2", &whole[..whole.len() - 1]] {
        for access in [&own, &other] {
            let missing = approvals.find_resumable(id, access, |_| false).await;
            match missing {
                Err(fault) => assert_eq!(fault.kind, FaultKind::NotFound, "{id}"),
                Ok(ResumeTarget::As(run)) => assert_eq!(run, id),
                Ok(ResumeTarget::Again(_)) => panic!("{id} was found"),
            }
            let missing = approvals.decide(id, access, UserDecision::Once).await;
            assert_eq!(missing.unwrap_err().kind, FaultKind::NotFound, "{id}");
        }
    }
    let refused = approvals.decide(&whole, &other, UserDecision::Once).await;
    assert_eq!(refused.unwrap_err().kind, FaultKind::NotFound);
    approvals
        .decide(&whole, &own, UserDecision::Once)
        .await
        .unwrap();
    let found = approvals
        .find_resumable(&whole, &own, |_| false)
        .await
        .unwrap();
    assert!(matches!(found, ResumeTarget::Again(_)));
}
