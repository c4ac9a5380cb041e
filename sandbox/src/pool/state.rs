//! The state of the pool, behind one lock: waiting runs, ready workers, the number of busy ones, and how many more to
//! start.
//!
//! Invariant: the counts add up to the existing processes, and never exceed the ceiling.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use mux_wire::Fault;
use tokio::sync::oneshot;

use super::{BusyGuard, Pool, PoolLimits, PoolStatus, demand_peak::DemandPeak};
use crate::{
    fair_queue::{FairQueue, QueueKey},
    worker_process::{DeathCause, Worker, WorkerError},
};

/// One in this many workers is reserved: a single owner never gets all of them.
const RESERVED_WORKER_DIVISOR: usize = 4;

/// Starts that fail in a row are retried until there were this many of them and, if the processes were killed, for this
/// long. Then all waiting runs fail.
const MAX_FAILED_STARTS: u32 = 4;
const KILLED_START_RETRY_TIMEOUT: Duration = Duration::from_secs(5);
/// The delay after a failed start, multiplied by the number of failures in a row up to the maximum below.
const START_RETRY_DELAY: Duration = Duration::from_millis(20);
const MAX_START_RETRY_DELAY: Duration = Duration::from_millis(500);

pub(super) struct PoolState {
    /// The worker that was returned last is last.
    ready: VecDeque<Worker>,
    /// The number of busy workers by owner.
    busy: HashMap<Arc<str>, usize>,
    /// Processes that are being started.
    pub(super) starting: usize,
    /// Workers that are building their next isolate.
    pub(super) rebuilding: usize,
    queue: FairQueue<QueuedRun>,
    load: DemandPeak,
    pub(super) bounds: PoolLimits,
    /// Known from starts and ends of processes. The current numbers of workers and runs are not counted in it.
    pub(super) known: PoolStatus,
    /// Failed starts since the last successful start, and the time of the first of them.
    failed_starts: u32,
    failing_since: Option<Instant>,
    pub(super) closed: bool,
    /// Whether a task that ends idle workers is running.
    pub(super) sweeping: bool,
    /// The moving average of how long a run has a worker, in seconds.
    usual: f64,
}

/// A run that waits for a worker. The worker counts as busy as soon as it is sent to this run.
pub(super) struct QueuedRun {
    pub(super) owner: Arc<str>,
    pub(super) sender: oneshot::Sender<Result<AssignedWorker, Fault>>,
}

/// A worker that is assigned to a run, with the guard that counts it as busy.
pub(super) struct AssignedWorker {
    pub(super) worker: Worker,
    pub(super) guard: BusyGuard,
}

/// Why a run cannot be queued.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum QueueFull {
    Line { waiting: usize },
    Owner { waiting: usize },
}

impl PoolState {
    pub(super) fn new(bounds: PoolLimits, window: Duration) -> Self {
        Self {
            ready: VecDeque::new(),
            busy: HashMap::new(),
            starting: 0,
            rebuilding: 0,
            queue: FairQueue::default(),
            load: DemandPeak::new(window),
            bounds,
            known: PoolStatus::default(),
            failed_starts: 0,
            failing_since: None,
            closed: false,
            sweeping: false,
            usual: 0.0,
        }
    }

    pub(super) fn ready_workers(&self) -> impl ExactSizeIterator<Item = &Worker> {
        self.ready.iter()
    }

    pub(super) fn busy_count(&self) -> usize {
        self.busy.values().sum()
    }

    pub(super) fn queue_len(&self) -> usize {
        self.queue.len()
    }

    /// Takes a ready worker for this owner: one of the owner's before a fresh one. Dead workers are removed on the way.
    pub(super) fn take_ready_worker(&mut self, owner: &str) -> Option<Worker> {
        if !self.is_below_owner_limit(owner) {
            return None;
        }
        loop {
            let own = |w: &Worker| w.owner.as_deref() == Some(owner);
            let place = self
                .ready
                .iter()
                .rposition(own)
                .or_else(|| self.ready.iter().position(|w| w.owner.is_none()))?;
            let mut worker = self.ready.remove(place)?;
            if !worker.is_dead() {
                return Some(worker);
            }
        }
    }

