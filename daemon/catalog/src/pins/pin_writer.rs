//! The thread that writes pin files, in the order of the requests.
//!
//! Invariant: a pin that was reported as written survives a power failure. At most one version of a server's pins is
//! queued: the newest includes the previous ones.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tracing::warn;

use super::pin_file::{self, PinOwner};

type WriteResultSender = oneshot::Sender<io::Result<()>>;

#[derive(Debug)]
pub(super) struct PinWriter {
    jobs: mpsc::Sender<PinWriterJob>,
    shared: Arc<Mutex<PinWriterState>>,
}

/// State shared with the thread.
#[derive(Debug, Default)]
struct PinWriterState {
    waiting: HashMap<PinOwner, EncodedPins>,
    /// Servers whose last write failed, and why.
    problems: HashMap<PinOwner, String>,
}

/// A queued pin file.
#[derive(Debug)]
struct EncodedPins {
    bytes: Vec<u8>,
    whole: bool,
    done: Vec<WriteResultSender>,
}

enum PinWriterJob {
    /// A file of this owner is queued.
    Write(PinOwner),
    /// Reports when everything before it is done.
    Tell(oneshot::Sender<()>),
}

impl PinWriter {
    pub(super) fn start(folder: PathBuf) -> io::Result<Self> {
        let (jobs, given) = mpsc::channel::<PinWriterJob>();
        let shared = Arc::<Mutex<PinWriterState>>::default();
        let theirs = Arc::clone(&shared);
        let work = move || {
            for job in given {
                match job {
                    PinWriterJob::Write(owner) => {
                        let waiting = locked(&theirs).waiting.remove(&owner);
                        if let Some(book) = waiting {
                            write(&folder, owner, book, &theirs);
                        }
                    }
                    // The receiver may have been dropped.
                    PinWriterJob::Tell(done) => drop(done.send(())),
                }
            }
        };
        thread::Builder::new().name("pins".into()).spawn(work)?;
        Ok(Self { jobs, shared })
    }

    /// Queues a pin file. A later file of the same server replaces it.
    pub(super) fn write(
        &self,
        owner: &PinOwner,
        bytes: Vec<u8>,
        whole: bool,
        done: Option<WriteResultSender>,
    ) {
        let mut shared = locked(&self.shared);
        if let Some(book) = shared.waiting.get_mut(owner) {
            (book.bytes, book.whole) = (bytes, whole);
            book.done.extend(done);
            return;
        }
        let done = done.into_iter().collect();
        let book = EncodedPins { bytes, whole, done };
        shared.waiting.insert(owner.clone(), book);
        drop(shared);
        // The thread ends only when this value is dropped.
        drop(self.jobs.send(PinWriterJob::Write(owner.clone())));
    }

    /// Resolves when everything queued before is on disk, or has failed.
    pub(super) async fn settled(&self) {
        let (done, settled) = oneshot::channel();
        if self.jobs.send(PinWriterJob::Tell(done)).is_ok() {
            // An error means that the thread has ended.
            drop(settled.await);
        }
    }

    /// The failed writes, by server.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems: Vec<_> = locked(&self.shared).problems.values().cloned().collect();
        problems.sort_unstable();
        problems
    }
}

fn write(folder: &Path, owner: PinOwner, book: EncodedPins, shared: &Mutex<PinWriterState>) {
    let outcome = pin_file::write(folder, &owner, &book.bytes, book.whole);
    let failed = outcome.as_ref().err();
    let failed = failed.map(|error| (error.kind(), error.to_string()));
    match &failed {
        Some((_, error)) => {
            let problem = format!("the pins of `{}` cannot be written: {error}", owner.server);
            warn!("{problem}");
            locked(shared).problems.insert(owner, problem);
        }
        None => drop(locked(shared).problems.remove(&owner)),
    }
    for done in book.done {
        let outcome = match &failed {
            Some((kind, error)) => Err(io::Error::new(*kind, error.clone())),
            None => Ok(()),
        };
        // The receiver may have been dropped.
        drop(done.send(outcome));
    }
}

fn locked(shared: &Mutex<PinWriterState>) -> MutexGuard<'_, PinWriterState> {
    shared.lock()
}
