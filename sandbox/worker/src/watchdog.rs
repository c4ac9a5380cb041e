//! Stops code that a program left behind: a timer, a finalizer, a stray promise that goes on after the result.
//!
//! Invariant: what runs after a program has returned or thrown can hold back its outcome for [`GRACE`] and no
//! longer, and cannot change it. The thread waits without a limit while no program has ended, so that it costs
//! nothing.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use deno_core::v8::IsolateHandle;

/// How long the engine may take to tell of rejected promises, once the outcome is there.
const GRACE: Duration = Duration::from_millis(100);

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
    /// The isolate whose program has ended, and when it is stopped.
    Until(Instant, IsolateHandle),
    Stopped,
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
        *self.0.lock() = Watched::Until(Instant::now() + GRACE, isolate);
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
                Watched::Until(due, _) => due.saturating_duration_since(Instant::now()),
                Watched::Nothing | Watched::Stopped => {
                    watched = self
                        .changed
                        .wait(watched)
                        .unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
            };
            if left.is_zero() {
                if let Watched::Until(_, isolate) =
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
