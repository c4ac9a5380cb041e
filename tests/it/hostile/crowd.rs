//! Attacks with many runs, concurrent or consecutive. Numbers 64, 77, 81 and 82.
//!
//! Invariant: the clients are connections of this process, so only the daemon is measured.

use futures::future::join_all;
use mux_client::{ClientIdentity, Session};
use mux_proto::{Kind, Outcome, RunRequest};
use mux_tests::{TestEnv, env::binary, process};
use serde_json::{Value, json};

use super::vitals::{Pulse, Vitals};

async fn session(env: &TestEnv, name: &str) -> Session {
    let muxd = Some(binary("muxd"));
    mux_client::connect_or_spawn(&env.dirs, muxd, &ClientIdentity::new(name, "0"))
        .await
        .unwrap()
}

async fn run(session: &Session, source: &str, timeout_ms: u64) -> Outcome {
    let request = RunRequest {
        source: source.into(),
        timeout_ms: Some(timeout_ms),
        ..RunRequest::default()
    };
    loop {
        let finished = mux_client::run(session, request.clone(), |_| {}).await;
        match finished.unwrap().outcome {
            // The run waited in the queue for too long, which can happen on a slow machine. The run was not
            // started.
            Outcome::Error(error) if error.kind == Kind::Busy => {}
            outcome => return outcome,
        }
    }
}

fn is(outcome: &Outcome, expected: &Value) -> bool {
    matches!(outcome, Outcome::Result(value) if value == expected)
}

/// Number 77: each call of each run gets its own unique text back.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_concurrent_calls_get_their_own_answers() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let sessions = join_all((0..10).map(|n| {
        let name = format!("client-{}", n % 3);
        let env = &env;
        async move { session(env, &name).await }
    }))
    .await;
    let pairs = |client: usize, n: usize| {
        let source = format!(
            "const words = Array.from({{ length: 100 }}, (_, i) => `{client}-{n}-${{i}}`);
             const heard = await Promise.all(words.map((text) => mux.fix.echo({{ text }})));
             return [heard.filter((text, i) => text === words[i]).length, '{client}-{n}']"
        );
        let session = &sessions[client];
        async move {
            let outcome = run(session, &source, 120_000).await;
            assert!(
                is(&outcome, &json!([100, format!("{client}-{n}")])),
                "{outcome:?}"
            );
        }
    };
    join_all(
        (0..10)
            .flat_map(|client| (0..10).map(move |n| (client, n)))
            .map(|(c, n)| pairs(c, n)),
    )
    .await;
    assert_eq!(env.starts("fix").len(), 1);
}

/// Number 81: innocent programs are served at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn hundred_hostile_runs_leave_a_working_pool() {
    const HOSTILE: [&str; 10] = [
        "for (;;);",
        "new Array(2 ** 32 - 1).fill(0)",
        "const all = []; for (;;) all.push(new Array(1000).fill(1.5));",
        "const f = (n) => f(n + 1) + 1; return f(0)",
        "await new Promise(() => {})",
        "for (let i = 0; i < 1e5; i++) Promise.reject(new Error('x')); await 0; throw 1",
        "for (;;) console.log('x'.repeat(1000)), mux.emit({ type: 'text', text: 'x'.repeat(1e6) })",
        "for (let i = 0; ; i++) setTimeout(() => {}, i)",
        "return 'x'.repeat(20_000_000)",
        "/^(a+)+$/.test('a'.repeat(40) + 'b'); throw 1",
    ];
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let good = session(&env, "good").await;
    let bad = session(&env, "bad").await;
    let innocent = "const { sum } = await mux.fix.add({ a: 20, b: 22 }); return sum";
    assert!(is(&run(&good, innocent, 30_000).await, &json!(42)));
    let daemon = env.daemon().unwrap();
    let pulse = Pulse::of(&env);
    let before = Vitals::at_rest(daemon, &pulse);
    pulse.begin();
    for round in 0..10 {
        let attacks = join_all(HOSTILE.iter().map(|source| run(&bad, source, 1_000)));
        let (ends, served) = tokio::join!(attacks, run(&good, innocent, 30_000));
        assert!(is(&served, &json!(42)), "round {round}: {served:?}");
        for (source, end) in HOSTILE.iter().zip(ends) {
            assert!(matches!(end, Outcome::Error(_)), "{source}: {end:?}");
        }
    }
    pulse.end().unwrap();
    before.again(daemon, &pulse).unwrap();
    assert_eq!(env.daemon(), Some(daemon));
    assert_eq!(env.starts("fix").len(), 1);
}

/// Number 82: the queue is limited, and runs that do not fit get an error that says when to retry.
#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_queued_runs_are_served_or_told_when_to_retry() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}[limits]\nworkers = 1\nqueue = 100\n",
        env.fixture("fix", &[])
    ));
    let session = session(&env, "many").await;
    let first = RunRequest {
        source: "await mux.fix.hang({})".into(),
        timeout_ms: Some(120_000),
        ..RunRequest::default()
    };
    let first = mux_client::start(&session, first).await.unwrap();
    let clients = join_all((0..5).map(|n| {
        let name = format!("client-{n}");
        let env = &env;
        async move { self::session(env, &name).await }
    }))
    .await;
    let daemon = env.daemon().unwrap();
    let before = process::resident_bytes(daemon);
    let asked: Vec<(usize, RunRequest)> = (0..500)
        .map(|n| {
            let request = RunRequest {
                source: format!("return {n}"),
                ..RunRequest::default()
            };
            (n, request)
        })
        .collect();
    let mut runs = Vec::new();
    for (n, request) in asked {
        let client = &clients[n % 5];
        runs.push((n, mux_client::start(client, request).await.unwrap()));
    }
    let cancelled = session
        .client
        .cancel_run(mux_client::within_seconds(10), first);
    cancelled.await.unwrap().unwrap();
    let mut served = 0;
    let mut refused = 0;
    for (n, id) in runs {
        let watched = mux_client::watch(&clients[n % 5], &id, 0, |_| {}).await;
        match watched.unwrap().outcome {
            Outcome::Result(value) => {
                assert_eq!(value, json!(n));
                served += 1;
            }
            Outcome::Error(error) => {
                assert_eq!(error.kind, Kind::Busy, "{error:?}");
                assert!(
                    error.hint.as_ref().unwrap().contains("try again in"),
                    "{error:?}"
                );
                refused += 1;
            }
            other @ Outcome::Stored(_) => panic!("{other:?}"),
        }
    }
    assert_eq!(served + refused, 500);
    assert!(served >= 100 && refused > 0, "{served} and {refused}");
    let grown = process::resident_bytes(daemon).saturating_sub(before) >> 20;
    assert!(grown < 48, "{grown} MiB");
}

/// Number 64, in short: the benchmarks measure it at full length.
#[tokio::test(flavor = "multi_thread")]
async fn memory_does_not_grow_from_60_to_300_runs() {
    let env = TestEnv::new();
    let session = session(&env, "many").await;
    let mut before = 0;
    for n in 0..300 {
        let outcome = run(&session, &format!("console.log({n}); return {n}"), 30_000).await;
        assert!(is(&outcome, &json!(n)), "{outcome:?}");
        if n == 59 {
            before = process::resident_bytes(env.daemon().unwrap());
        }
    }
    let grown = process::resident_bytes(env.daemon().unwrap()).saturating_sub(before) >> 20;
    assert!(grown < 16, "{grown} MiB");
}
