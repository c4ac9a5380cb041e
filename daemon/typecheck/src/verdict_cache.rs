//! Caches the verdicts on checked programs, and tracks checks in progress.
//!
//! Invariant: a program is checked by one task at a time. Others that check the same program wait for its verdict.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

use super::{CheckFailure, Diagnostic, TypeDeclarations};

/// The maximum number of verdicts. A verdict has at most 20 diagnostics.
const MAX_VERDICTS: usize = 512;
/// How long a program that exceeded a limit is not checked again.
const FAILURE_BACKOFF: Duration = Duration::from_secs(60);

pub(super) type CheckVerdict = Result<Arc<[Diagnostic]>, CheckFailure>;

/// The hashes of a program and the types that it is checked against.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct VerdictKey {
    source: [u8; 32],
    types: [u8; 32],
}

impl VerdictKey {
    pub(super) fn of(types: &TypeDeclarations, source: &str) -> Self {
        Self {
            source: *blake3::hash(source.as_bytes()).as_bytes(),
            types: types.hash,
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct VerdictCache(Arc<Mutex<VerdictEntries>>);

#[derive(Default)]
struct VerdictEntries {
    entries: HashMap<VerdictKey, VerdictEntry>,
    /// Counts lookups, to find the least recently used entry.
    clock: u64,
}

struct VerdictEntry {
    asked: u64,
    state: VerdictState,
}

enum VerdictState {
    Known(CheckVerdict, Option<Instant>),
    Pending(watch::Receiver<Option<CheckVerdict>>),
}

pub(super) enum VerdictLookup {
    Known(CheckVerdict),
    Pending(PendingVerdict),
    /// Not cached: the caller must check the program and fulfill the promise.
    Unknown(VerdictPromise),
}

/// A verdict that another task is computing.
pub(super) struct PendingVerdict(watch::Receiver<Option<CheckVerdict>>);

impl PendingVerdict {
    pub(super) async fn verdict(mut self) -> CheckVerdict {
        match self.0.wait_for(Option::is_some).await {
            Ok(verdict) => verdict.clone().unwrap_or(Err(CheckFailure::Closed)),
            // The checking task is gone: the runtime is shutting down, or it panicked.
            Err(_) => Err(CheckFailure::Closed),
        }
    }
}

/// The obligation to compute a verdict. If it is dropped without one, the next caller tries again.
pub(super) struct VerdictPromise {
    key: VerdictKey,
    verdicts: VerdictCache,
    verdict_sender: watch::Sender<Option<CheckVerdict>>,
}

impl VerdictCache {
    pub(super) fn ask(&self, key: VerdictKey) -> VerdictLookup {
        let mut kept = self.lock();
        kept.clock += 1;
        let now = kept.clock;
        if let Some(entry) = kept.entries.get_mut(&key) {
            entry.asked = now;
            match &entry.state {
                VerdictState::Known(verdict, until)
                    if until.is_none_or(|until| Instant::now() < until) =>
                {
                    return VerdictLookup::Known(verdict.clone());
                }
                VerdictState::Known(..) => {}
                VerdictState::Pending(verdict_sender) => {
                    return VerdictLookup::Pending(PendingVerdict(verdict_sender.clone()));
                }
            }
        }
        let (verdict_sender, waiting) = watch::channel(None);
        let entry = VerdictEntry {
            asked: now,
            state: VerdictState::Pending(waiting),
        };
        kept.entries.insert(key, entry);
        kept.shrink();
        VerdictLookup::Unknown(VerdictPromise {
            key,
            verdicts: self.clone(),
            verdict_sender,
        })
    }

    /// Forgets all known verdicts. Pending ones are kept.
    pub(super) fn forget_all(&self) {
        let pending = |entry: &VerdictEntry| matches!(entry.state, VerdictState::Pending(_));
        self.lock().entries.retain(|_, entry| pending(entry));
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, VerdictEntries> {
        self.0.lock()
    }
}

impl VerdictEntries {
    /// Drops the least recently used verdict if there are too many. Pending ones are few, and are kept.
    fn shrink(&mut self) {
        if self.entries.len() <= MAX_VERDICTS {
            return;
        }
        let known = self
            .entries
            .iter()
            .filter(|(_, entry)| matches!(entry.state, VerdictState::Known(..)));
        if let Some(oldest) = known
            .min_by_key(|(_, entry)| entry.asked)
            .map(|(key, _)| *key)
        {
            self.entries.remove(&oldest);
        }
    }
}

impl VerdictPromise {
    pub(super) fn subscribe(&self) -> PendingVerdict {
        PendingVerdict(self.verdict_sender.subscribe())
    }

    /// Sends the verdict to all waiting tasks, and caches it unless it is a transient failure.
    pub(super) fn keep(self, verdict: CheckVerdict) {
        let until = match &verdict {
            Ok(_) => Some(None),
            Err(CheckFailure::TooSlow(_) | CheckFailure::TooLarge(_)) => {
                Some(Some(Instant::now() + FAILURE_BACKOFF))
            }
            Err(_) => None,
        };
        if let Some(until) = until
            && let Some(entry) = self.verdicts.lock().entries.get_mut(&self.key)
        {
            entry.state = VerdictState::Known(verdict.clone(), until);
        }
        self.verdict_sender.send_replace(Some(verdict));
    }
}

impl Drop for VerdictPromise {
    fn drop(&mut self) {
        let mut kept = self.verdicts.lock();
        let entry = kept.entries.get(&self.key);
        if entry.is_some_and(|entry| matches!(entry.state, VerdictState::Pending(_))) {
            kept.entries.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(source: &str) -> VerdictKey {
        let types = TypeDeclarations {
            hash: [0; 32],
            text: "".into(),
        };
        VerdictKey::of(&types, source)
    }

    fn promise(verdicts: &VerdictCache, source: &str) -> VerdictPromise {
        match verdicts.ask(key(source)) {
            VerdictLookup::Unknown(promise) => promise,
            _ => panic!("{source} is known"),
        }
    }

    fn nothing() -> CheckVerdict {
        Ok(Arc::new([]))
    }

    #[tokio::test(start_paused = true)]
    async fn one_task_checks_and_others_wait() {
        let verdicts = VerdictCache::default();
        let found = promise(&verdicts, "a");
        let VerdictLookup::Pending(waiting) = verdicts.ask(key("a")) else {
            panic!("it is pending");
        };
        found.keep(nothing());
        assert!(waiting.verdict().await.is_ok());
        assert!(matches!(
            verdicts.ask(key("a")),
            VerdictLookup::Known(Ok(_))
        ));
        verdicts.forget_all();
        drop(promise(&verdicts, "a"));
        drop(promise(&verdicts, "a"));
    }

    #[tokio::test(start_paused = true)]
    async fn transient_failures_are_not_cached_and_limit_failures_expire() {
        let verdicts = VerdictCache::default();
        promise(&verdicts, "a").keep(Err(CheckFailure::Died("x".into())));
        promise(&verdicts, "a").keep(Err(CheckFailure::TooLarge(1)));
        assert!(matches!(
            verdicts.ask(key("a")),
            VerdictLookup::Known(Err(_))
        ));
        tokio::time::advance(FAILURE_BACKOFF).await;
        promise(&verdicts, "a").keep(nothing());
    }

    #[test]
    fn least_recently_used_verdicts_are_dropped() {
        let verdicts = VerdictCache::default();
        for number in 0..MAX_VERDICTS + 50 {
            promise(&verdicts, &number.to_string()).keep(nothing());
            assert!(
                matches!(verdicts.ask(key("0")), VerdictLookup::Known(_)),
                "{number}"
            );
        }
        assert!(verdicts.lock().entries.len() <= MAX_VERDICTS);
        drop(promise(&verdicts, "1"));
    }
}
