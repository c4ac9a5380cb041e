//! Programs that run, and those that ran lately.
//!
//! Invariant: a run's events outlive it for a while, and the last of them says how it ended. Nothing
//! here waits for whoever reads them.

mod events;
mod host;
mod own;
mod parts;
mod reach;
mod recorder;
mod registry;
mod run;
mod title;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use mux_sandbox::{Fault, Kind, Limits, Pool, RunRequest, Turn};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};
use tracing::{Instrument, info, info_span};

pub use self::{
    events::{Event, EventLog, Happening},
    registry::Counts,
    run::{Calls, Origin, Run, State, View},
};
use self::{
    host::Host,
    recorder::{Recorder, warning},
    registry::Registry,
};
use crate::{
    catalog::Scope,
    gateway::{Asking, Gateway},
    handles::{Handles, Held},
    inspect::{Inspection, Inspector},
    lifecycle::Present,
    notices::{Caller, Cause, Mailbox},
    upstream::Whose,
};

/// After a drain: for what was cancelled to end, and for clients to read how their runs ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What a client asks for.
pub struct Program {
    pub source: String,
    /// JSON text of `mux.input`.
    pub input: String,
    pub wall: Option<Duration>,
    /// Runs of one owner may follow each other in one worker process.
    pub turn: Turn,
    pub origin: Arc<Origin>,
    /// What it sees, from its start to its end.
    pub scope: Arc<Scope>,
    /// Of the connection that may be asked for it. Nobody is asked for a run that is detached.
    pub mailbox: Option<Arc<Mailbox>>,
    /// Its types are looked at first, if the configuration wants that.
    pub check: bool,
    /// For a run that does not end with its connection: keeps the daemon from leaving meanwhile.
    pub detached: Option<Present>,
}

pub struct Runs {
    gateway: Arc<Gateway>,
    inspector: Inspector,
    pool: Pool,
    handles: Handles,
    limits: Mutex<Limits>,
    /// Part of every id: two daemons never give the same.
    epoch: String,
    next: AtomicU64,
    registry: Mutex<Registry>,
    /// Runs, and calls outside of runs.
    work: TaskTracker,
    /// Runs whose end somebody may still want to read.
    unheard: TaskTracker,
}

