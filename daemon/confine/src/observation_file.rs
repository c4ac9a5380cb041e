//! The file into which `muxd observe` writes a server's operations.
//!
//! Invariant: a line is written whole, by one write at the end of the file, because several processes share it.

use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use super::observation::ObservedAction;

/// How many operations of one process tree are recorded. No useful sandbox could be suggested for more.
const MAX_OBSERVATIONS: usize = 20_000;

/// The file with the observations of a server.
pub(super) struct ObservationFile {
    file: File,
    known: BTreeSet<ObservedAction>,
}

impl ObservationFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            file,
            known: BTreeSet::new(),
        })
    }

    pub(super) fn add(&mut self, observation: ObservedAction) {
        if self.known.len() >= MAX_OBSERVATIONS || self.known.contains(&observation) {
            return;
        }
        // A path that is not UTF-8 cannot be written into a configuration either.
        if let Ok(mut line) = serde_json::to_string(&observation) {
            line.push('\n');
            self.file.write_all(line.as_bytes()).ok();
        }
        self.known.insert(observation);
    }
}
