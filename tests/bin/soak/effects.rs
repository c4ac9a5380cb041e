//! Calls with an effect: each appends its own number to a file.
//!
//! Invariant: no number is in the file twice, and every number whose call was answered is in it.

use std::{
    collections::HashSet,
    fs, io,
    path::PathBuf,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

pub(crate) struct EffectLedger {
    folder: tempfile::TempDir,
    next: AtomicU64,
    answered: Mutex<Vec<u64>>,
}

impl EffectLedger {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            folder: tempfile::tempdir_in("/tmp")?,
            next: AtomicU64::new(1),
            answered: Mutex::default(),
        })
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("effects")
    }

    pub(crate) fn next_mark(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn record_answered(&self, mark: u64) {
        self.answered().push(mark);
    }

    /// The errors, and the number of effects.
    pub(crate) fn judge(&self) -> (Vec<String>, usize) {
        let text = fs::read_to_string(self.file()).unwrap_or_default();
        let mut found = HashSet::new();
        let mut problems = Vec::new();
        for line in text.lines() {
            match line.parse::<u64>() {
                Ok(mark) if found.insert(mark) => {}
                Ok(mark) => problems.push(format!("call {mark} had its effect twice")),
                Err(_) => problems.push(format!("an effect that no call has: {line:?}")),
            }
        }
        let answered = self.answered();
        let missing = answered.iter().filter(|mark| !found.contains(mark));
        problems.extend(missing.map(|mark| format!("call {mark} was answered without an effect")));
        (problems, found.len())
    }

    fn answered(&self) -> MutexGuard<'_, Vec<u64>> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
