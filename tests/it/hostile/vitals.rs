//! The health of a daemon: the resources that it holds, and whether it answers.
//!
//! Invariant: no test waits by sleeping. The status is requested continuously until the daemon is idle.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use mux_client::{ClientIdentity, Session, within_seconds};
use mux_proto::WorkerStatus;
use mux_tests::{TestEnv, env::binary, process};
use tokio::{sync::oneshot, time::MissedTickBehavior};

/// The maximum time for an answer, in seconds.
const HANG: u64 = 5;
/// The maximum time until the daemon is idle and has released its resources.
const REST: Duration = Duration::from_secs(45);
/// The interval between two requests.
const STEP: Duration = Duration::from_millis(20);
/// Bytes by which an idle daemon may have grown since before all cases: the events of ended runs, which it keeps on
/// purpose (at most 32 MiB), and memory that its allocator keeps. 20 MiB were measured.
const KEPT: u64 = 40 << 20;
/// Bytes by which it may grow during a case: results and arguments in transit. 28 MiB were measured with programs,
/// 64 MiB with workers that ignore budgets; with several calls of hundreds of thousands of values each 168 MiB, a part
/// of it the journal for `mux resume`.
const IN_HAND: u64 = 208 << 20;
/// Blocking threads that the runtime keeps for 90 s after their last work, which is longer than these tests wait: as
/// many as had work at the same time. On a busy machine these were 19 for eleven runs. A leak of one thread a case
/// would be far more.
const THREADS: usize = 22;
/// The name of sled's writer threads. sled starts them when there is much to write and keeps seven of them, so their
/// number before all cases is random.
const WRITERS: &str = "sled-io";
const PEAK: &str = "memory at its peak";
/// The descriptors of one worker: its input and output, its standard error, and its pidfd.
const PER_WORKER: usize = 4;

/// The results of one connection that requests the status continuously.
#[derive(Default)]
struct Beats {
    count: u64,
    slowest: Duration,
    failed: Option<String>,
    workers: WorkerStatus,
}

type Shared = Arc<(Mutex<Beats>, Condvar)>;

