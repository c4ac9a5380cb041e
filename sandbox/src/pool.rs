//! The pool of workers, whose isolates are built before a run needs them.
//!
//! Invariant: a worker returns to the pool only after a clean run, and then serves only the same owner. Every other
//! worker is killed and replaced in the background.

mod demand_peak;
mod faults;
mod settings;
mod state;

use std::{
    pin::pin,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};

use mux_wire::{Fault, FaultKind, Program, ProgramFindings, ToWorker};
use tokio::{
    sync::{Notify, oneshot},
    time::sleep,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

pub use self::settings::{PoolLimits, PoolSettings, PoolStatus, RunRequest};
use self::{
    faults::{busy_fault, queue_full_fault, unavailable_fault, worker_start_fault},
    state::{AssignedWorker, PoolState, QueuedRun},
};
use crate::{
    ProgramLimits, ToolHost,
    fair_queue::QueueKey,
    limits,
    run::{self, RunEnvironment},
    snapshot_store::SnapshotStore,
    worker_process::{ProcessSpawner, Worker},
};

/// How many ready workers may turn out to be dead before a run fails: enough that a few killed workers do not matter,
/// and few enough that a run does not retry forever.
const MAX_DEAD_WORKERS_PER_RUN: usize = 20;
/// How often a program is restarted if its worker was killed before the program had any effect.
const MAX_RUN_RESTARTS: usize = 1;

#[derive(Clone)]
pub struct Pool(Arc<PoolInner>);

struct PoolInner {
    settings: PoolSettings,
    snapshots: SnapshotStore,
    state: Mutex<PoolState>,
    /// Notified when a worker is ready.
    offered: Notify,
}

impl Pool {
    /// Starts the first workers in the background. Must be called inside a tokio runtime.
    pub fn start(settings: PoolSettings) -> std::io::Result<Self> {
        let snapshots = SnapshotStore::new(
            settings.snapshots.as_deref(),
            ProcessSpawner::start()?,
            settings.worker.clone(),
        );
        let state = PoolState::new(settings.bounds, settings.idle);
        let pool = Self(Arc::new(PoolInner {
            settings,
            snapshots,
            state: Mutex::new(state),
            offered: Notify::new(),
        }));
        pool.start_missing_workers();
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
        limits::check_source_length(&request.source, limits)?;
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
        let mut left = MAX_RUN_RESTARTS;
        loop {
            let AssignedWorker { mut worker, guard } = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(run_cancelled_fault()),
                accepted = self.start_on_worker(&program, &request.turn) => accepted?,
            };
            if left == MAX_RUN_RESTARTS {
                host.run_started();
            }
            let job = RunEnvironment {
                limits,
                host: host.as_ref(),
                cancel,
            };
            let ended = run::drive_run(&mut worker, job).await;
            worker.runs += 1;
            worker.owner = Some(Arc::clone(&request.turn.owner));
            let is_worth_keeping = ended.clean
                && worker.runs < self.0.settings.runs_per_worker
                && (worker.engine.snapshot || !self.0.snapshots.is_usable());
            // Done before `guard` is dropped: the next run in the queue then gets this worker, not a new one.
            if is_worth_keeping {
                self.recycle_worker(worker);
            } else {
                drop(worker);
            }
            drop(guard);
            if !ended.can_begin_again || left == 0 {
                return ended.outcome;
            }
            left -= 1;
            info!("a worker was killed before its program had any effect, restarting the program");
        }
    }

    /// A worker that has accepted the program. If a ready worker turns out to be dead, the program, which has not
    /// started, is given to another.
    async fn start_on_worker(
        &self,
        program: &ToWorker,
        turn: &QueueKey,
    ) -> Result<AssignedWorker, Fault> {
        let mut last = None;
        for _ in 0..MAX_DEAD_WORKERS_PER_RUN {
            let mut handed = self.acquire(turn).await?;
            match handed.worker.start_program(program).await {
                Ok(()) => return Ok(handed),
                Err(error) => {
                    debug!(%error, "a ready worker did not accept the program");
                    last = Some(error);
                }
            }
        }
        Err(last.map_or_else(
            || unavailable_fault("no worker took the program"),
            run::worker_fault,
        ))
    }

    /// Checks a program without running it.
    pub async fn check(
        &self,
        source: String,
        turn: &QueueKey,
        limits: &ProgramLimits,
    ) -> Result<ProgramFindings, Fault> {
        limits::check_source_length(&source, limits)?;
        let AssignedWorker { mut worker, guard } = self.acquire(turn).await?;
        let checked = run::check_program(&mut worker, source, self.0.settings.check_timeout).await;
        // A worker that has parsed a program of one owner is not used for another.
        worker.owner = Some(Arc::clone(&turn.owner));
        if checked.is_ok() {
            self.offer_worker(worker);
        } else {
            drop(worker);
        }
        drop(guard);
        checked
    }

    /// Resolves when a worker is ready.
    pub async fn wait_until_ready(&self) {
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
    pub fn set_bounds(&self, bounds: PoolLimits) {
        {
            let mut state = self.state();
            state.bounds = bounds;
            state.drop_workers_with_old_limits();
        }
        self.start_missing_workers();
    }

    pub fn status(&self) -> PoolStatus {
        let state = self.state();
        PoolStatus {
            ready: state.ready_workers().len(),
            busy: state.busy_count(),
            starting: state.starting + state.rebuilding,
            waiting: state.queue_len(),
            pids: state.ready_workers().filter_map(Worker::pid).collect(),
            ..state.known.clone()
        }
    }

    /// Kills the ready workers and starts no more.
    pub fn close(&self) {
        self.state().close();
    }

    /// A worker for this owner: a ready one, or else the next that becomes free.
    async fn acquire(&self, turn: &QueueKey) -> Result<AssignedWorker, Fault> {
        let (sender, promise) = oneshot::channel();
        let owner = Arc::clone(&turn.owner);
        let picked = {
            let mut state = self.state();
            let picked = state.take_ready_worker(&owner);
            if let Some(worker) = picked {
                let guard = state.mark_busy(&owner, self);
                Some(AssignedWorker { worker, guard })
            } else {
                let waiter = QueuedRun { owner, sender };
                if let Err(full) = state.enqueue(turn, waiter) {
                    return Err(queue_full_fault(&full, &state));
                }
                None
            }
        };
        self.start_missing_workers();
        if let Some(handed) = picked {
            return Ok(handed);
        }
        let within = self.0.settings.queue_timeout;
        match tokio::time::timeout(within, promise).await {
            Ok(Ok(handed)) => handed,
            Ok(Err(_)) => Err(unavailable_fault("the pool of workers is closed")),
            Err(_) => {
                let seconds = within.as_secs();
                let message = format!("no worker became free within {seconds} s");
                Err(busy_fault(message, self.state().retry_after()))
            }
        }
    }

    /// Returns a worker to the pool after a clean run, once its next isolate is ready.
    fn recycle_worker(&self, mut worker: Worker) {
        let pool = self.clone();
        self.state().rebuilding += 1;
        tokio::spawn(async move {
            let ready =
                tokio::time::timeout(pool.0.settings.start_timeout, worker.wait_until_ready())
                    .await;
            pool.state().rebuilding -= 1;
            if let Ok(Ok(())) = ready {
                pool.offer_worker(worker);
            } else {
                drop(worker);
                pool.start_missing_workers();
            }
        });
    }

    /// Gives a ready worker to the next eligible waiter, or keeps it.
    fn offer_worker(&self, worker: Worker) {
        let (lull, sweep) = {
            let mut state = self.state();
            state.assign_or_keep(worker, self);
            let lull = state.starting + state.rebuilding + state.queue_len() == 0 && !state.closed;
            let owned = state.ready_workers().any(|worker| worker.owner.is_some());
            let sweep = owned && !std::mem::replace(&mut state.sweeping, owned);
            (lull, sweep)
        };
        self.0.offered.notify_waiters();
        if lull {
            self.make_snapshot_in_background();
        }
        if sweep {
            tokio::spawn(sweep_idle_workers(Arc::downgrade(&self.0)));
        }
        self.start_missing_workers();
    }

    /// Makes the snapshot if it is missing, then replaces the ready workers that started without it, as far as the
    /// ceiling allows.
    fn make_snapshot_in_background(&self) {
        if let Some(making) = self.0.snapshots.make_missing_snapshot() {
            let pool = Arc::downgrade(&self.0);
            tokio::spawn(async move {
                making.await;
                if let Some(pool) = pool.upgrade() {
                    Pool(pool).start_missing_workers();
                }
            });
        }
    }

    /// Starts as many processes as the waiters and the floor need.
    fn start_missing_workers(&self) {
        let snapshot = self.0.snapshots.is_usable();
        let starts = self.state().reserve_starts(self.0.settings.floor, snapshot);
        for _ in 0..starts {
            tokio::spawn(self.clone().start_worker());
        }
    }

    async fn start_worker(self) {
        let began = Instant::now();
        let memory = self.state().bounds.memory;
        let within = self.0.settings.start_timeout;
        let started = self.0.snapshots.start_worker(memory, within).await;
        match started {
            Ok(worker) => {
                info!(worker = worker.pid(), took = ?began.elapsed(), "worker ready");
                self.state().record_start(&worker);
                tokio::spawn(reap(Arc::downgrade(&self.0), worker.end_token()));
                self.offer_worker(worker);
            }
            Err(error) => {
                warn!(%error, "cannot start a worker");
                let retry = {
                    let mut state = self.state();
                    let retry = state.record_failed_start(&error);
                    if retry.is_none() {
                        // The next start would fail too: all waiters get the error, and the next run tries again.
                        state.fail_all_waiters(&worker_start_fault(&error));
                    }
                    retry
                };
                if let Some(pause) = retry {
                    sleep(pause).await;
                    self.state().starting -= 1;
                    self.start_missing_workers();
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.0.state()
    }
}

impl PoolInner {
    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock()
    }
}

/// Waits for the end of a worker and removes it. A worker that did not live long is replaced only when a run needs one.
/// Otherwise the pool would start failing workers forever.
async fn reap(pool: Weak<PoolInner>, over: CancellationToken) {
    const MIN_WORKER_LIFETIME: Duration = Duration::from_secs(1);
    let began = Instant::now();
    over.cancelled().await;
    if let Some(pool) = pool.upgrade() {
        pool.state().remove_dead_workers();
        if began.elapsed() > MIN_WORKER_LIFETIME {
            Pool(pool).start_missing_workers();
        }
    }
}

/// Periodically ends idle workers that belong to an owner, until none is left.
async fn sweep_idle_workers(pool: Weak<PoolInner>) {
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
            state.sweeping = state.end_idle_workers();
            state.sweeping
        };
        Pool(pool).start_missing_workers();
        if !some_left {
            return;
        }
    }
}

/// Counts a worker as busy until dropped. Must not be dropped while the state is locked: [`Busy::cancel`] is for that
/// case.
struct BusyGuard {
    /// `None` once the worker is no longer counted.
    pool: Option<Pool>,
    owner: Arc<str>,
    since: Instant,
}

impl BusyGuard {
    fn of(pool: &Pool, owner: &Arc<str>) -> Self {
        Self {
            pool: Some(pool.clone()),
            owner: Arc::clone(owner),
            since: Instant::now(),
        }
    }

    /// Disarms the guard and returns the owner. The caller must update the count.
    fn cancel(mut self) -> Arc<str> {
        self.pool = None;
        Arc::clone(&self.owner)
    }
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.state()
                .mark_idle(&self.owner, Some(self.since.elapsed()));
            pool.start_missing_workers();
        }
    }
}

fn run_cancelled_fault() -> Fault {
    Fault::new(FaultKind::Cancelled, "the run was cancelled")
}
