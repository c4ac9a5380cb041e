//! What was called and decided, a line each, for whoever wants to know it later.
//!
//! Whoever makes a call holds an `entry`, which becomes a `record` with its end; a thread of its own (`writer`) makes
//! lines of them and appends them to `files`.
//!
//! Invariant: nobody waits for it. What finds the queue full, or the disk, is lost and counted, and the calls go on.
//! No line holds an argument or a result.

mod entry;
mod files;
mod hash;
mod record;
mod writer;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc::{self, SyncSender, TrySendError},
    },
    thread,
    time::{Duration, SystemTime},
};

use tokio::{sync::oneshot, task::spawn_blocking, time::timeout};
use tracing::warn;

pub use self::{entry::Entry, record::Deed};
use self::{
    record::{CallRecord, DeedRecord, Record},
    writer::Writer,
};
use mux_caller::{Caller, Origin};
use mux_settings::AuditRetention;

/// Records that wait for the disk.
const QUEUE: usize = 8_192;
/// Arguments that wait to be hashed, in bytes of their text. A call that finds more has none.
const WAITING: usize = 32 << 20;

/// The log of calls and decisions.
#[derive(Debug)]
pub struct Audit {
    queue: SyncSender<Record>,
    enabled: AtomicBool,
    shared: Arc<Shared>,
}

/// What the thread and everybody else have in common.
#[derive(Debug, Default)]
struct Shared {
    terms: Mutex<AuditRetention>,
    /// Bytes of arguments in the queue.
    waiting: AtomicUsize,
    /// Lines that nobody will read.
    lost: AtomicU64,
    /// How often all was brought to the disk.
    #[cfg(test)]
    synced: AtomicU64,
    /// Why it cannot be written now. Guarded for its own sake.
    problem: Mutex<Option<String>>,
}

impl Audit {
    /// The folder is made with the first line.
    pub fn open(folder: PathBuf) -> Arc<Self> {
        let (queue, records) = mpsc::sync_channel(QUEUE);
        let shared = Arc::new(Shared::default());
        let writer = Writer::new(folder, Arc::clone(&shared));
        let thread = thread::Builder::new().name("audit".into());
        if let Err(error) = thread.spawn(move || writer.work(&records)) {
            // Every record finds nobody at the other end, and is counted.
            shared.fails(format!("its thread cannot be started: {error}"));
        }
        Arc::new(Self {
            queue,
            enabled: AtomicBool::new(true),
            shared,
        })
    }

    pub fn set_terms(&self, enabled: bool, terms: AuditRetention) {
        *self.shared.terms() = terms;
        self.enabled.store(enabled, Ordering::Relaxed);
    }

    /// A call begins. `path` is as it was asked for; `arguments` are JSON text, if they are already.
    pub fn call(
        self: &Arc<Self>,
        path: &str,
        arguments: Option<&Arc<str>>,
        caller: &Arc<Caller>,
    ) -> Entry {
        if !self.is_enabled() {
            return Entry::none();
        }
        let call = CallRecord::new(path, arguments.cloned(), Arc::clone(caller));
        Entry::begin(Arc::clone(self), call)
    }

    /// Somebody did something that is no call. What is done by the daemon itself is of nobody.
    pub fn note(&self, deed: Deed, subject: &str, by: &Origin) {
        if self.is_enabled() {
            self.push(Record::Deed(Box::new(DeedRecord {
                at: SystemTime::now(),
                deed,
                subject: subject.to_owned(),
                by: by.clone(),
            })));
        }
    }

    /// What a user should know: lines that were lost, and why it cannot be written.
    pub fn problem(&self) -> Option<String> {
        let lost = self.shared.lost.load(Ordering::Relaxed);
        let problem = self.shared.problem().clone();
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

    /// Waits until everything that was said before is with the system, or the time is over.
    pub async fn settle(&self, within: Duration) {
        let (done, written) = oneshot::channel();
        let queue = self.queue.clone();
        let settled = async {
            let sent = spawn_blocking(move || queue.send(Record::Settle(done))).await;
            if matches!(sent, Ok(Ok(()))) {
                // A thread that has ended has nothing more to write.
                _ = written.await;
            }
        };
        _ = timeout(within, settled).await;
    }

    fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    fn push(&self, mut record: Record) {
        record.admit(&self.shared.waiting);
        match self.queue.try_send(record) {
            Ok(()) => {}
            Err(TrySendError::Full(record) | TrySendError::Disconnected(record)) => {
                record.leave(&self.shared.waiting);
                if self.shared.loses(1) == 0 {
                    warn!("the audit log loses lines: more come than can be written");
                }
            }
        }
    }
}

impl Shared {
    fn terms(&self) -> std::sync::MutexGuard<'_, AuditRetention> {
        self.terms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn problem(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many had been lost before.
    fn loses(&self, lines: u64) -> u64 {
        self.lost.fetch_add(lines, Ordering::Relaxed)
    }

    fn fails(&self, why: String) {
        let mut problem = self.problem();
        if problem.is_none() {
            warn!(why, "the audit log cannot be written");
        }
        *problem = Some(why);
    }
}

#[cfg(test)]
mod tests;