/// A connection that is open before the first case and requests the status continuously.
pub(super) struct Pulse {
    beats: Shared,
    /// Dropped to end the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    pub(super) fn of(env: &TestEnv) -> Self {
        let beats = Shared::default();
        let (stop, stopped) = oneshot::channel();
        let dirs = env.dirs.clone();
        let heard = Arc::clone(&beats);
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let me = ClientIdentity::new("pulse", "0");
                let session = mux_client::connect_or_spawn(&dirs, Some(binary("muxd")), &me).await;
                let session = session.unwrap();
                tokio::select! {
                    () = listen(&session, &heard) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            beats,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Starts to measure the slowest answer.
    pub(super) fn begin(&self) {
        let mut beats = self.beats();
        (beats.count, beats.slowest) = (0, Duration::ZERO);
    }

    /// Waits for an answer, and returns the time of the slowest one since [`Pulse::begin`]. Fails if a request was not
    /// answered in time.
    pub(super) fn end(&self) -> Result<Duration, String> {
        self.next(|beats| beats.count > 0)?;
        Ok(self.beats().slowest)
    }

    /// Waits for an answer that satisfies `is_it`.
    fn next(&self, is_it: impl Fn(&Beats) -> bool) -> Result<(), String> {
        let until = Instant::now() + REST;
        let mut beats = self.beats();
        loop {
            if let Some(failed) = &beats.failed {
                return Err(format!("the daemon did not answer: {failed}"));
            }
            if is_it(&beats) {
                return Ok(());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("not at rest after {REST:?}: {:?}", beats.workers));
            }
            let waited = self.beats.1.wait_timeout(beats, left);
            beats = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until no worker is busy or starting, and no run waits for one.
    fn rest(&self) -> Result<(), String> {
        let seen = self.beats().count;
        self.next(|beats| {
            let workers = &beats.workers;
            beats.count > seen && workers.busy + workers.starting + workers.waiting == 0
        })
    }

    fn beats(&self) -> MutexGuard<'_, Beats> {
        self.beats.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

async fn listen(session: &Session, heard: &(Mutex<Beats>, Condvar)) {
    let (beats, bell) = heard;
    let mut ticks = tokio::time::interval(STEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let asked = Instant::now();
        let answer = session.client.status(within_seconds(HANG)).await;
        let mut beats = beats.lock().unwrap_or_else(PoisonError::into_inner);
        beats.count += 1;
        beats.slowest = beats.slowest.max(asked.elapsed());
        match answer {
            Ok(Ok(status)) => beats.workers = status.workers,
            Ok(Err(error)) => beats.failed = Some(error.to_string()),
            Err(error) => beats.failed = Some(error.to_string()),
        }
        let over = beats.failed.is_some();
        bell.notify_all();
        if over {
            return;
        }
    }
}

/// The resources that a process holds.
#[derive(Clone, Debug)]
pub(super) struct Vitals {
    resident: u64,
    peak: u64,
    /// The number of descriptors by kind of their target.
    descriptors: BTreeMap<String, usize>,
    /// All threads except sled's writers.
    threads: usize,
    workers: usize,
    /// All children except the workers, by the name of their program.
    children: BTreeMap<String, usize>,
}

impl Vitals {
    /// Measures a daemon once it is idle.
    pub(super) fn at_rest(daemon: i32, pulse: &Pulse) -> Self {
        pulse.rest().unwrap();
        Self::of(daemon)
    }

    fn of(daemon: i32) -> Self {
        let entries = |name: &str| {
            let entries = fs::read_dir(format!("/proc/{daemon}/{name}"));
            entries.into_iter().flatten().flatten()
        };
        let mut descriptors = BTreeMap::new();
        for entry in entries("fd") {
            // The descriptor may be closed meanwhile.
            let target = fs::read_link(entry.path()).unwrap_or_default();
            let target = target.to_string_lossy();
            let kind = target.split('[').next().unwrap_or_default().to_owned();
            *descriptors.entry(kind).or_default() += 1;
        }
        let mut children = BTreeMap::new();
        for pid in process::descendants(daemon) {
            // The process may have ended meanwhile.
            if let Ok(name) = fs::read_to_string(format!("/proc/{pid}/comm")) {
                *children.entry(name.trim().to_owned()).or_default() += 1;
            }
        }
        // The kernel keeps fifteen characters of a name. The last one is that of the thread that starts workers, and of
        // a worker until it has its own.
        let workers = ["mux-worker", "mux-rogue-worke", "mux-spawn"]
            .into_iter()
            .filter_map(|name| children.remove(name))
            .sum();
        Self {
            resident: process::resident_bytes(daemon),
            peak: process::peak_bytes(daemon),
            descriptors,
            threads: entries("task").filter(|task| !writes(&task.path())).count(),
            workers,
            children,
        }
    }

    /// Waits until the daemon uses no more than before, apart from the allowances above. Fails with the first exceeded
    /// one.
    pub(super) fn again(&self, daemon: i32, pulse: &Pulse) -> Result<(), String> {
        let until = Instant::now() + REST;
        loop {
            pulse.rest()?;
            let now = Self::of(daemon);
            match self.allows(&now) {
                Ok(()) => return Ok(()),
                // A peak never falls.
                Err(what) if what == PEAK || Instant::now() > until => {
                    return Err(format!("{what}: {now:?} after {self:?}"));
                }
                // Check again after the next answer.
                Err(_) => {}
            }
        }
    }

    fn open(&self) -> usize {
        self.descriptors.values().sum()
    }

    fn allows(&self, now: &Self) -> Result<(), &'static str> {
        let more = now.workers.saturating_sub(self.workers);
        let checks = [
            (now.resident <= self.resident + KEPT, "memory"),
            (now.peak <= self.peak.max(self.resident + IN_HAND), PEAK),
            (now.threads <= self.threads + THREADS, "threads"),
            (now.open() <= self.open() + more * PER_WORKER, "descriptors"),
            (now.children == self.children, "children"),
            (now.workers <= most_workers(), "workers"),
        ];
        let wrong = checks.into_iter().find(|(holds, _)| !holds);
        wrong.map_or(Ok(()), |(_, what)| Err(what))
    }
}

fn writes(thread: &Path) -> bool {
    let name = fs::read_to_string(thread.join("comm")).unwrap_or_default();
    name.starts_with(WRITERS)
}

/// The default maximum number of workers.
fn most_workers() -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    (processors * 8).clamp(8, 64)
}
