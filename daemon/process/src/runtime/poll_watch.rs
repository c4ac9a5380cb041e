//! The longest time for which a thread of the runtime computed without coming back to its scheduler: meanwhile
//! it polls nothing else. Only for who looks for such work: a daemon is watched if its environment says so.
//!
//! What counts is the processor time of that thread, so that a busy machine makes no difference. The runtime tells of
//! a worker that is back at its scheduler, and of a thread that parks, but not which thread is which worker: of
//! all threads that have not parked while a worker was away, the one that computed least is taken.
//!
//! Invariant: what is told is never more than the longest poll, and less by some looks only.

use std::{
    cell::RefCell,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use nix::{
    time::{ClockId, clock_gettime},
    unistd::{Pid, gettid},
};
use tokio::runtime::{Builder, Runtime, RuntimeMetrics};

/// Between two looks at the threads.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Debug, Default)]
pub(super) struct PollWatch {
    threads: Mutex<Vec<Arc<WorkerThread>>>,
    /// Nanoseconds, since somebody asked.
    longest: AtomicU64,
}

#[derive(Debug)]
struct WorkerThread {
    id: Pid,
    /// How often it has parked, and how often it was woken: odd while it is parked.
    parks: AtomicU64,
}

/// A worker that was not at its scheduler since it was looked at first.
struct AwayWorker {
    /// What the runtime tells of its time and of its parks: both change when it is back.
    busy: Duration,
    parks: u64,
    /// The threads that may be it, with their processor time and parks then.
    threads: Vec<(Arc<WorkerThread>, Duration, u64)>,
}

thread_local! {
    static CURRENT_THREAD: RefCell<Option<Arc<WorkerThread>>> = const { RefCell::new(None) };
}

impl PollWatch {
    /// Watches the threads of the runtime that will be built.
    pub(super) fn on(builder: &mut Builder) -> Arc<Self> {
        let watch = Arc::new(Self::default());
        let (parking, woken) = (Arc::clone(&watch), Arc::clone(&watch));
        builder
            // The runtime's figures of a worker are new after each poll.
            .event_interval(1)
            .on_thread_park(move || parking.count_park())
            .on_thread_unpark(move || woken.count_park());
        watch
    }

    /// Starts the thread that looks.
    pub(super) fn start(self: &Arc<Self>, runtime: &Runtime) -> io::Result<()> {
        let watch = Arc::downgrade(self);
        let metrics = runtime.metrics();
        let look = thread::Builder::new().name("mux-poll-watch".into());
        look.spawn(move || watch_threads(&watch, &metrics))
            .map(drop)
    }

    /// The longest since this was asked last.
    pub(super) fn take_longest(&self) -> Duration {
        Duration::from_nanos(self.longest.swap(0, Ordering::Relaxed))
    }

    /// This thread parks, or has been woken.
    fn count_park(&self) {
        CURRENT_THREAD.with_borrow_mut(|known| {
            let thread = known.get_or_insert_with(|| {
                let thread = Arc::new(WorkerThread {
                    id: gettid(),
                    parks: AtomicU64::new(0),
                });
                self.threads().push(Arc::clone(&thread));
                thread
            });
            thread.parks.fetch_add(1, Ordering::Relaxed);
        });
    }

    fn threads(&self) -> MutexGuard<'_, Vec<Arc<WorkerThread>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_at_workers(&self, metrics: &RuntimeMetrics, workers: &mut [Option<AwayWorker>]) {
        for (worker, away) in workers.iter_mut().enumerate() {
            let busy = metrics.worker_total_busy_duration(worker);
            let parks = metrics.worker_park_unpark_count(worker);
            if !parks.is_multiple_of(2) {
                // It is parked.
                *away = None;
                continue;
            }
            match away {
                Some(away) if (away.busy, away.parks) == (busy, parks) => {
                    let nanos = u64::try_from(away.min_poll_time().as_nanos());
                    let nanos = nanos.unwrap_or(u64::MAX);
                    self.longest.fetch_max(nanos, Ordering::Relaxed);
                }
                _ => {
                    *away = Some(AwayWorker {
                        busy,
                        parks,
                        threads: self
                            .threads()
                            .iter()
                            .filter_map(WorkerThread::running)
                            .collect(),
                    });
                }
            }
        }
    }
}

