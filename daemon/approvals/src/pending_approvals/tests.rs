use serde_json::json;

use super::*;
use mux_caller::ClientOrigin;

const ROOM: (usize, usize) = (100, 100);

fn subject(n: u32) -> ApprovalSubject {
    let cover = ApprovalCover::new("s.t", "how", &json!({}), "rule");
    let origin = Arc::new(ClientOrigin::default());
    ApprovalSubject::new(
        "s.t".into(),
        cover,
        &json!({ "n": n }),
        ("rule".into(), None),
        origin,
    )
}

fn run(name: &str) -> ApprovalOwner {
    ApprovalOwner::Run(name.into())
}

fn held(
    book: &mut PendingApprovals,
    number: u64,
    n: u32,
    owner: Option<ApprovalOwner>,
) -> (ApprovalSnapshot, oneshot::Receiver<ApprovalVerdict>) {
    match book
        .enter(|| Ok(number), subject(n), owner, None, ROOM)
        .unwrap()
    {
        EnterOutcome::Held(view, answer) => (view, answer),
        other => panic!("{other:?}"),
    }
}

#[test]
fn first_answer_counts_and_is_used_once() {
    let mut book = PendingApprovals::default();
    let (_, mut answer) = held(&mut book, 1, 7, None);
    assert!(book.answer(1, ApprovalVerdict::Approved).unwrap().live);
    assert_eq!(answer.try_recv(), Ok(ApprovalVerdict::Approved));
    let late = book.answer(1, ApprovalVerdict::Approved).unwrap_err();
    assert_eq!(late, AnswerError::Unknown);
    let (_, answer) = held(&mut book, 2, 7, None);
    drop(answer);
    book.set_pending(2);
    assert!(!book.answer(2, ApprovalVerdict::Approved).unwrap().live);
    assert_eq!(
        book.answer(2, ApprovalVerdict::Approved).unwrap_err(),
        AnswerError::Before
    );
    // Other arguments, or another owner, make another call.
    held(&mut book, 3, 8, None);
    held(&mut book, 4, 7, Some(run("r")));
    let again = book.enter(|| panic!("it has one"), subject(7), None, None, ROOM);
    assert!(matches!(
        again,
        Ok(EnterOutcome::Answered(
            ApprovalVerdict::Approved,
            ApprovalOwner::Call(2)
        ))
    ));
    held(&mut book, 5, 7, None);
}

#[test]
fn resumed_call_keeps_its_number() {
    let mut book = PendingApprovals::default();
    held(&mut book, 1, 7, Some(run("r")));
    book.end_owner(&run("r"), true);
    assert_eq!(book.find(1).unwrap().state, AnswerStatus::Pending);
    assert!(book.adopt(&run("r"), &run("s")) && !book.adopt(&run("r"), &run("t")));
    let (view, _answer) = held(&mut book, 9, 7, Some(run("s")));
    assert_eq!((view.number, view.state), (1, AnswerStatus::Waiting));
    assert_eq!(book.successor("r"), Some("s"));
    book.end_owner(&run("s"), false);
    assert!(book.all().is_empty());
}

#[test]
fn answer_releases_calls_that_it_names_and_covers() {
    let mut book = PendingApprovals::default();
    let session = GrantSession::Connection(7);
    let mut waiting = Vec::new();
    for number in 1..=4 {
        let of = (number != 3).then(|| session.clone());
        let entered = book.enter(|| Ok(number), subject(1), None, of, ROOM);
        let Ok(EnterOutcome::Held(_, answer)) = entered else {
            panic!("there is room");
        };
        waiting.push(answer);
    }
    let cover = subject(1).cover;
    book.grant(session.clone(), cover);
    let covered = |other: &ApprovalSubject, of: Option<&GrantSession>| {
        other.cover == cover && of == Some(&session)
    };
    // 3 is another session's, 4 was not named, and there is no 9.
    assert_eq!(book.release(&[1, 2, 3, 9], covered), (vec![1, 2], vec![4]));
    for (number, waits) in [false, false, true, true].into_iter().enumerate() {
        assert_eq!(waiting[number].try_recv().is_err(), waits, "{number}");
    }
    assert!(book.is_granted(Some(&session), cover) && !book.is_granted(None, cover));
    book.end_session(&session);
    assert!(!book.is_granted(Some(&session), cover));
}

