//! Workers that wait with an isolate already built, so that a run does not wait for one.
//!
//! Invariant: a worker comes back here only after a clean run, and then serves the same owner only;
//! every other worker is killed and replaced in the background.

mod contract;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use mux_wire::{Fault, Kind, Program};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

pub use self::contract::{Memory, PoolSettings, PoolStatus, RunRequest};
use crate::{
    Limits, ToolHost, limits,
    run::{self, Ended, Job},
    snapshot::Snapshots,
    worker_process::{Spawner, Worker, WorkerError},
};

/// So many waiting workers may turn out to be dead before a run gives up.
const HAND_OVERS: usize = 5;

#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    settings: PoolSettings,
    snapshots: Snapshots,
    state: Mutex<State>,
}

/// Guarded by `Inner::state`.
#[derive(Default)]
struct State {
    ready: Vec<Worker>,
    busy: usize,
    starting: usize,
    line: VecDeque<Waiter>,
    engine: Option<String>,
    layers: Vec<String>,
    snapshot: bool,
    problem: Option<String>,
    closed: bool,
    /// As the settings said first.
    ceiling: usize,
}

struct Waiter {
    owner: String,
    hand: oneshot::Sender<Result<Worker, Fault>>,
}

impl Pool {
    /// Starts the first workers in the background. Must be called inside a tokio runtime.
    pub fn start(settings: PoolSettings) -> std::io::Result<Self> {
        let snapshots = Snapshots::new(
            settings.snapshots.as_deref(),
            Spawner::start()?,
            settings.worker.clone(),
            settings.memory,
        );
        let state = Mutex::new(State {
            ceiling: settings.ceiling,
            ..State::default()
        });
        let pool = Self(Arc::new(Inner {
            settings,
            snapshots,
            state,
        }));
        pool.refill();
        Ok(pool)
    }

