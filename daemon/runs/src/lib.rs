//! Executes programs, and keeps the runs that have ended recently.
//!
//! Depends on the gateway, the catalog, the sandbox, handles, approvals, the type checker, programs and callers, and on
//! no wire type of a client. `mux-daemon` calls it.
//!
//! - `registry` has the runs, `run` is a single run, and `events` its event log. `event_writer` writes events in order,
//!   and `title` derives the run's title.
//! - `execution` executes a run, and `outcome_guard` writes its last event. `program_check` checks a program
//!   beforehand: syntax in a worker, types with `mux-typecheck` (`diagnostic_report`).
//! - `tool_host` implements the sandbox's `ToolHost` for a run, `run_context` is the context of its calls, `tool_call`
//!   makes one. `builtins` are the functions that the daemon itself answers: `read_value`, `discovery` and
//!   `resources_and_prompts`. `content_block` validates what a worker sends.
//! - `tool_discovery` finds tools, for programs and clients.
//! - `steps` runs a step program: `preflight` checks it, `step_schedule` decides which step is next, `step_call` runs
//!   one, `step_values` keeps the values that later steps need, and `step_event` and `step_summary` report.
//! - `recording` records and replays runs: `call_recorder`, `call_replayer`, `file_format`; `mask_secrets` masks
//!   `known_secrets` and published token formats. `recording_mode` applies it to one run's calls.
//!
//! A step program is parsed completely, or rejected with all its errors. Each step runs as soon as its predecessors
//! have ended. Steps whose tools change something keep their order. If the type check is not available, the run
//! executes unchecked and reports that.
//!
//! Results of calls are passed to the program unabridged, up to the frame limit (16 MiB). Only values that leave a run,
//! or exceed a frame, become handles.
//!
//! Invariants:
//!
//! - A run's events outlive it for a while, and the last event is its outcome. Nothing here waits for readers.
//! - Runs, their events, approvals and `resume` are looked up only through `RunAccess`.
//! - Credentials that the daemon knows are masked in a recording before it leaves the daemon.

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
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};

use mux_sandbox::{Pool, ProgramLimits, QueueKey, RunRequest};
use mux_wire::{Fault, FaultKind};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};
use tracing::{Instrument, info_span};

pub use self::{
    events::{EventLog, RunEvent, SequencedEvent},
    registry::{MAX_KEPT_EVENT_BYTES, MAX_KEPT_RUNS, RUN_RETENTION, RunTotals, find_run},
    run::{CallCounts, Run, RunSnapshot, RunStatus},
    steps::{ProgramLanguage, StepEvent, StepProgress},
};
use self::{execution::ExecutionOptions, recording_mode::RecordingMode, registry::RunRegistry};
use crate::{
    program_check::{CheckFindings, ProgramChecker, ToolViewer},
    recording::{CallRecorder, CallReplayer, RecordedProgram, RunRecording, raw_json},
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

/// How long, after a drain, cancelled runs may take to end, and clients to read the outcomes of their runs.
const DRAIN_GRACE_TIMEOUT: Duration = Duration::from_secs(1);

/// A run that a client requests.
pub struct RunSpec {
    pub source: String,
    /// The client's name for the program.
    pub name: Option<String>,
    pub language: ProgramLanguage,
    /// `mux.input` as JSON.
    pub input: String,
    pub wall: Option<Duration>,
    /// The queue key: runs of the same owner may reuse a worker process.
    pub turn: QueueKey,
    pub origin: Arc<ClientOrigin>,
    /// The tools that the run can see, from start to end.
    pub scope: Arc<Scope>,
    /// The mailbox of the connection that answers questions for the run. Detached runs ask no questions.
    pub mailbox: Option<Arc<Mailbox>>,
    /// The trace context of the client.
    pub trace: Option<TraceContext>,
    /// Set to type-check the program first, if the configuration enables that.
    pub check: bool,
    /// Set to record all calls and their results, for the clients that follow the run.
    pub record: bool,
    /// A recording that answers all calls. Nothing is sent.
    pub replay: Option<RunRecording>,
    /// The run that this run resumes.
    pub resumed: Option<ResumedRun>,
    /// Set if the run does not end with its connection. Keeps the daemon alive meanwhile.
    pub detached: Option<ActivityGuard>,
}

/// The interval between two checks of a run without new events.
const RUN_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Held while a call outside runs is in flight.
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
    /// Runs, and calls outside runs.
    work: TaskTracker,
    /// Only calls outside runs.
    calls: TaskTracker,
    /// Runs whose last event has not been read yet.
    unheard: TaskTracker,
}

