//! The daemon's handle to a program that the keeper started.
//!
//! Invariant: a tree never outlives its [`KeptChild`]. Dropping one without [`stop`](KeptChild::stop) kills the tree.

#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::{ffi::OsString, fmt, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tracing::warn;

use super::{
    child_pipes::{self, StderrEnd, StderrPipe, StdinEnd, StdinPipe, StdoutEnd, StdoutPipe},
    error::SpawnError,
};

/// How long [`KeptChild::stop`] waits for a tree after SIGKILL, or after the main process exited by itself. Only a
/// process stuck in the kernel, or one of another user, takes longer.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// The program to start.
pub struct SpawnSpec {
    /// A bare name is looked up in the `PATH` of `env`.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// The child's complete environment, to which only `MUX_KEPT` is added.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory. Must be absolute.
    pub cwd: PathBuf,
    /// The name of the child in `MUX_KEPT` and in logs. Any string without a NUL.
    pub tag: String,
    pub limits: TreeLimits,
}

/// The limits of a child together with its descendants. The keeper measures it about once a second, and kills a tree
/// that uses more.
#[derive(Serialize, Deserialize, Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct TreeLimits {
    /// Resident memory in bytes.
    pub memory: Option<u64>,
    /// Processes and threads.
    pub tasks: Option<u32>,
}

/// The limit that a tree has exceeded.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ExceededLimit {
    Memory,
    Tasks,
}

/// A running child. The caller may take its pipes.
#[derive(Debug)]
pub struct KeptChild {
    pub pid: u32,
    pub stdin: Option<StdinPipe>,
    pub stdout: Option<StdoutPipe>,
    pub stderr: Option<StderrPipe>,
    /// Holds the exit once the main process has ended, and closes once the tree has ended.
    exit: watch::Receiver<Option<ChildExit>>,
    leash: ChildLeash,
}

/// How the main process ended: one of the two is set, or neither if its exit status is unknown.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildExit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The keeper killed it because of this limit.
    pub exceeded: Option<ExceededLimit>,
}

/// The two ways to end a tree.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopSignal {
    Term,
    Kill,
}

/// Requests of [`Keeper`](super::Keeper) and [`KeptChild`] to the task that owns the children.
pub(super) enum KeeperCall {
    Spawn {
        id: u64,
        /// `program` is the resolved path, not a bare name.
        spec: SpawnSpec,
        exit: watch::Sender<Option<ChildExit>>,
        reply: oneshot::Sender<Result<StartedChild, SpawnError>>,
    },
    Signal {
        id: u64,
        #[cfg_attr(windows, expect(dead_code, reason = "both signals terminate a job"))]
        signal: StopSignal,
    },
    /// The child belongs to the daemon that shares the keeper from now on.
    Give {
        id: u64,
    },
    #[cfg(target_os = "linux")]
    Share(ShareCall),
    Close,
}

/// Requests that concern another daemon which shares the keeper.
#[cfg(target_os = "linux")]
pub(super) enum ShareCall {
    /// Makes the keeper also serve another daemon, over this socket.
    Admit {
        socket: OwnedFd,
        done: oneshot::Sender<()>,
    },
    /// Claims a child that another daemon gives to this one.
    Claim {
        id: u64,
        pid: u32,
        exit: watch::Sender<Option<ChildExit>>,
    },
    /// Ends the children that were given to this daemon and not claimed.
    EndUnclaimed,
}

pub(super) struct StartedChild {
    pub(super) pid: u32,
    pub(super) stdin: StdinEnd,
    pub(super) stdout: StdoutEnd,
    pub(super) stderr: StderrEnd,
}

/// Kills the tree of `id` when dropped. The leash exists before the child does: a cancelled spawn then leaves no
/// process behind.
#[derive(Debug)]
pub(super) struct ChildLeash {
    pub(super) id: u64,
    pub(super) calls: mpsc::UnboundedSender<KeeperCall>,
    /// The child belongs to another daemon now.
    pub(super) given: bool,
}

impl KeptChild {
    /// Must be called inside a tokio runtime with IO.
    pub(super) fn new(
        started: StartedChild,
        exit: watch::Receiver<Option<ChildExit>>,
        leash: ChildLeash,
    ) -> std::io::Result<Self> {
        let pid = started.pid;
        let (stdin, stdout, stderr) = child_pipes::open(started)?;
        Ok(KeptChild {
            pid,
            stdin: Some(stdin),
            stdout: Some(stdout),
            stderr: Some(stderr),
            exit,
            leash,
        })
    }

