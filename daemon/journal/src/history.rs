//! The history: a database of the runs of this user, which outlives the daemon.
//!
//! One thread writes it, in batches. Rows that a later run has to trust are committed durably before their caller
//! continues (`held_runs`). Reads use another connection.
//!
//! Invariant: nothing here fails a run, and nothing but [`History::save_held`] and its siblings waits for the disk. A
//! database that is damaged or newer is set aside and begun anew. Lost changes are counted, and
//! [`History::problem`] reports them.

mod held_runs;
mod masking;
mod reader;
mod schema;
mod stored_entry;
mod writer;

use std::{
    collections::BTreeSet,
    fmt,
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use mux_secrets::KnownSecrets;
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::task::spawn_blocking;

pub use self::{
    held_runs::{HeldApproval, HeldOwner, HeldRun, SavedRun},
    reader::{PastCall, RunFilter, RunRecord, end_if_lost},
};
use self::{schema::OpenError, writer::Store};
use crate::run_journal::RunJournal;

/// How long changes are collected before they are written.
const BATCH_TIME: Duration = Duration::from_millis(250);
/// How often old runs are removed. The first time is this long after the start, because a clock may be wrong until then.
const MAINTENANCE_INTERVAL: Duration = Duration::from_hours(1);
/// The maximum number of runs that wait to be written. If the disk hangs, further changes are dropped.
const MAX_QUEUED_RUNS: usize = 2_000;

/// Limits of the history.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HistoryLimits {
    /// How long a run is kept. Zero: nothing is kept.
    pub keep: Duration,
    /// The maximum size of the database in bytes. The oldest runs are removed first.
    pub size: u64,
    /// Agents whose inputs, arguments, results and output are not kept.
    pub bare_agents: BTreeSet<String>,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self {
            keep: Duration::from_hours(7 * 24),
            size: 1 << 30,
            bare_agents: BTreeSet::new(),
        }
    }
}

/// A reason the history could not do something.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("the history is not available: {0}")]
    Unavailable(String),
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    #[error("a stored value cannot be read: {0}")]
    Value(#[from] serde_json::Error),
    #[error("the record is missing")]
    Missing,
}

/// The state of the history.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct HistoryStatus {
    /// The database that was set aside, with the reason.
    set_aside: Option<String>,
    /// The reason nothing can be written now.
    failure: Option<String>,
    /// Runs of which something could not be written since the start.
    incomplete_runs: u64,
}

/// Rules of the configured servers for the rows of their calls.
#[derive(Default)]
pub struct ServerRules {
    /// The credentials of all servers, which are masked.
    pub secrets: KnownSecrets,
    /// Servers whose arguments and results are not kept.
    pub bare_servers: BTreeSet<String>,
}

type ServerRulesSource = Arc<dyn Fn() -> ServerRules + Send + Sync>;

/// The history of runs. Clones share it.
#[derive(Clone)]
pub struct History {
    shared: Arc<Shared>,
    feed: HistoryFeed,
}

struct Shared {
    /// `None` in a daemon without a history.
    path: Option<PathBuf>,
    status: Mutex<HistoryStatus>,
    limits: Mutex<HistoryLimits>,
    server_rules: OnceLock<ServerRulesSource>,
    reader: Mutex<Option<Connection>>,
    queued: AtomicUsize,
}

/// Tells the writer which runs have something to write.
#[derive(Clone)]
pub struct HistoryFeed {
    jobs: Sender<Job>,
    shared: Arc<Shared>,
}

enum Job {
    /// The run has something to write.
    Run(Arc<RunJournal>),
    /// Something that its sender waits for.
    Write(Box<dyn FnOnce(&mut Store) + Send>),
    /// Write everything that is queued, then answer.
    Flush(Sender<()>),
}

impl HistoryFeed {
    pub(crate) fn send(&self, run: Arc<RunJournal>) {
        if self.shared.queued.fetch_add(1, Ordering::Relaxed) >= MAX_QUEUED_RUNS {
            self.shared.queued.fetch_sub(1, Ordering::Relaxed);
            self.shared.status.lock().incomplete_runs += 1;
            // The next change is offered again.
            drop(run.take_unwritten());
            return;
        }
        // The thread ends only with the process.
        drop(self.jobs.send(Job::Run(run)));
    }
}

impl History {
    /// Opens the database at `path`, or a history that keeps nothing. `is_alone` means that no other daemon writes to
    /// it: runs without an end are those of a daemon that has died.
    pub fn open(path: Option<PathBuf>, is_alone: bool) -> Self {
        let (jobs, queue) = mpsc::channel();
        let shared = Arc::new(Shared {
            path: path.clone(),
            status: Mutex::default(),
            limits: Mutex::default(),
            server_rules: OnceLock::new(),
            reader: Mutex::new(None),
            queued: AtomicUsize::new(0),
        });
        let feed = HistoryFeed {
            jobs,
            shared: Arc::clone(&shared),
        };
        let mut store = Store::new(path, is_alone, Arc::clone(&shared));
        let spawned = thread::Builder::new()
            .name("mux-history".into())
            .spawn(move || {
                store.open();
                write_until_end(&mut store, &queue);
            });
        if let Err(error) = spawned {
            shared.set_failure(format!(
                "the thread of the history could not be started: {error}"
            ));
        }
        Self { shared, feed }
    }

