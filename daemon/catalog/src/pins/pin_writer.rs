//! The thread that writes pins down, in the order in which they were made.
//!
//! Invariant: who has been told that a pin is kept finds it after the machine has lost its power. Of one
//! server's pins at most one book waits: the newest holds all that those before it held.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
};

use tokio::sync::oneshot;
use tracing::warn;

use super::pin_file::{self, PinOwner};

type WriteResultSender = oneshot::Sender<io::Result<()>>;

#[derive(Debug)]
pub(super) struct PinWriter {
    jobs: mpsc::Sender<PinWriterJob>,
    shared: Arc<Mutex<PinWriterState>>,
}

/// Guarded for the thread.
#[derive(Debug, Default)]
struct PinWriterState {
    waiting: HashMap<PinOwner, EncodedPins>,
    /// Whose last book could not be written, and why.
    problems: HashMap<PinOwner, String>,
}

/// As it is to be written.
#[derive(Debug)]
struct EncodedPins {
    bytes: Vec<u8>,
    whole: bool,
    done: Vec<WriteResultSender>,
}

enum PinWriterJob {
    /// A book of theirs waits.
    Write(PinOwner),
    /// Only to know that everything before it is done.
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
                    // Whoever asked may have gone.
                    PinWriterJob::Tell(done) => drop(done.send(())),
                }
            }
        };
        thread::Builder::new().name("pins".into()).spawn(work)?;
        Ok(Self { jobs, shared })
    }

    /// What is given later for the same server holds this, too.
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
        // It ends with this value.
        drop(self.jobs.send(PinWriterJob::Write(owner.clone())));
    }

    /// Resolves when everything that was given before is on the disk, or could not be.
    pub(super) async fn settled(&self) {
        let (done, settled) = oneshot::channel();
        if self.jobs.send(PinWriterJob::Tell(done)).is_ok() {
            // An error means that the thread has ended.
            drop(settled.await);
        }
    }

    /// What could not be written, by server.
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
        // Whoever asked may have gone.
        drop(done.send(outcome));
    }
}

fn locked(shared: &Mutex<PinWriterState>) -> MutexGuard<'_, PinWriterState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
