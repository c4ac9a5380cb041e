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
    AuditShared,
    argument_hasher::ArgumentHasher,
    audit_files::AuditFiles,
    audit_record::{AdminEvent, AdminEventRecord, AuditRecord},
};
use mux_caller::ClientOrigin;

/// What is written at once.
const MAX_BATCH_BYTES: usize = 64 << 10;
/// What was written is with the disk after this time.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct AuditWriter {
    files: AuditFiles,
    hasher: Option<ArgumentHasher>,
    shared: Arc<AuditShared>,
    /// Lost lines that the log tells of.
    told: u64,
}

impl AuditWriter {
    pub(super) fn new(folder: PathBuf, shared: Arc<AuditShared>) -> Self {
        Self {
            files: AuditFiles::new(folder),
            hasher: None,
            shared,
            told: 0,
        }
    }

    /// Until nobody can say anything more.
    pub(super) fn write_until_closed(mut self, records: &Receiver<AuditRecord>) {
        // Since when something is written that may not be on the disk.
        let mut unsynced: Option<Instant> = None;
        loop {
            let came = match unsynced.map(|since| SYNC_INTERVAL.saturating_sub(since.elapsed())) {
                Some(rest) => records.recv_timeout(rest),
                None if self.has_unreported_losses() => records.recv_timeout(SYNC_INTERVAL),
                // There is nothing to do until somebody says something.
                None => records.recv().map_err(Into::into),
            };
            let first = match came {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    self.report_lost_lines();
                    return;
                }
            };
            let is_idle = first.is_none();
            let (mut text, mut lines, mut settled) = (Vec::new(), 0, None);
            let mut next = first;
            while let Some(record) = next {
                if let AuditRecord::Settle(done) = record {
                    settled = Some(done);
                    break;
                }
                self.append_record(&record, &mut text);
                lines += 1;
                next = match text.len() < MAX_BATCH_BYTES {
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
                self.report_lost_lines();
            }
            // However much comes, and however steadily.
            if settled.is_some() || unsynced.is_some_and(|since| since.elapsed() >= SYNC_INTERVAL) {
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
    fn report_lost_lines(&mut self) {
        if self.has_unreported_losses() {
            self.write(Vec::new(), 0);
        }
    }

    /// Lines were lost, and the log does not say so yet.
    fn has_unreported_losses(&self) -> bool {
        self.shared.lost.load(Ordering::Relaxed) > self.told
    }

    fn append_record(&mut self, record: &AuditRecord, text: &mut Vec<u8>) {
        record.release_argument_bytes(&self.shared.waiting);
        if self.hasher.is_none() {
            // Without a key there are lines without hashes.
            self.hasher = self
                .files
                .ensure_folder()
                .and_then(ArgumentHasher::open)
                .ok();
        }
        record.write(self.hasher.as_ref(), text);
    }

    fn write(&mut self, mut text: Vec<u8>, lines: u64) {
        let lost = self.shared.lost.load(Ordering::Relaxed);
        if lost > self.told {
            // Before them, since it is there that the others are missing.
            let mut whole = self.lost_lines_record(lost - self.told);
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
                if lines > 0 && self.shared.count_lost(lines) == 0 {
                    warn!("the audit log loses lines");
                }
                self.shared.set_problem(error.to_string());
            }
        }
    }

    fn lost_lines_record(&self, count: u64) -> Vec<u8> {
        let record = AuditRecord::Deed(Box::new(AdminEventRecord {
            at: SystemTime::now(),
            deed: AdminEvent::LinesLost,
            subject: count.to_string(),
            by: ClientOrigin::default(),
        }));
        let mut line = Vec::new();
        record.write(None, &mut line);
        line
    }
}
