//! Many clients, and clients that are silent or slow.

use mux_client::{ClientIdentity, within_seconds};
use mux_proto::{EventsRequest, Outcome, RunRequest};
use mux_tests::{
    TestEnv,
    frames::{self, Wire},
    process,
};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::unharmed;

#[test]
fn silent_connections_are_closed_and_do_not_affect_others() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.result("return await mux.fix.pid({})");
    let daemon = env.daemon();
    let before = process::resident_bytes(daemon.unwrap());
    let mut silent: Vec<Wire> = (0..500)
        .map(|n| {
            let mut wire = Wire::connect(&env.dirs.socket());
            if n % 2 == 1 {
                // Every second one sends an incomplete frame: a length, and a part of the content.
                wire.send_bytes(&[0, 0, 1, 0, b'{', b'"']).unwrap();
            }
            wire
        })
        .collect();
    for n in 0..5 {
        let code = format!("return (await mux.fix.add({{ a: {n}, b: 1 }})).sum");
        assert_eq!(env.result(&code), n + 1);
    }
    let grown = process::resident_bytes(daemon.unwrap()).saturating_sub(before);
    assert!(grown < 16 << 20, "{} MiB for idle connections", grown >> 20);
    for wire in &mut silent {
        assert_eq!(wire.rest(), Vec::<Value>::new());
    }
    unharmed(&env, daemon);
}

#[test]
fn more_clients_than_the_initial_descriptor_limit_are_served() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    // The daemon raises the usual limit itself. The test needs as many descriptors as the daemon for its ends.
    allow_descriptors(1_024);
    env.result("return await mux.fix.pid({})");
    allow_descriptors(4_096);
    let daemon = env.daemon();
    let before = process::resident_bytes(daemon.unwrap());
    let mut clients: Vec<Wire> = (0..1_200)
        .map(|_| Wire::greeted(&env.dirs.socket()))
        .collect();
    assert_eq!(
        env.result("return (await mux.fix.add({ a: 1, b: 1 })).sum"),
        2
    );
    let grown = process::resident_bytes(daemon.unwrap()).saturating_sub(before);
    assert!(grown < 64 << 20, "{} MiB for idle clients", grown >> 20);
    for client in &mut clients {
        let answer = client.call(&json!({ "Status": {} }));
        assert!(
            answer["message"]["Ok"]["Status"]["Ok"].is_object(),
            "{answer}"
        );
    }
    drop(clients);
    unharmed(&env, daemon);
}

fn allow_descriptors(count: u64) {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, count.min(hard), hard).unwrap();
}

#[test]
fn a_client_that_reads_nothing_delays_only_itself() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.result("return await mux.fix.pid({})");
    let daemon = env.daemon();
    let mut deaf = Wire::greeted(&env.dirs.socket());
    // The answers are longer than the buffers of the socket and the daemon.
    for _ in 0..200 {
        deaf.ask(&json!({ "Types": { "request": { "paths": [] } } }));
    }
    for n in 0..5 {
        let code = format!("return (await mux.fix.add({{ a: {n}, b: 1 }})).sum");
        assert_eq!(env.result(&code), n + 1);
    }
    drop(deaf);
    unharmed(&env, daemon);
}

