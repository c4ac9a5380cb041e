//! How a daemon is: what it holds, and whether it answers.
//!
//! Invariant: nothing here waits for a time. A daemon that comes to rest does so while it is asked, and
//! is asked for its status all along.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use mux_client::{Identity, Session, within_seconds};
use mux_proto::WorkerStatus;
use mux_tests::{TestEnv, env::binary, process};
use tokio::{sync::oneshot, time::MissedTickBehavior};

/// A daemon that has not answered within so many seconds is held up by somebody.
const HANG: u64 = 5;
/// A daemon that has not given back by then what it took does not give it back.
const REST: Duration = Duration::from_secs(45);
/// Between two questions.
const STEP: Duration = Duration::from_millis(20);
/// Bytes that a daemon may hold more than before all cases: the events of ended runs, which it keeps on
/// purpose (32 MiB of them at most), and what its allocator keeps for the next time. 20 MiB were seen.
const KEPT: u64 = 40 << 20;
/// Bytes that it may hold more in the middle of a case: results and arguments on their way. 28 MiB were
/// seen with programs, 64 MiB with workers that keep no budget; with several calls of hundreds of thousands of
/// values each 168 MiB, some of it what a run keeps of its calls for `mux resume`.
const IN_HAND: u64 = 208 << 20;
/// Threads that the runtime keeps for some seconds after it has read a long text on them, and for longer
/// while somebody asks for the status all along.
const THREADS: usize = 8;
/// What the threads are called on which sled writes. It starts them when there is much to write, and
/// keeps seven of them: whether it had done so before all cases is chance.
const WRITERS: &str = "sled-io";
const PEAK: &str = "memory at its peak";
/// Descriptors of one worker: its socket, its standard error, and the process.
const PER_WORKER: usize = 3;

/// What one connection sees that asks for the status again and again.
#[derive(Default)]
struct Beats {
    count: u64,
    slowest: Duration,
    failed: Option<String>,
    workers: WorkerStatus,
}

type Shared = Arc<(Mutex<Beats>, Condvar)>;

/// A connection that was open before the first case, and the questions that go over it.
pub(super) struct Pulse {
    beats: Shared,
    /// Dropped to end it.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    pub(super) fn of(env: &TestEnv) -> Self {
        let beats = Shared::default();
        let (stop, stopped) = oneshot::channel();
        let (dirs, heard) = (env.dirs.clone(), Arc::clone(&beats));
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let me = Identity::new("pulse", "0");
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

    /// From here on the slowest answer is looked for.
    pub(super) fn begin(&self) {
        let mut beats = self.beats();
        (beats.count, beats.slowest) = (0, Duration::ZERO);
    }

    /// Whether every question since the beginning was answered in time, and one at least. In words.
    pub(super) fn end(&self) -> Result<Duration, String> {
        self.next(|beats| beats.count > 0)?;
        Ok(self.beats().slowest)
    }

    /// Waits for an answer like this.
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

    /// The daemon's status when no worker is busy, starting or wanted.
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

async fn listen(session: &Session, (beats, bell): &(Mutex<Beats>, Condvar)) {
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

/// What a process holds.
#[derive(Clone, Debug)]
pub(super) struct Vitals {
    resident: u64,
    peak: u64,
    /// By what they lead to.
    descriptors: BTreeMap<String, usize>,
    /// All but the writers.
    threads: usize,
    workers: usize,
    /// All but the workers, by the names of their programs.
    children: BTreeMap<String, usize>,
}

impl Vitals {
    /// Of a daemon at rest.
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
            // One that was closed meanwhile leads nowhere.
            let target = fs::read_link(entry.path()).unwrap_or_default();
            let target = target.to_string_lossy();
            let kind = target.split('[').next().unwrap_or_default().to_owned();
            *descriptors.entry(kind).or_default() += 1;
        }
        let mut children = BTreeMap::new();
        for pid in process::descendants(daemon) {
            // One that has ended meanwhile has no name.
            if let Ok(name) = fs::read_to_string(format!("/proc/{pid}/comm")) {
                *children.entry(name.trim().to_owned()).or_default() += 1;
            }
        }
        // The kernel keeps fifteen characters of a name. The last is that of the thread which starts workers,
        // and of a worker until it has its own.
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

    /// Waits until the daemon is as it was, but for what is said above. In words if it does not come
    /// to that.
    pub(super) fn again(&self, daemon: i32, pulse: &Pulse) -> Result<(), String> {
        let until = Instant::now() + REST;
        loop {
            pulse.rest()?;
            let now = Self::of(daemon);
            match self.allows(&now) {
                Ok(()) => return Ok(()),
                // A peak does not fall again.
                Err(what) if what == PEAK || Instant::now() > until => {
                    return Err(format!("{what}: {now:?} after {self:?}"));
                }
                // The next look comes after the next answer.
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

/// As many as the daemon may have, unless the configuration says another number.
fn most_workers() -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    (processors * 8).clamp(8, 64)
}
