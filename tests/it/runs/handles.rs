//! Values too long to be sent inline: their handles, and how long these are valid.

use std::fs;

use mux_proto::{EventKind, Held, Kind, Outcome};
use mux_tests::{TestEnv, process};
use serde_json::{Value, json};

use super::{all, call, client, failed, read, run, start, stored, text};

/// A program whose result is longer than 300 KiB, with characters of one to four bytes.
const LONG: &str =
    "return { text: 'a\\u00e4\\u20ac\\ud834\\udd1e\\n\"'.repeat(30000), n: [1, 2.5, null] }";

fn long() -> Value {
    json!({ "text": "aä€𝄞\n\"".repeat(30000), "n": [1, 2.5, null] })
}

#[tokio::test(flavor = "multi_thread")]
async fn long_result_has_a_handle_and_its_pages_add_up_to_the_value() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let session = client(&env).await;
    let id = start(&session, LONG, false).await;
    let events = all(&session, &id).await;
    let Some(EventKind::Ended { outcome }) = events.last().map(|event| event.event.clone()) else {
        panic!("{events:#?}");
    };
    let handle = stored(outcome);
    assert!(
        handle.bytes > 300 << 10 && handle.expires_ms > 0,
        "{handle:?}"
    );
    for length in [1 << 20, 65_537, 9_999] {
        let text = text(&session, &handle, length).await;
        assert!(text.starts_with(&handle.preview));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), long());
    }
    // Equal values have the same handle, whichever run made them. Different values have different ones.
    assert_eq!(stored(run(&session, LONG).await).handle, handle.handle);
    let value = json!({ "value": { "text": "aä€𝄞\n\"".repeat(30000) } });
    let echoed = call(&session, "fix.echo_json", value.clone())
        .await
        .unwrap();
    let Held::Stored(echoed) = echoed else {
        panic!("it came inline");
    };
    assert_ne!(echoed.handle, handle.handle);
    let echoed = text(&session, &echoed, 1 << 20).await;
    assert_eq!(serde_json::from_str::<Value>(&echoed).unwrap(), value);
    // A short value is sent inline.
    let short = run(&session, "return 'x'.repeat(256 * 1024 - 2)").await;
    assert!(matches!(short, Outcome::Result(_)));
    stored(run(&session, "return 'x'.repeat(256 * 1024 - 1)").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_handles_and_offsets_are_answered() {
    let env = TestEnv::new();
    let session = client(&env).await;
    let handle = stored(run(&session, LONG).await);
    let digits = "0".repeat(32);
    for (rubbish, kind) in [
        (String::new(), Kind::Validation),
        ("h_".into(), Kind::Validation),
        ("../../config.toml".into(), Kind::Validation),
        (format!("h_{}/", &digits[1..]), Kind::Validation),
        (format!("h_{digits}\0"), Kind::Validation),
        (handle.handle.to_uppercase(), Kind::Validation),
        ("x".repeat(1 << 20), Kind::Validation),
        (format!("h_{digits}"), Kind::NotFound),
    ] {
        let error = read(&session, &rubbish, 0, None).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error:?}");
        assert!(
            error.hint.is_some() && error.message.len() < 1000,
            "{error:?}"
        );
    }
    let total = handle.bytes;
    for offset in [total, total + 1, u64::MAX - 1, u64::MAX] {
        let page = read(&session, &handle.handle, offset, Some(u64::MAX))
            .await
            .unwrap();
        assert_eq!(
            (page.text.as_str(), page.offset, page.next),
            ("", total, None)
        );
    }
    let page = read(&session, &handle.handle, 7, Some(0)).await.unwrap();
    assert_eq!(
        (page.text.as_str(), page.next, page.total),
        ("", Some(7), total)
    );
    let page = read(&session, &handle.handle, 0, Some(u64::MAX))
        .await
        .unwrap();
    assert_eq!((page.text.len() as u64, page.next), (total, None));
}

/// Kills the daemon. The next request starts another.
fn restart(env: &TestEnv) {
    let daemon = env.daemon().unwrap();
    process::kill(daemon);
    assert!(process::wait_for_end(
        daemon,
        std::time::Duration::from_mins(1)
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_outlive_the_daemon_unless_their_files_are_damaged() {
    let env = TestEnv::new();
    let session = client(&env).await;
    let good = stored(run(&session, LONG).await);
    let bad = stored(run(&session, "return 'x'.repeat(300000)").await);
    let file = env.dirs.results().join(&bad.handle);
    let mut content = fs::read(&file).unwrap();
    content[1000] = b'y';
    fs::write(&file, content).unwrap();
    let unfinished = fs::File::create(env.dirs.results().join("unfinished-1")).unwrap();
    // A newer file could belong to a daemon that is shutting down.
    let before = std::time::SystemTime::now() - std::time::Duration::from_secs(100);
    unfinished.set_modified(before).unwrap();
    restart(&env);

    let session = client(&env).await;
    let whole = text(&session, &good, 1 << 20).await;
    assert_eq!(serde_json::from_str::<Value>(&whole).unwrap(), long());
    let error = read(&session, &bad.handle, 0, None).await.unwrap_err();
    assert_eq!(error.kind, Kind::NotFound);
    assert!(error.message.contains("damaged"), "{error:?}");
    assert!(!file.exists() && !env.dirs.results().join("unfinished-1").exists());
    let error = read(&session, &bad.handle, 0, None).await.unwrap_err();
    assert!(error.hint.unwrap().contains("kept_for"));
}

#[tokio::test(flavor = "multi_thread")]
async fn result_that_cannot_be_stored_is_sent_inline_with_a_warning() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.dirs.prepare().unwrap();
    fs::write(env.dirs.results(), "in the way").unwrap();
    let session = client(&env).await;
    let id = start(&session, LONG, false).await;
    let mut events = all(&session, &id).await;
    let ended = events.pop().unwrap().event;
    let outcome = Outcome::Result(long().into());
    assert!(ended == EventKind::Ended { outcome }, "not as it was");
    let Some(EventKind::Console { text, .. }) = events.pop().map(|event| event.event) else {
        panic!("{events:#?}");
    };
    assert!(text.contains("could not be kept"), "{text}");
    let called = call(&session, "fix.blob", json!({ "bytes": 300_000 })).await;
    assert!(matches!(called.unwrap(), Held::Value(_)));
    // Too long for one message: the error names its size.
    let error = failed(run(&session, "return 'x'.repeat(14 << 20)").await);
    assert_eq!(error.kind, Kind::Unavailable, "{error:?}");
    assert!(error.message.contains("14680066 bytes"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn error_for_a_value_too_long_for_a_worker_has_its_handle() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let session = client(&env).await;
    let code = "try { await mux.fix.blob({ bytes: 16775000 }); }
        catch (error) { return [error.kind, error.message, error.details]; }";
    let Outcome::Result(output) = run(&session, code).await else {
        panic!("no result");
    };
    let output = output.to_value();
    assert_eq!(output[0], "limit", "{output:#}");
    assert!(
        output[1].as_str().unwrap().contains("16775002"),
        "{output:#}"
    );
    let handle = output[2]["handle"].as_str().unwrap();
    let page = read(&session, handle, 16_775_001, None).await.unwrap();
    assert_eq!((page.text.as_str(), page.total), ("\"", 16_775_002));
}
