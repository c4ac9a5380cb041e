//! A warm call inside a run, against the same call on a bare session, and against a fresh connect.

use std::time::{Duration, Instant};

use mux_client::{ClientIdentity, connect_or_spawn, run};
use mux_proto::{Outcome, RunRequest, endpoint::Dirs};
use serde_json::json;

use super::{
    bare::Bare,
    commands::Place,
    figures::{Samples, fact, millis, row},
};

/// One sample is the mean of so many calls in a row: a program's clock has steps of 0.1 ms.
pub(crate) const BATCH: usize = 10;
pub(crate) const WARM_UP: usize = 5;
/// The most batches that the calls of one run allow.
const BATCHES: usize = 90;

/// Gives the mean time of a call for each batch, as the program sees it.
const PROGRAM: &str = "const times = [];
for (let b = 0; b < mux.input.batches; b++) {
  const began = performance.now();
  for (let i = 0; i < mux.input.batch; i++) await mux.call(mux.input.tool, mux.input.arguments);
  times.push((performance.now() - began) / mux.input.batch);
}
return times.slice(mux.input.warmUp);";

pub(crate) async fn measure(place: &Place, rounds: usize) -> anyhow::Result<()> {
    let message = json!({ "text": "hello" });
    let object = message.as_object().cloned().unwrap_or_default();
    let bare = Bare::connect(&place.fixture, &[]).await?;
    let mut alone = Samples::default();
    for batch in 0..batches(rounds) {
        let began = Instant::now();
        for _ in 0..BATCH {
            bare.call("echo", &object).await?;
        }
        if batch >= WARM_UP {
            alone.push(began.elapsed() / BATCH as u32);
        }
    }
    bare.close().await?;
    row("bare rmcp session (mean of 10)", &alone);
    let inside = in_program(place, "fix.echo", &message, rounds).await?;
    row("inside a run (mean of 10)", &inside);
    let over = millis(inside.median()) - millis(alone.median());
    fact("overhead at p50", &format!("{over:.3} ms (goal 0.08 ms)"));

    let (program, arguments) = place.real.clone();
    let mut fresh = Samples::default();
    for _ in 0..(rounds / 20).clamp(5, 12) {
        let began = Instant::now();
        let bare = Bare::connect(&program, &arguments).await?;
        bare.call(
            "echo",
            json!({ "message": "hello" }).as_object().unwrap_or(&object),
        )
        .await?;
        fresh.push(began.elapsed());
        bare.close().await?;
    }
    row("server-everything: connect, one call", &fresh);
    let warm = in_program(place, "every.echo", &json!({ "message": "hello" }), rounds).await?;
    row(
        "server-everything: the same call, warm, inside a run",
        &warm,
    );
    let ratio = fresh.median().as_secs_f64() / warm.median().as_secs_f64();
    fact("ratio at p50", &format!("{ratio:.0} (goal 100)"));
    Ok(())
}

pub(crate) fn batches(rounds: usize) -> usize {
    (rounds / 2).min(BATCHES)
}

pub(crate) async fn in_program(
    place: &Place,
    tool: &str,
    arguments: &serde_json::Value,
    rounds: usize,
) -> anyhow::Result<Samples> {
    let dirs = Dirs::under(place.home.path())?;
    let me = ClientIdentity::new("mux-bench", "1");
    let session = connect_or_spawn(&dirs, Some(place.daemon.clone()), &me).await?;
    let request = RunRequest {
        source: PROGRAM.into(),
        input: json!({
            "tool": tool,
            "arguments": arguments,
            "batches": batches(rounds),
            "batch": BATCH,
            "warmUp": WARM_UP,
        })
        .into(),
        ..RunRequest::default()
    };
    let Outcome::Result(times) = run(&session, request, |_| {}).await?.outcome else {
        anyhow::bail!("the program failed");
    };
    let mut samples = Samples::default();
    for time in times
        .to_value()
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(serde_json::Value::as_f64)
    {
        samples.push(Duration::from_secs_f64(time.max(0.0) / 1e3));
    }
    Ok(samples)
}
