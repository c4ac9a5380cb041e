//! Child processes of the daemon itself, for systems other than Linux. A guard process ends them if it cannot.
//!
//! Invariant: while the daemon runs, the guarantees are the same as the keeper's, except for tree limits. If it is
//! killed, the guard ends the process groups of its servers. Processes that left their group are never found.

use std::{
    collections::HashMap,
    io,
    os::fd::OwnedFd,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    process::{Child, Command},
    sync::{mpsc, watch},
    task::JoinSet,
    time::sleep,
};

use tracing::warn;

use mux_process::{core_dumps, descriptor_limits};

use super::{
    error::{KeeperError, SpawnError},
    group_guard::GroupGuard,
    kept_child::{ChildExit, KeeperCall, SpawnSpec, StartedChild, StopSignal},
};

/// How long the rest of a child's process group may take after SIGTERM.
const GROUP_TERM_GRACE: Duration = Duration::from_millis(500);

/// After `close`: the delay until running groups get SIGTERM, then until SIGKILL, then until the wait ends.
const DIRECT_TERM_DELAY: Duration = Duration::from_millis(300);
const DIRECT_KILL_DELAY: Duration = Duration::from_millis(900);
const DIRECT_WAIT_TIMEOUT: Duration = Duration::from_millis(700);

/// Starts the guard, which is `exe` with the argument `keeper`. Returns its pid.
pub(super) async fn start(
    exe: &Path,
    lock: &Path,
    calls: mpsc::UnboundedReceiver<KeeperCall>,
    alive: watch::Sender<()>,
) -> Result<u32, KeeperError> {
    let guard = GroupGuard::start(exe, lock).await?;
    let pid = guard.pid().ok_or(KeeperError::Gone)?;
    tokio::spawn(serve(guard, calls, alive));
    Ok(pid)
}

async fn serve(
    mut guard: GroupGuard,
    mut calls: mpsc::UnboundedReceiver<KeeperCall>,
    alive: watch::Sender<()>,
) {
    let mut groups: HashMap<u64, Pid> = HashMap::new();
    let mut children = JoinSet::new();
    loop {
        let call = tokio::select! {
            call = calls.recv() => call,
            Some(Ok(id)) = children.join_next() => {
                if let Some(group) = groups.remove(&id) {
                    guard.remove(group).await;
                }
                continue;
            }
            () = guard.exited() => {
                warn!("the guard of the server processes has exited; a new one is needed");
                break;
            }
        };
        match call {
            Some(KeeperCall::Spawn {
                id,
                spec,
                exit,
                reply,
            }) => match spawn(&spec) {
                Ok((child, started)) => {
                    let group = Pid::from_raw(started.pid.cast_signed());
                    guard.add(group).await;
                    groups.insert(id, group);
                    children.spawn(watch_child(id, child, group, exit));
                    reply.send(Ok(started)).ok();
                }
                Err(error) => drop(reply.send(Err(error))),
            },
            Some(KeeperCall::Signal { id, signal }) => {
                if let Some(group) = groups.get(&id) {
                    killpg(*group, Signal::from(signal)).ok();
                }
            }
            // No other daemon could own the child, and without an owner it must not keep running.
            Some(KeeperCall::Give { id }) => {
                if let Some(group) = groups.get(&id) {
                    killpg(*group, Signal::SIGKILL).ok();
                }
            }
            #[cfg(target_os = "linux")]
            Some(KeeperCall::Share(_)) => {}
            Some(KeeperCall::Close) | None => break,
        }
    }
    drop(calls);
    let endings = [
        (DIRECT_TERM_DELAY, Some(StopSignal::Term)),
        (DIRECT_KILL_DELAY, Some(StopSignal::Kill)),
        (DIRECT_WAIT_TIMEOUT, None),
    ];
    for (after, ending) in endings {
        let all_ended = async { while children.join_next().await.is_some() {} };
        if tokio::time::timeout(after, all_ended).await.is_ok() {
            break;
        }
        for group in groups.values().filter(|_| ending.is_some()) {
            killpg(*group, ending.map(Signal::from)).ok();
        }
    }
    guard.close().await;
    drop(alive);
}

