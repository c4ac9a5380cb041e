//! One daemon takes over from another, again and again, while clients call all the time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use mux_client::{ClientIdentity, within_seconds};
use mux_proto::{CallRequest, Held};
use mux_tests::TestEnv;
use serde_json::json;

use super::figures::{Samples, fact, row};

const CLIENTS: usize = 4;

/// Calls of one client: the duration of each, and the server's count.
#[derive(Default)]
struct Calls {
    times: Samples,
    values: Vec<i64>,
    failed: Vec<String>,
}

pub(crate) async fn measure(rounds: usize) -> anyhow::Result<()> {
    let env = Arc::new(TestEnv::with_fixtures(&[("fix", &[])]).with_default_log());
    env.mux(["call", "fix.counter", "key=k"]).ok();
    let over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| tokio::spawn(call(Arc::clone(&env), Arc::clone(&over))))
        .collect();
    let alternating = tokio::task::spawn_blocking({
        let env = Arc::clone(&env);
        move || {
            let mut whole = Samples::default();
            let mut until_serving = Samples::default();
            for _ in 0..rounds {
                let upgrade = || env.mux(["--json", "restart", "--upgrade"]).ok().json();
                let answer = whole.time(upgrade);
                until_serving.push(Duration::from_millis(answer["ms"].as_u64().unwrap_or(0)));
            }
            (whole, until_serving)
        }
    });
    let (whole, until_serving) = alternating.await?;
    over.store(true, Ordering::Relaxed);
    let mut times = Samples::default();
    let mut values = vec![1];
    let mut failed = Vec::new();
    for client in clients {
        let calls = client.await??;
        times.extend(calls.times);
        values.extend(calls.values);
        failed.extend(calls.failed);
    }
    values.sort_unstable();
    let made = values.len();
    values.dedup();
    row("`mux restart --upgrade`", &whole);
    row(
        "from the request until the new daemon serves",
        &until_serving,
    );
    row("one call of those meanwhile", &times);
    fact("calls", &made.to_string());
    fact("longest call", &format!("{:?}", times.quantile(1.0)));
    fact("calls that failed", &failed.len().to_string());
    fact("calls made twice", &(made - values.len()).to_string());
    fact("starts of the server", &env.starts("fix").len().to_string());
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// Over one connection until it is told to ask the next daemon.
async fn call(env: Arc<TestEnv>, over: Arc<AtomicBool>) -> anyhow::Result<Calls> {
    let me = ClientIdentity::new("bench", "0");
    let mut calls = Calls::default();
    while !over.load(Ordering::Relaxed) {
        let session = mux_client::connect(&env.dirs, &me)
            .await
            .context("connect")?;
        while !over.load(Ordering::Relaxed) {
            let request = CallRequest {
                path: "fix.counter".into(),
                arguments: json!({ "key": "k" }).into(),
                ..CallRequest::default()
            };
            let began = Instant::now();
            let answer = session.client.call(within_seconds(30), request).await;
            match answer.map(|answer| answer.map(|answer| answer.result)) {
                Ok(Ok(Held::Value(value))) => {
                    calls.times.push(began.elapsed());
                    calls
                        .values
                        .push(value.to_value().as_str().context("no text")?.parse()?);
                }
                // The request had no effect: repeat it at the next daemon.
                Ok(Err(error)) if error.is_ending() => break,
                Ok(other) => calls.failed.push(format!("{other:?}")),
                Err(error) => {
                    calls.failed.push(error.to_string());
                    break;
                }
            }
        }
    }
    Ok(calls)
}
