//! Executes programs, and keeps the runs that have ended recently.
//!
//! Depends on the gateway, the catalog, the sandbox, handles, approvals, the type checker, programs and callers, and on
//! no wire type of a client. `mux-daemon` calls it.
//!
//! A run's journal (`mux-journal`) has its events, its calls and its state. Here are the executions:
//!
//! - `execution` executes a run, `event_writer` writes its events in order, and `outcome_guard` the last one. `title`
//!   derives the run's title. `program_check` checks a program beforehand: syntax in a worker, types with
//!   `mux-typecheck` (`diagnostic_report`). `resume` finds the program and the calls of a run to resume.
//! - `tool_host` implements the sandbox's `ToolHost` for a run, `run_context` is the context of its calls and makes
//!   them. `builtins` are the functions that the daemon itself answers: `read_value`, `discovery` and
//!   `resources_and_prompts`. `content_block` validates what a worker sends.
//! - `tool_discovery` finds tools, for programs and clients.
//! - `steps` runs a step program: `preflight` checks it, `step_schedule` decides which step is next, `step_call` runs
//!   one, `step_values` keeps the values that later steps need, and `step_summary` reports.
//! - `recording` exports a journal as a file, and reads it again: `file_format`, `known_secrets`.
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
mod execution;
mod outcome_guard;
pub mod program_check;
pub mod recording;
mod resume;
mod run_context;
mod steps;
mod title;
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

use self::execution::Execution;
pub use self::resume::{ResumeTarget, ResumedRun};
use crate::{
    program_check::{CheckFindings, ProgramChecker, ToolViewer},
    recording::{MAX_RECORDING_BYTES, RunRecording},
};
use mux_approvals::ApprovalOwner;
use mux_caller::{CallCause, Caller, Mailbox, QuestionKind, RunAccess, activity::ActivityGuard};
use mux_catalog::Scope;
use mux_gateway::{CallContext, Gateway};
use mux_handles::StoredValues;
use mux_journal::{
    History, JournalOptions, LoggedCall, PastMode, Program, RunJournal, RunRegistry,
    count_ended_calls,
};
use mux_messages::{Language, RunCounts};
use mux_program::StepPlan;
use mux_settings::RunLimits;
use mux_telemetry::trace::{SpanKind, TraceContext};
use mux_text::random_name::random_name;

/// How long, after a drain, cancelled runs may take to end, and clients to read the outcomes of their runs.
const DRAIN_GRACE_TIMEOUT: Duration = Duration::from_secs(1);

/// The run numbers that a daemon keeps for itself while its successor begins to serve.
const RUNS_DURING_HANDOVER: u64 = 100;

/// A run that a client requests.
pub struct RunSpec {
    /// The title is derived from the rest, and the time limit is `wall`.
    pub program: Program,
    /// `None` for the configured limit.
    pub wall: Option<Duration>,
    /// The queue key: runs of the same owner may reuse a worker process.
    pub turn: QueueKey,
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
    pub resumed: Option<ResumedCalls>,
    /// Set if the run does not end with its connection. Keeps the daemon alive meanwhile.
    pub detached: Option<ActivityGuard>,
}

