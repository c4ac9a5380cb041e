//! Measures the longest time that a runtime thread computes without returning to its scheduler. Meanwhile, the thread
//! polls nothing else. A diagnostic, enabled by the daemon's environment.
//!
//! The thread's CPU time counts, so load on the machine makes no difference. The runtime reports when a worker is
//! back at its scheduler and when a thread parks, but not which thread is which worker: among the threads that have
//! not parked while a worker was away, the thread that computed least is taken.
//!
//! Invariant: the reported time is never more than the longest poll, and less by a few sampling intervals only.

use std::{
    cell::RefCell,
    io,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use nix::{
    time::{ClockId, clock_gettime},
    unistd::{Pid, gettid},
};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime, RuntimeMetrics};

/// The sampling interval.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Debug, Default)]
pub(super) struct PollWatch {
    threads: Mutex<Vec<Arc<WorkerThread>>>,
    /// Nanoseconds, since the last [`take_longest`](Self::take_longest).
    longest_poll: AtomicU64,
}

#[derive(Debug)]
struct WorkerThread {
    id: Pid,
    /// Parks plus wake-ups: odd while the thread is parked.
    parks: AtomicU64,
}

/// A worker that has not returned to its scheduler since the first sample.
struct AwayWorker {
    /// The worker's busy time and park count as the runtime reports them. Both change when it is back.
    busy: Duration,
    parks: u64,
    /// The threads that may be this worker, with their CPU time and parks at the first sample.
    threads: Vec<(Arc<WorkerThread>, Duration, u64)>,
}

thread_local! {
    static CURRENT_THREAD: RefCell<Option<Arc<WorkerThread>>> = const { RefCell::new(None) };
}

impl PollWatch {
    /// Registers the watch with the builder of a runtime.
    pub(super) fn on(builder: &mut Builder) -> Arc<Self> {
        let watch = Arc::new(Self::default());
        let parking = Arc::clone(&watch);
        let woken = Arc::clone(&watch);
        builder
            // Updates the runtime's metrics of a worker after each poll.
            .event_interval(1)
            .on_thread_park(move || parking.count_park())
            .on_thread_unpark(move || woken.count_park());
        watch
    }

    /// Starts the sampling thread.
    pub(super) fn start(self: &Arc<Self>, runtime: &Runtime) -> io::Result<()> {
        let watch = Arc::downgrade(self);
        let metrics = runtime.metrics();
        let look = thread::Builder::new().name("mux-poll-watch".into());
        look.spawn(move || watch_threads(&watch, &metrics))
            .map(drop)
    }

    /// The longest poll since the last call.
    pub(super) fn take_longest(&self) -> Duration {
        Duration::from_nanos(self.longest_poll.swap(0, Ordering::Relaxed))
    }

    /// Called when the current thread parks or wakes up.
    fn count_park(&self) {
        CURRENT_THREAD.with_borrow_mut(|known| {
            let thread = known.get_or_insert_with(|| {
                let thread = Arc::new(WorkerThread {
                    id: gettid(),
                    parks: AtomicU64::new(0),
                });
                self.threads.lock().push(Arc::clone(&thread));
                thread
            });
            thread.parks.fetch_add(1, Ordering::Relaxed);
        });
    }

    fn look_at_workers(&self, metrics: &RuntimeMetrics, workers: &mut [Option<AwayWorker>]) {
        for (worker, away) in workers.iter_mut().enumerate() {
            let busy = metrics.worker_total_busy_duration(worker);
            let parks = metrics.worker_park_unpark_count(worker);
            if !parks.is_multiple_of(2) {
                // The worker is parked.
                *away = None;
                continue;
            }
            match away {
                Some(away) if (away.busy, away.parks) == (busy, parks) => {
                    let nanos = u64::try_from(away.min_poll_time().as_nanos());
                    let nanos = nanos.unwrap_or(u64::MAX);
                    self.longest_poll.fetch_max(nanos, Ordering::Relaxed);
                }
                _ => {
                    *away = Some(AwayWorker {
                        busy,
                        parks,
                        threads: self
                            .threads
                            .lock()
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
    /// The thread with its CPU time and parks, unless it is parked.
    fn running(self: &Arc<Self>) -> Option<(Arc<Self>, Duration, u64)> {
        let parks = self.parks.load(Ordering::Relaxed);
        // A thread that has ended has no clock.
        let time = self.cpu_time().filter(|_| parks.is_multiple_of(2))?;
        Some((Arc::clone(self), time, parks))
    }

    fn cpu_time(&self) -> Option<Duration> {
        cpu_time(clock_of(self.id))
    }
}

impl AwayWorker {
    /// A lower bound of the current poll's time.
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

/// The clock of a thread's CPU time, as `pthread_getcpuclockid` makes it.
fn clock_of(thread: Pid) -> ClockId {
    /// `CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED` select one thread's time, by the scheduler's own count.
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
        // A thread is registered when it parks for the first time.
        while watch.threads.lock().len() < 2 {
            thread::yield_now();
        }
        (runtime, watch)
    }

    #[test]
    fn long_poll_is_reported_once_and_while_it_lasts() {
        let (runtime, watch) = watched();
        let long = Duration::from_millis(200);
        let watching = Arc::clone(&watch);
        let poll = async move {
            // One long poll, until the watch has seen it.
            while watching.longest_poll.load(Ordering::Relaxed) < 200_000_000 {
                compute(Duration::from_millis(1));
            }
        };
        runtime.block_on(runtime.spawn(poll)).unwrap();
        assert!(watch.take_longest() >= long);
        // A sample that was already running may still report the same poll.
        while watch.take_longest() >= long {}
        for _ in 0..20 {
            runtime.block_on(runtime.spawn(async {})).unwrap();
        }
        assert!(watch.take_longest() < long);
    }

    #[test]
    fn many_short_polls_do_not_count_as_a_long_one() {
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
        let longest_poll = watch.take_longest();
        assert!(
            longest_poll < Duration::from_millis(200),
            "{longest_poll:?}"
        );
    }
}
