//! What clients were told, counted.
//!
//! Invariant: an answer that is neither right nor an error which the faults explain is wrong, and is kept
//! in words.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use mux_proto::{Error, Kind};

/// Wrong answers that are shown.
const SHOWN: usize = 10;

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

    /// The connection was lost, which nobody did to this client.
    pub(crate) fn lost(&self, why: &str) {
        self.wrong(format!("the connection was lost: {why}"));
    }

    pub(crate) fn wrong(&self, what: String) {
        let mut counts = self.counts();
        counts.wrongs += 1;
        if counts.wrong.len() < SHOWN {
            counts.wrong.push(what);
        }
    }

    /// An error: one that the faults explain, or a wrong answer.
    pub(crate) fn error(&self, error: &Error, of: &str) {
        let explained = match error.kind {
            // A server was killed, restarted or changed.
            Kind::UnknownOutcome | Kind::Unavailable => true,
            // A worker was killed.
            Kind::Internal => error.message.contains("signal: 9"),
            _ => false,
        };
        match explained {
            true => self.count(&format!("{:?}", error.kind)),
            false => self.wrong(format!("{of}: {error:?}")),
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
