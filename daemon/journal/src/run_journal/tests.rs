use mux_messages::{Handle, Held, JsonText, Kind};

use super::*;

const ALL: usize = 1 << 20;

fn journal() -> Arc<RunJournal> {
    RunJournal::new("a-1".into(), Program::default(), JournalOptions::default())
}

fn success() -> EventKind {
    let outcome = Outcome::Result(JsonText::from(serde_json::json!(1)));
    EventKind::Ended { outcome }
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.seq).collect()
}

#[tokio::test(start_paused = true)]
async fn run_state_only_moves_forward() {
    let run = journal();
    assert_eq!(run.info().state, RunState::Waiting);
    run.push(EventKind::Started {});
    run.push(EventKind::CallStarted {
        call: 1,
        path: "s.t".into(),
    });
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(run.info().state, RunState::Running);
    run.push(EventKind::Ended {
        outcome: Outcome::Error(Error::new(Kind::Timeout, "too long")),
    });
    tokio::time::advance(Duration::from_secs(2)).await;
    run.push(EventKind::Started {});
    run.push(success());
    let info = run.info();
    assert_eq!((info.state, info.ms), (RunState::Failed, 2_000));
    assert_eq!((info.calls, info.approvals), (1, 0));
    assert_eq!(info.error.unwrap().message, "too long");
    assert!(info.detached && run.is_end_read());
}

#[tokio::test]
async fn excess_progress_is_counted_and_call_events_are_kept() {
    let run = journal();
    let message = Some("x".repeat(2_000));
    for call in 0..20_000 {
        run.push(EventKind::CallProgress {
            call,
            path: "s.t".to_owned(),
            progress: 1.0,
            total: None,
            message: message.clone(),
        });
    }
    for call in 0..1_000 {
        run.push(EventKind::CallEnded {
            call,
            path: "s.t".to_owned(),
            ms: 0.0,
            bytes: 0,
            error: Some(Error::new(Kind::Tool, "y".repeat(4_000))),
        });
    }
    assert!(run.bytes() < MAX_EVENT_BYTES + (1 << 20), "{}", run.bytes());
    run.push(success());
    let events = run.read_after(0, Duration::ZERO, usize::MAX).await;
    let ended = |event: &&Event| matches!(event.event, EventKind::CallEnded { .. });
    assert_eq!(events.iter().filter(ended).count(), 1_000);
    let expected: Vec<u64> = (1..=events.len() as u64).collect();
    assert_eq!(numbers(&events), expected);
    let notes = events.iter().filter_map(|event| match &event.event {
        EventKind::Console { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let notes: Vec<&str> = notes.collect();
    assert!(notes[0].contains("16 MiB") && notes.len() == 2, "{notes:?}");
    assert!(notes[1].contains("events were dropped"), "{notes:?}");
}

#[tokio::test]
async fn page_is_bounded_but_has_at_least_one_event() {
    let run = journal();
    for length in [10, 1000, 5000, 10] {
        run.push(EventKind::Console {
            level: Level::Log,
            text: "x".repeat(length),
        });
    }
    for (after, expected) in [(0, vec![1, 2]), (2, vec![3]), (3, vec![4]), (4, vec![])] {
        let page = run.read_after(after, Duration::ZERO, 2000).await;
        assert_eq!(numbers(&page), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn reader_waits_for_next_event_and_can_reread_from_any_position() {
    let run = journal();
    let wait = Duration::from_secs(5);
    assert!(run.read_after(0, wait, ALL).await.is_empty());
    run.push(EventKind::Started {});
    let ((), events) = tokio::join!(async { run.push(success()) }, run.read_after(1, wait, ALL));
    assert_eq!(numbers(&events), [2]);
    run.push(EventKind::Started {});
    let all = run.read_after(0, Duration::ZERO, ALL).await;
    assert_eq!(numbers(&all), [1, 2]);
    assert!(run.read_after(99, Duration::ZERO, ALL).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn lifetime_of_a_stored_value_counts_from_the_reading() {
    let run = journal();
    tokio::time::advance(Duration::from_secs(1)).await;
    run.push(EventKind::Emitted {
        part: Held::Stored(Handle {
            handle: "h".into(),
            bytes: 1,
            preview: String::new(),
            expires_ms: 60_000,
        }),
    });
    tokio::time::advance(Duration::from_secs(20)).await;
    let events = run.read_after(0, Duration::ZERO, ALL).await;
    let EventKind::Emitted {
        part: Held::Stored(handle),
    } = &events[0].event
    else {
        panic!("{events:?}");
    };
    assert_eq!(handle.expires_ms, 40_000);
}
