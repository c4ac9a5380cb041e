//! The pool of workers without a daemon: hand-over, isolates with and without a snapshot, refill.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use futures::future::BoxFuture;
use mux_sandbox::{
    MemoryLimits, Pool, PoolLimits, PoolSettings, ProgramLimits, QueueKey, RunRequest, ToolHost,
};
use mux_wire::{CallTarget, ConsoleLevel, Fault};
use tokio_util::sync::CancellationToken;

use super::figures::{Samples, fact, row};

const PATIENCE: Duration = Duration::from_secs(20);

/// Notes when the program began.
#[derive(Default)]
struct Clock(Mutex<Option<Instant>>);

impl ToolHost for Clock {
    fn run_started(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn call(&self, _: CallTarget, _: String) -> BoxFuture<'static, Result<String, Fault>> {
        Box::pin(async { Ok("null".into()) })
    }

    fn console(&self, _: ConsoleLevel, _: String) {}

    fn emit(&self, _: String) {}
}

pub(crate) async fn measure(worker: &Path, rounds: usize) -> anyhow::Result<()> {
    let cache = tempfile::Builder::new()
        .prefix("mux-bench-")
        .tempdir_in("/tmp")?;
    // The first pool leaves the snapshot behind for the measured pool.
    let maker = start(worker, Some(cache.path().to_owned()), 1)?;
    ready(&maker, 1).await?;
    until(|| snapshot_made(cache.path())).await?;
    maker.close();
    let plain = series(worker, None, rounds).await?;
    let quick = series(worker, Some(cache.path().to_owned()), rounds).await?;
    for (name, series) in [("without a snapshot", &plain), ("with a snapshot", &quick)] {
        row(
            &format!("{name}: process to a ready isolate"),
            &series.spawn,
        );
        row(
            &format!("{name}: one run to the next on one worker"),
            &series.rebuild,
        );
        row(
            &format!("{name}: hand-over to a waiting isolate"),
            &series.hand_over,
        );
        fact(&format!("{name}: worker's RSS, PSS"), &series.memory);
    }
    let ratio = plain.rebuild.median().as_secs_f64() / quick.rebuild.median().as_secs_f64();
    fact("ratio of the isolates", &format!("{ratio:.1}"));
    refill(worker, cache.path().to_owned(), rounds / 10).await
}

struct Series {
    spawn: Samples,
    rebuild: Samples,
    hand_over: Samples,
    memory: String,
}

/// A pool of one worker: a run that comes immediately waits for the next isolate, a later run only for
/// the hand-over.
async fn series(
    worker: &Path,
    snapshots: Option<PathBuf>,
    rounds: usize,
) -> anyhow::Result<Series> {
    let mut spawn = Samples::default();
    let mut rebuild = Samples::default();
    let mut hand_over = Samples::default();
    for _ in 0..(rounds / 10).max(5) {
        let began = Instant::now();
        let pool = start(worker, snapshots.clone(), 1)?;
        ready(&pool, 1).await?;
        spawn.push(began.elapsed());
        pool.close();
    }
    let pool = start(worker, snapshots, 1)?;
    ready(&pool, 1).await?;
    let memory = memory(*pool.status().pids.first().context("no worker")?)?;
    for _ in 0..rounds {
        ready(&pool, 1).await?;
        hand_over.push(begin(&pool).await?);
        rebuild.push(begin(&pool).await?);
    }
    pool.close();
    Ok(Series {
        spawn,
        rebuild,
        hand_over,
        memory,
    })
}

/// Measures how long it takes until all waiting workers, lost at the same time, are replaced.
async fn refill(worker: &Path, cache: PathBuf, rounds: usize) -> anyhow::Result<()> {
    const FLOOR: usize = 2;
    let pool = start(worker, Some(cache), FLOOR)?;
    let mut samples = Samples::default();
    for _ in 0..rounds.max(5) {
        ready(&pool, FLOOR).await?;
        let bombs = (0..FLOOR).map(|_| run(&pool, "const a = []; for (;;) a.push({});"));
        let ended = futures::future::join_all(bombs).await;
        let began = Instant::now();
        ensure!(
            ended.iter().all(|(_, outcome)| outcome.is_err()),
            "{ended:?}"
        );
        ready(&pool, FLOOR).await?;
        samples.push(began.elapsed());
    }
    pool.close();
    row(
        &format!("refill: {FLOOR} killed workers until {FLOOR} wait again"),
        &samples,
    );
    Ok(())
}

fn start(worker: &Path, snapshots: Option<PathBuf>, floor: usize) -> anyhow::Result<Pool> {
    Ok(Pool::start(PoolSettings {
        worker: worker.to_path_buf(),
        floor,
        bounds: PoolLimits {
            ceiling: floor,
            queue: 100,
            memory: MemoryLimits::default(),
        },
        runs_per_worker: u32::MAX,
        start_timeout: PATIENCE,
        queue_timeout: PATIENCE,
        check_timeout: PATIENCE,
        idle: PATIENCE,
        snapshots,
    })?)
}

async fn ready(pool: &Pool, count: usize) -> anyhow::Result<()> {
    until(|| pool.status().ready >= count).await
}

async fn until(condition: impl Fn() -> bool) -> anyhow::Result<()> {
    let began = Instant::now();
    while !condition() {
        ensure!(began.elapsed() < PATIENCE, "waited in vain");
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    Ok(())
}

/// From asking to the beginning of the program.
async fn begin(pool: &Pool) -> anyhow::Result<Duration> {
    let (took, outcome) = run(pool, "return 1").await;
    ensure!(outcome.is_ok(), "{outcome:?}");
    took.context("the program did not begin")
}

async fn run(pool: &Pool, source: &str) -> (Option<Duration>, Result<String, Fault>) {
    let request = RunRequest {
        source: source.into(),
        input: "null".into(),
        names: "{}".into(),
        limits: ProgramLimits::default(),
        turn: QueueKey {
            owner: "bench".into(),
            client: 1,
        },
    };
    let clock = Arc::new(Clock::default());
    let asked = Instant::now();
    let host = Arc::clone(&clock) as Arc<dyn ToolHost>;
    let outcome = pool.run(request, host, &CancellationToken::new()).await;
    let begun = *clock.0.lock().unwrap_or_else(PoisonError::into_inner);
    (begun.map(|begun| begun.duration_since(asked)), outcome)
}

fn snapshot_made(folder: &Path) -> bool {
    let Ok(mut files) = fs::read_dir(folder) else {
        return false;
    };
    files
        .any(|file| file.is_ok_and(|file| file.path().extension().is_some_and(|e| e == "snapshot")))
}

/// The memory of one process, from its `smaps_rollup`.
fn memory(pid: u32) -> anyhow::Result<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let mebibytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kibibytes = line?.split_whitespace().next()?.parse::<f64>().ok()?;
        Some(kibibytes / 1024.0)
    };
    let rss = mebibytes("Rss:");
    let pss = mebibytes("Pss:");
    let (rss, pss) = rss.zip(pss).context("no Rss and Pss")?;
    Ok(format!("{rss:.1} MiB, {pss:.1} MiB"))
}
