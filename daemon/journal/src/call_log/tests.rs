use super::*;

fn named(tool: &str) -> CallTarget {
    CallTarget::Path {
        path: format!("s.{tool}"),
        raw: false,
    }
}

const NOW: Duration = Duration::ZERO;

fn resumed(max_bytes: usize, past: Vec<LoggedCall>) -> CallLog {
    CallLog::new(max_bytes, past, PastMode::Resume)
}

fn all(log: &CallLog) -> Vec<LoggedCall> {
    log.kept_calls().cloned().collect()
}

fn made(log: &mut CallLog, tool: &str, arguments: &str, result: Option<&str>) -> usize {
    let BegunCall::New(Some(index)) = log.begin(&named(tool), &arguments.into(), NOW) else {
        panic!("{tool} is new");
    };
    if let Some(result) = result {
        log.end(index, &Ok(result.to_owned()), NOW);
    }
    index
}

fn known(begun: BegunCall) -> Result<String, FaultKind> {
    match begun {
        BegunCall::Known(outcome, _) => outcome
            .map(|text| text.to_string())
            .map_err(|fault| fault.kind),
        other => panic!("it is known: {other:?}"),
    }
}

#[test]
fn calls_are_matched_by_arguments_and_occurrence_in_any_order() {
    let mut log = resumed(1 << 20, Vec::new());
    made(&mut log, "a", r#"{"x":1,"y":2}"#, Some("1"));
    made(&mut log, "a", r#"{"y":2,"x":1}"#, Some("2"));
    made(&mut log, "b", "{}", Some("3"));
    let mut again = resumed(1 << 20, all(&log));
    assert_eq!(
        known(again.begin(&named("b"), &"{}".into(), NOW)),
        Ok("3".into())
    );
    let one = CallTarget::Named {
        server: "s".into(),
        tool: "a".into(),
    };
    assert_eq!(
        known(again.begin(&one, &r#"{"y":2, "x":1.0}"#.into(), NOW)),
        Ok("1".into())
    );
    assert_eq!(
        known(again.begin(&named("a"), &r#"{"x":1,"y":2}"#.into(), NOW)),
        Ok("2".into())
    );
    // Further equal calls and different calls are made.
    made(&mut again, "a", r#"{"x":1,"y":2}"#, Some("4"));
    made(&mut again, "b", r#"{"z":null}"#, None);
    let raw = CallTarget::Path {
        path: "s.b".into(),
        raw: true,
    };
    assert!(matches!(
        again.begin(&raw, &"{}".into(), NOW),
        BegunCall::New(Some(_))
    ));
}

#[test]
fn in_flight_call_is_unknown_and_waiting_call_is_asked_again() {
    let mut log = resumed(1 << 20, Vec::new());
    made(&mut log, "lost", "{}", None);
    let asked = made(&mut log, "asked", "{}", None);
    log.set_asked(asked, true);
    // A `pending` error does not end the call.
    log.end(asked, &Err(Fault::new(FaultKind::Pending, "wait")), NOW);
    let denied = made(&mut log, "denied", "{}", None);
    log.set_asked(denied, true);
    log.set_asked(denied, false);
    log.end(denied, &Err(Fault::new(FaultKind::Denied, "no")), NOW);
    let mut again = resumed(1 << 20, all(&log));
    assert_eq!(count_ended_calls(&all(&again)), 1);
    let lost = again.begin(&named("lost"), &"{}".into(), NOW);
    assert_eq!(known(lost), Err(FaultKind::UnknownOutcome));
    assert_eq!(
        known(again.begin(&named("denied"), &"{}".into(), NOW)),
        Err(FaultKind::Denied)
    );
    assert_eq!(made(&mut again, "asked", "{}", Some("done")), asked);
    // A third run makes none of these calls again.
    let mut third = resumed(1 << 20, all(&again));
    assert_eq!(
        known(third.begin(&named("asked"), &"{}".into(), NOW)),
        Ok("done".into())
    );
    assert_eq!(
        known(third.begin(&named("lost"), &"{}".into(), NOW)),
        Err(FaultKind::UnknownOutcome)
    );
}

#[test]
fn calls_that_were_not_repeated_stay_known() {
    let mut log = resumed(1 << 20, Vec::new());
    made(&mut log, "a", "{}", Some("1"));
    let again = resumed(1 << 20, all(&log));
    let mut third = resumed(1 << 20, all(&again));
    assert_eq!(
        known(third.begin(&named("a"), &"{}".into(), NOW)),
        Ok("1".into())
    );
}

#[test]
fn log_over_its_limit_keeps_no_calls() {
    let mut log = resumed(1_000, Vec::new());
    made(&mut log, "a", "{}", Some("1"));
    let index = made(&mut log, "b", "{}", None);
    log.end(index, &Ok("x".repeat(2_000)), NOW);
    assert!(log.full && log.kept_calls().count() == 0);
    assert!(matches!(
        log.begin(&named("c"), &"{}".into(), NOW),
        BegunCall::New(None)
    ));
    log.end(0, &Ok("late".into()), NOW);
    assert!(log.take_held_changes().full && !log.take_held_changes().full);
}

#[test]
fn log_that_exceeds_its_limit_during_replay_still_answers_earlier_calls() {
    let mut log = resumed(1_000, Vec::new());
    for n in 0..3 {
        made(&mut log, "a", &format!("{{\"n\":{n}}}"), Some("done"));
    }
    made(&mut log, "lost", "{}", None);
    let mut again = resumed(1_000, all(&log));
    let first = again.begin(&named("a"), &r#"{"n":0}"#.into(), NOW);
    assert_eq!(known(first), Ok("done".into()));
    // The run makes a call that it did not make before, which exceeds the limit.
    let index = made(&mut again, "new", "{}", None);
    again.end(index, &Ok("x".repeat(2_000)), NOW);
    assert!(again.full);
    for n in 1..3 {
        let call = again.begin(&named("a"), &format!("{{\"n\":{n}}}").into(), NOW);
        assert_eq!(known(call), Ok("done".into()), "{n}");
    }
    let lost = again.begin(&named("lost"), &"{}".into(), NOW);
    assert_eq!(known(lost), Err(FaultKind::UnknownOutcome));
    // A replayed call is made again only if the program repeats it.
    let more = again.begin(&named("a"), &r#"{"n":0}"#.into(), NOW);
    assert!(matches!(more, BegunCall::New(None)));
    // A third run can no longer be answered from this log, and the journal says so.
    let changes = again.take_held_changes();
    assert!(changes.full && changes.calls.is_empty());
}

#[test]
fn replay_adds_no_bytes_and_initial_calls_always_fit() {
    let mut log = resumed(1 << 20, Vec::new());
    made(&mut log, "a", "{}", Some(&"x".repeat(2_000)));
    made(&mut log, "b", "{}", None);
    // The limit was lowered meanwhile.
    let mut again = resumed(1_000, all(&log));
    let before = again.bytes;
    assert!(known(again.begin(&named("a"), &"{}".into(), NOW)).is_ok());
    assert!(!again.full && again.bytes == before);
    assert_eq!(all(&again).len(), 2);
}
