use super::*;

fn named(tool: &str) -> Target {
    Target::Path {
        path: format!("s.{tool}"),
        raw: false,
    }
}

fn all(log: &CallLog) -> Vec<LoggedCall> {
    log.entries.iter().flatten().cloned().collect()
}

fn made(log: &mut CallLog, tool: &str, arguments: &str, result: Option<&str>) -> usize {
    let BegunCall::New(Some(place)) = log.begin(&named(tool), &arguments.into()) else {
        panic!("{tool} is new");
    };
    if let Some(result) = result {
        log.end(place, &Ok(result.to_owned()));
    }
    place
}

fn known(begun: BegunCall) -> Result<String, Kind> {
    match begun {
        BegunCall::Known(outcome) => outcome
            .map(|text| text.to_string())
            .map_err(|fault| fault.kind),
        BegunCall::New(_) => panic!("it is known"),
    }
}

#[test]
fn calls_are_known_by_arguments_and_by_how_many_such_came_before_in_any_order() {
    let mut log = CallLog::new(1 << 20, Vec::new());
    made(&mut log, "a", r#"{"x":1,"y":2}"#, Some("1"));
    made(&mut log, "a", r#"{"y":2,"x":1}"#, Some("2"));
    made(&mut log, "b", "{}", Some("3"));
    let mut again = CallLog::new(1 << 20, all(&log));
    assert_eq!(
        known(again.begin(&named("b"), &"{}".into())),
        Ok("3".into())
    );
    let one = Target::Named {
        server: "s".into(),
        tool: "a".into(),
    };
    assert_eq!(
        known(again.begin(&one, &r#"{"y":2, "x":1.0}"#.into())),
        Ok("1".into())
    );
    assert_eq!(
        known(again.begin(&named("a"), &r#"{"x":1,"y":2}"#.into())),
        Ok("2".into())
    );
    // More of them, or others, are just made.
    made(&mut again, "a", r#"{"x":1,"y":2}"#, Some("4"));
    made(&mut again, "b", r#"{"z":null}"#, None);
    let raw = Target::Path {
        path: "s.b".into(),
        raw: true,
    };
    assert!(matches!(
        again.begin(&raw, &"{}".into()),
        BegunCall::New(Some(_))
    ));
}

#[test]
fn what_was_on_its_way_is_unknown_and_what_was_asked_is_asked_again() {
    let mut log = CallLog::new(1 << 20, Vec::new());
    made(&mut log, "lost", "{}", None);
    let asked = made(&mut log, "asked", "{}", None);
    log.set_asked(asked, true);
    // The error that tells of it is no end of the call.
    log.end(asked, &Err(Fault::new(Kind::Pending, "wait")));
    let denied = made(&mut log, "denied", "{}", None);
    log.set_asked(denied, true);
    log.set_asked(denied, false);
    log.end(denied, &Err(Fault::new(Kind::Denied, "no")));
    let mut again = CallLog::new(1 << 20, all(&log));
    assert_eq!(count_ended_calls(&all(&again)), 1);
    let lost = again.begin(&named("lost"), &"{}".into());
    assert_eq!(known(lost), Err(Kind::UnknownOutcome));
    assert_eq!(
        known(again.begin(&named("denied"), &"{}".into())),
        Err(Kind::Denied)
    );
    assert_eq!(made(&mut again, "asked", "{}", Some("done")), asked);
    // And once more: nothing of it is made a second time.
    let mut third = CallLog::new(1 << 20, all(&again));
    assert_eq!(
        known(third.begin(&named("asked"), &"{}".into())),
        Ok("done".into())
    );
    assert_eq!(
        known(third.begin(&named("lost"), &"{}".into())),
        Err(Kind::UnknownOutcome)
    );
}

#[test]
fn what_was_not_asked_for_again_stays_known() {
    let mut log = CallLog::new(1 << 20, Vec::new());
    made(&mut log, "a", "{}", Some("1"));
    let again = CallLog::new(1 << 20, all(&log));
    let mut third = CallLog::new(1 << 20, all(&again));
    assert_eq!(
        known(third.begin(&named("a"), &"{}".into())),
        Ok("1".into())
    );
}

#[test]
fn a_log_that_is_too_long_keeps_nothing() {
    let mut log = CallLog::new(1_000, Vec::new());
    made(&mut log, "a", "{}", Some("1"));
    let place = made(&mut log, "b", "{}", None);
    log.end(place, &Ok("x".repeat(2_000)));
    assert!(log.full && log.entries.iter().all(Option::is_none));
    assert!(matches!(
        log.begin(&named("c"), &"{}".into()),
        BegunCall::New(None)
    ));
    log.end(0, &Ok("late".into()));
    assert!(matches!(log.all_lines()[..], [JournalLine::Full]) && log.unwritten_lines().is_empty());
}

#[test]
fn a_log_that_becomes_too_long_while_it_replays_still_knows_what_was_made() {
    let mut log = CallLog::new(1_000, Vec::new());
    for n in 0..3 {
        made(&mut log, "a", &format!("{{\"n\":{n}}}"), Some("done"));
    }
    made(&mut log, "lost", "{}", None);
    let mut again = CallLog::new(1_000, all(&log));
    let first = again.begin(&named("a"), &r#"{"n":0}"#.into());
    assert_eq!(known(first), Ok("done".into()));
    // It makes another call than before, which is too much.
    let place = made(&mut again, "new", "{}", None);
    again.end(place, &Ok("x".repeat(2_000)));
    assert!(again.full);
    for n in 1..3 {
        let call = again.begin(&named("a"), &format!("{{\"n\":{n}}}").into());
        assert_eq!(known(call), Ok("done".into()), "{n}");
    }
    let lost = again.begin(&named("lost"), &"{}".into());
    assert_eq!(known(lost), Err(Kind::UnknownOutcome));
    // What was made once is made again only if the program makes it once more.
    let more = again.begin(&named("a"), &r#"{"n":0}"#.into());
    assert!(matches!(more, BegunCall::New(None)));
    // What a third run would have to know is not known any more, and it is told so.
    assert!(matches!(again.all_lines()[..], [JournalLine::Full]));
}

#[test]
fn a_log_is_no_longer_for_being_replayed_and_what_it_began_with_always_fits() {
    let mut log = CallLog::new(1 << 20, Vec::new());
    made(&mut log, "a", "{}", Some(&"x".repeat(2_000)));
    made(&mut log, "b", "{}", None);
    // The limit is lower by now.
    let mut again = CallLog::new(1_000, all(&log));
    let before = again.bytes;
    assert!(known(again.begin(&named("a"), &"{}".into())).is_ok());
    assert!(!again.full && again.bytes == before);
    assert_eq!(all(&again).len(), 2);
}