/// The approvals and calls that a run takes over from the run that it resumes.
pub struct ResumedCalls {
    pub owner: ApprovalOwner,
    pub calls: Vec<LoggedCall>,
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
    history: History,
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
        history: History,
    ) -> Arc<Self> {
        let upstreams = Arc::clone(gateway.upstreams());
        history.set_server_rules(move || recording::server_rules(&upstreams));
        Arc::new(Self {
            gateway,
            inspector,
            pool,
            handles,
            limits: Mutex::new(limits.into()),
            next: AtomicU64::new(history.last_number() + 1),
            history,
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

    /// The history of runs.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Accepts a program and starts it in the background.
    pub fn start(self: &Arc<Self>, spec: RunSpec) -> Result<Arc<RunJournal>, Fault> {
        let mut program = spec.program;
        let origin = Arc::clone(&program.origin);
        let mut limits = self.limits(origin.agent.as_deref());
        if let Some(wall) = spec.wall {
            limits.wall = checked_wall(wall)?;
        }
        let plan = match program.language {
            Language::TypeScript => None,
            Language::Json => Some(steps::parse_steps(&program.source, &limits)),
        };
        program.name = program
            .name
            .and_then(|name| title::program_name(&name))
            .map(Into::into);
        program.title = title_of(&program, plan.as_ref());
        program.wall = limits.wall;
        let recorded_names = spec.replay.as_ref().map(|replay| &replay.program.names);
        let request = RunRequest {
            source: program.source.as_ref().to_owned(),
            input: program.input.as_ref().to_owned(),
            names: recorded_names.cloned().unwrap_or_default(),
            limits,
            turn: spec.turn,
        };
        let is_detached = spec.detached.is_some();
        let resumed_calls = spec
            .resumed
            .as_ref()
            .map(|resumed| count_ended_calls(&resumed.calls));
        let is_replay = spec.replay.is_some();
        let max_call_bytes = if spec.record {
            MAX_RECORDING_BYTES
        } else {
            self.gateway.approvals().settings().log
        };
        let mut options = JournalOptions {
            // A drain does not wait for readers of a detached run.
            unread_end: (!is_detached).then(|| self.unheard.token()),
            max_call_bytes,
            ..JournalOptions::default()
        };
        let owner = spec.resumed.map(|resumed| {
            options.resumes = Some(resumed.owner.stem());
            options.past = resumed.calls;
            resumed.owner
        });
        if let Some(recording) = spec.replay {
            options.past = recording.into_calls();
            options.past_mode = PastMode::Replay;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // One run's id does not reveal another's.
        let id = format!("{}-{number}", random_name());
        let run = RunJournal::new(id, program, options);
        let admitted = self.register(&run, owner.as_ref())?;
        run.write_to(self.history.feed());
        let can_approve = |mailbox: &Arc<Mailbox>| mailbox.can_answer(QuestionKind::Approval);
        // Neither the author of the program nor the client that resumes it chooses whether approvals are asked.
        let asks = owner.is_some() || spec.mailbox.as_ref().is_some_and(can_approve);
        let tracer = self.gateway.tracer();
        let mut traced = tracer.begin_trace(spec.trace, SpanKind::Server, || "run".into());
        traced.set("mux.run.id", || Some(run.id.clone()));
        traced.set("mux.client", || Some(origin.client.clone()));
        traced.set("gen_ai.agent.name", || origin.agent.clone());
        let caller = Arc::new(Caller {
            mailbox: spec.mailbox.filter(|_| !is_detached),
            cause: CallCause::Run(run.id.clone()),
            workspace: origin.workspace.clone(),
            origin: Arc::clone(&origin),
            clock: Arc::default(),
            tool: None,
            trace: traced.trace().clone(),
            meta: None,
        });
        let execution = Execution {
            run: Arc::clone(&run),
            plan,
            call_context: CallContext {
                turn: request.turn.clone(),
                scope: spec.scope,
                caller,
                run: Some(Arc::clone(&run)),
                call: None,
                asks,
            },
            request,
            checked_for: spec.check.then(|| origin.agent.clone()),
            resumed_calls,
            is_recorded: spec.record,
            is_replay,
        };
        // A root span: the run outlives the request that started it.
        let span = info_span!(parent: None, "run", id = run.id);
        let this = Arc::clone(self);
        let detached = spec.detached;
        let task = async move {
            let kind = this.execute_run(execution).await;
            traced.end_with(|| kind.map(|kind| kind.to_string()));
            drop((admitted, detached));
        };
        tokio::spawn(task.instrument(span));
        Ok(run)
    }

    /// Registers a run that begins. It takes over the approvals of the run that it resumes.
    fn register(
        &self,
        run: &Arc<RunJournal>,
        resumed: Option<&ApprovalOwner>,
    ) -> Result<TaskTrackerToken, Fault> {
        let mut registry = self.registry();
        let admitted = self.admit_to(&registry)?;
        if let Some(owner) = resumed {
            self.gateway.approvals().adopt(owner, &run.id)?;
        }
        registry.insert(run);
        self.gateway.upstreams().metrics().runs.started();
        Ok(admitted)
    }

    /// Admits a call outside runs. A drain waits until the guard is dropped.
    pub fn admit(&self) -> Result<CallAdmissionGuard, Fault> {
        let work = self.admit_to(&self.registry())?;
        Ok(CallAdmissionGuard {
            _work: work,
            _call: self.calls.token(),
        })
    }

    /// The number of a successor's first run. This daemon keeps the numbers below for the runs that it accepts until
    /// the successor serves.
    pub fn next_number_of_successor(&self) -> u64 {
        self.next.load(Ordering::Relaxed) + RUNS_DURING_HANDOVER
    }

    /// Gives no later run a number below this one.
    pub fn skip_numbers_below(&self, next: u64) {
        self.next.fetch_max(next, Ordering::Relaxed);
    }

    /// Refuses new runs and calls from now on.
    pub fn stop_admission(&self) {
        self.registry().is_draining = true;
    }

    /// Stops admission, and waits until no call outside runs is in flight.
    pub async fn close_to_calls(&self) {
        self.stop_admission();
        self.calls.close();
        self.calls.wait().await;
    }

    /// Requires the registry's lock, because nothing may be admitted after a drain began.
    fn admit_to(&self, registry: &RunRegistry) -> Result<TaskTrackerToken, Fault> {
        if registry.is_draining {
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
        viewer: &ToolViewer,
        turn: &QueueKey,
    ) -> Result<CheckFindings, Fault> {
        let limits = self.limits(agent);
        let inspector = &self.inspector;
        inspector
            .check_program(source, agent, viewer, turn, &limits)
            .await
    }

    /// Finds a run by its id, or, if `access` is the user's, by the number at the end of the id.
    pub fn find(&self, id: &str, access: &RunAccess) -> Result<Arc<RunJournal>, Fault> {
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
            run.read_after(run.last_seq(), RUN_POLL_INTERVAL, 1).await;
        }
    }

    /// All active and kept runs, latest first.
    pub fn list(&self) -> Vec<Arc<RunJournal>> {
        let mut runs = self.registry().all();
        runs.sort_by_key(|run| std::cmp::Reverse(run.number()));
        runs
    }

    pub fn run_totals(&self) -> RunCounts {
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

/// The time limit that a client asks for, if it is allowed.
fn checked_wall(wall: Duration) -> Result<Duration, Fault> {
    let (least, most) = ProgramLimits::WALL_TIME_RANGE;
    if (least..=most).contains(&wall) {
        return Ok(wall);
    }
    let message = format!("a timeout of {wall:?} is not between {least:?} and {most:?}");
    Err(Fault::new(FaultKind::Limit, message).hint("for longer work, split it into several runs"))
}

fn title_of(program: &Program, plan: Option<&Result<StepPlan, Fault>>) -> String {
    if let Some(name) = &program.name {
        return name.as_ref().to_owned();
    }
    match plan {
        Some(Ok(plan)) => title::program_title(&plan.title()),
        Some(Err(_)) => "invalid step program".into(),
        None => title::program_title(&program.source),
    }
}
