//! The state of the pool, behind one lock: waiting runs, ready workers, the number of busy ones, and how many more to
//! start.
//!
//! Invariant: the counts add up to the existing processes, and never exceed the ceiling.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use mux_wire::Fault;
use tokio::sync::oneshot;

use super::{Bounds, Busy, Pool, load::Load};
use crate::{
    fair::{Line, Turn},
    worker_process::{Cause, Worker, WorkerError},
};

/// One in this many workers is reserved: a single owner never gets all of them.
const RESERVE: usize = 4;

/// Starts that fail in a row are retried until there were this many of them and, if the processes were killed, for this
/// long. Then all waiting runs fail.
const FAILED_STARTS: u32 = 4;
const FAILING_FOR: Duration = Duration::from_secs(5);
/// The delay after a failed start, multiplied by the number of failures in a row up to the maximum below.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

pub(super) struct State {
    /// The worker that was returned last is last.
    ready: VecDeque<Worker>,
    /// The number of busy workers by owner.
    busy: HashMap<String, usize>,
    /// Processes that are being started.
    pub(super) starting: usize,
    /// Workers that are building their next isolate.
    pub(super) rebuilding: usize,
    line: Line<Waiter>,
    load: Load,
    pub(super) bounds: Bounds,
    pub(super) engine: Option<String>,
    pub(super) engine_version: Option<String>,
    pub(super) layers: Vec<String>,
    pub(super) snapshot: bool,
    pub(super) problem: Option<String>,
    /// Totals since the start of the pool.
    pub(super) counts: Counts,
    /// Failed starts since the last successful one, and the time of the first of them.
    failed_starts: u32,
    failing_since: Option<Instant>,
    pub(super) closed: bool,
    /// Whether a task that ends idle workers is running.
    pub(super) sweeping: bool,
    /// The moving average of how long a run has a worker, in seconds.
    usual: f64,
}

/// Counts of processes that were started, that failed to start, and that have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) started: u64,
    pub(super) failed: u64,
    pub(super) ended: u64,
}

/// A run that waits for a worker. It counts as busy as soon as the worker is sent to it.
pub(super) struct Waiter {
    pub(super) owner: String,
    pub(super) hand: oneshot::Sender<Result<Handed, Fault>>,
}

/// A worker that is assigned to a run, with the guard that counts it as busy.
pub(super) struct Handed {
    pub(super) worker: Worker,
    pub(super) place: Busy,
}

/// Why a run cannot be queued.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Full {
    Line { waiting: usize },
    Owner { waiting: usize },
}

impl State {
    pub(super) fn new(bounds: Bounds, window: Duration) -> Self {
        Self {
            ready: VecDeque::new(),
            busy: HashMap::new(),
            starting: 0,
            rebuilding: 0,
            line: Line::default(),
            load: Load::new(window),
            bounds,
            engine: None,
            engine_version: None,
            layers: Vec::new(),
            snapshot: false,
            problem: None,
            counts: Counts::default(),
            failed_starts: 0,
            failing_since: None,
            closed: false,
            sweeping: false,
            usual: 0.0,
        }
    }

    pub(super) fn ready(&self) -> impl ExactSizeIterator<Item = &Worker> {
        self.ready.iter()
    }

    pub(super) fn busy(&self) -> usize {
        self.busy.values().sum()
    }

    pub(super) fn waiting(&self) -> usize {
        self.line.len()
    }

