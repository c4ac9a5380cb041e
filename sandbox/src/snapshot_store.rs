//! Snapshots of the guest's realm, kept between daemon starts. A process that does nothing else makes one for each
//! build of the worker; workers that start afterwards use it.
//!
//! Invariant: nothing ever waits for a snapshot. If one fails, workers start without it, and this daemon does not try
//! again.

mod files;

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};

use mux_wire::{EXIT_NO_SNAPSHOT, MAX_SNAPSHOT_BYTES};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::Command,
    task::spawn_blocking,
    time::timeout,
};
use tracing::{debug, info, warn};

use crate::{
    limits::MemoryLimits,
    worker_process::{ProcessSpawner, Worker, WorkerError, WorkerLaunch, isolate_process},
};

/// How long the process that makes a snapshot may take.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum bytes of its standard error that are kept.
const MAX_STDERR_BYTES: u64 = 2_000;

/// Starts workers, from a snapshot if there is one.
#[derive(Clone)]
pub(crate) struct SnapshotStore(Arc<SnapshotStoreInner>);

struct SnapshotStoreInner {
    spawner: ProcessSpawner,
    worker: PathBuf,
    state: Mutex<SnapshotState>,
}

/// The state of the snapshot, guarded by `Inner::state`.
enum SnapshotState {
    /// Not made yet.
    Wanted(PathBuf),
    Making,
    Usable(PathBuf),
    /// This daemon uses no snapshot.
    Never,
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
enum SnapshotError {
    #[error("the engine does not support snapshots")]
    NoneToHave,
    #[error("making it took longer than {SNAPSHOT_TIMEOUT:?}")]
    TooSlow,
    #[error("it is longer than the limit of {MAX_SNAPSHOT_BYTES} bytes")]
    TooLong,
    #[error("the process that makes it failed ({status}), standard error: {words}")]
    Failed { status: String, words: String },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl SnapshotStore {
    /// `folder` is the directory for snapshots; without it, none are used. Call this only when the daemon starts,
    /// because it accesses two files synchronously. Even the first workers can then use a snapshot.
    pub(crate) fn new(folder: Option<&Path>, spawner: ProcessSpawner, worker: PathBuf) -> Self {
        let path = folder.and_then(|folder| {
            files::snapshot_path(folder, &worker)
                .inspect_err(|error| debug!(%error, "cannot read the worker's file: no snapshot"))
                .ok()
        });
        let state = match path {
            Some(path) if path.is_file() => SnapshotState::Usable(path),
            Some(path) => SnapshotState::Wanted(path),
            None => SnapshotState::Never,
        };
        Self(Arc::new(SnapshotStoreInner {
            spawner,
            worker,
            state: Mutex::new(state),
        }))
    }

    /// Starts a worker whose isolate is ready. If it does not start from the snapshot, it is started without one.
    pub(crate) async fn start_worker(
        &self,
        memory: MemoryLimits,
        within: Duration,
    ) -> Result<Worker, WorkerError> {
        let snapshot = match &*self.state() {
            SnapshotState::Usable(path) => Some(path.clone()),
            _ => None,
        };
        let launch = WorkerLaunch {
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
                if !worker.engine.snapshot {
                    self.disable_snapshot(path, &"the worker did not use it");
                }
                Ok(worker)
            }
            // The snapshot is not the cause.
            Err(error @ (WorkerError::Start { .. } | WorkerError::OtherBuild(_))) => Err(error),
            Err(error) => {
                self.disable_snapshot(path, &error);
                let launch = WorkerLaunch {
                    snapshot: None,
                    ..launch
                };
                Worker::start(&self.0.spawner, launch, within).await
            }
        }
    }

    /// Returns true if workers that are started now use a snapshot.
    pub(crate) fn is_usable(&self) -> bool {
        matches!(&*self.state(), SnapshotState::Usable(_))
    }

    /// If there is no snapshot yet, returns the task that makes it. Call this when no run waits for a worker, because
    /// the task uses a CPU for a moment.
    pub(crate) fn make_missing_snapshot(&self) -> Option<impl Future<Output = ()> + use<>> {
        let path = match &mut *self.state() {
            state @ SnapshotState::Wanted(_) => {
                match std::mem::replace(state, SnapshotState::Making) {
                    SnapshotState::Wanted(path) => path,
                    _ => return None,
                }
            }
            _ => return None,
        };
        let this = self.clone();
        Some(async move {
            let began = Instant::now();
            let made = this.make_snapshot(&path).await;
            *this.state() = match made {
                Ok(bytes) => {
                    info!(bytes, took = ?began.elapsed(), path = %path.display(), "snapshot made");
                    SnapshotState::Usable(path)
                }
                Err(error @ SnapshotError::NoneToHave) => {
                    debug!(%error, "no snapshot");
                    SnapshotState::Never
                }
                Err(error) => {
                    warn!(%error, "no snapshot: isolates are built from the scripts");
                    SnapshotState::Never
                }
            };
        })
    }

    /// Makes the snapshot, stores it, and returns its length in bytes.
    async fn make_snapshot(&self, path: &Path) -> Result<usize, SnapshotError> {
        let made = timeout(SNAPSHOT_TIMEOUT, self.run_snapshot_process()).await;
        let bytes = made.map_err(|_| SnapshotError::TooSlow)??;
        let length = bytes.len();
        let path = path.to_owned();
        let kept = spawn_blocking(move || {
            files::write_snapshot(&path, &bytes)?;
            files::remove_stale_snapshots(&path);
            Ok::<_, std::io::Error>(())
        });
        kept.await.map_err(std::io::Error::other)??;
        Ok(length)
    }

    /// Runs the process that makes the snapshot and returns its output. The process is killed if this is dropped.
    async fn run_snapshot_process(&self) -> Result<Vec<u8>, SnapshotError> {
        let mut command = Command::new(&self.0.worker);
        command
            .arg("--make-snapshot")
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        isolate_process(&mut command);
        let mut child = self.0.spawner.spawn(command).await?;
        let output = child.stdout.take();
        let errors = child.stderr.take();
        let (bytes, words) = tokio::try_join!(
            read_to_limit(output, MAX_SNAPSHOT_BYTES as u64 + 1),
            read_to_limit(errors, MAX_STDERR_BYTES),
        )?;
        if bytes.len() > MAX_SNAPSHOT_BYTES {
            return Err(SnapshotError::TooLong);
        }
        let status = child.wait().await?;
        match status.code() {
            Some(0) => Ok(bytes),
            Some(code) if code == i32::from(EXIT_NO_SNAPSHOT) => Err(SnapshotError::NoneToHave),
            _ => Err(SnapshotError::Failed {
                status: status.to_string(),
                words: String::from_utf8_lossy(&words).trim().to_owned(),
            }),
        }
    }

    /// Disables the snapshot in this file and removes it. Logged once, however many workers were started from it.
    fn disable_snapshot(&self, path: &Path, why: &dyn std::fmt::Display) {
        let was = std::mem::replace(&mut *self.state(), SnapshotState::Never);
        if !matches!(was, SnapshotState::Usable(_)) {
            return;
        }
        warn!(path = %path.display(), "snapshot disabled: {why}");
        let path = path.to_owned();
        // The next daemon makes a new one.
        drop(spawn_blocking(move || drop(std::fs::remove_file(path))));
    }

    fn state(&self) -> MutexGuard<'_, SnapshotState> {
        self.0.state.lock()
    }
}

/// Reads the pipe to its end or up to `most` bytes, then closes it.
async fn read_to_limit(
    pipe: Option<impl AsyncRead + Unpin>,
    most: u64,
) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(most).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
