//! The thread that writes.
//!
//! Invariant: lines are in the order of the ends of their calls. What the disk does not take is counted, and said in
//! the log itself as soon as it can be.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant, SystemTime},
};

use tracing::{info, warn};

use super::{
    Shared,
    files::Files,
    hash::Hasher,
    record::{Deed, DeedRecord, Record},
};
use mux_caller::Origin;

/// What is written at once.
const BATCH: usize = 64 << 10;
/// What was written is with the disk after this time.
const SYNC: Duration = Duration::from_secs(1);

pub(super) struct Writer {
    files: Files,
    hasher: Option<Hasher>,
    shared: Arc<Shared>,
    /// Lost lines that the log tells of.
    told: u64,
}

impl Writer {
    pub(super) fn new(folder: PathBuf, shared: Arc<Shared>) -> Self {
        Self {
            files: Files::new(folder),
            hasher: None,
            shared,
            told: 0,
        }
    }

    /// Until nobody can say anything more.
    pub(super) fn work(mut self, records: &Receiver<Record>) {
        // Since when something is written that may not be on the disk.
        let mut unsynced: Option<Instant> = None;
        loop {
            let came = match unsynced.map(|since| SYNC.saturating_sub(since.elapsed())) {
                Some(rest) => records.recv_timeout(rest),
                None if self.is_behind() => records.recv_timeout(SYNC),
                // There is nothing to do until somebody says something.
                None => records.recv().map_err(Into::into),
            };
            let first = match came {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    self.catch_up();
                    return;
                }
            };
            let is_idle = first.is_none();
            let (mut text, mut lines, mut settled) = (Vec::new(), 0, None);
            let mut next = first;
            while let Some(record) = next {
                if let Record::Settle(done) = record {
                    settled = Some(done);
                    break;
                }
                self.put(&record, &mut text);
                lines += 1;
                next = match text.len() < BATCH {
                    true => records.try_recv().ok(),
                    false => None,
                };
            }
            if lines > 0 {
                self.write(text, lines);
                unsynced.get_or_insert_with(Instant::now);
            }
            if is_idle || settled.is_some() {
                // Nothing comes behind which it could be told.
                self.catch_up();
            }
            // However much comes, and however steadily.
            if settled.is_some() || unsynced.is_some_and(|since| since.elapsed() >= SYNC) {
                self.files.sync();
                #[cfg(test)]
                self.shared.synced.fetch_add(1, Ordering::Relaxed);
                unsynced = None;
            }
            if let Some(done) = settled {
                // Whoever waited may have gone.
                _ = done.send(());
            }
        }
    }

    /// Tells of lost lines that no other has told of.
    fn catch_up(&mut self) {
        if self.is_behind() {
            self.write(Vec::new(), 0);
        }
    }

    /// Lines were lost, and the log does not say so yet.
    fn is_behind(&self) -> bool {
        self.shared.lost.load(Ordering::Relaxed) > self.told
    }

    fn put(&mut self, record: &Record, text: &mut Vec<u8>) {
        record.leave(&self.shared.waiting);
        if self.hasher.is_none() {
            // Without a key there are lines without hashes.
            self.hasher = self.files.folder().and_then(Hasher::open).ok();
        }
        record.write(self.hasher.as_ref(), text);
    }

    fn write(&mut self, mut text: Vec<u8>, lines: u64) {
        let lost = self.shared.lost.load(Ordering::Relaxed);
        if lost > self.told {
            // Before them, since it is there that the others are missing.
            let mut whole = self.missing(lost - self.told);
            whole.append(&mut text);
            text = whole;
        }
        let terms = *self.shared.terms();
        match self.files.append(&text, terms, SystemTime::now()) {
            Ok(()) => {
                self.told = lost;
                if self.shared.problem().take().is_some() {
                    info!(lost, "the audit log is written again");
                }
            }
            Err(error) => {
                if lines > 0 && self.shared.loses(lines) == 0 {
                    warn!("the audit log loses lines");
                }
                self.shared.fails(error.to_string());
            }
        }
    }

    fn missing(&self, count: u64) -> Vec<u8> {
        let record = Record::Deed(Box::new(DeedRecord {
            at: SystemTime::now(),
            deed: Deed::LinesLost,
            subject: count.to_string(),
            by: Origin::default(),
        }));
        let mut line = Vec::new();
        record.write(None, &mut line);
        line
    }
}
