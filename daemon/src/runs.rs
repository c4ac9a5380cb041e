//! Programs that run, and those that ran lately.
//!
//! Invariant: a run's events outlive it for a while, and the last of them says how it ended. Nothing
//! here waits for whoever reads them.

mod events;
mod host;

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use mux_sandbox::{Fault, Kind, Limits, Pool, RunRequest};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};
use tracing::{Instrument, info, info_span};

pub use self::events::{Event, EventLog, Happening};
use self::host::Host;
use crate::gateway::Gateway;

/// Runs that have ended and can still be read, and the bytes of their events.
const KEPT: usize = 200;
const KEPT_BYTES: usize = 32 << 20;
/// After a drain: for what was cancelled to end, and for clients to read how their runs ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What a client asks for.
pub struct Program {
    pub source: String,
    /// JSON text of `mux.input`.
    pub input: String,
    pub wall: Option<Duration>,
    /// Runs of one owner may follow each other in one worker process.
    pub owner: String,
}

/// One run, running or ended.
pub struct Run {
    pub id: String,
    pub events: EventLog,
    cancel: CancellationToken,
    /// Held until somebody has read how it ended, or nobody will.
    unheard: Mutex<Option<TaskTrackerToken>>,
}

impl Run {
    /// Stops it; once it has ended this does nothing.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Nobody has to be waited for to read its last event.
    pub fn set_heard(&self) {
        drop(self.unheard().take());
    }

    pub fn is_heard(&self) -> bool {
        self.unheard().is_none()
    }

    fn unheard(&self) -> MutexGuard<'_, Option<TaskTrackerToken>> {
        self.unheard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts since the daemon started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub running: usize,
    pub succeeded: u64,
    pub failed: u64,
}

pub struct Runs {
    gateway: Arc<Gateway>,
    pool: Pool,
    limits: Mutex<Limits>,
    /// Part of every id: two daemons never give the same.
    epoch: String,
    next: AtomicU64,
    state: Mutex<State>,
    /// Runs, and calls outside of runs.
    work: TaskTracker,
    /// Runs whose end somebody may still want to read.
    unheard: TaskTracker,
}

/// Guarded by `Runs::state`.
#[derive(Default)]
struct State {
    runs: HashMap<String, Arc<Run>>,
    /// Oldest first.
    ended: VecDeque<Arc<Run>>,
    ended_bytes: usize,
    counts: Counts,
    draining: bool,
}