    /// Takes a ready worker for this owner: one of the owner's before a fresh one. Dead workers are removed on the way.
    pub(super) fn pick(&mut self, owner: &str) -> Option<Worker> {
        if !self.may(owner) {
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
    pub(super) fn enqueue(&mut self, turn: &Turn, waiter: Waiter) -> Result<(), Full> {
        let most = self.bounds.queue;
        if self.line.len() >= most || self.line.of(&turn.owner) >= most.div_ceil(2) {
            // Some waiters may have given up since.
            self.line.retain(|waiter| !waiter.hand.is_closed());
        }
        let (waiting, own) = (self.line.len(), self.line.of(&turn.owner));
        if waiting >= most {
            return Err(Full::Line { waiting });
        }
        if own >= most.div_ceil(2) {
            return Err(Full::Owner { waiting: own });
        }
        self.line.push(turn, waiter);
        self.load.note(self.busy() + self.line.len());
        Ok(())
    }

    /// Gives the worker to the next eligible waiter, or keeps it.
    pub(super) fn offer(&mut self, mut worker: Worker, pool: &Pool) {
        if self.closed || worker.memory() != self.bounds.memory || self.is_in_the_way(&worker) {
            return;
        }
        while let Some(waiter) = self.next_for(&worker) {
            let place = self.begin(&waiter.owner, pool);
            match waiter.hand.send(Ok(Handed { worker, place })) {
                Ok(()) => return,
                // The waiter has given up.
                Err(Ok(back)) => {
                    self.end(&back.place.cancel(), None);
                    worker = back.worker;
                }
                Err(Err(_)) => return,
            }
        }
        self.ready.push_back(worker);
    }

    /// Whether this worker must end to make room for a fresh one: it is the turn of an owner that this worker cannot
    /// serve, and the pool is at its ceiling.
    fn is_in_the_way(&self, worker: &Worker) -> bool {
        let next = self.line.first(|owner| self.may(owner));
        next.is_some_and(|owner| !worker.serves(owner))
            && self.starting == 0
            && self.total() + 1 >= self.bounds.ceiling
    }

    fn next_for(&mut self, worker: &Worker) -> Option<Waiter> {
        let (busy, most) = (&self.busy, self.most_of_one());
        let may = |owner: &str| busy.get(owner).is_none_or(|busy| *busy < most);
        self.line.pop(|owner| worker.serves(owner) && may(owner))
    }

    /// The number of processes to start now for the waiters and the floor. They count as starting from now on.
    pub(super) fn starts(&mut self, floor: usize) -> usize {
        if self.closed {
            return 0;
        }
        let most = self.most_of_one();
        let waiting: usize = self
            .line
            .owners()
            .map(|(owner, waiting)| {
                let busy = self.busy.get(owner).copied().unwrap_or(0);
                waiting.min(most.saturating_sub(busy))
            })
            .sum();
        let fresh = self.ready.iter().filter(|w| w.owner.is_none()).count();
        // Workers that are building their next isolate will serve a waiter, too.
        let coming = fresh + self.starting + self.rebuilding.min(waiting);
        let wanted = (waiting + floor).saturating_sub(coming);
        let mut room = self.bounds.ceiling.saturating_sub(self.total());
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
    pub(super) fn bury(&mut self) {
        self.counts.ended += 1;
        self.ready.retain_mut(|worker| !worker.is_dead());
    }

    /// Ends the workers that were not needed recently. Returns whether owned workers are left, which may become
    /// superfluous later.
    pub(super) fn sweep(&mut self) -> bool {
        let needed = self.load.peak().saturating_sub(self.busy());
        let mut spare = self.owned().saturating_sub(needed);
        self.ready.retain(|worker| {
            let goes = spare > 0 && worker.owner.is_some();
            spare -= usize::from(goes);
            !goes
        });
        self.owned() > 0
    }

    /// Counts one more worker of this owner as busy until the returned guard is dropped.
    pub(super) fn begin(&mut self, owner: &str, pool: &Pool) -> Busy {
        *self.busy.entry(owner.to_owned()).or_default() += 1;
        self.load.note(self.busy() + self.line.len());
        Busy::of(pool, owner)
    }

    /// Counts one busy worker of this owner less. `took` is how long a run had the worker.
    pub(super) fn end(&mut self, owner: &str, took: Option<Duration>) {
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
        const SOON: f64 = 0.1;
        const LATE: f64 = 60.0;
        let turns = self.line.len() as f64 / self.bounds.ceiling.max(1) as f64;
        Duration::from_secs_f64((turns * self.usual).clamp(SOON, LATE))
    }

    /// Records a started worker and clears the failures before it.
    pub(super) fn started(&mut self, worker: &Worker) {
        self.starting -= 1;
        self.counts.started += 1;
        self.failed_starts = 0;
        self.failing_since = None;
        self.problem = None;
        self.engine = Some(worker.engine.clone());
        self.engine_version.clone_from(&worker.engine_version);
        self.layers.clone_from(&worker.layers);
        self.snapshot = worker.snapshot;
    }

    /// Records a failed start. Returns the delay before a retry, which counts as starting until then, or `None` if a
    /// retry would fail too.
    pub(super) fn start_failed(&mut self, error: &WorkerError) -> Option<Duration> {
        self.counts.failed += 1;
        self.failed_starts += 1;
        self.problem = Some(error.to_string());
        let certain = matches!(
            error,
            WorkerError::Start { .. } | WorkerError::OtherBuild(_)
        );
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        // A process that was killed from outside says nothing about the next one.
        let killed = matches!(error, WorkerError::Ended(death) if death.cause == Cause::Killed);
        let hopeless =
            self.failed_starts >= FAILED_STARTS && (!killed || since.elapsed() >= FAILING_FOR);
        if certain || hopeless {
            self.starting -= 1;
            return None;
        }
        Some((PAUSE * self.failed_starts).min(LONGEST_PAUSE))
    }

    /// Fails all waiters with this error, because no worker can be started.
    pub(super) fn turn_all_away(&mut self, fault: &Fault) {
        for waiter in self.line.take_all() {
            drop(waiter.hand.send(Err(fault.clone())));
        }
    }

    /// Kills the ready workers and drops the queue. Busy workers end with their runs.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.ready.clear();
        drop(self.line.take_all());
    }

    /// Ends the ready workers that were started with other memory limits.
    pub(super) fn drop_outdated(&mut self) {
        let memory = self.bounds.memory;
        self.ready.retain(|worker| worker.memory() == memory);
    }

    fn total(&self) -> usize {
        self.ready.len() + self.busy() + self.starting + self.rebuilding
    }

    fn owned(&self) -> usize {
        self.ready.iter().filter(|w| w.owner.is_some()).count()
    }

    fn may(&self, owner: &str) -> bool {
        let busy = self.busy.get(owner).copied().unwrap_or(0);
        busy < self.most_of_one()
    }

    /// The maximum number of workers that one owner may have at once. A pool of less than four reserves none.
    fn most_of_one(&self) -> usize {
        let ceiling = self.bounds.ceiling;
        ceiling - ceiling / RESERVE
    }
}

impl Worker {
    fn serves(&self, owner: &str) -> bool {
        self.owner.as_deref().is_none_or(|mine| mine == owner)
    }
}