    /// Queues a run, unless the queue or the owner's share of it is full.
    pub(super) fn enqueue(&mut self, turn: &QueueKey, waiter: QueuedRun) -> Result<(), QueueFull> {
        let most = self.bounds.queue;
        if self.queue.len() >= most || self.queue.len_of_owner(&turn.owner) >= most.div_ceil(2) {
            // Some waiters may have given up meanwhile.
            self.queue.retain(|waiter| !waiter.sender.is_closed());
        }
        let waiting = self.queue.len();
        let own = self.queue.len_of_owner(&turn.owner);
        if waiting >= most {
            return Err(QueueFull::Line { waiting });
        }
        if own >= most.div_ceil(2) {
            return Err(QueueFull::Owner { waiting: own });
        }
        self.queue.push(turn, waiter);
        self.load
            .record_demand(self.busy_count() + self.queue.len());
        Ok(())
    }

    /// Gives the worker to the next eligible waiter, or keeps it.
    pub(super) fn assign_or_keep(&mut self, mut worker: Worker, pool: &Pool) {
        if self.closed || worker.memory() != self.bounds.memory || self.blocks_next_waiter(&worker)
        {
            return;
        }
        while let Some(waiter) = self.pop_waiter_for(&worker) {
            let guard = self.mark_busy(&waiter.owner, pool);
            match waiter.sender.send(Ok(AssignedWorker { worker, guard })) {
                Ok(()) => return,
                // The waiter has given up.
                Err(Ok(back)) => {
                    self.mark_idle(&back.guard.cancel(), None);
                    worker = back.worker;
                }
                Err(Err(_)) => return,
            }
        }
        if worker.engine.snapshot && worker.owner.is_none() {
            let is_superseded = |w: &Worker| w.owner.is_none() && !w.engine.snapshot;
            if let Some(place) = self.ready.iter().position(is_superseded) {
                drop(self.ready.remove(place));
            }
        }
        self.ready.push_back(worker);
    }

    /// Returns true if this worker must end to make room for a fresh one: an owner that this worker cannot serve has
    /// its turn, and the pool is full.
    fn blocks_next_waiter(&self, worker: &Worker) -> bool {
        let next = self
            .queue
            .next_owner(|owner| self.is_below_owner_limit(owner));
        next.is_some_and(|owner| !worker.can_serve(owner))
            && self.starting == 0
            && self.process_count() + 1 >= self.bounds.ceiling
    }

    fn pop_waiter_for(&mut self, worker: &Worker) -> Option<QueuedRun> {
        let busy = &self.busy;
        let most = self.max_workers_per_owner();
        let may = |owner: &str| busy.get(owner).is_none_or(|busy| *busy < most);
        self.queue
            .pop(|owner| worker.can_serve(owner) && may(owner))
    }

    /// The number of processes to start now for the waiters and the floor. These processes count as starting from now
    /// on. If there is a snapshot, workers that started without one do not count for the floor:
    /// [`Self::assign_or_keep`] ends them as others become ready.
    pub(super) fn reserve_starts(&mut self, floor: usize, snapshot: bool) -> usize {
        if self.closed {
            return 0;
        }
        let most = self.max_workers_per_owner();
        let waiting: usize = self
            .queue
            .owners()
            .map(|(owner, waiting)| {
                let busy = self.busy.get(owner).copied().unwrap_or(0);
                waiting.min(most.saturating_sub(busy))
            })
            .sum();
        let is_fresh = |w: &&Worker| w.owner.is_none() && (w.engine.snapshot || !snapshot);
        let fresh = self.ready.iter().filter(is_fresh).count();
        // Workers that are building their next isolate will also serve a waiter.
        let coming = fresh + self.starting + self.rebuilding.min(waiting);
        let wanted = (waiting + floor).saturating_sub(coming);
        let mut room = self.bounds.ceiling.saturating_sub(self.process_count());
        // Runs wait while workers of other owners are idle: the worker that was idle longest is ended.
        while room < wanted.min(waiting) {
            let Some(place) = self.ready.iter().position(|w| w.owner.is_some()) else {
                break;
            };
            drop(self.ready.remove(place));
            room += 1;
        }
        let starts = wanted.min(room);
        self.starting += starts;
        starts
    }

    /// Counts an ended process and removes the ready workers that are dead.
    pub(super) fn remove_dead_workers(&mut self) {
        self.known.ended += 1;
        self.ready.retain_mut(|worker| !worker.is_dead());
    }

    /// Ends the workers that were not needed recently. Returns whether owned workers are left, which may become
    /// superfluous later.
    pub(super) fn end_idle_workers(&mut self) -> bool {
        let needed = self.load.peak().saturating_sub(self.busy_count());
        let mut spare = self.owned_count().saturating_sub(needed);
        self.ready.retain(|worker| {
            let goes = spare > 0 && worker.owner.is_some();
            spare -= usize::from(goes);
            !goes
        });
        self.owned_count() > 0
    }

