//! Programs that run, and those that ran lately.
//!
//! It knows the gateway, the catalog, the sandbox, handles, approvals, the type checker, programs and callers. It knows
//! no client's wire type; `mux-daemon` calls it.
//!
//! - `registry` has the runs, `run` one of them, `events` its numbered events, `event_writer` writes them in order, `title`
//!   its name in a list.
//! - `execution` is one run from its acceptance to its outcome, `outcome_guard` the last event, `program_check` what is wrong with a
//!   program before it runs: syntax from a worker, types from `mux-typecheck`, in one report (`inspect/report`).
//! - `tool_host` is what one run may do, the `ToolHost` of the sandbox. `run_context` is what its calls are made with, `tool_call`
//!   one call; `builtins` what the daemon answers itself: `mux.read` (`own/read`), `mux.search` and its kin
//!   (`own/discovery`), resources and prompts (`own/offers`); `content_block` checks what a worker hands over.
//! - `tool_discovery` is finding tools, for programs and clients alike.
//! - `steps` runs a step program: `step_schedule` and `step_call` step after another, `preflight` what is wrong before the first call,
//!   `step_values`, `step_event` and `step_summary`.
//! - `recording` is a run on record: `call_recorder` writes it down, `file_format` is the file, `mask_secrets` strips what the daemon has
//!   `known_secrets` to be secret and what has a published token format, `call_replayer` answers a program from it; `recording_mode` is what a
//!   recording does with one run's calls.
//!
//! A program of steps is read whole, or refused with all that is wrong. Each step goes through the gateway as soon as
//! those before it have ended; tools that say that they change something keep their order. A run whose check fails to
//! arrive runs unchecked, and says so.
//!
//! A value of a call goes to the program whole, up to what a frame carries (16 MiB): working on it there is what a
//! program is for. Only what leaves a run, or fits no frame, becomes a handle.
//!
//! Invariants:
//!
//! - A run's events outlive it for a while, and the last of them says how it ended. Nothing here waits for readers.
//! - Runs, their events, approvals and `resume` are found through `RunAccess` alone.
//! - Credentials that the daemon knows are stripped from a recording before it leaves the daemon.

mod builtins;
mod content_block;
mod event_writer;
mod events;
mod execution;
mod outcome_guard;
pub mod program_check;
pub mod recording;
mod recording_mode;
mod registry;
mod run;
mod run_context;
mod steps;
mod title;
mod tool_call;
pub mod tool_discovery;
mod tool_host;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use mux_sandbox::{Limits, Pool, RunRequest, Turn};
use mux_wire::{Fault, Kind};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};
use tracing::{Instrument, info_span};

pub use self::{
    events::{EventLog, RunEvent, SequencedEvent},
    registry::RunTotals,
    run::{CallCounts, Run, RunSnapshot, RunStatus},
    steps::{ProgramLanguage, StepEvent, StepProgress},
};
use self::{execution::ExecutionOptions, recording_mode::RecordingMode, registry::RunRegistry};
use crate::{
    program_check::{CheckFindings, ProgramChecker},
    recording::{CallRecorder, CallReplayer, RecordedProgram, RunRecording},
};
use mux_approvals::{ProgramStart, ResumableRun, ResumedRun};
use mux_caller::{
    CallCause, Caller, ClientOrigin, Mailbox, QuestionKind, RunAccess, activity::ActivityGuard,
};
use mux_catalog::Scope;
use mux_gateway::{CallContext, Gateway};
use mux_handles::StoredValues;
use mux_settings::RunLimits;
use mux_telemetry::trace::{SpanKind, TraceContext};
use mux_text::random_name::random_name;
use mux_upstream::CallerIdentity;

/// After a drain: for what was cancelled to end, and for clients to read how their runs ended.
const DRAIN_GRACE_TIMEOUT: Duration = Duration::from_secs(1);

/// What a client asks for.
pub struct RunSpec {
    pub source: String,
    pub language: ProgramLanguage,
    /// JSON text of `mux.input`.
    pub input: String,
    pub wall: Option<Duration>,
    /// Runs of one owner may follow each other in one worker process.
    pub turn: Turn,
    pub origin: Arc<ClientOrigin>,
    /// What it sees, from its start to its end.
    pub scope: Arc<Scope>,
    /// Of the connection that may be asked for it. Nobody is asked for a run that is detached.
    pub mailbox: Option<Arc<Mailbox>>,
    /// The trace in which somebody wants it.
    pub trace: Option<TraceContext>,
    /// Its types are looked at first, if the configuration wants that.
    pub check: bool,
    /// All that it asks for and is told is kept, and handed to whoever follows it.
    pub record: bool,
    /// It is answered from this, and nothing is sent.
    pub replay: Option<RunRecording>,
    /// What it goes on with.
    pub resumed: Option<ResumedRun>,
    /// For a run that does not end with its connection: keeps the daemon from leaving meanwhile.
    pub detached: Option<ActivityGuard>,
}

