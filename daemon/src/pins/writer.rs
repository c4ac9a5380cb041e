//! The thread that writes pins down, in the order in which they were made.
//!
//! Invariant: who has been told that a pin is kept finds it after the machine has lost its power.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use tokio::sync::oneshot;
use tracing::warn;

use super::file::{self, Owner};

#[derive(Debug)]
pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
    /// What could not be written, by server; guarded for the thread.
    problem: Arc<Mutex<Option<String>>>,
}

struct Job {
    /// `None`: only to know that everything before it is done.
    what: Option<(Owner, Vec<u8>, bool)>,
    done: Option<oneshot::Sender<io::Result<()>>>,
}

impl Writer {
    pub(super) fn start(folder: PathBuf) -> io::Result<Self> {
        let (jobs, given) = mpsc::channel::<Job>();
        let problem = Arc::<Mutex<Option<String>>>::default();
        let told = Arc::clone(&problem);
        let work = move || {
            for job in given {
                let outcome = match job.what {
                    Some((owner, bytes, whole)) => {
                        let outcome = file::write(&folder, &owner, &bytes, whole);
                        let problem = outcome.as_ref().err().map(|error| {
                            let server = &owner.server;
                            format!("the pins of `{server}` cannot be written: {error}")
                        });
                        if let Some(problem) = &problem {
                            warn!("{problem}");
                        }
                        *told.lock().unwrap_or_else(PoisonError::into_inner) = problem;
                        outcome
                    }
                    None => Ok(()),
                };
                if let Some(done) = job.done {
                    // Whoever asked may have gone.
                    drop(done.send(outcome));
                }
            }
        };
        thread::Builder::new().name("pins".into()).spawn(work)?;
        Ok(Self { jobs, problem })
    }

    pub(super) fn write(
        &self,
        owner: &Owner,
        bytes: Vec<u8>,
        whole: bool,
        done: Option<oneshot::Sender<io::Result<()>>>,
    ) {
        let what = Some((owner.clone(), bytes, whole));
        // It ends with this value.
        drop(self.jobs.send(Job { what, done }));
    }

    /// Resolves when everything that was given before is on the disk, or could not be.
    pub(super) async fn settled(&self) {
        let (done, settled) = oneshot::channel();
        let job = Job {
            what: None,
            done: Some(done),
        };
        if self.jobs.send(job).is_ok() {
            // An error means that the thread has ended.
            drop(settled.await);
        }
    }

    pub(super) fn problem(&self) -> Option<String> {
        let problem = self.problem.lock();
        problem.unwrap_or_else(PoisonError::into_inner).clone()
    }
}