    /// Counts one more worker of this owner as busy until the returned guard is dropped.
    pub(super) fn mark_busy(&mut self, owner: &Arc<str>, pool: &Pool) -> BusyGuard {
        *self.busy.entry(Arc::clone(owner)).or_default() += 1;
        self.load
            .record_demand(self.busy_count() + self.queue.len());
        BusyGuard::of(pool, owner)
    }

    /// Counts one busy worker of this owner less. `took` is how long a run had the worker.
    pub(super) fn mark_idle(&mut self, owner: &str, took: Option<Duration>) {
        if let Some(busy) = self.busy.get_mut(owner) {
            *busy -= 1;
            if *busy == 0 {
                self.busy.remove(owner);
            }
        }
        if let Some(took) = took {
            // A moving average over about ten runs.
            self.usual += (took.as_secs_f64() - self.usual) / 10.0;
        }
    }

    /// The estimated time until a refused run can be queued.
    pub(super) fn retry_after(&self) -> Duration {
        const MIN_RETRY_AFTER_SECONDS: f64 = 0.1;
        const MAX_RETRY_AFTER_SECONDS: f64 = 60.0;
        let turns = self.queue.len() as f64 / self.bounds.ceiling.max(1) as f64;
        Duration::from_secs_f64(
            (turns * self.usual).clamp(MIN_RETRY_AFTER_SECONDS, MAX_RETRY_AFTER_SECONDS),
        )
    }

    /// Records a started worker and clears the failures before it.
    pub(super) fn record_start(&mut self, worker: &Worker) {
        self.starting -= 1;
        self.failed_starts = 0;
        self.failing_since = None;
        let engine = worker.engine.clone();
        self.known = PoolStatus {
            engine: Some(engine.name),
            engine_version: engine.version,
            layers: engine.layers,
            snapshot: engine.snapshot,
            started: self.known.started + 1,
            problem: None,
            ..std::mem::take(&mut self.known)
        };
    }

    /// Records a failed start. Returns the delay before a retry, which counts as starting until then, or `None` if a
    /// retry would fail too.
    pub(super) fn record_failed_start(&mut self, error: &WorkerError) -> Option<Duration> {
        self.known.failed += 1;
        self.failed_starts += 1;
        self.known.problem = Some(error.to_string());
        let certain = matches!(
            error,
            WorkerError::Start { .. } | WorkerError::OtherBuild(_)
        );
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        // A process that was killed from outside says nothing about the next one.
        let killed =
            matches!(error, WorkerError::Ended(death) if death.cause == DeathCause::Killed);
        let hopeless = self.failed_starts >= MAX_FAILED_STARTS
            && (!killed || since.elapsed() >= KILLED_START_RETRY_TIMEOUT);
        if certain || hopeless {
            self.starting -= 1;
            return None;
        }
        Some((START_RETRY_DELAY * self.failed_starts).min(MAX_START_RETRY_DELAY))
    }

    /// Fails all waiters with this error, because no worker can be started.
    pub(super) fn fail_all_waiters(&mut self, fault: &Fault) {
        for waiter in self.queue.take_all() {
            drop(waiter.sender.send(Err(fault.clone())));
        }
    }

    /// Kills the ready workers and drops the queue. Busy workers end with their runs.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.ready.clear();
        drop(self.queue.take_all());
    }

    /// Ends the ready workers that were started with other memory limits.
    pub(super) fn drop_workers_with_old_limits(&mut self) {
        let memory = self.bounds.memory;
        self.ready.retain(|worker| worker.memory() == memory);
    }

    fn process_count(&self) -> usize {
        self.ready.len() + self.busy_count() + self.starting + self.rebuilding
    }

    fn owned_count(&self) -> usize {
        self.ready.iter().filter(|w| w.owner.is_some()).count()
    }

    fn is_below_owner_limit(&self, owner: &str) -> bool {
        let busy = self.busy.get(owner).copied().unwrap_or(0);
        busy < self.max_workers_per_owner()
    }

    /// The maximum number of workers that one owner may have at a time. A pool of less than four reserves none.
    fn max_workers_per_owner(&self) -> usize {
        let ceiling = self.bounds.ceiling;
        ceiling - ceiling / RESERVED_WORKER_DIVISOR
    }
}

impl Worker {
    fn can_serve(&self, owner: &str) -> bool {
        self.owner.as_deref().is_none_or(|mine| mine == owner)
    }
}