/// Between two looks at a run that says nothing.
const RUN_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A call outside of runs that is under way.
pub struct CallAdmissionGuard {
    _work: TaskTrackerToken,
    _call: TaskTrackerToken,
}

pub struct Runs {
    gateway: Arc<Gateway>,
    inspector: ProgramChecker,
    pool: Pool,
    handles: StoredValues,
    limits: Mutex<RunLimits>,
    next: AtomicU64,
    registry: Mutex<RunRegistry>,
    /// Runs, and calls outside of runs.
    work: TaskTracker,
    /// Calls outside of runs alone.
    calls: TaskTracker,
    /// Runs whose end somebody may still want to read.
    unheard: TaskTracker,
}

impl Runs {
    pub fn new(
        gateway: Arc<Gateway>,
        inspector: ProgramChecker,
        pool: Pool,
        handles: StoredValues,
        limits: Limits,
    ) -> Arc<Self> {
        Arc::new(Self {
            gateway,
            inspector,
            pool,
            handles,
            limits: Mutex::new(limits.into()),
            next: AtomicU64::new(1),
            registry: Mutex::default(),
            work: TaskTracker::new(),
            calls: TaskTracker::new(),
            unheard: TaskTracker::new(),
        })
    }

    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    pub fn inspector(&self) -> &ProgramChecker {
        &self.inspector
    }