impl Runs {
    pub fn new(
        gateway: Arc<Gateway>,
        inspector: ProgramChecker,
        pool: Pool,
        handles: StoredValues,
        limits: ProgramLimits,
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
        *self.limits.lock() = limits;
    }

    /// Accepts a program and starts it in the background.
    pub fn start(self: &Arc<Self>, program: RunSpec) -> Result<Arc<Run>, Fault> {
        let mut limits = self.limits(program.origin.agent.as_deref());
        if let Some(wall) = program.wall {
            let (least, most) = ProgramLimits::WALL_TIME_RANGE;
            if !(least..=most).contains(&wall) {
                return Err(Fault::new(
                    FaultKind::Limit,
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
        let steps_title = plan.as_ref().map(|plan| match plan {
            Ok(plan) => plan.title(),
            Err(_) => "invalid step program".into(),
        });
        let name = program.name.as_deref().and_then(title::program_name);
        let title = name.clone().unwrap_or_else(|| {
            title::program_title(steps_title.as_deref().unwrap_or(&program.source))
        });
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let names = match &program.replay {
            Some(recording) => recording.program.names.clone(),
            None => self.global_names_json(&program.scope),
        };
        let recording_mode = match program.replay {
            Some(recording) => Some(RecordingMode::Replay(CallReplayer::new(recording.calls))),
            None => program.record.then(|| {
                let script = RecordedProgram {
                    source: program.source.clone(),
                    steps: program.language == ProgramLanguage::Json,
                    input: raw_json(&program.input),
                    timeout_ms: program
                        .wall
                        .map(|wall| u64::try_from(wall.as_millis()).unwrap_or(u64::MAX)),
                    agent: program.origin.agent.clone(),
                    names: names.clone(),
                };
                RecordingMode::Record(CallRecorder::default(), script)
            }),
        };
        // A drain does not wait for readers of a detached run.
        let unheard = program.detached.is_none().then(|| self.unheard.token());
        let origin = Arc::clone(&program.origin);
        let began = ProgramStart {
            source: program.source.as_str().into(),
            name: name.map(Into::into),
            language: program.language,
            input: program.input.as_str().into(),
            wall: limits.wall,
            origin: Arc::clone(&origin),
        };
        let approvals = self.gateway.approvals();
        let run = Arc::new(Run::new(
            // One run's id does not reveal another's.
            format!("{}-{number}", random_name()),
            title,
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
        let resumable = ResumableRun::new(&run.id, began, approvals.terms().log, past);
        let request = RunRequest {
            source: program.source,
            input: program.input,
            names,
            limits,
            turn: program.turn,
        };
        let can_approve = |mailbox: &Arc<Mailbox>| mailbox.can_answer(QuestionKind::Approval);
        // Neither the author of the program nor the client that resumes it chooses whether approvals are asked.
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
            tool: None,
            trace: traced.trace().clone(),
            meta: None,
        });
        let options = ExecutionOptions {
            checked_for: agent,
            again,
            recording_mode,
        };
        // A root span: the run outlives the request that started it.
        let span = info_span!(parent: None, "run", id = run.id);
        let this = Arc::clone(self);
        let asked = Arc::clone(&run);
        let task = async move {
            let asking = CallContext {
                turn: request.turn.clone(),
                scope: program.scope,
                caller,
                resumable: Some(resumable),
                place: None,
                asks,
            };
            let kind = this
                .execute_run(asked, (request, plan), asking, options)
                .await;
            traced.end_with(|| kind.map(|kind| kind.to_string()));
            drop((admitted, program.detached));
        };
        tokio::spawn(task.instrument(span));
        Ok(run)
    }

    /// Admits a call outside runs. A drain waits until the guard is dropped.
    pub fn admit(&self) -> Result<CallAdmissionGuard, Fault> {
        let work = self.admit_to(&self.registry())?;
        Ok(CallAdmissionGuard {
            _work: work,
            _call: self.calls.token(),
        })
    }

    /// Refuses new runs and calls from now on.
    pub fn stop_admission(&self) {
        self.registry().draining = true;
    }

    /// Stops admission, and waits until no call outside runs is in flight.
    pub async fn close_to_calls(&self) {
        self.stop_admission();
        self.calls.close();
        self.calls.wait().await;
    }

    /// Requires the registry's lock, because nothing may be admitted after a drain began.
    fn admit_to(&self, registry: &RunRegistry) -> Result<TaskTrackerToken, Fault> {
        if registry.draining {
            let mut fault =
                Fault::new(FaultKind::Unavailable, "the daemon is ending").hint("try again");
            // Tells the client that it may ask the next daemon.
            fault.details = Some(json!({ "ending": true }).to_string());
            return Err(fault);
        }
        Ok(self.work.token())
    }

    /// Checks a program without running it.
    pub async fn check(
        &self,
        source: String,
        agent: Option<&str>,
        viewer: ToolViewer<'_>,
        turn: &QueueKey,
    ) -> Result<CheckFindings, Fault> {
        let limits = self.limits(agent);
        let inspector = &self.inspector;
        inspector
            .check_program(source, agent, viewer, turn, &limits)
            .await
    }

    /// Finds a run by its id, or, if `access` is the user's, by the number at the end of the id.
    pub fn find(&self, id: &str, access: &RunAccess) -> Result<Arc<Run>, Fault> {
        self.registry().find(id, access)
    }

    /// The fault for an id that names no run.
    pub fn unknown_run_fault(&self, id: &str, access: &RunAccess) -> Fault {
        self.registry().run_not_found(id, access)
    }

    /// Resolves when the run has ended or is no longer kept.
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

    /// All active and kept runs, latest first.
    pub fn list(&self) -> Vec<Arc<Run>> {
        let mut runs = self.registry().all();
        runs.sort_by_key(|run| std::cmp::Reverse(run.number()));
        runs
    }

    pub fn run_totals(&self) -> RunTotals {
        self.registry().counts()
    }

    /// Stops admission and waits up to `patience` for runs and calls. Then cancels the remaining runs, and waits
    /// briefly until clients have read the outcome of their runs.
    pub async fn drain(&self, patience: Duration) {
        self.stop_admission();
        self.work.close();
        self.unheard.close();
        if timeout(patience, self.work.wait()).await.is_err() {
            for run in self.list() {
                run.cancel();
            }
            // Calls outside runs continue until their sessions are closed.
            _ = timeout(DRAIN_GRACE_TIMEOUT, self.work.wait()).await;
        }
        _ = timeout(DRAIN_GRACE_TIMEOUT, self.unheard.wait()).await;
    }

    /// Translates a step program to TypeScript.
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

    /// The result of `Object.keys(mux)` as lines of JSON: the servers, whether their tools are in groups, and the tools
    /// of servers that have been connected.
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

    fn limits(&self, agent: Option<&str>) -> ProgramLimits {
        let limits = self.limits.lock();
        limits.of(agent).clone()
    }

    fn registry(&self) -> MutexGuard<'_, RunRegistry> {
        self.registry.lock()
    }
}
