//! Caches the verdicts on checked programs, and tracks checks in progress.
//!
//! Invariant: a program is checked by one task at a time. Others that check the same program wait for its verdict.

use std::{sync::Arc, time::Duration};

use lru::LruCache;
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

use super::{CheckFailure, Diagnostic, TypeDeclarations};

/// The maximum number of verdicts. A verdict has at most 20 diagnostics.
const MAX_VERDICTS: usize = 512;
/// How long a program that exceeded a limit is not checked again.
const FAILURE_BACKOFF: Duration = Duration::from_mins(1);

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

#[derive(Clone)]
pub(super) struct VerdictCache(Arc<Mutex<VerdictEntries>>);

type VerdictEntries = LruCache<VerdictKey, VerdictState>;

impl Default for VerdictCache {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(LruCache::unbounded())))
    }
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
            // The checking task no longer exists: the runtime is shutting down, or it panicked.
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
        match kept.get(&key) {
            Some(VerdictState::Known(verdict, until))
                if until.is_none_or(|until| Instant::now() < until) =>
            {
                return VerdictLookup::Known(verdict.clone());
            }
            Some(VerdictState::Pending(verdict_sender)) => {
                return VerdictLookup::Pending(PendingVerdict(verdict_sender.clone()));
            }
            Some(VerdictState::Known(..)) | None => {}
        }
        let (verdict_sender, waiting) = watch::channel(None);
        kept.put(key, VerdictState::Pending(waiting));
        drop_excess(&mut kept);
        VerdictLookup::Unknown(VerdictPromise {
            key,
            verdicts: self.clone(),
            verdict_sender,
        })
    }

    /// Forgets all known verdicts. Pending ones are kept.
    pub(super) fn forget_all(&self) {
        let mut kept = self.lock();
        let known = kept.iter().filter(|(_, state)| state.is_known());
        let known: Vec<VerdictKey> = known.map(|(key, _)| *key).collect();
        for key in known {
            kept.pop(&key);
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, VerdictEntries> {
        self.0.lock()
    }
}

impl VerdictState {
    fn is_known(&self) -> bool {
        matches!(self, Self::Known(..))
    }
}

/// Drops the least recently used verdict if there are too many. Pending ones are few, and are kept.
fn drop_excess(kept: &mut VerdictEntries) {
    let mut oldest_first = kept.iter().rev();
    if kept.len() > MAX_VERDICTS
        && let Some((oldest, _)) = oldest_first.find(|(_, state)| state.is_known())
    {
        let oldest = *oldest;
        kept.pop(&oldest);
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
            && let Some(state) = self.verdicts.lock().peek_mut(&self.key)
        {
            *state = VerdictState::Known(verdict.clone(), until);
        }
        self.verdict_sender.send_replace(Some(verdict));
    }
}

impl Drop for VerdictPromise {
    fn drop(&mut self) {
        let mut kept = self.verdicts.lock();
        if kept.peek(&self.key).is_some_and(|state| !state.is_known()) {
            kept.pop(&self.key);
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

    #[expect(clippy::unnecessary_wraps, reason = "a verdict without a finding")]
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
        assert!(verdicts.lock().len() <= MAX_VERDICTS);
        drop(promise(&verdicts, "1"));
    }
}
