//! The audit log: one JSON line for each call and each decision.
//!
//! This crate depends on callers, settings, secrets and files. It does not depend on policy, sessions or runs: the
//! gateway and the approvals pass their calls and decisions to it.
//!
//! - `call_audit_guard`: one call from its start to its end. `audit_record`: a record and the line that it becomes.
//!   `argument_hasher`: the keyed hash of a call's arguments.
//! - `audit_writer`: the thread that hashes and appends. `audit_files`: the files `audit-MILLISECONDS.jsonl`, which
//!   contain whole lines. The oldest files are deleted first.
//!
//! The gateway begins an entry before it resolves a name and ends it with the outcome.
//!
//! Invariants:
//!
//! - No caller waits for the log. Records that do not fit the queue or the disk are lost and counted, and the calls
//!   continue.
//! - No line contains an argument or a result. The hash of the arguments uses a random key, one for each home, which
//!   keeps a reader of only the log from guessing arguments.

mod argument_hasher;
mod audit_files;
mod audit_record;
mod audit_writer;
mod call_audit_guard;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc::{self, SyncSender, TrySendError},
    },
    thread,
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use tokio::{sync::oneshot, task::spawn_blocking, time::timeout};
use tracing::warn;

pub use self::{audit_record::AdminEvent, call_audit_guard::CallAuditGuard};
use self::{
    audit_record::{AdminEventRecord, AuditRecord, CallRecord},
    audit_writer::AuditWriter,
};
use mux_caller::{Caller, ClientOrigin};
use mux_settings::AuditRetention;

/// The maximum number of records that wait to be written.
const MAX_QUEUED_RECORDS: usize = 8_192;
/// The maximum size of arguments that wait to be hashed, in bytes of JSON. Calls beyond this limit have no hash.
const MAX_QUEUED_ARGUMENT_BYTES: usize = 32 << 20;

/// The log of calls and decisions.
#[derive(Debug)]
pub struct AuditLog {
    queue: SyncSender<AuditRecord>,
    enabled: AtomicBool,
    shared: Arc<AuditShared>,
}

/// State shared between the log and its writer thread.
#[derive(Debug, Default)]
struct AuditShared {
    retention: Mutex<AuditRetention>,
    /// Bytes of arguments in the queue.
    waiting: AtomicUsize,
    /// The number of lost lines.
    lost: AtomicU64,
    /// The number of syncs.
    #[cfg(test)]
    synced: AtomicU64,
    /// Why the log cannot be written now.
    problem: Mutex<Option<String>>,
}

impl AuditLog {
    /// Starts the writer thread. The folder is created with the first line.
    pub fn open(folder: PathBuf) -> Arc<Self> {
        let (queue, records) = mpsc::sync_channel(MAX_QUEUED_RECORDS);
        let shared = Arc::new(AuditShared::default());
        let writer = AuditWriter::new(folder, Arc::clone(&shared));
        let thread = thread::Builder::new().name("audit".into());
        if let Err(error) = thread.spawn(move || writer.write_until_closed(&records)) {
            // The queue has no receiver then: every record counts as lost.
            shared.set_problem(format!("its thread cannot be started: {error}"));
        }
        Arc::new(Self {
            queue,
            enabled: AtomicBool::new(true),
            shared,
        })
    }

    pub fn set_retention(&self, enabled: bool, retention: AuditRetention) {
        *self.shared.retention.lock() = retention;
        self.enabled.store(enabled, Ordering::Relaxed);
    }

    /// Begins the entry of a call. `path` is as requested. `arguments` are raw JSON, if they are known yet.
    pub fn begin_call(
        self: &Arc<Self>,
        path: &str,
        arguments: Option<&Arc<str>>,
        caller: &Arc<Caller>,
    ) -> CallAuditGuard {
        if !self.is_enabled() {
            return CallAuditGuard::disabled();
        }
        let call = CallRecord::new(path, arguments.cloned(), Arc::clone(caller));
        CallAuditGuard::begin(Arc::clone(self), call)
    }

    /// Records an administrative event. Events of the daemon itself have an empty origin.
    pub fn record_admin_event(&self, deed: AdminEvent, subject: &str, by: &ClientOrigin) {
        if self.is_enabled() {
            self.push(AuditRecord::Deed(Box::new(AdminEventRecord {
                at: SystemTime::now(),
                deed,
                subject: subject.to_owned(),
                by: by.clone(),
            })));
        }
    }

    /// A problem to show to the user: lines were lost, or the log cannot be written.
    pub fn problem(&self) -> Option<String> {
        let lost = self.shared.lost.load(Ordering::Relaxed);
        let problem = self.shared.problem.lock().clone();
        let lines = match lost {
            0 => return problem.map(|why| format!("the audit log cannot be written: {why}")),
            1 => "1 line of the audit log was lost".to_owned(),
            lost => format!("{lost} lines of the audit log were lost"),
        };
        Some(match problem {
            Some(why) => format!("{lines}, and it cannot be written: {why}"),
            None => format!("{lines} since muxd started; it is written again"),
        })
    }

    /// Waits until all earlier records are written and synced, at most for `within`.
    pub async fn flush(&self, within: Duration) {
        let (done, written) = oneshot::channel();
        let queue = self.queue.clone();
        let settled = async {
            let sent = spawn_blocking(move || queue.send(AuditRecord::Settle(done))).await;
            if matches!(sent, Ok(Ok(()))) {
                // A thread that has ended has no more records to write.
                _ = written.await;
            }
        };
        _ = timeout(within, settled).await;
    }

    fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    fn push(&self, mut record: AuditRecord) {
        record.reserve_argument_bytes(&self.shared.waiting);
        match self.queue.try_send(record) {
            Ok(()) => {}
            Err(TrySendError::Full(record) | TrySendError::Disconnected(record)) => {
                record.release_argument_bytes(&self.shared.waiting);
                if self.shared.count_lost(1) == 0 {
                    warn!("audit log lines are lost: the queue is full");
                }
            }
        }
    }
}

impl AuditShared {
    /// Counts lost lines. Returns the previous number.
    fn count_lost(&self, lines: u64) -> u64 {
        self.lost.fetch_add(lines, Ordering::Relaxed)
    }

    fn set_problem(&self, why: String) {
        let mut problem = self.problem.lock();
        if problem.is_none() {
            warn!(why, "the audit log cannot be written");
        }
        *problem = Some(why);
    }
}

#[cfg(test)]
mod tests;
