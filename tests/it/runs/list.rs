//! The run list, with clients and progress, and events that are read again.

use mux_client::ClientIdentity;
use mux_proto::{EventKind, Kind, Outcome, RunState};
use mux_tests::TestEnv;
use serde_json::json;

use super::{all, cancel, client, events, failed, info, listed, outcome, session, start, until};

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_listed_with_their_client_and_progress() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let identity = ClientIdentity {
        agent: Some("small\u{1b}[2J-model".into()),
        workspace: Some("/home/me/project".into()),
        ..ClientIdentity::new("editor", "1")
    };
    let editor = session(&env, &identity).await;
    let good = start(
        &editor,
        "// sums\n\nreturn await mux.fix.add({ a: 1, b: 2 })",
        false,
    )
    .await;
    outcome(&editor, &good).await;
    let bad = "await mux.fix.echo({ text: '' });\nawait mux.fix.fail({ message: 'no' })";
    let bad = start(&editor, bad, false).await;
    assert_eq!(failed(outcome(&editor, &bad).await).kind, Kind::Tool);
    let long = start(&editor, "console.log('on'); await mux.fix.hang({})", false).await;
    until(&editor, &long, |kind| {
        matches!(kind, EventKind::CallStarted { .. })
    })
    .await;

    let other = client(&env).await;
    let (runs, total) = listed(&other, false, None).await;
    let ids: Vec<_> = runs.iter().map(|run| run.run.as_str()).collect();
    assert_eq!((ids, total), (vec![long.as_str(), &bad, &good], 3));
    let [long_run, bad_run, good_run] = &runs[..] else {
        panic!("{runs:#?}");
    };
    assert_eq!(good_run.state, RunState::Succeeded);
    assert_eq!(good_run.title, "sums");
    assert_eq!(good_run.client, "editor");
    assert_eq!(good_run.agent.as_deref(), Some("small [2J-model"));
    assert_eq!(
        good_run.workspace.as_deref(),
        Some("/home/me/project".as_ref())
    );
    assert!(!good_run.detached && good_run.error.is_none() && good_run.accepted_ms > 0);
    assert_eq!(bad_run.state, RunState::Failed);
    assert_eq!(
        (bad_run.calls, bad_run.calls_ended, bad_run.calls_failed),
        (2, 2, 1)
    );
    let error = bad_run.error.as_ref().unwrap();
    assert_eq!(
        (error.kind.known(), &error.details),
        (Some(Kind::Tool), &None)
    );
    assert_eq!(bad_run.events, all(&other, &bad).await.len() as u64);
    assert_eq!(long_run.state, RunState::Running);
    assert_eq!((long_run.calls, long_run.calls_ended), (1, 0));

    let (running, total) = listed(&other, true, None).await;
    assert_eq!((running.len(), total, &running[0].run), (1, 1, &long));
    assert_eq!(listed(&other, false, Some(0)).await, (vec![], 3));
    let latest = listed(&other, false, Some(2)).await;
    assert_eq!((latest.0.len(), latest.1), (2, 3));
    assert_eq!(listed(&other, false, Some(usize::MAX)).await.0.len(), 3);

    // Every method accepts the number alone.
    let number = long.rsplit('-').next().unwrap();
    assert_eq!(info(&other, number).await.unwrap().run, long);
    cancel(&other, number).await;
    assert_eq!(failed(outcome(&other, number).await).kind, Kind::Cancelled);
    let ended = info(&other, &long).await.unwrap();
    assert_eq!(ended.state, RunState::Failed);
    assert_eq!(
        ended,
        info(&other, &long).await.unwrap(),
        "its time stands still"
    );
    for unknown in ["", "9999", "nope-1", &"x".repeat(1 << 20)] {
        let error = info(&other, unknown).await.unwrap_err();
        assert_eq!(error.kind, Kind::NotFound);
        assert!(error.hint.unwrap().contains("mux runs"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_can_be_read_again_from_any_number() {
    let env = TestEnv::new();
    let session = client(&env).await;
    let code = "for (let n = 0; n < 5; n++) console.log(`line ${n}`); return 'end'";
    let run = start(&session, code, false).await;
    let whole = all(&session, &run).await;
    let numbers: Vec<u64> = whole.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=7).collect::<Vec<_>>());
    assert!(matches!(whole[0].event, EventKind::Started {}));
    let reader = client(&env).await;
    for after in 0..=8 {
        let rest = events(&reader, &run, after, 0).await;
        assert_eq!(rest, whole[whole.len().min(after as usize)..], "{after}");
    }
    assert_eq!(events(&reader, &run, u64::MAX, 0).await, []);
    let last = EventKind::Ended {
        outcome: Outcome::Result(json!("end").into()),
    };
    assert_eq!(whole[6].event, last);
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_run_has_its_console_and_its_ended_calls() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let session = client(&env).await;
    let code = "console.log('before'); await mux.fix.echo({ text: 'x' }); throw new Error('over')";
    let run = start(&session, code, false).await;
    let events = all(&session, &run).await;
    let ended = |kind: &EventKind| matches!(kind, EventKind::CallEnded { error: None, .. });
    assert!(
        events.iter().any(|event| ended(&event.event)),
        "{events:#?}"
    );
    let said =
        |kind: &EventKind| matches!(kind, EventKind::Console { text, .. } if text == "before");
    assert!(events.iter().any(|event| said(&event.event)), "{events:#?}");
    assert_eq!(info(&session, &run).await.unwrap().calls_ended, 1);
}
