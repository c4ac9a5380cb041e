//! The pool of workers, whose isolates are built before a run needs them.
//!
//! Invariant: a worker returns to the pool only after a clean run, and then serves only the same owner; every other
//! worker is killed and replaced in the background.

mod contract;
mod load;
mod refusals;
mod state;

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use mux_wire::{Fault, Kind, Program, ToWorker};
use tokio::{
    sync::{Notify, oneshot},
    time::sleep,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

pub use self::contract::{Bounds, PoolSettings, PoolStatus, RunRequest};
use self::{
    refusals::{busy, no_worker, turned_away, unavailable},
    state::{Handed, State, Waiter},
};
use crate::{
    Limits, ToolHost,
    fair::Turn,
    limits,
    run::{self, Job},
    snapshot::Snapshots,
    worker_process::{Checked, Spawner, Worker},
};

/// How many ready workers may turn out to be dead before a run fails: enough that a few killed workers do not matter,
/// and few enough that a run does not retry forever.
const HAND_OVERS: usize = 20;
/// How often a program is restarted whose worker was killed before the program had any effect.
const NEW_BEGINNINGS: usize = 1;

#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    settings: PoolSettings,
    snapshots: Snapshots,
    state: Mutex<State>,
    /// Notified when a worker is ready.
    offered: Notify,
}