#[test]
fn requests_beyond_the_limit_of_one_connection_are_refused() {
    let env = TestEnv::new();
    env.result("return 1");
    let daemon = env.daemon();
    let mut wire = Wire::greeted(&env.dirs.socket());
    let run = json!({ "StartRun": { "request": { "source": "await new Promise((r) => setTimeout(r, 60_000))", "no_check": true } } });
    let run = wire.call(&run)["message"]["Ok"]["StartRun"]["Ok"]["run"].clone();
    // Each waits for an event that does not come.
    for _ in 0..400 {
        wire.ask(
            &json!({ "Events": { "request": { "run": run, "after": 1, "wait_ms": 20_000 } } }),
        );
    }
    let refusal = wire.answer().unwrap();
    assert!(refusal["message"]["Err"]["kind"].is_number(), "{refusal}");
    assert_eq!(env.result("return 2"), 2);
    drop(wire);
    unharmed(&env, daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_clients_in_one_process_get_their_own_answers() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut tasks = Vec::new();
    for n in 0..50_u64 {
        let dirs = env.dirs.clone();
        tasks.push(tokio::spawn(async move {
            let me = ClientIdentity::new(format!("client-{}", n % 7), "0");
            let muxd = mux_tests::env::binary("muxd");
            let session = mux_client::connect_or_spawn(&dirs, Some(muxd), &me)
                .await
                .unwrap();
            for round in 0..3 {
                let source = format!(
                    "console.log('{n}/{round}');
                     const {{ sum }} = await mux.fix.add({{ a: {n}, b: mux.input }});
                     return `{n}/{round}/${{sum}}`"
                );
                let request = RunRequest {
                    source,
                    input: json!(round).into(),
                    ..RunRequest::default()
                };
                let mut console = Vec::new();
                let finished = mux_client::run(&session, request, |event| {
                    console.extend(
                        json!(event)["event"]["console"]["text"]
                            .as_str()
                            .map(str::to_owned),
                    );
                });
                let finished = finished.await.unwrap();
                let expected = json!(format!("{n}/{round}/{}", n + round));
                assert_eq!(finished.outcome, Outcome::Result(expected.into()));
                assert_eq!(console, [format!("{n}/{round}")]);
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(env.starts("fix").len(), 1);
    unharmed(&env, env.daemon());
}

#[tokio::test(flavor = "multi_thread")]
async fn event_poll_times_out_and_cancelled_polls_do_not_count() {
    let env = TestEnv::new();
    let muxd = Some(mux_tests::env::binary("muxd"));
    let me = ClientIdentity::new("test", "0");
    let session = mux_client::connect_or_spawn(&env.dirs, muxd, &me)
        .await
        .unwrap();
    let request = RunRequest {
        source: "await new Promise((r) => setTimeout(r, 60_000))".into(),
        no_check: true,
        ..RunRequest::default()
    };
    let started = session.client.start_run(within_seconds(5), request).await;
    let run = started.unwrap().unwrap().run;
    let poll = |after, wait_ms| EventsRequest {
        run: run.clone(),
        after,
        wait_ms,
    };
    let page = session.client.events(within_seconds(5), poll(1, 50)).await;
    assert_eq!(page.unwrap().unwrap().events, []);
    // A number beyond the last event is not an error: there are no events after it.
    let page = session
        .client
        .events(within_seconds(5), poll(u64::MAX, 0))
        .await;
    assert_eq!(page.unwrap().unwrap().events, []);
    for _ in 0..600 {
        // Dropped before its answer. These are more than a connection may have at a time.
        let waiting = session.client.events(within_seconds(60), poll(1, 30_000));
        let status = session.client.status(within_seconds(5));
        tokio::select! {
            biased;
            page = waiting => panic!("{page:?}"),
            status = status => drop(status.unwrap().unwrap()),
        }
    }
    let cancelled = session
        .client
        .cancel_run(within_seconds(5), run.clone())
        .await;
    cancelled.unwrap().unwrap();
    let page = session
        .client
        .events(within_seconds(25), poll(1, 20_000))
        .await;
    let last = json!(page.unwrap().unwrap().events.last());
    assert_eq!(
        last["event"]["ended"]["outcome"]["error"]["kind"],
        "cancelled"
    );
    drop(session);
    // A finished run can be requested on another connection, until the daemon ends.
    let mut wire = Wire::connect(&env.dirs.socket());
    wire.call(&frames::hello(1));
    let answer = wire.call(&json!({ "CancelRun": { "run": run } }));
    assert_eq!(answer["message"]["Ok"]["CancelRun"], json!({ "Ok": null }));
    drop(wire);
    unharmed(&env, env.daemon());
}
