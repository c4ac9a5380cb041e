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
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument, info, info_span};

pub use self::events::{Event, EventLog, Happening};
use self::host::Host;
use crate::gateway::Gateway;

/// Runs that have ended and can still be read.
const KEPT: usize = 200;

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
}

impl Run {
    /// Stops it; once it has ended this does nothing.
    pub fn cancel(&self) {
        self.cancel.cancel();
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
    tasks: TaskTracker,
}

/// Guarded by `Runs::state`.
#[derive(Default)]
struct State {
    runs: HashMap<String, Arc<Run>>,
    /// Oldest first.
    ended: VecDeque<String>,
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
            tasks: TaskTracker::new(),
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
        let mut limits = self
            .limits
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
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
        });
        {
            let mut state = self.state();
            if state.draining {
                return Err(Fault::new(Kind::Unavailable, "the daemon is ending").hint("try again"));
            }
            state.runs.insert(run.id.clone(), Arc::clone(&run));
            state.counts.running += 1;
        }
        let request = RunRequest {
            source: program.source,
            input: program.input,
            names: self.names(),
            limits,
            owner: program.owner,
        };
        let span = info_span!("run", id = run.id);
        self.tasks.spawn(
            Arc::clone(self)
                .execute(Arc::clone(&run), request)
                .instrument(span),
        );
        Ok(run)
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

    /// Accepts no more runs; waits for those that run, then cancels what is left.
    pub async fn drain(&self, patience: Duration) {
        self.state().draining = true;
        self.tasks.close();
        if tokio::time::timeout(patience, self.tasks.wait())
            .await
            .is_err()
        {
            let running: Vec<_> = self.state().runs.values().cloned().collect();
            for run in running {
                run.cancel();
            }
            self.tasks.wait().await;
        }
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

    fn ended(&self, run: &Run, succeeded: bool) {
        let mut state = self.state();
        state.counts.running -= 1;
        if succeeded {
            state.counts.succeeded += 1;
        } else {
            state.counts.failed += 1;
        }
        state.ended.push_back(run.id.clone());
        if state.ended.len() > KEPT
            && let Some(oldest) = state.ended.pop_front()
        {
            state.runs.remove(&oldest);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the last event of a run, whatever happens to the task that runs it.
struct Finish<'a> {
    runs: &'a Runs,
    run: &'a Run,
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
        self.runs.ended(self.run, outcome.is_ok());
        self.run.events.push(Happening::Ended(outcome));
    }
}