#[test]
fn ended_session_is_removed_from_its_approvals() {
    let mut book = PendingApprovals::default();
    let session = GrantSession::Connection(7);
    let of = Some(session.clone());
    let entered = book.enter(|| Ok(1), subject(1), Some(run("r")), of, ROOM);
    assert!(matches!(entered, Ok(EnterOutcome::Held(..))));
    book.end_owner(&run("r"), true);
    book.end_session(&session);
    let given = book.answer(1, ApprovalVerdict::Approved).unwrap();
    assert_eq!((given.session, given.live), (None, false));
}

#[test]
fn failed_resume_is_undone_and_name_cycles_terminate() {
    let mut book = PendingApprovals::default();
    held(&mut book, 1, 7, Some(run("r")));
    book.end_owner(&run("r"), true);
    assert!(book.adopt(&run("r"), &run("s")));
    book.give_back(&run("r"), &run("s"));
    assert_eq!(book.find(1).unwrap().owner, run("r"));
    assert_eq!((book.successor("r"), book.successor("s")), (None, None));
    assert!(book.adopt(&run("r"), &run("t")));
    assert_eq!(book.successor("r"), Some("t"));
    // A cycle of names terminates.
    book.resumed.insert("t".into(), "r".into());
    assert!(book.successor("r").is_some());
}

#[test]
fn unattended_approvals_are_bounded_in_number_and_age() {
    let mut book = PendingApprovals::default();
    for number in 1..=MAX_UNATTENDED_APPROVALS as u64 + 5 {
        held(&mut book, number, u32::try_from(number).unwrap(), None);
        book.set_pending(number);
    }
    assert_eq!(book.expire(None).len(), 5);
    assert_eq!(book.all().len(), MAX_UNATTENDED_APPROVALS);
    assert!(book.find(5).is_none() && book.find(6).is_some());
    let (view, _answer) = held(&mut book, 5_000, 0, None);
    let gone = book.expire(Some(Duration::ZERO));
    assert_eq!(gone.len(), MAX_UNATTENDED_APPROVALS);
    assert_eq!(book.all()[0].number, view.number);
}

#[test]
fn arguments_of_held_and_unattended_approvals_are_bounded_in_bytes() {
    let mut book = PendingApprovals::default();
    let long = |number: u64| ApprovalSubject {
        arguments: "x".repeat(MAX_HELD_ARGUMENT_BYTES / 4).into(),
        ..subject(u32::try_from(number).unwrap())
    };
    let mut enter = |number| {
        let entered = book.enter(|| Ok(number), long(number), Some(run("r")), None, ROOM);
        entered.unwrap()
    };
    let first: Vec<EnterOutcome> = (1..=4).map(&mut enter).collect();
    assert!(
        first
            .iter()
            .all(|one| matches!(one, EnterOutcome::Held(..)))
    );
    assert!(matches!(
        enter(5),
        EnterOutcome::Full(CapacityExceeded::Bytes(MAX_HELD_ARGUMENT_BYTES))
    ));
    book.end_owner(&run("r"), true);
    assert!(book.expire(None).is_empty());
    for number in 6..=7 {
        let owner = Some(run("r"));
        let entered = book.enter(|| Ok(number), long(number), owner, None, ROOM);
        assert!(matches!(entered, Ok(EnterOutcome::Held(..))));
        book.set_pending(number);
    }
    let gone: Vec<u64> = book.expire(None).iter().map(|view| view.number).collect();
    assert_eq!(gone, [2, 1]);
}