impl Runs {
    pub fn new(
        gateway: Arc<Gateway>,
        inspector: Inspector,
        pool: Pool,
        handles: Handles,
        limits: Limits,
    ) -> Arc<Self> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_millis();
        Arc::new(Self {
            gateway,
            inspector,
            pool,
            handles,
            limits: Mutex::new(limits),
            epoch: format!("{:x}", now % (1 << 40)),
            next: AtomicU64::new(1),
            registry: Mutex::default(),
            work: TaskTracker::new(),
            unheard: TaskTracker::new(),
        })
    }

    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    pub fn inspector(&self) -> &Inspector {
        &self.inspector
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
        let agent = program.check.then(|| program.origin.agent.clone());
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // Nobody has to hear how a detached run ended.
        let unheard = program.detached.is_none().then(|| self.unheard.token());
        let workspace = program.origin.workspace.clone();
        let run = Arc::new(Run::new(
            format!("{}-{number}", self.epoch),
            &program.source,
            program.origin,
            unheard,
        ));
        let admitted = {
            let mut registry = self.registry();
            let admitted = self.admit_to(&registry)?;
            registry.insert(&run);
            admitted
        };
        let request = RunRequest {
            source: program.source,
            input: program.input,
            names: self.names(&program.scope),
            limits,
            turn: program.turn,
        };
        let caller = Arc::new(Caller {
            mailbox: program.mailbox.filter(|_| !run.is_detached()),
            cause: Cause::Run(run.id.clone()),
            workspace,
            clock: Arc::default(),
        });
        // A root of its own: it outlives the request that started it.
        let span = info_span!(parent: None, "run", id = run.id);
        let execute =
            Arc::clone(self).execute(Arc::clone(&run), request, (program.scope, caller), agent);
        let task = async move {
            execute.await;
            drop((admitted, program.detached));
        };
        tokio::spawn(task.instrument(span));
        Ok(run)
    }

    /// Room for a call outside of a run. A drain waits until the token is dropped.
    pub fn admit(&self) -> Result<TaskTrackerToken, Fault> {
        self.admit_to(&self.registry())
    }

    /// Under the lock of the registry, so that nothing begins behind the back of a drain.
    fn admit_to(&self, registry: &Registry) -> Result<TaskTrackerToken, Fault> {
        if registry.draining {
            let mut fault = Fault::new(Kind::Unavailable, "the daemon is ending").hint("try again");
            // A client knows by it that it may ask the next daemon.
            fault.details = Some(json!({ "ending": true }).to_string());
            return Err(fault);
        }
        Ok(self.work.token())
    }

    /// What is wrong with a program, without running it.
    pub async fn check(
        &self,
        source: String,
        agent: Option<&str>,
        (scope, whose): (&Scope, &Whose),
        turn: &Turn,
    ) -> Result<Inspection, Fault> {
        let (limits, inspector) = (self.limits(), &self.inspector);
        inspector
            .all(source, agent, (scope, whose), turn, &limits)
            .await
    }

    /// By its id, or by the number at the end of it.
    pub fn find(&self, id: &str) -> Result<Arc<Run>, Fault> {
        self.registry().find(id)
    }

    /// All that have not ended and those that are kept, the latest first.
    pub fn list(&self) -> Vec<Arc<Run>> {
        let mut runs = self.registry().all();
        runs.sort_by_key(|run| std::cmp::Reverse(run.number()));
        runs
    }

    pub fn counts(&self) -> Counts {
        self.registry().counts()
    }

    /// Accepts no more; waits for what is under way, cancels the runs that are left, and waits a
    /// moment until every client has read how its runs ended.
    pub async fn drain(&self, patience: Duration) {
        self.registry().draining = true;
        self.work.close();
        self.unheard.close();
        if timeout(patience, self.work.wait()).await.is_err() {
            for run in self.list() {
                run.cancel();
            }
            // Calls outside of runs go on until their sessions are closed.
            _ = timeout(LAST_WORDS, self.work.wait()).await;
        }
        _ = timeout(LAST_WORDS, self.unheard.wait()).await;
    }

    /// `checked_for` is the agent whose terms the check follows, if there is to be one.
    async fn execute(
        self: Arc<Self>,
        run: Arc<Run>,
        request: RunRequest,
        (scope, caller): (Arc<Scope>, Arc<Caller>),
        checked_for: Option<Option<String>>,
    ) {
        info!("run accepted");
        let handles = self.handles.clone();
        let recorder = Recorder::new(Arc::clone(&run), handles.clone());
        let finish = Finish {
            runs: &self,
            run: &run,
            recorder: &recorder,
            outcome: None,
        };
        let gateway = Arc::clone(&self.gateway);
        let whose = Whose::of(&caller);
        let turn = request.turn.clone();
        let host = Host::new(
            gateway,
            handles.clone(),
            Asking {
                turn,
                caller,
                scope: Arc::clone(&scope),
            },
            Arc::clone(&recorder),
        );
        let mut warnings = Vec::new();
        if let Some(agent) = checked_for {
            let (agent, turn) = (agent.as_deref(), &request.turn);
            let look = self
                .inspector
                .before_run(&request.source, agent, (&scope, &whose), turn);
            let found = tokio::select! {
                found = look => found,
                // The pool sees it, too, and says so.
                () = run.cancel.cancelled() => Inspection::default(),
            };
            if let Some(refusal) = found.refusal() {
                info!(errors = found.errors.len(), "run refused");
                return finish.with(Err(refusal));
            }
            warnings.clone_from(&found.warnings);
            if found.unchecked.is_some() || !found.warnings.is_empty() {
                recorder.push(Happening::Checked {
                    warnings: found.warnings,
                    unchecked: found.unchecked,
                });
            }
        }
        let outcome = self.pool.run(request, Arc::new(host), &run.cancel).await;
        let outcome = outcome.map_err(|fault| with_warning(fault, &warnings));
        let outcome = match outcome {
            Ok(text) => parts::held_result(text, &handles).await,
            Err(fault) => Err(fault),
        };
        let outcome = outcome.map(|(held, word)| {
            if let Some(word) = word {
                recorder.push(warning(&word));
            }
            held
        });
        match &outcome {
            Ok(Held::Inline(text)) => info!(bytes = text.len(), "run ended"),
            Ok(Held::Stored(handle)) => info!(bytes = handle.bytes, "run ended"),
            Err(fault) => info!(kind = %fault.kind, message = fault.message, "run failed"),
        }
        recorder.settled().await;
        finish.with(outcome);
    }

    /// What `Object.keys(mux)` shows: servers, and the tools of those that were open once.
    fn names(&self, scope: &Scope) -> String {
        let names: serde_json::Map<_, _> = self
            .gateway
            .upstreams()
            .known_seen(scope)
            .iter()
            .map(|server| {
                let tools = server.tools.as_ref().map(|tools| scope.view(tools));
                let tools: Vec<_> = tools
                    .iter()
                    .flat_map(|set| set.iter())
                    .map(|t| t.name.clone())
                    .collect();
                (server.name.clone(), tools.into())
            })
            .collect();
        serde_json::Value::Object(names).to_string()
    }

    fn limits(&self) -> Limits {
        self.limits
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the checker was not sure of may be why a program failed.
fn with_warning(fault: Fault, warnings: &[Fault]) -> Fault {
    if fault.kind != Kind::Runtime || fault.hint.is_some() {
        return fault;
    }
    let suspect = warnings
        .iter()
        .find(|warning| warning.line.is_some() && warning.line == fault.line);
    match suspect {
        Some(warning) => fault.hint(format!(
            "before it ran, the type checker said: {}",
            warning.message
        )),
        None => fault,
    }
}

/// Writes the last event of a run, whatever happens to the task that runs it.
struct Finish<'a> {
    runs: &'a Runs,
    run: &'a Arc<Run>,
    recorder: &'a Recorder,
    outcome: Option<Result<Held, Fault>>,
}

impl Finish<'_> {
    fn with(mut self, outcome: Result<Held, Fault>) {
        self.outcome = Some(outcome);
    }
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.take().unwrap_or_else(|| {
            Err(Fault::new(Kind::Internal, "the run was lost in the daemon").hint("see `mux logs`"))
        });
        self.runs.gateway.upstreams().run_over(&self.run.id);
        self.runs.registry().count(outcome.is_ok());
        self.run.set_ended(outcome.as_ref().err());
        self.recorder.push(Happening::Ended(outcome));
        self.runs.registry().keep(self.run);
    }
}
