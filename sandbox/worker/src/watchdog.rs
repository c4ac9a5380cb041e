//! Stops code that a program left behind: a timer, a finalizer, a stray promise that goes on after the result.
//!
//! Invariant: code that runs after a program has returned or thrown can delay the outcome by [`GRACE`] of processor
//! time, by [`MAX_WAIT`] at most, and cannot change it. While no program has ended, the thread sleeps.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use deno_core::v8::IsolateHandle;

/// Processor time that the engine gets to report rejected promises after the program has ended. On a busy machine this
/// takes more wall time.
const GRACE: Duration = Duration::from_millis(100);
/// The maximum wall time for reporting rejected promises after the program has ended.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// A handle to the thread that stops an isolate. There is one thread in the process.
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
    /// The reading of the thread's clock at that time.
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

    /// How much longer the isolate may run at least; zero once it has to stop.
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

/// The processor clock of one thread, on systems that have one per thread.
#[derive(Clone, Copy)]
struct ThreadClock(#[cfg(target_os = "linux")] nix::time::ClockId);

impl ThreadClock {
    #[cfg(target_os = "linux")]
    fn of_this() -> Self {
        // The clock id that `pthread_getcpuclockid` returns: per thread, by the scheduler's count.
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
    /// Starts the thread. Must be called before the process is locked down.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let watched = Arc::clone(&shared);
        thread::Builder::new()
            .name("mux-watchdog".into())
            .spawn(move || watched.watch())?;
        Ok(Self(shared))
    }

    /// To be called when the program of this isolate has returned or thrown.
    pub(crate) fn arm(&self, isolate: IsolateHandle) {
        *self.0.lock() = Watched::Ended(Ended::now(), isolate);
        self.0.changed.notify_one();
    }

    /// Disarms the watchdog. Returns whether it has stopped the isolate since it was armed.
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