impl Pool {
    /// Starts the first workers in the background. Must be called inside a tokio runtime.
    pub fn start(settings: PoolSettings) -> std::io::Result<Self> {
        let snapshots = Snapshots::new(
            settings.snapshots.as_deref(),
            Spawner::start()?,
            settings.worker.clone(),
        );
        let state = State::new(settings.bounds, settings.idle);
        let pool = Self(Arc::new(Inner {
            settings,
            snapshots,
            state: Mutex::new(state),
            offered: Notify::new(),
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
        limits::fitting_source(&request.source, limits)?;
        let program = ToWorker::Run(Program {
            source: request.source,
            input: request.input,
            names: request.names,
            max_console: limits.console,
            max_argument: limits.argument,
            max_result: limits.result,
            max_timers: limits.timers,
            max_emitted: limits.emitted,
        });
        let mut left = NEW_BEGINNINGS;
        loop {
            let Handed { mut worker, place } = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(cancelled()),
                accepted = self.hand_over(&program, &request.turn) => accepted?,
            };
            if left == NEW_BEGINNINGS {
                host.begun();
            }
            let job = Job {
                limits,
                host: host.as_ref(),
                cancel,
            };
            let ended = run::drive(&mut worker, job).await;
            worker.runs += 1;
            worker.owner = Some(request.turn.owner.clone());
            // Before `place` is dropped, so that the next run in the queue gets this worker and not a new one.
            if ended.clean && worker.runs < self.0.settings.runs_per_worker {
                self.take_back(worker);
            } else {
                drop(worker);
            }
            drop(place);
            if !ended.can_begin_again || left == 0 {
                return ended.outcome;
            }
            left -= 1;
            info!("a worker was killed before its program had any effect, restarting the program");
        }
    }

    /// A worker that has accepted the program. If a ready worker turns out to be dead, the program, which has not
    /// started, is given to another.
    async fn hand_over(&self, program: &ToWorker, turn: &Turn) -> Result<Handed, Fault> {
        let mut last = None;
        for _ in 0..HAND_OVERS {
            let mut handed = self.acquire(turn).await?;
            match handed.worker.begin(program).await {
                Ok(()) => return Ok(handed),
                Err(error) => {
                    debug!(%error, "a ready worker did not accept the program");
                    last = Some(error);
                }
            }
        }
        Err(last.map_or_else(|| unavailable("no worker took the program"), run::fault_of))
    }

    /// Checks a program without running it.
    pub async fn check(
        &self,
        source: String,
        turn: &Turn,
        limits: &Limits,
    ) -> Result<Checked, Fault> {
        limits::fitting_source(&source, limits)?;
        let Handed { mut worker, place } = self.acquire(turn).await?;
        let checked = run::check(&mut worker, source, self.0.settings.check_timeout).await;
        // A worker that has parsed a program of one owner is not used for another.
        worker.owner = Some(turn.owner.clone());
        if checked.is_ok() {
            self.offer(worker);
        } else {
            drop(worker);
        }
        drop(place);
        checked
    }

    /// Resolves when a worker is ready.
    pub async fn warm(&self) {
        loop {
            let mut offered = pin!(self.0.offered.notified());
            offered.as_mut().enable();
            if self.status().ready > 0 {
                return;
            }
            offered.await;
        }
    }

    /// Applies to workers that are started from now on. Busy workers keep their bounds until their runs end.
    pub fn set_bounds(&self, bounds: Bounds) {
        {
            let mut state = self.state();
            state.bounds = bounds;
            state.drop_outdated();
        }
        self.refill();
    }

    pub fn status(&self) -> PoolStatus {
        let state = self.state();
        PoolStatus {
            engine: state.engine.clone(),
            engine_version: state.engine_version.clone(),
            ready: state.ready().len(),
            busy: state.busy(),
            starting: state.starting + state.rebuilding,
            waiting: state.waiting(),
            pids: state.ready().filter_map(Worker::pid).collect(),
            layers: state.layers.clone(),
            snapshot: state.snapshot,
            started: state.counts.started,
            failed: state.counts.failed,
            ended: state.counts.ended,
            problem: state.problem.clone(),
        }
    }

    /// Kills the ready workers and starts no more.
    pub fn close(&self) {
        self.state().close();
    }

    /// A worker for this owner: a ready one, or else the next that becomes free.
    async fn acquire(&self, turn: &Turn) -> Result<Handed, Fault> {
        let (hand, promise) = oneshot::channel();
        let owner = turn.owner.clone();
        let picked = {
            let mut state = self.state();
            let picked = state.pick(&owner);
            match picked {
                Some(worker) => {
                    let place = state.begin(&owner, self);
                    Some(Handed { worker, place })
                }
                None => {
                    let waiter = Waiter { owner, hand };
                    if let Err(full) = state.enqueue(turn, waiter) {
                        return Err(turned_away(&full, &state));
                    }
                    None
                }
            }
        };
        self.refill();
        if let Some(handed) = picked {
            return Ok(handed);
        }
        let within = self.0.settings.queue_timeout;
        match tokio::time::timeout(within, promise).await {
            Ok(Ok(handed)) => handed,
            Ok(Err(_)) => Err(unavailable("the pool of workers is closed")),
            Err(_) => {
                let seconds = within.as_secs();
                let message = format!("no worker became free within {seconds} s");
                Err(busy(message, self.state().retry_after()))
            }
        }
    }

    /// Returns a worker to the pool after a clean run, once its next isolate is ready.
    fn take_back(&self, mut worker: Worker) {
        let pool = self.clone();
        self.state().rebuilding += 1;
        tokio::spawn(async move {
            let ready = tokio::time::timeout(pool.0.settings.start_timeout, worker.ready()).await;
            pool.state().rebuilding -= 1;
            match ready {
                Ok(Ok(())) => pool.offer(worker),
                _ => {
                    drop(worker);
                    pool.refill();
                }
            }
        });
    }

    /// Gives a ready worker to the next eligible waiter, or keeps it.
    fn offer(&self, worker: Worker) {
        let (lull, sweep) = {
            let mut state = self.state();
            state.offer(worker, self);
            let lull = state.starting + state.rebuilding + state.waiting() == 0 && !state.closed;
            let owned = state.ready().any(|worker| worker.owner.is_some());
            let sweep = owned && !std::mem::replace(&mut state.sweeping, owned);
            (lull, sweep)
        };
        self.0.offered.notify_waiters();
        if lull {
            self.0.snapshots.make_in_background();
        }
        if sweep {
            tokio::spawn(sweep_until_clean(Arc::downgrade(&self.0)));
        }
        self.refill();
    }

    /// Starts as many processes as the waiters and the floor need.
    fn refill(&self) {
        let starts = self.state().starts(self.0.settings.floor);
        for _ in 0..starts {
            tokio::spawn(self.clone().start_one());
        }
    }

    async fn start_one(self) {
        let began = Instant::now();
        let memory = self.state().bounds.memory;
        let within = self.0.settings.start_timeout;
        let started = self.0.snapshots.worker(memory, within).await;
        match started {
            Ok(worker) => {
                info!(worker = worker.pid(), took = ?began.elapsed(), "worker ready");
                self.state().started(&worker);
                tokio::spawn(bury(Arc::downgrade(&self.0), worker.over()));
                self.offer(worker);
            }
            Err(error) => {
                warn!(%error, "cannot start a worker");
                let retry = {
                    let mut state = self.state();
                    let retry = state.start_failed(&error);
                    if retry.is_none() {
                        // The next start would fail too: all waiters get the error, and the next run tries again.
                        state.turn_all_away(&no_worker(&error));
                    }
                    retry
                };
                if let Some(pause) = retry {
                    sleep(pause).await;
                    self.state().starting -= 1;
                    self.refill();
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state()
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the end of a worker and removes it. A worker that did not live long is replaced only when a run needs one,
/// so that the pool does not start failing workers forever.
async fn bury(pool: Weak<Inner>, over: CancellationToken) {
    const LONG: Duration = Duration::from_secs(1);
    let began = Instant::now();
    over.cancelled().await;
    if let Some(pool) = pool.upgrade() {
        pool.state().bury();
        if began.elapsed() > LONG {
            Pool(pool).refill();
        }
    }
}

/// Periodically ends idle workers that belong to an owner, until none is left.
async fn sweep_until_clean(pool: Weak<Inner>) {
    let Some(idle) = pool.upgrade().map(|pool| pool.settings.idle) else {
        return;
    };
    loop {
        sleep(idle).await;
        let Some(pool) = pool.upgrade() else {
            return;
        };
        let some_left = {
            let mut state = pool.state();
            state.sweeping = state.sweep();
            state.sweeping
        };
        Pool(pool).refill();
        if !some_left {
            return;
        }
    }
}

/// Counts a worker as busy until dropped. Must not be dropped while the state is locked: [`Busy::cancel`] is for that
/// case.
struct Busy {
    /// `None` once the worker is no longer counted.
    pool: Option<Pool>,
    owner: String,
    since: Instant,
}

impl Busy {
    fn of(pool: &Pool, owner: &str) -> Self {
        Self {
            pool: Some(pool.clone()),
            owner: owner.to_owned(),
            since: Instant::now(),
        }
    }

    /// Disarms the guard and returns the owner. The caller has to update the count.
    fn cancel(mut self) -> String {
        self.pool = None;
        std::mem::take(&mut self.owner)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.state().end(&self.owner, Some(self.since.elapsed()));
            pool.refill();
        }
    }
}

fn cancelled() -> Fault {
    Fault::new(Kind::Cancelled, "the run was cancelled")
}