impl Runs {
    pub fn new(gateway: Arc<Gateway>, pool: Pool, limits: Limits) -> Arc<Self> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_millis();
        Arc::new(Self {
            gateway,
            pool,
            limits: Mutex::new(limits),
            epoch: format!("{:x}", now % (1 << 40)),
            next: AtomicU64::new(1),
            state: Mutex::default(),
            work: TaskTracker::new(),
            unheard: TaskTracker::new(),
        })
    }

    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    pub fn set_limits(&self, limits: Limits) {
        *self.limits.lock().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// Accepts a program and starts it in the background.
    pub fn start(self: &Arc<Self>, program: Program) -> Result<Arc<Run>, Fault> {
        let mut limits = self.limits();
        if let Some(wall) = program.wall {
            let (least, most) = Limits::WALL_RANGE;
            if !(least..=most).contains(&wall) {
                return Err(Fault::new(
                    Kind::Limit,
                    format!("a timeout of {wall:?} is not between {least:?} and {most:?}"),
                )
                .hint("for longer work, split it into several runs"));
            }
            limits.wall = wall;
        }
        let run = Arc::new(Run {
            id: format!(
                "{}-{}",
                self.epoch,
                self.next.fetch_add(1, Ordering::Relaxed)
            ),
            events: EventLog::new(),
            cancel: CancellationToken::new(),
            unheard: Mutex::new(Some(self.unheard.token())),
        });
        let admitted = {
            let mut state = self.state();
            let admitted = self.admit_to(&state)?;
            state.runs.insert(run.id.clone(), Arc::clone(&run));
            state.counts.running += 1;
            admitted
        };
        let request = RunRequest {
            source: program.source,
            input: program.input,
            names: self.names(),
            limits,
            owner: program.owner,
        };
        // A root of its own: it outlives the request that started it.
        let span = info_span!(parent: None, "run", id = run.id);
        let execute = Arc::clone(self).execute(Arc::clone(&run), request);
        let task = async move {
            execute.await;
            drop(admitted);
        };
        tokio::spawn(task.instrument(span));
        Ok(run)
    }

    /// Room for a call outside of a run. A drain waits until the token is dropped.
    pub fn admit(&self) -> Result<TaskTrackerToken, Fault> {
        self.admit_to(&self.state())
    }

    /// Under the lock of the state, so that nothing begins behind the back of a drain.
    fn admit_to(&self, state: &State) -> Result<TaskTrackerToken, Fault> {
        if state.draining {
            let mut fault = Fault::new(Kind::Unavailable, "the daemon is ending").hint("try again");
            // A client knows by it that it may ask the next daemon.
            fault.details = Some(json!({ "ending": true }).to_string());
            return Err(fault);
        }
        Ok(self.work.token())
    }

    /// What is wrong with a program, without running it.
    pub async fn check(&self, source: String, owner: &str) -> Result<Vec<Fault>, Fault> {
        let limits = self.limits();
        self.pool.check(source, owner, &limits).await
    }

    pub fn find(&self, id: &str) -> Result<Arc<Run>, Fault> {
        self.state().runs.get(id).cloned().ok_or_else(|| {
            Fault::new(Kind::NotFound, format!("there is no run `{id}`"))
                .hint("runs are kept for a while after their end, and not across a restart")
        })
    }

    pub fn counts(&self) -> Counts {
        self.state().counts
    }

    /// Accepts no more; waits for what is under way, cancels the runs that are left, and waits a
    /// moment until every client has read how its runs ended.
    pub async fn drain(&self, patience: Duration) {
        self.state().draining = true;
        self.work.close();
        self.unheard.close();
        if timeout(patience, self.work.wait()).await.is_err() {
            let running: Vec<_> = self.state().runs.values().cloned().collect();
            for run in running {
                run.cancel();
            }
            // Calls outside of runs go on until their sessions are closed.
            _ = timeout(LAST_WORDS, self.work.wait()).await;
        }
        _ = timeout(LAST_WORDS, self.unheard.wait()).await;
    }

    async fn execute(self: Arc<Self>, run: Arc<Run>, request: RunRequest) {
        info!("run accepted");
        let finish = Finish {
            runs: &self,
            run: &run,
            outcome: None,
        };
        let host = Arc::new(Host::new(Arc::clone(&self.gateway), Arc::clone(&run)));
        run.events.push(Happening::Started);
        let outcome = self.pool.run(request, host, &run.cancel).await;
        match &outcome {
            Ok(value) => info!(bytes = value.len(), "run ended"),
            Err(fault) => info!(kind = %fault.kind, message = fault.message, "run failed"),
        }
        finish.with(outcome);
    }

    /// What `Object.keys(mux)` shows: servers, and the tools of those that were open once.
    fn names(&self) -> String {
        let names: serde_json::Map<_, _> = self
            .gateway
            .upstreams()
            .all()
            .iter()
            .map(|server| {
                let tools = server.view().tools;
                let tools: Vec<_> = tools
                    .iter()
                    .flat_map(|set| set.iter())
                    .map(|t| t.name.clone())
                    .collect();
                (server.name().to_owned(), tools.into())
            })
            .collect();
        serde_json::Value::Object(names).to_string()
    }

    fn count(&self, succeeded: bool) {
        let mut state = self.state();
        state.counts.running -= 1;
        if succeeded {
            state.counts.succeeded += 1;
        } else {
            state.counts.failed += 1;
        }
    }

    /// Keeps a run that has ended, and forgets the oldest of those that were heard.
    fn keep(&self, run: &Arc<Run>) {
        let mut state = self.state();
        state.ended_bytes += run.events.bytes();
        state.ended.push_back(Arc::clone(run));
        while (state.ended.len() > KEPT || state.ended_bytes > KEPT_BYTES)
            && let Some(place) = state.ended.iter().position(|run| run.is_heard())
            && let Some(oldest) = state.ended.remove(place)
        {
            state.ended_bytes -= oldest.events.bytes();
            state.runs.remove(&oldest.id);
        }
    }

    fn limits(&self) -> Limits {
        self.limits
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the last event of a run, whatever happens to the task that runs it.
struct Finish<'a> {
    runs: &'a Runs,
    run: &'a Arc<Run>,
    outcome: Option<Result<String, Fault>>,
}

impl Finish<'_> {
    fn with(mut self, outcome: Result<String, Fault>) {
        self.outcome = Some(outcome);
    }
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.take().unwrap_or_else(|| {
            Err(Fault::new(Kind::Internal, "the run was lost in the daemon").hint("see `mux logs`"))
        });
        self.runs.count(outcome.is_ok());
        self.run.events.push(Happening::Ended(outcome));
        self.runs.keep(self.run);
    }
}