impl WorkerThread {
    /// With its processor time, if it is not parked.
    fn running(self: &Arc<Self>) -> Option<(Arc<Self>, Duration, u64)> {
        let parks = self.parks.load(Ordering::Relaxed);
        // One that has ended has no clock.
        let time = self.cpu_time().filter(|_| parks.is_multiple_of(2))?;
        Some((Arc::clone(self), time, parks))
    }

    fn cpu_time(&self) -> Option<Duration> {
        cpu_time(clock_of(self.id))
    }
}

impl AwayWorker {
    /// For how long at least.
    fn min_poll_time(&self) -> Duration {
        let times = self.threads.iter().filter_map(|(thread, then, parks)| {
            let now = thread.cpu_time()?;
            let is_away = thread.parks.load(Ordering::Relaxed) == *parks;
            is_away.then(|| now.saturating_sub(*then))
        });
        times.min().unwrap_or_default()
    }
}

fn watch_threads(watch: &Weak<PollWatch>, metrics: &RuntimeMetrics) {
    let mut workers: Vec<Option<AwayWorker>> = (0..metrics.num_workers()).map(|_| None).collect();
    while let Some(watch) = watch.upgrade() {
        watch.look_at_workers(metrics, &mut workers);
        drop(watch);
        thread::sleep(LOOK_INTERVAL);
    }
}

fn cpu_time(clock: ClockId) -> Option<Duration> {
    Some(Duration::from(clock_gettime(clock).ok()?))
}

/// The clock of a thread's processor time, as `pthread_getcpuclockid` makes it.
fn clock_of(thread: Pid) -> ClockId {
    /// Of one thread, and by the scheduler's own count.
    const CPUCLOCK_PERTHREAD: i32 = 4;
    const CPUCLOCK_SCHED: i32 = 2;
    ClockId::from_raw((!thread.as_raw()) << 3 | CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    fn compute(at_least: Duration) {
        let now = || cpu_time(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap();
        let until = now() + at_least;
        while now() < until {
            black_box(());
        }
    }

    fn watched() -> (Runtime, Arc<PollWatch>) {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2).enable_all();
        let watch = PollWatch::on(&mut builder);
        let runtime = builder.build().unwrap();
        watch.start(&runtime).unwrap();
        // A thread is known once it has parked.
        while watch.threads().len() < 2 {
            thread::yield_now();
        }
        (runtime, watch)
    }

    #[test]
    fn one_long_poll_is_told_while_it_lasts_and_once() {
        let (runtime, watch) = watched();
        let long = Duration::from_millis(200);
        let watching = Arc::clone(&watch);
        let poll = async move {
            // In one poll, until it is told.
            while watching.longest.load(Ordering::Relaxed) < 200_000_000 {
                compute(Duration::from_millis(1));
            }
        };
        runtime.block_on(runtime.spawn(poll)).unwrap();
        assert!(watch.take_longest() >= long);
        // What a look that had begun before has still to tell.
        while watch.take_longest() >= long {}
        for _ in 0..20 {
            runtime.block_on(runtime.spawn(async {})).unwrap();
        }
        assert!(watch.take_longest() < long);
    }

    #[test]
    fn many_short_polls_are_no_long_one() {
        let (runtime, watch) = watched();
        let busy = |_| {
            runtime.spawn(async {
                for _ in 0..400 {
                    compute(Duration::from_millis(1));
                    tokio::task::yield_now().await;
                }
            })
        };
        let busy: Vec<_> = (0..2).map(busy).collect();
        runtime.block_on(async {
            for busy in busy {
                busy.await.unwrap();
            }
        });
        let longest = watch.take_longest();
        assert!(longest < Duration::from_millis(200), "{longest:?}");
    }
}