    pub fn set_limits(&self, limits: RunLimits) {
        *self.limits.lock().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// Accepts a program and starts it in the background.
    pub fn start(self: &Arc<Self>, program: RunSpec) -> Result<Arc<Run>, Fault> {
        let mut limits = self.limits(program.origin.agent.as_deref());
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
        let plan = match program.language {
            ProgramLanguage::TypeScript => None,
            ProgramLanguage::Json => Some(steps::parse_steps(&program.source, &limits)),
        };
        let title = plan.as_ref().map(|plan| match plan {
            Ok(plan) => plan.title(),
            Err(_) => "no program of steps".into(),
        });
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let names = match &program.replay {
            Some(recording) => recording.program.names.clone(),
            None => self.global_names_json(&program.scope),
        };
        let deck = match program.replay {
            Some(recording) => Some(RecordingMode::Player(CallReplayer::new(recording.calls))),
            None => program.record.then(|| {
                let script = RecordedProgram {
                    source: program.source.clone(),
                    steps: program.language == ProgramLanguage::Json,
                    input: serde_json::from_str(&program.input).unwrap_or_default(),
                    timeout_ms: program
                        .wall
                        .map(|wall| u64::try_from(wall.as_millis()).unwrap_or(u64::MAX)),
                    agent: program.origin.agent.clone(),
                    names: names.clone(),
                };
                RecordingMode::Tape(CallRecorder::default(), script)
            }),
        };
        // Nobody has to hear how a detached run ended.
        let unheard = program.detached.is_none().then(|| self.unheard.token());
        let origin = Arc::clone(&program.origin);
        let began = ProgramStart {
            source: program.source.as_str().into(),
            language: program.language,
            input: program.input.as_str().into(),
            wall: limits.wall,
            origin: Arc::clone(&origin),
        };
        let approvals = self.gateway.approvals();
        let run = Arc::new(Run::new(
            // Whoever has one id can tell no other.
            format!("{}-{number}", random_name()),
            title.as_deref().unwrap_or(&program.source),
            program.origin,
            unheard,
        ));
        let admitted = {
            let mut registry = self.registry();
            let admitted = self.admit_to(&registry)?;
            if let Some(resumed) = &program.resumed {
                approvals.adopt(resumed, &run.id)?;
            }
            registry.insert(&run);
            self.gateway.upstreams().metrics().runs.started();
            admitted
        };
        let past = program.resumed.map(|resumed| resumed.past);
        let again = past
            .as_ref()
            .map(|past| (past.run().to_owned(), past.ended_call_count()));
        let dossier = ResumableRun::new(&run.id, began, approvals.terms().log, past);
        let request = RunRequest {
            source: program.source,
            input: program.input,
            names,
            limits,
            turn: program.turn,
        };
        let can_approve = |mailbox: &Arc<Mailbox>| mailbox.can_answer(QuestionKind::Approval);
        // What is asked is no choice of whoever writes the program, or goes on with it.
        let asks = again.is_some() || program.mailbox.as_ref().is_some_and(can_approve);
        let tracer = self.gateway.tracer();
        let mut traced = tracer.begin_trace(program.trace, SpanKind::Server, || "run".into());
        traced.set("mux.run.id", || Some(run.id.clone()));
        traced.set("mux.client", || Some(origin.client.clone()));
        traced.set("gen_ai.agent.name", || origin.agent.clone());
        let caller = Arc::new(Caller {
            mailbox: program.mailbox.filter(|_| !run.is_detached()),
            cause: CallCause::Run(run.id.clone()),
            workspace: origin.workspace.clone(),
            origin,
            clock: Arc::default(),
            trace: traced.trace().clone(),
        });
        let manner = ExecutionOptions {
            checked_for: agent,
            again,
            deck,
        };
        // A root of its own: it outlives the request that started it.
        let span = info_span!(parent: None, "run", id = run.id);
        let (this, asked) = (Arc::clone(self), Arc::clone(&run));
        let task = async move {
            let asking = CallContext {
                turn: request.turn.clone(),
                scope: program.scope,
                caller,
                dossier: Some(dossier),
                place: None,
                asks,
            };
            let kind = this
                .execute_run(asked, (request, plan), asking, manner)
                .await;
            traced.end_with(|| kind.map(|kind| kind.to_string()));
            drop((admitted, program.detached));
        };
        tokio::spawn(task.instrument(span));
        Ok(run)
    }

    /// Room for a call outside of a run. A drain waits until the token is dropped.
    pub fn admit(&self) -> Result<CallAdmissionGuard, Fault> {
        let work = self.admit_to(&self.registry())?;
        Ok(CallAdmissionGuard {
            _work: work,
            _call: self.calls.token(),
        })
    }

    /// Admits nothing more; returns when no call outside of runs is under way.
    pub async fn close_to_calls(&self) {
        self.registry().draining = true;
        self.calls.close();
        self.calls.wait().await;
    }

    /// Under the lock of the registry, so that nothing begins behind the back of a drain.
    fn admit_to(&self, registry: &RunRegistry) -> Result<TaskTrackerToken, Fault> {
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
        (scope, whose): (&Scope, &CallerIdentity),
        turn: &Turn,
    ) -> Result<CheckFindings, Fault> {
        let (limits, inspector) = (self.limits(agent), &self.inspector);
        inspector
            .check_program(source, agent, (scope, whose), turn, &limits)
            .await
    }

    /// By its id, or by the number at the end of it where `access` takes those.
    pub fn find(&self, id: &str, access: &RunAccess) -> Result<Arc<Run>, Fault> {
        self.registry().find(id, access)
    }

    /// The error for an id under which nothing is found.
    pub fn unknown_run_fault(&self, id: &str, access: &RunAccess) -> Fault {
        self.registry().run_not_found(id, access)
    }

    /// Resolves when it has ended, or nobody knows of it any more.
    pub async fn wait_until_ended(&self, id: &str) {
        let Ok(run) = self.find(id, &RunAccess::Everyone) else {
            return;
        };
        while !run.has_ended() {
            run.events
                .read_after(run.events.last_seq(), RUN_POLL_INTERVAL, 1)
                .await;
        }
    }

    /// All that have not ended and those that are kept, the latest first.
    pub fn list(&self) -> Vec<Arc<Run>> {
        let mut runs = self.registry().all();
        runs.sort_by_key(|run| std::cmp::Reverse(run.number()));
        runs
    }

    pub fn run_totals(&self) -> RunTotals {
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
            _ = timeout(DRAIN_GRACE_TIMEOUT, self.work.wait()).await;
        }
        _ = timeout(DRAIN_GRACE_TIMEOUT, self.unheard.wait()).await;
    }

    /// How a program of steps would be written as a TypeScript program.
    pub fn explain(
        &self,
        source: &str,
        agent: Option<&str>,
        scope: &Scope,
    ) -> Result<String, Fault> {
        let plan = steps::parse_steps(source, &self.limits(agent))?;
        let changes = steps::known_changes(&plan, self.gateway.upstreams(), scope);
        let order = mux_program::StepOrder::of(&plan, &changes);
        Ok(mux_program::explain_as_typescript(&plan, &order).source)
    }

    /// What `Object.keys(mux)` shows, in lines of JSON: the servers, whether their tools stand in groups, and the
    /// tools of those that were open once.
    fn global_names_json(&self, scope: &Scope) -> String {
        let known = self.gateway.upstreams().known_visible(scope);
        let mut servers = serde_json::Map::new();
        let mut outlines = String::new();
        for server in &known {
            let tools = server.tools.as_ref();
            let has_groups = tools.map(|tools| u8::from(tools.has_groups));
            servers.insert(server.name.clone(), has_groups.into());
            if let Some(tools) = tools {
                outlines.push('\n');
                outlines.push_str(tools.outline());
            }
        }
        serde_json::Value::Object(servers).to_string() + &outlines
    }

    fn limits(&self, agent: Option<&str>) -> Limits {
        let limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.of(agent).clone()
    }

    fn registry(&self) -> MutexGuard<'_, RunRegistry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