    /// A history that keeps nothing.
    pub fn none() -> Self {
        Self::open(None, true)
    }

    pub fn feed(&self) -> HistoryFeed {
        self.feed.clone()
    }

    pub fn set_limits(&self, limits: HistoryLimits) {
        *self.shared.limits.lock() = limits;
    }

    /// Sets the source of the servers' rules.
    pub fn set_server_rules(&self, rules: impl Fn() -> ServerRules + Send + Sync + 'static) {
        // There is one source in a daemon.
        drop(self.shared.server_rules.set(Arc::new(rules)));
    }

    /// The reason something is missing in the history, to show to the user.
    pub fn problem(&self) -> Option<String> {
        let status = self.shared.status.lock().clone();
        let incomplete = match status.incomplete_runs {
            0 => None,
            1 => Some("one run since the start is incomplete".to_owned()),
            runs => Some(format!("{runs} runs since the start are incomplete")),
        };
        let parts = [status.failure, status.set_aside, incomplete];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Resolves when everything that had happened is written.
    pub async fn flush(&self) {
        // Without its thread there is nothing to write.
        drop(self.call(Job::Flush).await);
    }

    /// Executes `write` on the writer's thread, and waits for its result.
    async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&mut Store) -> Result<T, HistoryError> + Send + 'static,
    ) -> Result<T, HistoryError> {
        self.call(|done| write_job(write, done)).await?
    }

    /// Like [`Self::write`], for callers outside of a runtime.
    fn write_blocking<T: Send + 'static>(
        &self,
        write: impl FnOnce(&mut Store) -> Result<T, HistoryError> + Send + 'static,
    ) -> Result<T, HistoryError> {
        call_writer(&self.feed.jobs, |done| write_job(write, done))?
    }

    /// Sends a job to the writer, and waits for its answer.
    async fn call<T: Send + 'static>(
        &self,
        job: impl FnOnce(Sender<T>) -> Job + Send + 'static,
    ) -> Result<T, HistoryError> {
        let jobs = self.feed.jobs.clone();
        spawn_blocking(move || call_writer(&jobs, job))
            .await
            .map_err(|lost| HistoryError::Unavailable(lost.to_string()))?
    }
}

fn call_writer<T>(
    jobs: &Sender<Job>,
    job: impl FnOnce(Sender<T>) -> Job,
) -> Result<T, HistoryError> {
    let (done, answer) = mpsc::channel();
    let gone = || HistoryError::Unavailable("its thread has ended".into());
    jobs.send(job(done)).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())
}

fn write_job<T: Send + 'static>(
    write: impl FnOnce(&mut Store) -> Result<T, HistoryError> + Send + 'static,
    done: Sender<Result<T, HistoryError>>,
) -> Job {
    Job::Write(Box::new(move |store| drop(done.send(write(store)))))
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("path", &self.shared.path)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn set_failure(&self, failure: String) {
        tracing::warn!(failure, "the history is incomplete");
        self.status.lock().failure = Some(failure);
    }

    fn limits(&self) -> HistoryLimits {
        self.limits.lock().clone()
    }

    fn server_rules(&self) -> ServerRules {
        let source = self.server_rules.get();
        source.map_or_else(ServerRules::default, |rules| rules())
    }
}

/// The life of the writer's thread.
fn write_until_end(store: &mut Store, queue: &mpsc::Receiver<Job>) {
    let mut runs: Vec<Arc<RunJournal>> = Vec::new();
    let mut due: Option<Instant> = None;
    let mut maintenance = Instant::now() + MAINTENANCE_INTERVAL;
    loop {
        let wake = due.unwrap_or(maintenance);
        match queue.recv_timeout(wake.saturating_duration_since(Instant::now())) {
            Ok(Job::Run(run)) => {
                store.shared.queued.fetch_sub(1, Ordering::Relaxed);
                runs.push(run);
                due.get_or_insert_with(|| Instant::now() + BATCH_TIME);
            }
            Ok(Job::Write(write)) => write(store),
            Ok(Job::Flush(written)) => {
                store.write_runs(std::mem::take(&mut runs));
                due = None;
                // A caller that left does not wait for it.
                _ = written.send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                store.write_runs(runs);
                return;
            }
        }
        if due.is_some_and(|due| due <= Instant::now()) {
            due = None;
            store.write_runs(std::mem::take(&mut runs));
        }
        if maintenance <= Instant::now() {
            maintenance = Instant::now() + MAINTENANCE_INTERVAL;
            store.remove_old();
        }
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
