//! Workers that are killed at any moment. Number 83.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use mux_client::ClientIdentity;
use mux_proto::{AnyKind, Kind, Outcome, RunRequest};
use mux_tests::{TestEnv, env::binary, process};
use serde_json::json;

use super::vitals::{Pulse, Vitals};

/// How many workers are killed.
const KILLS: usize = 100;

/// The workers of a daemon at this moment.
fn workers(daemon: i32) -> Vec<i32> {
    let mut children = process::descendants(daemon);
    children.retain(|pid| process::command_line(*pid).contains("mux-worker"));
    children
}

/// Kills up to `times` workers one after the other, and returns the number of kills. Gives up if no more workers are
/// started.
pub(super) fn kill(times: usize, workers: impl Fn() -> Vec<i32>) -> usize {
    let mut killed = 0;
    for look in 0..times * 100 {
        let found = workers();
        if let Some(pid) = found.get(look % found.len().max(1)) {
            process::kill(*pid);
            killed += 1;
        }
        if killed == times {
            break;
        }
    }
    killed
}

#[tokio::test(flavor = "multi_thread")]
async fn hundred_killed_workers_cost_only_their_runs() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.restart_with_snapshot();
    env.result("return await mux.fix.echo({ text: 'warm' })");
    let daemon = env.daemon().unwrap();
    let pulse = Pulse::of(&env);
    let before = Vitals::at_rest(daemon, &pulse);
    let over = AtomicBool::new(false);
    let clients = (0..3).map(|client: u32| {
        let env = &env;
        let over = &over;
        async move {
            let me = ClientIdentity::new(format!("client-{client}"), "0");
            let muxd = Some(binary("muxd"));
            let session = mux_client::connect_or_spawn(&env.dirs, muxd, &me)
                .await
                .unwrap();
            let mut right = 0;
            let mut lost = 0;
            while !over.load(Ordering::Relaxed) {
                let text = format!("{client}/{right}/{lost}");
                let request = RunRequest {
                    source: "return await mux.fix.echo({ text: mux.input })".into(),
                    input: json!(text).into(),
                    ..RunRequest::default()
                };
                match mux_client::run(&session, request, |_| {})
                    .await
                    .unwrap()
                    .outcome
                {
                    Outcome::Result(value) => {
                        assert_eq!(value, json!(text));
                        right += 1;
                    }
                    Outcome::Error(error) => {
                        // `Unavailable` if its worker was killed while it started.
                        let known = [Kind::Internal, Kind::Unavailable]
                            .map(AnyKind::from)
                            .contains(&error.kind);
                        assert!(known, "{error:?}");
                        assert!(error.message.contains("signal: 9"), "{error:?}");
                        lost += 1;
                    }
                    other @ Outcome::Stored(_) => panic!("{other:?}"),
                }
            }
            (right, lost)
        }
    });
    pulse.begin();
    let killer = async {
        let killed = tokio::task::spawn_blocking(move || kill(KILLS, || workers(daemon)));
        assert_eq!(killed.await.unwrap(), KILLS);
        over.store(true, Ordering::Relaxed);
    };
    let (ends, ()) = tokio::join!(join_all(clients), killer);
    pulse.end().unwrap();
    let (right, lost) = ends.iter().fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    // A failed start fails all runs that wait for it.
    assert!(lost <= KILLS * 3, "{lost} runs lost of {right}");
    assert_eq!(
        env.result("return await mux.fix.echo({ text: 'last' })"),
        "last"
    );
    before.again(daemon, &pulse).unwrap();
    assert_eq!(env.daemon(), Some(daemon));
    assert_eq!(env.starts("fix").len(), 1);
}
