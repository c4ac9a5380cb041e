//! Continuous calls during repeated upgrades.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use mux_client::{ClientIdentity, within_seconds};
use mux_proto::{CallRequest, Held};
use mux_tests::TestEnv;
use serde_json::json;

use super::upgrade;

const ALTERNATIONS: usize = 6;
const COMMANDS: usize = 2;
const LIBRARIES: usize = 2;

/// Calls over one connection until the daemon reports that it is ending, then over one to the next daemon.
async fn library(env: Arc<TestEnv>, over: Arc<AtomicBool>) -> Vec<i64> {
    let me = ClientIdentity::new("test", "0");
    let mut values = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let session = mux_client::connect(&env.dirs, &me).await.unwrap();
        loop {
            let request = CallRequest {
                path: "fix.counter".into(),
                arguments: json!({ "key": "k" }).into(),
                ..CallRequest::default()
            };
            match session
                .client
                .call(within_seconds(30), request)
                .await
                .unwrap()
                .map(|answer| answer.result)
            {
                Ok(Held::Value(value)) => {
                    values.push(value.to_value().as_str().unwrap().parse().unwrap());
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) if error.is_ending() => break,
                Err(error) => panic!("{error:?}"),
            }
            if over.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    values
}

fn command(env: &TestEnv, over: &AtomicBool) -> Vec<i64> {
    let mut values = Vec::new();
    while !over.load(Ordering::Relaxed) {
        values.push(super::count(env, "fix"));
    }
    values
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_or_is_repeated_during_upgrades() {
    let env = Arc::new(TestEnv::with_fixtures(&[("fix", &[])]));
    assert_eq!(super::count(&env, "fix"), 1);
    let over = Arc::new(AtomicBool::new(false));
    let commands: Vec<_> = (0..COMMANDS)
        .map(|_| {
            let env = Arc::clone(&env);
            let over = Arc::clone(&over);
            thread::spawn(move || command(&env, &over))
        })
        .collect();
    let libraries: Vec<_> = (0..LIBRARIES)
        .map(|_| tokio::spawn(library(Arc::clone(&env), Arc::clone(&over))))
        .collect();
    let alternating = {
        let env = Arc::clone(&env);
        tokio::task::spawn_blocking(move || {
            for _ in 0..ALTERNATIONS {
                upgrade(&env);
            }
        })
    };
    let alternated = alternating.await;
    over.store(true, Ordering::Relaxed);
    let mut values = vec![1];
    for command in commands {
        values.extend(command.join().unwrap());
    }
    for library in libraries {
        values.extend(library.await.unwrap());
    }
    alternated.unwrap();
    // One process counted all calls, each once.
    assert_eq!(env.starts("fix").len(), 1);
    let distinct: BTreeSet<i64> = values.iter().copied().collect();
    assert_eq!(distinct.len(), values.len());
    assert_eq!(distinct.last().copied(), i64::try_from(values.len()).ok());
}