    /// Runs a program to its end. Dropping the future kills it.
    pub async fn run(
        &self,
        request: RunRequest,
        host: Arc<dyn ToolHost>,
        cancel: &CancellationToken,
    ) -> Result<String, Fault> {
        let limits = &request.limits;
        check_length(&request.source, limits)?;
        let program = Program {
            source: request.source,
            input: request.input,
            names: request.names,
            max_console: limits.console,
            max_argument: limits.argument,
            max_result: limits.result,
            max_timers: limits.timers,
            max_emitted: limits.emitted,
        };
        let (mut worker, busy) = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            accepted = self.hand_over(program, &request.owner) => accepted?,
        };
        host.begun();
        let job = Job {
            limits,
            host: host.as_ref(),
            cancel,
        };
        let Ended { outcome, clean } = run::drive(&mut worker, job).await;
        worker.runs += 1;
        worker.owner = Some(request.owner);
        drop(busy);
        if clean && worker.runs < self.0.settings.runs_per_worker {
            self.take_back(worker);
        } else {
            drop(worker);
            self.refill();
        }
        outcome
    }

    /// A worker that has accepted the program. One that died while it waited costs nothing: the
    /// program had not begun, and goes to another.
    async fn hand_over(&self, program: Program, owner: &str) -> Result<(Worker, Busy<'_>), Fault> {
        let mut last = None;
        for _ in 0..HAND_OVERS {
            let (mut worker, busy) = self.acquire(owner).await?;
            match worker.begin(program.clone()).await {
                Ok(()) => return Ok((worker, busy)),
                Err(error) => {
                    debug!(%error, "a waiting worker did not take the program");
                    last = Some(error);
                }
            }
        }
        Err(last.map_or_else(|| unavailable("no worker took the program"), run::fault_of))
    }

    /// Syntax errors of a program, without running it.
    pub async fn check(
        &self,
        source: String,
        owner: &str,
        limits: &Limits,
    ) -> Result<Vec<Fault>, Fault> {
        check_length(&source, limits)?;
        let (mut worker, busy) = self.acquire(owner).await?;
        let checked = run::check(&mut worker, source, self.0.settings.check_timeout).await;
        drop(busy);
        if checked.is_ok() {
            self.offer(worker);
        } else {
            drop(worker);
            self.refill();
        }
        checked
    }

    /// At most so many processes, instead of what the settings say.
    pub fn set_ceiling(&self, ceiling: usize) {
        self.state().ceiling = ceiling;
        self.refill();
    }

    pub fn status(&self) -> PoolStatus {
        let state = self.state();
        PoolStatus {
            engine: state.engine.clone(),
            ready: state.ready.len(),
            busy: state.busy,
            starting: state.starting,
            waiting: state.line.len(),
            pids: state.ready.iter().filter_map(Worker::pid).collect(),
            layers: state.layers.clone(),
            snapshot: state.snapshot,
            problem: state.problem.clone(),
        }
    }

    /// Kills the waiting workers and starts no more.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.ready.clear();
        state.line.clear();
    }

    /// A worker for this owner: one that stands ready, or the next that is.
    async fn acquire(&self, owner: &str) -> Result<(Worker, Busy<'_>), Fault> {
        let (hand, promise) = oneshot::channel();
        {
            let mut state = self.state();
            if let Some(worker) = state.pick(owner) {
                drop(state);
                let busy = Busy::begin(self);
                self.refill();
                return Ok((worker, busy));
            }
            if state.line.len() >= self.0.settings.queue {
                let waiting = state.line.len();
                return Err(busy(format!("{waiting} runs wait for a worker already")));
            }
            state.line.push_back(Waiter {
                owner: owner.to_owned(),
                hand,
            });
        }
        self.refill();
        match tokio::time::timeout(self.0.settings.queue_timeout, promise).await {
            // Counted by the one who has it: a worker that is handed to nobody is just dropped.
            Ok(Ok(worker)) => worker.map(|worker| (worker, Busy::begin(self))),
            Ok(Err(_)) => Err(unavailable("the pool of workers is closed")),
            Err(_) => {
                let seconds = self.0.settings.queue_timeout.as_secs();
                Err(busy(format!("no worker became free within {seconds} s")))
            }
        }
    }

    /// Waits for the next isolate of a worker that ended its run cleanly.
    fn take_back(&self, mut worker: Worker) {
        let pool = self.clone();
        self.state().starting += 1;
        tokio::spawn(async move {
            let ready = tokio::time::timeout(pool.0.settings.start_timeout, worker.ready()).await;
            pool.state().starting -= 1;
            match ready {
                Ok(Ok(())) => pool.offer(worker),
                _ => {
                    drop(worker);
                    pool.refill();
                }
            }
        });
    }

    /// Gives a ready worker to the first who may have it, or keeps it.
    fn offer(&self, mut worker: Worker) {
        let mut state = self.state();
        if state.closed {
            return;
        }
        while let Some(place) = state.line.iter().position(|w| worker.serves(&w.owner)) {
            let Some(waiter) = state.line.remove(place) else {
                break;
            };
            match waiter.hand.send(Ok(worker)) {
                Ok(()) => return,
                // That one has given up.
                Err(Ok(back)) => worker = back,
                Err(Err(_)) => return,
            }
        }
        if state.ready.len() >= self.0.settings.floor.max(1) * 2 {
            // Enough stand ready; the oldest belongs to whoever has been away for longest.
            drop(state.ready.remove(0));
        }
        state.ready.push(worker);
        let lull = state.starting + state.busy + state.line.len() == 0;
        drop(state);
        if lull {
            self.0.snapshots.make_in_background();
        }
        self.refill();
    }

    /// Starts processes until those who wait, and the floor, are covered.
    fn refill(&self) {
        let starts = {
            let mut state = self.state();
            if state.closed {
                return;
            }
            let settings = &self.0.settings;
            let fresh = state.ready.iter().filter(|w| w.owner.is_none()).count();
            let wanted = (state.line.len() + settings.floor).saturating_sub(fresh + state.starting);
            let total = state.ready.len() + state.busy + state.starting;
            let mut room = state.ceiling.saturating_sub(total);
            // Somebody waits while others' workers stand idle: theirs give way.
            while room < wanted && !state.line.is_empty() {
                let Some(place) = state.ready.iter().position(|w| w.owner.is_some()) else {
                    break;
                };
                drop(state.ready.remove(place));
                room += 1;
            }
            let starts = wanted.min(room);
            state.starting += starts;
            starts
        };
        for _ in 0..starts {
            tokio::spawn(self.clone().start_one());
        }
    }

    async fn start_one(self) {
        let settings = &self.0.settings;
        let began = Instant::now();
        let started = self.0.snapshots.worker(settings.start_timeout).await;
        let mut state = self.state();
        state.starting -= 1;
        match started {
            Ok(worker) => {
                info!(worker = worker.pid(), took = ?began.elapsed(), "worker ready");
                state.engine = Some(worker.engine.clone());
                state.layers.clone_from(&worker.layers);
                state.snapshot = worker.snapshot;
                state.problem = None;
                drop(state);
                self.offer(worker);
            }
            Err(error) => {
                warn!(%error, "cannot start a worker");
                let fault = no_worker(&error);
                state.problem = Some(error.to_string());
                // Nobody waits for a start that will fail again; the next run tries anew.
                for waiter in state.line.drain(..) {
                    drop(waiter.hand.send(Err(fault.clone())));
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The owner's own worker before a fresh one; dead ones are thrown out on the way.
    fn pick(&mut self, owner: &str) -> Option<Worker> {
        loop {
            let place = self
                .ready
                .iter()
                .position(|w| w.owner.as_deref() == Some(owner))
                .or_else(|| self.ready.iter().position(|w| w.owner.is_none()))?;
            let mut worker = self.ready.remove(place);
            if !worker.is_dead() {
                return Some(worker);
            }
        }
    }
}

impl Worker {
    fn serves(&self, owner: &str) -> bool {
        self.owner.as_deref().is_none_or(|mine| mine == owner)
    }
}

/// Counts a run as busy until dropped, however it ends.
struct Busy<'a>(&'a Pool);

impl<'a> Busy<'a> {
    fn begin(pool: &'a Pool) -> Self {
        pool.state().busy += 1;
        Self(pool)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.state().busy -= 1;
        self.0.refill();
    }
}

/// Whoever runs or checks a program says the same of one that is too long.
fn check_length(source: &str, limits: &Limits) -> Result<(), Fault> {
    let (length, most) = (source.len(), limits.source);
    if length <= most {
        return Ok(());
    }
    Err(limits::reached(
        format!("the program is {length} bytes, over the limit of {most}"),
        "pass data as input (--input, input) or read it with a tool",
    ))
}

fn cancelled() -> Fault {
    Fault::new(Kind::Cancelled, "the run was cancelled")
}

fn busy(message: String) -> Fault {
    Fault::new(Kind::Busy, message).hint("try again in a second")
}

fn unavailable(message: impl Into<String>) -> Fault {
    Fault::new(Kind::Unavailable, message)
}

fn no_worker(error: &WorkerError) -> Fault {
    unavailable(error.to_string()).hint("`mux-worker` must stand beside `muxd`; see `mux logs`")
}
