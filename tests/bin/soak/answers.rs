//! Counts the answers that agents got, by outcome.
//!
//! Invariant: an answer that is neither right nor an error which the faults explain is wrong, and is kept
//! in words.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The number of wrong answers that are shown.
const MAX_SHOWN: usize = 10;

#[derive(Default)]
pub(crate) struct Answers(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    by_kind: BTreeMap<String, u64>,
    wrong: Vec<String>,
    wrongs: u64,
}

impl Answers {
    pub(crate) fn right(&self) {
        self.count("right");
    }

    /// The agent's `mux mcp` has failed, to which no fault was done.
    pub(crate) fn lost(&self, why: &str) {
        self.wrong(format!("an agent was lost: {why}"));
    }

    pub(crate) fn wrong(&self, what: String) {
        let mut counts = self.counts();
        counts.wrongs += 1;
        if counts.wrong.len() < MAX_SHOWN {
            counts.wrong.push(what);
        }
    }

    /// An error that the faults explain, or a wrong answer. The message begins with its kind.
    pub(crate) fn error(&self, text: &str, of: &str) {
        let kind = text.split(':').next().unwrap_or_default();
        let explained = match kind {
            // A server was killed, restarted or changed.
            "unknown_outcome" | "unavailable" => true,
            // A worker was killed.
            "internal" => text.contains("signal: 9"),
            _ => false,
        };
        if explained {
            self.count(kind);
        } else {
            self.wrong(format!("{of}: {text:.500}"));
        }
    }

    pub(crate) fn of(&self, kind: &str) -> u64 {
        self.counts().by_kind.get(kind).copied().unwrap_or(0)
    }

    pub(crate) fn wrongs(&self) -> u64 {
        self.counts().wrongs
    }

    pub(crate) fn shown(&self) -> Vec<String> {
        self.counts().wrong.clone()
    }

    pub(crate) fn summary(&self) -> String {
        let counts = self.counts();
        let kinds = counts.by_kind.iter();
        let kinds: Vec<String> = kinds.map(|(kind, n)| format!("{kind} {n}")).collect();
        format!("{}, wrong {}", kinds.join(", "), counts.wrongs)
    }

    fn count(&self, kind: &str) {
        *self.counts().by_kind.entry(kind.to_owned()).or_default() += 1;
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
