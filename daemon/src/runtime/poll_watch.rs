//! The longest time for which a thread of the runtime computed without coming back to its scheduler: meanwhile
//! it polls nothing else. Only for who looks for such work: a daemon is watched if its environment says so.
//!
//! What counts is the processor time of that thread, so that a busy machine makes no difference.
//!
//! Invariant: a thread passes its scheduler when it parks, when it wakes up, and when it polls one of our beats.
//! Between two of those stands one poll, or several short ones: what is told is never less than the longest poll.

use std::{
    cell::RefCell,
    io, iter,
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
use tokio::{runtime::Builder, sync::Notify};

/// Between two looks at the threads.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// A thread that has computed for so long gets a beat to poll.
const LAGGING: Duration = Duration::from_millis(5);
/// Beats for each thread: one that is idle may take that of one which is not.
const BEATS_PER_THREAD: usize = 4;
/// In place of the time at which a thread passed its scheduler: it is parked.
const PARKED: u64 = u64::MAX;

#[derive(Debug, Default)]
pub(super) struct PollWatch {
    threads: Mutex<Vec<Arc<WorkerThread>>>,
    /// Nanoseconds, since somebody asked.
    longest: AtomicU64,
    beat: Notify,
}

#[derive(Debug)]
struct WorkerThread {
    id: Pid,
    /// Its processor time when it passed its scheduler, in nanoseconds, or [`PARKED`].
    passed: AtomicU64,
}

thread_local! {
    static THREAD: RefCell<Option<Arc<WorkerThread>>> = const { RefCell::new(None) };
}

impl PollWatch {
    /// Watches the threads of the runtime that will be built.
    pub(super) fn on(builder: &mut Builder) -> Arc<Self> {
        let watch = Arc::new(Self::default());
        let (parking, woken) = (Arc::clone(&watch), Arc::clone(&watch));
        builder
            // A beat is polled next, however many tasks are in line.
            .global_queue_interval(1)
            .on_thread_park(move || parking.pass(true))
            .on_thread_unpark(move || woken.pass(false));
        watch
    }

    /// Starts the beats of a runtime with so many threads, and the thread that looks.
    pub(super) fn start(
        self: &Arc<Self>,
        runtime: &tokio::runtime::Runtime,
        threads: usize,
    ) -> io::Result<()> {
        for _ in 0..threads * BEATS_PER_THREAD {
            let watch = Arc::clone(self);
            runtime.spawn(async move {
                loop {
                    watch.beat.notified().await;
                    watch.pass(false);
                }
            });
        }
        let watch = Arc::downgrade(self);
        let look = thread::Builder::new().name("mux-poll-watch".into());
        look.spawn(move || look_again_and_again(&watch)).map(drop)
    }

    /// The longest since this was asked last, what goes on now included.
    pub(super) fn take_longest(&self) -> Duration {
        let past = self.longest.swap(0, Ordering::Relaxed);
        let running = self.running().max().unwrap_or_default();
        Duration::from_nanos(past).max(running)
    }

    /// This thread is at its scheduler.
    fn pass(&self, parks: bool) {
        let Some(now) = cpu_time(ClockId::CLOCK_THREAD_CPUTIME_ID) else {
            return;
        };
        THREAD.with_borrow_mut(|known| {
            let thread = known.get_or_insert_with(|| {
                let thread = Arc::new(WorkerThread {
                    id: gettid(),
                    passed: AtomicU64::new(PARKED),
                });
                self.threads().push(Arc::clone(&thread));
                thread
            });
            let next = if parks { PARKED } else { now };
            let last = thread.passed.swap(next, Ordering::Relaxed);
            if last != PARKED {
                let took = now.saturating_sub(last);
                self.longest.fetch_max(took, Ordering::Relaxed);
            }
        });
    }

    /// For how long those compute that are not parked.
    fn running(&self) -> impl Iterator<Item = Duration> {
        let threads = self.threads().clone();
        threads.into_iter().filter_map(|thread| {
            let last = thread.passed.load(Ordering::Relaxed);
            if last == PARKED {
                return None;
            }
            // One that has ended has no clock.
            let now = cpu_time(clock_of(thread.id))?;
            Some(Duration::from_nanos(now.saturating_sub(last)))
        })
    }

    fn threads(&self) -> MutexGuard<'_, Vec<Arc<WorkerThread>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn look_again_and_again(watch: &Weak<PollWatch>) {
    while let Some(watch) = watch.upgrade() {
        let lagging = watch.running().filter(|took| *took >= LAGGING).count();
        iter::repeat_n((), lagging).for_each(|()| watch.beat.notify_one());
        drop(watch);
        thread::sleep(LOOK_INTERVAL);
    }
}

fn cpu_time(clock: ClockId) -> Option<u64> {
    let time = Duration::from(clock_gettime(clock).ok()?);
    u64::try_from(time.as_nanos()).ok()
}

/// The clock of a thread's processor time, as `pthread_getcpuclockid` makes it.
fn clock_of(thread: Pid) -> ClockId {
    /// Of one thread, and by the scheduler's own count.
    const PER_THREAD: i32 = 4;
    const SCHEDULED: i32 = 2;
    ClockId::from_raw((!thread.as_raw()) << 3 | PER_THREAD | SCHEDULED)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    fn compute(at_least: Duration) {
        let clock = ClockId::CLOCK_THREAD_CPUTIME_ID;
        let until = cpu_time(clock).unwrap() + u64::try_from(at_least.as_nanos()).unwrap();
        while cpu_time(clock).unwrap() < until {
            black_box(());
        }
    }

    fn watched() -> (tokio::runtime::Runtime, Arc<PollWatch>) {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2).enable_all();
        let watch = PollWatch::on(&mut builder);
        let runtime = builder.build().unwrap();
        watch.start(&runtime, 2).unwrap();
        (runtime, watch)
    }

    #[test]
    fn one_long_poll_is_told_once() {
        let (runtime, watch) = watched();
        let long = Duration::from_millis(300);
        // The time after the last poll counts when the thread parks, or from its clock before.
        runtime
            .block_on(runtime.spawn(async move { compute(long) }))
            .unwrap();
        // It is told once the thread has come back to its scheduler.
        let longest = (0..1_000_000).find_map(|_| {
            std::thread::yield_now();
            Some(watch.take_longest()).filter(|longest| *longest >= long)
        });
        assert!(longest.is_some());
        runtime.block_on(runtime.spawn(async {})).unwrap();
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
