//! The thread that writes the audit log.
//!
//! Invariant: lines are in the order in which their calls ended. Lines that cannot be written are counted, and the log
//! itself reports their number as soon as it can be written.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread,
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

/// The size at which a batch is written.
const MAX_BATCH_BYTES: usize = 64 << 10;
/// How long records are collected after a write. A record that comes later is written immediately.
const COLLECTION_INTERVAL: Duration = Duration::from_millis(10);
/// The maximum time between a write and its sync.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct AuditWriter {
    files: AuditFiles,
    hasher: Option<ArgumentHasher>,
    shared: Arc<AuditShared>,
    /// The number of lost lines that the log has reported.
    reported: u64,
}

impl AuditWriter {
    pub(super) fn new(folder: PathBuf, shared: Arc<AuditShared>) -> Self {
        Self {
            files: AuditFiles::new(folder),
            hasher: None,
            shared,
            reported: 0,
        }
    }

    /// Writes records until all senders are dropped.
    pub(super) fn write_until_closed(mut self, records: &Receiver<AuditRecord>) {
        // The time of the first write that was not synced yet.
        let mut unsynced: Option<Instant> = None;
        loop {
            let came = match unsynced.map(|since| SYNC_INTERVAL.saturating_sub(since.elapsed())) {
                Some(rest) => records.recv_timeout(rest),
                None if self.has_unreported_losses() => records.recv_timeout(SYNC_INTERVAL),
                // Idle until the next record.
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
            let mut text = Vec::new();
            let mut lines = 0;
            let mut settled = None;
            let mut next = first;
            while let Some(record) = next {
                if let AuditRecord::Settle(done) = record {
                    settled = Some(done);
                    break;
                }
                self.append_record(&record, &mut text);
                lines += 1;
                next = if text.len() < MAX_BATCH_BYTES {
                    records.try_recv().ok()
                } else {
                    None
                };
            }
            let is_full = text.len() >= MAX_BATCH_BYTES;
            if lines > 0 {
                self.write(text, lines);
                unsynced.get_or_insert_with(Instant::now);
            }
            if is_idle || settled.is_some() {
                // No record follows that would report them.
                self.report_lost_lines();
            }
            // Synced even under constant load.
            if settled.is_some() || unsynced.is_some_and(|since| since.elapsed() >= SYNC_INTERVAL) {
                self.files.sync();
                #[cfg(test)]
                self.shared.synced.fetch_add(1, Ordering::Relaxed);
                unsynced = None;
            }
            if let Some(done) = settled {
                // The receiver may no longer exist.
                _ = done.send(());
            } else if lines > 0 && !is_full {
                // While calls follow each other, waking this thread for each of them would cost more than its line.
                thread::sleep(COLLECTION_INTERVAL);
            }
        }
    }

    /// Writes a line about lost lines that were not reported yet.
    fn report_lost_lines(&mut self) {
        if self.has_unreported_losses() {
            self.write(Vec::new(), 0);
        }
    }

    /// Returns true if lines were lost that the log has not reported.
    fn has_unreported_losses(&self) -> bool {
        self.shared.lost.load(Ordering::Relaxed) > self.reported
    }

    fn append_record(&mut self, record: &AuditRecord, text: &mut Vec<u8>) {
        record.release_argument_bytes(&self.shared.waiting);
        if self.hasher.is_none() {
            // Without a key, lines have no hashes.
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
        if lost > self.reported {
            // Goes first, because the lost lines are missing before these.
            let mut whole = Self::lost_lines_record(lost - self.reported);
            whole.append(&mut text);
            text = whole;
        }
        let retention = *self.shared.retention.lock();
        match self.files.append(&text, retention, SystemTime::now()) {
            Ok(()) => {
                self.reported = lost;
                if self.shared.problem.lock().take().is_some() {
                    info!(lost, "the audit log is written again");
                }
            }
            Err(error) => {
                if lines > 0 && self.shared.count_lost(lines) == 0 {
                    warn!("audit log lines are lost: they cannot be written");
                }
                self.shared.set_problem(error.to_string());
            }
        }
    }

    fn lost_lines_record(count: u64) -> Vec<u8> {
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
