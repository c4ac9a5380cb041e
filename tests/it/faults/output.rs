//! Servers that send too much, or invalid output.

use std::fs;

use mux_client::{ClientIdentity, within_seconds};
use mux_proto::{EventKind, EventsRequest, Outcome, RunRequest};
use mux_tests::TestEnv;
use serde_json::json;

use super::{server, without_growth_over};

const MIB: u64 = 1 << 20;

/// A home with `fix` and `other`, whose sessions are open before memory growth is measured.
fn warm() -> TestEnv {
    let env = TestEnv::with_fixtures(&[("fix", &[]), ("other", &[])]);
    env.result("return await Promise.all([mux.fix.pid({}), mux.other.pid({})])");
    env
}

#[test]
fn noise_between_messages_is_logged_and_the_answer_arrives() {
    let env = warm();
    let code = "return await mux.fix.garbage({ lines: 3000, binary: true })";
    assert_eq!(env.result(code), "after the noise");
    assert_eq!(env.starts("fix").len(), 1);
    let log = fs::read_to_string(env.dirs.server_log("fix")).unwrap();
    assert!(log.contains("debug: this line is no JSON"), "{log}");
    assert!(
        log.lines().count() < 200,
        "noise must not fill the log: {} lines",
        log.lines().count()
    );
}

#[test]
fn notification_flood_delays_only_its_own_answer() {
    let env = warm();
    without_growth_over(&env, 64 * MIB, || {
        let code = "const late = mux.fix.flood({ lines: 20000 });
            for (let n = 0; n < 20; n++) await mux.other.echo({ text: 'x' });
            return await late";
        assert_eq!(env.result(code), "after the flood");
    });
    assert_eq!(env.starts("fix").len(), 1);
}

#[test]
fn stderr_flood_blocks_no_call() {
    let env = warm();
    without_growth_over(&env, 64 * MIB, || {
        assert_eq!(
            env.result("return await mux.fix.stderr({ lines: 100000 })"),
            "written"
        );
    });
    // The rest of the pipe is logged after the answer.
    let log = || fs::read_to_string(env.dirs.server_log("fix")).unwrap();
    while !log().contains("stderr line 100000 of 100000") {}
}

#[test]
fn endless_line_ends_only_its_session() {
    let env = warm();
    let other = env.result("return await mux.other.pid({})");
    without_growth_over(&env, 64 * MIB, || {
        let error = env.error(&format!(
            "return await mux.fix.huge_line({{ bytes: {} }})",
            17 * MIB
        ));
        assert_eq!(error["kind"], "unknown_outcome", "{error:#}");
        assert_eq!(error["path"], "fix.huge_line");
    });
    assert_eq!(env.result("return await mux.other.pid({})"), other);
    assert_eq!(
        env.result("return await mux.fix.echo({ text: 'again' })"),
        "again"
    );
    assert_eq!(server(&env, "fix")["starts"], 2);
}

#[test]
fn result_of_maximum_line_length_is_returned_or_fails_by_limit() {
    let env = warm();
    // With its envelope, the second result is longer than a line may be.
    for bytes in [8 * MIB, 16 * MIB - 200] {
        let code = format!("return (await mux.fix.huge_line({{ bytes: {bytes} }})).length");
        let output = env.mux(["--json", "run", "-e", &code]);
        if output.code == 0 {
            let length = output.json()["result"].as_u64().unwrap();
            assert!(length > bytes - 200, "{length} of {bytes}");
        } else {
            let error = output.json()["error"].take();
            assert_eq!(error["kind"], "limit", "{bytes}: {error:#}");
        }
        let output = env.mux(["call", "fix.huge_line", &format!("bytes={bytes}")]);
        if output.code != 0 {
            output.fails(1, &["error[limit]", "over the limit"]);
        }
    }
    assert_eq!(env.starts("fix").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_an_ended_run_fit_into_pages() {
    let env = warm();
    let me = ClientIdentity::new("test", "0");
    let session = mux_client::connect(&env.dirs, &me).await.unwrap();
    // Together more than fits into a frame, if each event contained its whole error.
    let source = "const message = 'no '.repeat(400_000);
        let whole = 0;
        for (let n = 0; n < 16; n++) {
            await mux.fix.fail({ message }).catch((error) => {
                if (error.kind === 'tool' && error.details.content[0].text === message) whole++;
            });
            console.log(message.slice(0, 15_000));
        }
        return whole";
    let request = RunRequest {
        source: source.into(),
        timeout_ms: Some(150_000),
        ..RunRequest::default()
    };
    let run = session.client.start_run(within_seconds(10), request).await;
    let run = run.unwrap().unwrap().run;
    // Read the events only after the run has ended.
    loop {
        let status = session.client.status(within_seconds(10)).await;
        if status.unwrap().unwrap().runs.running == 0 {
            break;
        }
    }
    let mut events = Vec::new();
    let mut pages = 0;
    while !matches!(events.last(), Some(EventKind::Ended { .. })) {
        let request = EventsRequest {
            run: run.clone(),
            after: events.len() as u64,
            wait_ms: 0,
        };
        let page = session.client.events(within_seconds(10), request).await;
        let page = page.unwrap().unwrap();
        events.extend(page.events.into_iter().map(|event| event.event));
        pages += 1;
    }
    let outcome = Outcome::Result(json!(16).into());
    assert_eq!(events.last(), Some(&EventKind::Ended { outcome }));
    let errors = events.iter().filter(|event| {
        matches!(event, EventKind::CallEnded { error: Some(error), .. } if error.message.len() < 5000)
    });
    assert_eq!((errors.count(), pages), (16, 1));
}

#[test]
fn deeply_nested_values_fail_by_limit_and_keep_the_connection() {
    let env = warm();
    for depth in [20, 100, 101, 119, 122, 125, 128, 499, 2000] {
        let value = format!("let value = 7; for (let n = 0; n < {depth}; n++) value = [value];");
        for (code, more) in [
            (format!("{value} return value"), 0),
            (
                format!("{value} return (await mux.fix.echo_json({{ value }})).value"),
                1,
            ),
        ] {
            let output = env.mux(["--json", "run", "-e", &code]);
            if depth + more <= 100 {
                let text = output.ok().json()["result"].to_string();
                assert_eq!(text.matches('[').count(), depth);
            } else {
                assert_eq!(output.code, 1, "{depth}: {output:#?}");
                let error = output.json()["error"].take();
                assert_eq!(error["kind"], "limit", "{depth}: {error:#}");
            }
        }
    }
    assert_eq!(env.starts("fix").len(), 1);
}
