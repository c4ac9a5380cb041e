//! Stops code that a program left behind: a timer, a finalizer, a stray promise that goes on after the result.
//!
//! Invariant: code that runs after a program has returned or thrown can delay the outcome by [`GRACE`] of processor
//! time, by [`MAX_WAIT`] at most, and cannot change it. The thread waits without a limit while no program has ended,
//! so that it costs nothing.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use deno_core::v8::IsolateHandle;

/// Processor time in which the engine may report rejected promises, once the outcome is there. On a busy machine that
/// takes longer by the wall clock.
const GRACE: Duration = Duration::from_millis(100);
/// The same by the wall clock.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The thread that stops an isolate. One for the process.
#[derive(Clone)]
pub(crate) struct Watchdog(Arc<Shared>);

#[derive(Default)]
struct Shared {
    watched: Mutex<Watched>,
    changed: Condvar,
}

#[derive(Default)]
enum Watched {
    #[default]
    Nothing,
    /// The isolate whose program has ended.
    Ended(Ended, IsolateHandle),
    Stopped,
}

struct Ended {
    at: Instant,
    thread: ThreadClock,
    /// What the clock showed then.
    computed: Option<Duration>,
}

impl Ended {
    fn now() -> Self {
        let thread = ThreadClock::of_this();
        Self {
            at: Instant::now(),
            computed: thread.now(),
            thread,
        }
    }

    /// How much longer the isolate may go on at least; zero once it has to stop.
    fn left(&self) -> Duration {
        let waited = self.at.elapsed();
        let computed = match (self.computed, self.thread.now()) {
            (Some(then), Some(now)) => now.saturating_sub(then),
            _ => waited,
        };
        GRACE
            .saturating_sub(computed)
            .min(MAX_WAIT.saturating_sub(waited))
    }
}

/// The clock of the processor time of one thread, where the system has one for each.
#[derive(Clone, Copy)]
struct ThreadClock(#[cfg(target_os = "linux")] nix::time::ClockId);

impl ThreadClock {
    #[cfg(target_os = "linux")]
    fn of_this() -> Self {
        // As `pthread_getcpuclockid` makes it: of one thread, and by the scheduler's own count.
        const PER_THREAD: i32 = 4;
        const SCHEDULED: i32 = 2;
        let thread = nix::unistd::gettid().as_raw();
        Self(nix::time::ClockId::from_raw(
            (!thread) << 3 | PER_THREAD | SCHEDULED,
        ))
    }

    #[cfg(not(target_os = "linux"))]
    fn of_this() -> Self {
        Self()
    }

    #[cfg(target_os = "linux")]
    fn now(self) -> Option<Duration> {
        nix::time::clock_gettime(self.0).ok().map(Duration::from)
    }

    #[cfg(not(target_os = "linux"))]
    fn now(self) -> Option<Duration> {
        None
    }
}

impl Watchdog {
    /// Must be called before the process is locked down: it starts a thread.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let watched = Arc::clone(&shared);
        thread::Builder::new()
            .name("mux-watchdog".into())
            .spawn(move || watched.watch())?;
        Ok(Self(shared))
    }

    /// The program of this isolate has returned or thrown.
    pub(crate) fn arm(&self, isolate: IsolateHandle) {
        *self.0.lock() = Watched::Ended(Ended::now(), isolate);
        self.0.changed.notify_one();
    }

    /// Nothing is stopped any more. Whether something was, since it was armed.
    pub(crate) fn disarm(&self) -> bool {
        let watched = std::mem::take(&mut *self.0.lock());
        matches!(watched, Watched::Stopped)
    }

    /// Whether the isolate was stopped.
    pub(crate) fn has_stopped(&self) -> bool {
        matches!(*self.0.lock(), Watched::Stopped)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self) {
        let mut watched = self.lock();
        loop {
            let left = match &*watched {
                Watched::Ended(ended, _) => ended.left(),
                Watched::Nothing | Watched::Stopped => {
                    watched = self
                        .changed
                        .wait(watched)
                        .unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
            };
            if left.is_zero() {
                if let Watched::Ended(_, isolate) =
                    std::mem::replace(&mut *watched, Watched::Stopped)
                {
                    isolate.terminate_execution();
                }
                continue;
            }
            let waited = self.changed.wait_timeout(watched, left);
            (watched, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}
