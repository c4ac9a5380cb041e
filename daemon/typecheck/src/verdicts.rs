//! What was found in programs that were checked already, and who waits for those that are.
//!
//! Invariant: a program is checked by one task at a time. Whoever asks for the same one waits for it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use super::{Diagnostic, Types, Unchecked};

/// How many are kept. A verdict has 20 diagnostics at most.
const MOST: usize = 512;
/// How long a program that took too much is not tried again.
const GRUDGE: Duration = Duration::from_secs(60);

pub(super) type Verdict = Result<Arc<[Diagnostic]>, Unchecked>;

/// A program and what it was checked against.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Key {
    source: [u8; 32],
    types: [u8; 32],
}

impl Key {
    pub(super) fn of(types: &Types, source: &str) -> Self {
        Self {
            source: *blake3::hash(source.as_bytes()).as_bytes(),
            types: types.hash,
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct Verdicts(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    entries: HashMap<Key, Entry>,
    /// Counts questions, to know which entry was asked for last.
    clock: u64,
}

struct Entry {
    asked: u64,
    state: State,
}

enum State {
    Known(Verdict, Option<Instant>),
    Pending(watch::Receiver<Option<Verdict>>),
}

pub(super) enum Asked {
    Known(Verdict),
    Pending(Waiting),
    /// The asker has to find out, and to say so.
    Unknown(Promise),
}

/// A verdict that somebody else finds.
pub(super) struct Waiting(watch::Receiver<Option<Verdict>>);

impl Waiting {
    pub(super) async fn verdict(mut self) -> Verdict {
        match self.0.wait_for(Option::is_some).await {
            Ok(verdict) => verdict.clone().unwrap_or(Err(Unchecked::Closed)),
            // The task that would have told is gone: the runtime ends, or it panicked.
            Err(_) => Err(Unchecked::Closed),
        }
    }
}

/// The duty to find a verdict. Dropped without one, it lets the next asker try.
pub(super) struct Promise {
    key: Key,
    verdicts: Verdicts,
    told: watch::Sender<Option<Verdict>>,
}

impl Verdicts {
    pub(super) fn ask(&self, key: Key) -> Asked {
        let mut kept = self.lock();
        kept.clock += 1;
        let now = kept.clock;
        if let Some(entry) = kept.entries.get_mut(&key) {
            entry.asked = now;
            match &entry.state {
                State::Known(verdict, until)
                    if until.is_none_or(|until| Instant::now() < until) =>
                {
                    return Asked::Known(verdict.clone());
                }
                State::Known(..) => {}
                State::Pending(told) => return Asked::Pending(Waiting(told.clone())),
            }
        }
        let (told, waiting) = watch::channel(None);
        let entry = Entry {
            asked: now,
            state: State::Pending(waiting),
        };
        kept.entries.insert(key, entry);
        kept.shrink();
        Asked::Unknown(Promise {
            key,
            verdicts: self.clone(),
            told,
        })
    }

    /// Forgets all that is known. What is being found out is kept.
    pub(super) fn forget_all(&self) {
        let pending = |entry: &Entry| matches!(entry.state, State::Pending(_));
        self.lock().entries.retain(|_, entry| pending(entry));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Drops the one that nobody has asked for longest. What is pending is not many, and stays.
    fn shrink(&mut self) {
        if self.entries.len() <= MOST {
            return;
        }
        let known = self
            .entries
            .iter()
            .filter(|(_, entry)| matches!(entry.state, State::Known(..)));
        if let Some(oldest) = known
            .min_by_key(|(_, entry)| entry.asked)
            .map(|(key, _)| *key)
        {
            self.entries.remove(&oldest);
        }
    }
}

impl Promise {
    pub(super) fn subscribe(&self) -> Waiting {
        Waiting(self.told.subscribe())
    }

    /// Tells everybody, and keeps what will be true again.
    pub(super) fn keep(self, verdict: Verdict) {
        let until = match &verdict {
            Ok(_) => Some(None),
            Err(Unchecked::TooSlow(_) | Unchecked::TooLarge(_)) => {
                Some(Some(Instant::now() + GRUDGE))
            }
            Err(_) => None,
        };
        if let Some(until) = until
            && let Some(entry) = self.verdicts.lock().entries.get_mut(&self.key)
        {
            entry.state = State::Known(verdict.clone(), until);
        }
        self.told.send_replace(Some(verdict));
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        let mut kept = self.verdicts.lock();
        let entry = kept.entries.get(&self.key);
        if entry.is_some_and(|entry| matches!(entry.state, State::Pending(_))) {
            kept.entries.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(source: &str) -> Key {
        let types = Types {
            hash: [0; 32],
            text: "".into(),
        };
        Key::of(&types, source)
    }

    fn promise(verdicts: &Verdicts, source: &str) -> Promise {
        match verdicts.ask(key(source)) {
            Asked::Unknown(promise) => promise,
            _ => panic!("{source} is known"),
        }
    }

    fn nothing() -> Verdict {
        Ok(Arc::new([]))
    }

    #[tokio::test(start_paused = true)]
    async fn one_finds_out_and_the_others_wait() {
        let verdicts = Verdicts::default();
        let found = promise(&verdicts, "a");
        let Asked::Pending(waiting) = verdicts.ask(key("a")) else {
            panic!("it is pending");
        };
        found.keep(nothing());
        assert!(waiting.verdict().await.is_ok());
        assert!(matches!(verdicts.ask(key("a")), Asked::Known(Ok(_))));
        verdicts.forget_all();
        drop(promise(&verdicts, "a"));
        drop(promise(&verdicts, "a"));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_forgotten_and_those_of_greed_after_a_while() {
        let verdicts = Verdicts::default();
        promise(&verdicts, "a").keep(Err(Unchecked::Died("x".into())));
        promise(&verdicts, "a").keep(Err(Unchecked::TooLarge(1)));
        assert!(matches!(verdicts.ask(key("a")), Asked::Known(Err(_))));
        tokio::time::advance(GRUDGE).await;
        promise(&verdicts, "a").keep(nothing());
    }

    #[test]
    fn those_that_were_asked_for_last_are_kept() {
        let verdicts = Verdicts::default();
        for number in 0..MOST + 50 {
            promise(&verdicts, &number.to_string()).keep(nothing());
            assert!(
                matches!(verdicts.ask(key("0")), Asked::Known(_)),
                "{number}"
            );
        }
        assert!(verdicts.lock().entries.len() <= MOST);
        drop(promise(&verdicts, "1"));
    }
}
