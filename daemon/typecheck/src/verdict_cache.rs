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

type VerdictEntries = LruCache<VerdictKey, VerdictEntry>;

impl Default for VerdictCache {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(LruCache::unbounded())))
    }
}

struct VerdictEntry {
    verdict: PendingVerdict,
    /// The time from which the program is checked again.
    until: Option<Instant>,
}

/// A verdict, which another task may still be computing.
#[derive(Clone)]
pub(super) struct PendingVerdict(watch::Receiver<Option<CheckVerdict>>);

impl PendingVerdict {
    pub(super) async fn verdict(mut self) -> CheckVerdict {
        match self.0.wait_for(Option::is_some).await {
            Ok(verdict) => verdict.clone().unwrap_or(Err(CheckFailure::Closed)),
            // The checking task no longer exists: the runtime is shutting down, or it panicked.
            Err(_) => Err(CheckFailure::Closed),
        }
    }

    fn is_known(&self) -> bool {
        self.0.borrow().is_some()
    }
}

/// The obligation to compute a verdict. If it is dropped without one, the next caller tries again.
pub(super) struct VerdictPromise {
    key: VerdictKey,
    verdicts: VerdictCache,
    verdict_sender: watch::Sender<Option<CheckVerdict>>,
    is_kept: bool,
}

impl VerdictCache {
    /// The verdict, and the promise of it if no task has computed it or is computing it: the caller must check the
    /// program and fulfill the promise.
    pub(super) fn ask(&self, key: VerdictKey) -> (PendingVerdict, Option<VerdictPromise>) {
        let mut entries = self.lock();
        if let Some(entry) = entries.get(&key)
            && entry.until.is_none_or(|until| Instant::now() < until)
        {
            return (entry.verdict.clone(), None);
        }
        let (verdict_sender, verdict) = watch::channel(None);
        let verdict = PendingVerdict(verdict);
        let entry = VerdictEntry {
            verdict: verdict.clone(),
            until: None,
        };
        entries.put(key, entry);
        drop_excess(&mut entries);
        let promise = VerdictPromise {
            key,
            verdicts: self.clone(),
            verdict_sender,
            is_kept: false,
        };
        (verdict, Some(promise))
    }

    /// Forgets all known verdicts. Pending ones are kept.
    pub(super) fn forget_all(&self) {
        let mut entries = self.lock();
        let known = entries.iter().filter(|(_, entry)| entry.verdict.is_known());
        let known: Vec<VerdictKey> = known.map(|(key, _)| *key).collect();
        for key in known {
            entries.pop(&key);
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, VerdictEntries> {
        self.0.lock()
    }
}

/// Drops the least recently used verdict if there are too many. Pending ones are few, and are kept.
fn drop_excess(entries: &mut VerdictEntries) {
    let mut oldest_first = entries.iter().rev();
    if entries.len() > MAX_VERDICTS
        && let Some((oldest, _)) = oldest_first.find(|(_, entry)| entry.verdict.is_known())
    {
        let oldest = *oldest;
        entries.pop(&oldest);
    }
}

impl VerdictPromise {
    /// Sends the verdict to all waiting tasks, and caches it unless it is a transient failure.
    pub(super) fn keep(mut self, verdict: CheckVerdict) {
        let is_limit = matches!(
            verdict,
            Err(CheckFailure::TooSlow(_) | CheckFailure::TooLarge(_))
        );
        self.is_kept = verdict.is_ok() || is_limit;
        if is_limit && let Some(entry) = self.verdicts.lock().peek_mut(&self.key) {
            entry.until = Some(Instant::now() + FAILURE_BACKOFF);
        }
        self.verdict_sender.send_replace(Some(verdict));
    }
}

impl Drop for VerdictPromise {
    fn drop(&mut self) {
        if !self.is_kept {
            self.verdicts.lock().pop(&self.key);
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
        let (_, promise) = verdicts.ask(key(source));
        promise.unwrap_or_else(|| panic!("{source} is known"))
    }

    #[expect(clippy::unnecessary_wraps, reason = "a verdict without a finding")]
    fn nothing() -> CheckVerdict {
        Ok(Arc::new([]))
    }

    #[tokio::test(start_paused = true)]
    async fn one_task_checks_and_others_wait() {
        let verdicts = VerdictCache::default();
        let found = promise(&verdicts, "a");
        let (waiting, new) = verdicts.ask(key("a"));
        assert!(new.is_none() && !waiting.is_known());
        found.keep(nothing());
        assert!(waiting.verdict().await.is_ok());
        let (known, new) = verdicts.ask(key("a"));
        assert!(new.is_none() && known.is_known());
        verdicts.forget_all();
        drop(promise(&verdicts, "a"));
        drop(promise(&verdicts, "a"));
    }

    #[tokio::test(start_paused = true)]
    async fn transient_failures_are_not_cached_and_limit_failures_expire() {
        let verdicts = VerdictCache::default();
        promise(&verdicts, "a").keep(Err(CheckFailure::Died("x".into())));
        promise(&verdicts, "a").keep(Err(CheckFailure::TooLarge(1)));
        let (known, new) = verdicts.ask(key("a"));
        assert!(new.is_none() && known.verdict().await.is_err());
        tokio::time::advance(FAILURE_BACKOFF).await;
        promise(&verdicts, "a").keep(nothing());
    }

    #[test]
    fn least_recently_used_verdicts_are_dropped() {
        let verdicts = VerdictCache::default();
        for number in 0..MAX_VERDICTS + 50 {
            promise(&verdicts, &number.to_string()).keep(nothing());
            assert!(verdicts.ask(key("0")).1.is_none(), "{number}");
        }
        assert!(verdicts.lock().len() <= MAX_VERDICTS);
        drop(promise(&verdicts, "1"));
    }
}
