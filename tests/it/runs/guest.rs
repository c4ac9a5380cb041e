//! The parts that a program emits besides its result, and stored values that it reads.

use mux_client::Session;
use mux_proto::{Event, EventKind, Handle, Held, Kind, Outcome};
use mux_tests::TestEnv;
use serde_json::{Value, json};

use super::{all, client, failed, run, start, stored, text};

/// The emitted parts of a run, in order.
fn parts(events: &[Event]) -> Vec<Held> {
    let part = |event: &Event| match &event.event {
        EventKind::Emitted { part } => Some(part.clone()),
        _ => None,
    };
    events.iter().filter_map(part).collect()
}

#[track_caller]
fn result(outcome: Outcome) -> Value {
    match outcome {
        Outcome::Result(value) => value.to_value(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn image_of_a_tool_is_passed_on_unchanged_and_a_long_part_is_stored() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let session = client(&env).await;
    let image = "return await mux.fix.image({})";
    let image = result(run(&session, image).await);
    assert_eq!(image["mimeType"], "image/png");
    let code = "
        const data = 'A'.repeat(400000);
        mux.emit(await mux.fix.image({}));
        mux.emit({ type: 'audio', data, mimeType: 'audio/wav', _meta: { n: 1 } });
        mux.emit({ type: 'text', text: 'end' });
        return 'done'";
    let id = start(&session, code, false).await;
    let events = all(&session, &id).await;
    let parts = parts(&events);
    let [Held::Value(first), Held::Stored(long), Held::Value(last)] = &parts[..] else {
        panic!("{parts:?}");
    };
    assert_eq!(*first, image);
    assert_eq!(*last, json!({ "type": "text", "text": "end" }));
    let text = text(&session, long, 1 << 20).await;
    let data = "A".repeat(400_000);
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap(),
        json!({ "type": "audio", "data": data, "mimeType": "audio/wav", "_meta": { "n": 1 } })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_console_lines_and_calls_keep_the_order_of_the_program() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let session = client(&env).await;
    let code = "
        for (let n = 0; n < 6; n++) {
            console.log(`line ${n}`);
            mux.emit({ type: 'text', text: (n % 2 ? 'x'.repeat(300000) : '') + n });
            await mux.fix.echo({ text: String(n) });
        }";
    let id = start(&session, code, false).await;
    let events = all(&session, &id).await;
    let shown: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.event {
            EventKind::Console { text, .. } => Some(text.clone()),
            EventKind::Emitted { part } => Some(match part {
                Held::Value(part) => format!("part {}", part.to_value()["text"].as_str().unwrap()),
                Held::Stored(handle) => format!("stored {}", handle.bytes),
            }),
            EventKind::CallEnded { call, .. } => Some(format!("call {call}")),
            _ => None,
        })
        .collect();
    let bytes = json!({ "type": "text", "text": "" }).to_string().len() + 300_001;
    let expected: Vec<String> = (0..6)
        .flat_map(|n| {
            let part = if n % 2 == 1 {
                format!("stored {bytes}")
            } else {
                format!("part {n}")
            };
            [format!("line {n}"), part, format!("call {}", n + 1)]
        })
        .collect();
    assert_eq!(shown, expected);
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    assert!(matches!(
        events.last().unwrap().event,
        EventKind::Ended { .. }
    ));
}

/// Runs a program with a long result. Returns the handle.
async fn kept(session: &Session, code: &str) -> Handle {
    stored(run(session, code).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn program_reads_a_stored_value_whole_or_in_pages() {
    let env = TestEnv::new();
    let session = client(&env).await;
    let made = "return Array.from({ length: 60000 }, (_, n) => ({ n, s: '\\u00e4\\u20ac' }))";
    let handle = kept(&session, made).await;
    let code = format!(
        "const whole = await mux.read({0:?});
         let text = '', next = 0, pages = 0;
         while (next !== null) {{
             const page = await mux.read({0:?}, {{ offset: next, length: 100000 }});
             text += page.text;
             next = page.next;
             pages++;
         }}
         const same = JSON.stringify(JSON.parse(text)) === JSON.stringify(whole);
         return [whole.length, whole[59999].n, same, pages]",
        handle.handle
    );
    let pages = handle.bytes.div_ceil(100_000);
    assert_eq!(
        result(run(&session, &code).await),
        json!([60000, 59999, true, pages])
    );
    let wrong = "return await Promise.all(['h_', 'h_' + '0'.repeat(32), '../x'].map((handle) =>
        mux.read(handle).then(() => 'read', (error) => [error.kind, error.path])))";
    assert_eq!(
        result(run(&session, wrong).await),
        json!([
            ["validation", "mux.read"],
            ["not_found", "mux.read"],
            ["validation", "mux.read"]
        ])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn mux_read_counts_towards_the_call_limit_of_the_run() {
    let env = TestEnv::new();
    env.write_config("[limits]\ncalls = 3\n");
    let session = client(&env).await;
    let handle = kept(&session, "return 'x'.repeat(300000)").await.handle;
    let code = format!("for (;;) await mux.read({handle:?}, {{ offset: 0, length: 1 }})");
    let id = start(&session, &code, false).await;
    let mut events = all(&session, &id).await;
    let EventKind::Ended { outcome } = events.pop().unwrap().event else {
        panic!("{events:#?}");
    };
    let error = failed(outcome);
    assert_eq!(error.kind, Kind::Limit);
    assert!(error.message.contains("more than 3"), "{error:?}");
    assert_eq!(events.len(), 1, "{events:#?}");
}
