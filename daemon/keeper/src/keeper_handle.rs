//! The daemon's handle to its keeper.
//!
//! Invariant: the handle has no state. One task owns the children and receives messages, so any number of clones may
//! spawn at the same time.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
#[cfg(target_os = "linux")]
use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    task::spawn_blocking,
    time::timeout,
};

use super::{
    error::{KeeperError, SpawnError},
    kept_child::{ChildLeash, KeeperCall, KeptChild, SpawnSpec},
    program_lookup,
};

#[cfg(all(unix, not(target_os = "linux")))]
use super::direct_children as backend;
#[cfg(windows)]
use super::job_children as backend;
#[cfg(target_os = "linux")]
use super::keeper_owner as backend;
#[cfg(target_os = "linux")]
use super::kept_child::{ShareCall, StartedChild};

/// How long [`Keeper::spawn`] waits for the keeper's answer. The longest legitimate wait is for the lock of an old
/// keeper.
const SPAWN_TIMEOUT: Duration = Duration::from_secs(10);

/// When the last clone and the last [`KeptChild`] are dropped, the keeper ends as it does on [`close`](Keeper::close).
#[derive(Debug, Clone)]
pub struct Keeper {
    pid: u32,
    /// Unbounded, because a drop must be able to send. Callers are limited because they wait for answers.
    calls: mpsc::UnboundedSender<KeeperCall>,
    /// Closes when the keeper process has exited.
    gone: watch::Receiver<()>,
    next_id: Arc<AtomicU64>,
}

impl Keeper {
    /// Starts the keeper process, which is `exe` (the `muxd` binary) with the hidden argument `keeper`. The process
    /// holds `lock` as long as it runs and starts no child before it has the lock.
    ///
    /// Makes the calling process a subreaper, to end the processes that a killed keeper leaves behind.
    pub async fn start(exe: &Path, lock: &Path) -> Result<Keeper, KeeperError> {
        let (calls, requested) = mpsc::unbounded_channel();
        let (alive, gone) = watch::channel(());
        let pid = backend::start(exe, lock, requested, alive).await?;
        Ok(Keeper::new(pid, 0, calls, gone))
    }

    pub(super) fn new(
        pid: u32,
        base: u64,
        calls: mpsc::UnboundedSender<KeeperCall>,
        gone: watch::Receiver<()>,
    ) -> Self {
        Keeper {
            pid,
            calls,
            gone,
            next_id: Arc::new(AtomicU64::new(base + 1)),
        }
    }

    /// Starts a program. After [`SpawnError::Keeper`] the caller may start another keeper.
    pub async fn spawn(&self, mut spec: SpawnSpec) -> Result<KeptChild, SpawnError> {
        spec.program = find_program(&spec).await?;
        let program = spec.program.clone();
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let leash = self.leash(id);
        let (exit, exited) = watch::channel(None);
        let (reply, answer) = oneshot::channel();
        let call = KeeperCall::Spawn {
            id,
            spec,
            exit,
            reply,
        };
        self.calls.send(call).map_err(|_| KeeperError::Gone)?;
        let started = match timeout(SPAWN_TIMEOUT, answer).await {
            Ok(Ok(started)) => started?,
            Ok(Err(_)) => return Err(KeeperError::Gone.into()),
            Err(_) => return Err(KeeperError::NoAnswer(SPAWN_TIMEOUT).into()),
        };
        KeptChild::new(started, exited, leash).map_err(|error| SpawnError::Other {
            program,
            reason: error.to_string(),
            errno: error.raw_os_error(),
        })
    }

    fn leash(&self, id: u64) -> ChildLeash {
        ChildLeash {
            id,
            calls: self.calls.clone(),
            given: false,
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns true if [`spawn`](Self::spawn) can only fail from now on. The keeper's children may still be ending:
    /// [`gone`](Self::gone) waits for that.
    pub fn is_gone(&self) -> bool {
        self.calls.is_closed()
    }

    /// Resolves when the keeper process and all its children have exited.
    pub async fn gone(&self) {
        let mut gone = self.gone.clone();
        while gone.changed().await.is_ok() {}
    }

    /// Ends every child and the keeper. Returns when all have exited. Takes at most 2 s, and no time if no child runs.
    pub async fn close(self) {
        // An error means that the keeper has already exited.
        self.calls.send(KeeperCall::Close).ok();
        self.gone().await;
    }
}

/// A running keeper that one daemon hands over to the next.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub struct KeeperOffer {
    pub pid: u32,
    pub socket: OwnedFd,
}

#[cfg(target_os = "linux")]
impl Keeper {
    /// Opens a connection to this keeper for the next daemon.
    pub async fn offer(&self) -> Result<KeeperOffer, KeeperError> {
        let (far, near) = UnixStream::pair().map_err(KeeperError::Socket)?;
        let (done, queued) = oneshot::channel();
        let socket = OwnedFd::from(far);
        let admit = KeeperCall::Share(ShareCall::Admit { socket, done });
        self.calls.send(admit).map_err(|_| KeeperError::Gone)?;
        match timeout(SPAWN_TIMEOUT, queued).await {
            Ok(Ok(())) => Ok(KeeperOffer {
                pid: self.pid,
                socket: near.into(),
            }),
            Ok(Err(_)) => Err(KeeperError::Gone),
            Err(_) => Err(KeeperError::NoAnswer(SPAWN_TIMEOUT)),
        }
    }

    /// Connects to the keeper of the previous daemon.
    pub async fn take_over(offer: KeeperOffer) -> Result<Keeper, KeeperError> {
        let (calls, requested) = mpsc::unbounded_channel();
        let (alive, gone) = watch::channel(());
        let base = backend::take_over(offer.pid, offer.socket, requested, alive).await?;
        Ok(Keeper::new(offer.pid, base, calls, gone))
    }

    /// Claims a child of the previous daemon, with its pipes.
    pub fn claim(
        &self,
        id: u64,
        pid: u32,
        [stdin, stdout, stderr]: [OwnedFd; 3],
    ) -> io::Result<KeptChild> {
        let (exit, exited) = watch::channel(None);
        let leash = self.leash(id);
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.calls
            .send(KeeperCall::Share(ShareCall::Claim { id, pid, exit }))
            .map_err(gone)?;
        let started = StartedChild {
            pid,
            stdin,
            stdout,
            stderr,
        };
        KeptChild::new(started, exited, leash)
    }

    /// Ends the children that were given to this daemon and not claimed.
    pub fn end_unclaimed(&self) {
        // An error means that the keeper has already exited.
        let end = KeeperCall::Share(ShareCall::EndUnclaimed);
        self.calls.send(end).ok();
    }
}

/// Resolves the program on the blocking pool, because a directory of `PATH` may be on a slow network.
pub async fn find_program(spec: &SpawnSpec) -> Result<PathBuf, SpawnError> {
    let program = spec.program.clone();
    let cwd = spec.cwd.clone();
    let path: Vec<(OsString, OsString)> = spec
        .env
        .iter()
        .filter(|(name, _)| program_lookup::is_search_variable(name))
        .cloned()
        .collect();
    let search = spawn_blocking(move || find_program_blocking(&program, &path, &cwd));
    search.await.map_err(|stopped| SpawnError::Other {
        program: spec.program.clone(),
        reason: stopped.to_string(),
        errno: None,
    })?
}

/// The absolute path of `program`, searched as for a child with this environment and directory. Reads the file system.
pub fn find_program_blocking(
    program: &Path,
    env: &[(OsString, OsString)],
    cwd: &Path,
) -> Result<PathBuf, SpawnError> {
    program_lookup::resolve(program, env, cwd, program_lookup::look)
}