fn spawn(spec: &SpawnSpec) -> Result<(Child, StartedChild), SpawnError> {
    if !spec.cwd.is_dir() {
        return Err(SpawnError::BadCwd {
            cwd: spec.cwd.clone(),
            reason: "it is not a directory".to_owned(),
        });
    }
    let failed = |error: io::Error| SpawnError::Other {
        program: spec.program.clone(),
        reason: error.to_string(),
        errno: error.raw_os_error(),
    };
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&spec.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    descriptor_limits::give_back(&mut command);
    core_dumps::restore_for_child(&mut command);
    let mut child = command.spawn().map_err(failed)?;
    let started = pipes(&mut child).map_err(failed)?;
    Ok((child, started))
}

fn pipes(child: &mut Child) -> io::Result<StartedChild> {
    let missing = || io::Error::other("the new child has no pipe");
    let stdin: OwnedFd = child.stdin.take().ok_or_else(missing)?.into_owned_fd()?;
    let stdout: OwnedFd = child.stdout.take().ok_or_else(missing)?.into_owned_fd()?;
    let stderr: OwnedFd = child.stderr.take().ok_or_else(missing)?.into_owned_fd()?;
    Ok(StartedChild {
        pid: child.id().ok_or_else(missing)?,
        stdin,
        stdout,
        stderr,
    })
}

/// Reports the exit, ends the rest of the group, and returns the child's id.
async fn watch_child(
    id: u64,
    mut child: Child,
    group: Pid,
    exit: watch::Sender<Option<ChildExit>>,
) -> u64 {
    let ended = child.wait().await.map_or(ChildExit::LOST, ChildExit::from);
    exit.send_replace(Some(ended));
    // Signalling an empty group is an error: no process is left to end.
    if killpg(group, Signal::SIGTERM).is_ok() {
        sleep(GROUP_TERM_GRACE).await;
        killpg(group, Signal::SIGKILL).ok();
    }
    id
}

impl From<StopSignal> for Signal {
    fn from(ending: StopSignal) -> Self {
        match ending {
            StopSignal::Term => Signal::SIGTERM,
            StopSignal::Kill => Signal::SIGKILL,
        }
    }
}

impl From<ExitStatus> for ChildExit {
    fn from(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        ChildExit {
            code: status.code(),
            signal: status.signal(),
            exceeded: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::{Keeper, TreeLimits};

    /// A keeper whose guard only records its input.
    async fn keeper(folder: &Path) -> Keeper {
        let (calls, requested) = mpsc::unbounded_channel();
        let (alive, gone) = watch::channel(());
        let guard = folder.join("guard");
        fs::write(&guard, "#!/bin/sh\necho ready\nexec cat >\"$2\"\n").unwrap();
        fs::set_permissions(&guard, fs::Permissions::from_mode(0o700)).unwrap();
        let pid = start(&guard, &folder.join("told"), requested, alive)
            .await
            .unwrap();
        Keeper::new(pid, 0, calls, gone)
    }

    fn shell(script: &str) -> SpawnSpec {
        SpawnSpec {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            env: Vec::new(),
            cwd: "/".into(),
            tag: "test".into(),
            limits: TreeLimits::default(),
        }
    }

    #[tokio::test]
    async fn child_echoes_and_its_exit_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = keeper(folder.path()).await;
        let mut child = keeper.spawn(shell("cat; exit 3")).await.unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"over").await.unwrap();
        drop(stdin);
        let mut said = String::new();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "over");
        assert_eq!(child.wait().await.to_string(), "exit code 3");
        let pid = child.pid;
        keeper.close().await;
        let told = fs::read_to_string(folder.path().join("told")).unwrap();
        assert!(told.starts_with(&format!("+{pid}\n")), "{told}");
    }

    #[tokio::test]
    async fn close_kills_a_child_that_ignores_sigterm() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = keeper(folder.path()).await;
        let child = keeper.spawn(shell("trap '' TERM; echo ready; while :; do read x; done"));
        let mut child = child.await.unwrap();
        let mut ready = [0; 6];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut ready).await.unwrap();
        keeper.close().await;
        assert_eq!(
            child.wait().await.to_string(),
            "killed by signal 9 (SIGKILL)"
        );
    }
}
