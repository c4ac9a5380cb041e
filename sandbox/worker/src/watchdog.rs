//! Stops code that a program left behind: a timer, a finalizer, a stray promise that continues after the result.
//!
//! Invariant: code that runs after a program has returned or thrown can delay the outcome by [`MAX_CPU_TIME_AFTER_END`]
//! of CPU time, by [`MAX_WALL_TIME_AFTER_END`] at most, and cannot change it. While no program has ended, the thread
//! sleeps.

mod thread_clock;

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use deno_core::v8::IsolateHandle;

use self::thread_clock::ThreadClock;

/// CPU time that the engine gets to report rejected promises after the program has ended. On a busy machine this takes
/// more wall time.
const MAX_CPU_TIME_AFTER_END: Duration = Duration::from_millis(100);
/// The maximum wall time for reporting rejected promises after the program has ended.
const MAX_WALL_TIME_AFTER_END: Duration = Duration::from_secs(1);

/// A handle to the thread that stops an isolate. There is one thread in the process.
#[derive(Clone)]
pub(crate) struct Watchdog(Arc<WatchdogShared>);

#[derive(Default)]
struct WatchdogShared {
    watched: Mutex<WatchState>,
    changed: Condvar,
}

#[derive(Default)]
enum WatchState {
    #[default]
    Nothing,
    /// The isolate whose program has ended.
    Ended(EndedProgram, IsolateHandle),
    Stopped,
}

struct EndedProgram {
    at: Instant,
    thread: ThreadClock,
    /// The reading of the thread's clock at that time.
    computed: Option<Duration>,
}

impl EndedProgram {
    fn now() -> Self {
        let thread = ThreadClock::of_this();
        Self {
            at: Instant::now(),
            computed: thread.now(),
            thread,
        }
    }

    /// The minimum time that the isolate may still run. Zero once it must stop.
    fn time_left(&self) -> Duration {
        let waited = self.at.elapsed();
        let computed = match (self.computed, self.thread.now()) {
            (Some(then), Some(now)) => now.saturating_sub(then),
            _ => waited,
        };
        MAX_CPU_TIME_AFTER_END
            .saturating_sub(computed)
            .min(MAX_WALL_TIME_AFTER_END.saturating_sub(waited))
    }
}

impl Watchdog {
    /// Starts the thread. Must be called before the process is locked down.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::<WatchdogShared>::default();
        let watched = Arc::clone(&shared);
        thread::Builder::new()
            .name("mux-watchdog".into())
            .spawn(move || watched.watch_loop())?;
        Ok(Self(shared))
    }

    /// Call this when the program of this isolate has returned or thrown.
    pub(crate) fn arm(&self, isolate: IsolateHandle) {
        *self.0.lock() = WatchState::Ended(EndedProgram::now(), isolate);
        self.0.changed.notify_one();
    }

    /// Disarms the watchdog. Returns whether it has stopped the isolate since it was armed.
    pub(crate) fn disarm(&self) -> bool {
        let watched = std::mem::take(&mut *self.0.lock());
        matches!(watched, WatchState::Stopped)
    }

    /// Returns true if the isolate was stopped.
    pub(crate) fn has_stopped(&self) -> bool {
        matches!(*self.0.lock(), WatchState::Stopped)
    }
}

impl WatchdogShared {
    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch_loop(&self) {
        let mut watched = self.lock();
        loop {
            let left = match &*watched {
                WatchState::Ended(ended, _) => ended.time_left(),
                WatchState::Nothing | WatchState::Stopped => {
                    watched = self
                        .changed
                        .wait(watched)
                        .unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
            };
            if left.is_zero() {
                if let WatchState::Ended(_, isolate) =
                    std::mem::replace(&mut *watched, WatchState::Stopped)
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
