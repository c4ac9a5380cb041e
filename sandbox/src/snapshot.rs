//! Snapshots of the guest's realm, kept between starts: made once for each build of the worker, by a process that does
//! nothing else, and used by the workers that start afterwards.
//!
//! Invariant: nothing ever waits for a snapshot. If one fails, workers start without it, and this daemon does not try
//! again.

mod files;

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use mux_wire::{EXIT_NO_SNAPSHOT, MAX_SNAPSHOT};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::Command,
    task::spawn_blocking,
    time::timeout,
};
use tracing::{debug, info, warn};

use crate::{
    limits::Memory,
    worker_process::{Launch, Spawner, Worker, WorkerError},
};

/// How long the process that makes a snapshot may take.
const MAKE: Duration = Duration::from_secs(10);
/// The maximum bytes of its standard error that are kept.
const MAX_WORDS: u64 = 2_000;

/// Starts workers, from a snapshot if there is one.
#[derive(Clone)]
pub(crate) struct Snapshots(Arc<Inner>);

struct Inner {
    spawner: Spawner,
    worker: PathBuf,
    state: Mutex<State>,
}

/// The state of the snapshot, guarded by `Inner::state`.
enum State {
    /// Not made yet.
    Wanted(PathBuf),
    Making,
    Usable(PathBuf),
    /// This daemon uses no snapshot.
    Never,
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
enum MakeError {
    #[error("the engine does not support snapshots")]
    NoneToHave,
    #[error("making it took longer than {MAKE:?}")]
    TooSlow,
    #[error("it is longer than the limit of {MAX_SNAPSHOT} bytes")]
    TooLong,
    #[error("the process that makes it failed ({status}), standard error: {words}")]
    Failed { status: String, words: String },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Snapshots {
    /// `folder` is where snapshots are kept; without one there are none. Accesses two files synchronously, so it is to
    /// be called at the start of the daemon only. Even the first workers can then use a snapshot.
    pub(crate) fn new(folder: Option<&Path>, spawner: Spawner, worker: PathBuf) -> Self {
        let path = folder.and_then(|folder| {
            files::path(folder, &worker)
                .inspect_err(|error| debug!(%error, "cannot read the worker's file: no snapshot"))
                .ok()
        });
        let state = match path {
            Some(path) if path.is_file() => State::Usable(path),
            Some(path) => State::Wanted(path),
            None => State::Never,
        };
        Self(Arc::new(Inner {
            spawner,
            worker,
            state: Mutex::new(state),
        }))
    }

    /// Starts a worker whose isolate is ready. If it does not start from the snapshot, it is started without.
    pub(crate) async fn worker(
        &self,
        memory: Memory,
        within: Duration,
    ) -> Result<Worker, WorkerError> {
        let snapshot = match &*self.state() {
            State::Usable(path) => Some(path.clone()),
            _ => None,
        };
        let launch = Launch {
            program: &self.0.worker,
            memory,
            snapshot: snapshot.as_deref(),
        };
        let started = Worker::start(&self.0.spawner, launch, within).await;
        let Some(path) = &snapshot else {
            return started;
        };
        match started {
            Ok(worker) => {
                if !worker.snapshot {
                    self.give_up(path, &"the worker did not use it");
                }
                Ok(worker)
            }
            // The snapshot is not the cause.
            Err(error @ (WorkerError::Start { .. } | WorkerError::OtherBuild(_))) => Err(error),
            Err(error) => {
                self.give_up(path, &error);
                let launch = Launch {
                    snapshot: None,
                    ..launch
                };
                Worker::start(&self.0.spawner, launch, within).await
            }
        }
    }

    /// Makes the snapshot in the background if it is missing. To be called when no run waits for a worker: it uses a
    /// processor for a moment.
    pub(crate) fn make_in_background(&self) {
        let path = match &mut *self.state() {
            state @ State::Wanted(_) => match std::mem::replace(state, State::Making) {
                State::Wanted(path) => path,
                _ => return,
            },
            _ => return,
        };
        let this = self.clone();
        tokio::spawn(async move {
            let began = Instant::now();
            let made = this.make(&path).await;
            *this.state() = match made {
                Ok(bytes) => {
                    info!(bytes, took = ?began.elapsed(), path = %path.display(), "snapshot made");
                    State::Usable(path)
                }
                Err(error @ MakeError::NoneToHave) => {
                    debug!(%error, "no snapshot");
                    State::Never
                }
                Err(error) => {
                    warn!(%error, "no snapshot: isolates are built from the scripts");
                    State::Never
                }
            };
        });
    }

    /// Makes the snapshot, stores it, and returns its length in bytes.
    async fn make(&self, path: &Path) -> Result<usize, MakeError> {
        let made = timeout(MAKE, self.made()).await;
        let bytes = made.map_err(|_| MakeError::TooSlow)??;
        let (length, path) = (bytes.len(), path.to_owned());
        let kept = spawn_blocking(move || {
            files::keep(&path, &bytes)?;
            files::forget_old(&path);
            Ok::<_, std::io::Error>(())
        });
        kept.await.map_err(std::io::Error::other)??;
        Ok(length)
    }

    /// Runs the process that makes the snapshot and returns its output. The process is killed if this is dropped.
    async fn made(&self) -> Result<Vec<u8>, MakeError> {
        let mut command = Command::new(&self.0.worker);
        command
            .arg("--make-snapshot")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = self.0.spawner.spawn(command).await?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let (bytes, words) = tokio::try_join!(
            all_of(output, MAX_SNAPSHOT as u64 + 1),
            all_of(errors, MAX_WORDS),
        )?;
        if bytes.len() > MAX_SNAPSHOT {
            return Err(MakeError::TooLong);
        }
        let status = child.wait().await?;
        match status.code() {
            Some(0) => Ok(bytes),
            Some(code) if code == i32::from(EXIT_NO_SNAPSHOT) => Err(MakeError::NoneToHave),
            _ => Err(MakeError::Failed {
                status: status.to_string(),
                words: String::from_utf8_lossy(&words).trim().to_owned(),
            }),
        }
    }

    /// Disables the snapshot in this file and removes it. Logged once, however many workers were started from it.
    fn give_up(&self, path: &Path, why: &dyn std::fmt::Display) {
        let was = std::mem::replace(&mut *self.state(), State::Never);
        if !matches!(was, State::Usable(_)) {
            return;
        }
        warn!(path = %path.display(), "snapshot disabled: {why}");
        let path = path.to_owned();
        // The next daemon makes a new one.
        drop(spawn_blocking(move || drop(std::fs::remove_file(path))));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the pipe to its end or up to `most` bytes, then closes it.
async fn all_of(pipe: Option<impl AsyncRead + Unpin>, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(most).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