    /// Resolves when the main process has ended, or the keeper has exited.
    pub async fn wait(&self) -> ChildExit {
        let mut exit = self.exit_watch();
        let ended = exit.wait_for(Option::is_some).await;
        ended.map_or(None, |exit| *exit).unwrap_or(ChildExit::LOST)
    }

    /// A receiver of the child's exit, for callers that cannot own the child.
    pub fn exit_watch(&self) -> watch::Receiver<Option<ChildExit>> {
        self.exit.clone()
    }

    /// Ends the child: end of file on its stdin, after `grace` SIGTERM, and after another `grace` SIGKILL; on Windows,
    /// which has no signals, its job is terminated instead of SIGTERM. Returns when its whole tree has ended.
    ///
    /// If the caller took `stdin`, it must close it itself.
    pub async fn stop(mut self, grace: Duration) {
        drop(self.stdin.take());
        if timeout(grace, self.wait()).await.is_err() {
            self.leash.signal(StopSignal::Term);
            if timeout(grace, self.wait()).await.is_err() {
                self.leash.signal(StopSignal::Kill);
            }
        }
        if timeout(STOP_TIMEOUT, self.tree_gone()).await.is_err() {
            warn!(pid = self.pid, limit = ?STOP_TIMEOUT, "processes of a server did not exit after SIGKILL");
        }
    }

    /// The child's id, for the daemon that takes over.
    pub fn id(&self) -> u64 {
        self.leash.id
    }

    /// Gives the child to the next daemon, which has its pipes already.
    pub fn give(mut self) {
        self.leash.given = true;
        // An error means that the keeper and the child have ended.
        self.leash
            .calls
            .send(KeeperCall::Give { id: self.leash.id })
            .ok();
    }

    async fn tree_gone(&mut self) {
        while self.exit.changed().await.is_ok() {}
    }
}

impl ChildExit {
    /// The keeper exited before it could report the exit.
    pub const LOST: ChildExit = ChildExit {
        code: None,
        signal: None,
        exceeded: None,
    };
}

impl ChildLeash {
    fn signal(&self, signal: StopSignal) {
        // An error means that the trees have ended, or that the keeper is ending them.
        self.calls
            .send(KeeperCall::Signal {
                id: self.id,
                signal,
            })
            .ok();
    }
}

impl Drop for ChildLeash {
    fn drop(&mut self) {
        if !self.given {
            // Harmless after the tree has ended: an `id` is never reused, and an unknown `id` is ignored.
            self.signal(StopSignal::Kill);
        }
    }
}

impl fmt::Display for ChildExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exceeded {
            Some(ExceededLimit::Memory) => {
                return f.write_str("killed: it used more memory than sandbox.memory allows");
            }
            Some(ExceededLimit::Tasks) => {
                return f.write_str(
                    "killed: it had more processes and threads than sandbox.processes allows",
                );
            }
            None => {}
        }
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(number)) => match signal_name(number) {
                Some(name) => write!(f, "killed by signal {number} ({name})"),
                None => write!(f, "killed by signal {number}"),
            },
            (None, None) => f.write_str("exit status unknown"),
        }
    }
}

#[cfg(unix)]
fn signal_name(number: i32) -> Option<&'static str> {
    let signal = nix::sys::signal::Signal::try_from(number).ok()?;
    Some(signal.as_str())
}

/// Windows has no signals.
#[cfg(windows)]
fn signal_name(_number: i32) -> Option<&'static str> {
    None
}

impl fmt::Debug for SpawnSpec {
    /// Prints names, not values: arguments and environment may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("SpawnSpec")
            .field("program", &self.program)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .field("tag", &self.tag)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::ChildExit;

    #[test]
    fn exit_is_displayed_as_text() {
        let exit = |code, signal| {
            let exceeded = None;
            ChildExit {
                code,
                signal,
                exceeded,
            }
            .to_string()
        };
        assert_eq!(exit(Some(3), None), "exit code 3");
        assert_eq!(exit(None, Some(9)), "killed by signal 9 (SIGKILL)");
        assert_eq!(exit(None, Some(40)), "killed by signal 40");
        assert_eq!(ChildExit::LOST.to_string(), "exit status unknown");
    }
}
