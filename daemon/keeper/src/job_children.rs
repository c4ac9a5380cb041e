//! Child processes of the daemon on Windows, each with all that it starts in a job object.
//!
//! Invariant: the system ends the processes of a job when the daemon's handle to it closes. No keeper or guard is
//! needed, because a killed daemon leaves no process behind.

use std::{
    collections::HashMap,
    io,
    os::windows::io::BorrowedHandle,
    path::Path,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::{
    process::{Child, Command},
    sync::{mpsc, watch},
    task::JoinSet,
    time::timeout,
};
use tracing::warn;
use windows_sys::Win32::System::Threading::{CREATE_NO_WINDOW, CREATE_SUSPENDED};

use mux_process::job_object::{self, JobObject};

use super::{
    error::{KeeperError, SpawnError},
    kept_child::{ChildExit, KeeperCall, SpawnSpec, StartedChild},
};

/// After `close`: the delay until running children, which have seen the end of their input, are terminated, and then
/// until the wait ends.
const JOB_END_DELAY: Duration = Duration::from_millis(1_200);
const JOB_WAIT_TIMEOUT: Duration = Duration::from_millis(700);

/// Returns the pid of this process, which is its own keeper.
pub(super) async fn start(
    _exe: &Path,
    _lock: &Path,
    calls: mpsc::UnboundedReceiver<KeeperCall>,
    alive: watch::Sender<()>,
) -> Result<u32, KeeperError> {
    if let Err(error) = job_object::end_children_with_this_process() {
        // Servers have separate jobs, and workers end with their pipe.
        warn!(%error, "cannot put muxd into a job object: a compiler may outlive a killed daemon");
    }
    tokio::spawn(serve(calls, alive));
    Ok(std::process::id())
}

async fn serve(mut calls: mpsc::UnboundedReceiver<KeeperCall>, alive: watch::Sender<()>) {
    let mut jobs: HashMap<u64, Arc<JobObject>> = HashMap::new();
    let mut children = JoinSet::new();
    loop {
        let call = tokio::select! {
            call = calls.recv() => call,
            Some(Ok(id)) = children.join_next() => {
                jobs.remove(&id);
                continue;
            }
        };
        match call {
            Some(KeeperCall::Spawn {
                id,
                spec,
                exit,
                reply,
            }) => match spawn(&spec) {
                Ok((child, job, started)) => {
                    let job = Arc::new(job);
                    jobs.insert(id, Arc::clone(&job));
                    children.spawn(watch_child(id, child, job, exit));
                    reply.send(Ok(started)).ok();
                }
                Err(error) => drop(reply.send(Err(error))),
            },
            // A process without a console can be asked to end only by closing its input, so both signals terminate it.
            // No other daemon could own a child.
            Some(KeeperCall::Signal { id, .. } | KeeperCall::Give { id }) => {
                if let Some(job) = jobs.get(&id) {
                    job.terminate();
                }
            }
            Some(KeeperCall::Close) | None => break,
        }
    }
    drop(calls);
    let all_ended = async { while children.join_next().await.is_some() {} };
    if timeout(JOB_END_DELAY, all_ended).await.is_err() {
        for job in jobs.values() {
            job.terminate();
        }
        let all_ended = async { while children.join_next().await.is_some() {} };
        timeout(JOB_WAIT_TIMEOUT, all_ended).await.ok();
    }
    drop(alive);
}

fn spawn(spec: &SpawnSpec) -> Result<(Child, JobObject, StartedChild), SpawnError> {
    if !spec.cwd.is_dir() {
        return Err(SpawnError::BadCwd {
            cwd: spec.cwd.clone(),
            reason: "it is not a directory".to_owned(),
        });
    }
    let start = || -> io::Result<_> {
        let job = JobObject::new()?;
        let mut child = Command::new(&spec.program)
            .args(&spec.args)
            .env_clear()
            .envs(spec.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&spec.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW)
            // A child that cannot join its job never runs.
            .kill_on_drop(true)
            .spawn()?;
        let missing = || io::Error::other("the new child has no pipe");
        let pid = child.id().ok_or_else(missing)?;
        join(&job, &child, pid)?;
        let started = StartedChild {
            pid,
            stdin: child.stdin.take().ok_or_else(missing)?,
            stdout: child.stdout.take().ok_or_else(missing)?,
            stderr: child.stderr.take().ok_or_else(missing)?,
        };
        Ok((child, job, started))
    };
    start().map_err(|error| SpawnError::Other {
        program: spec.program.clone(),
        reason: error.to_string(),
        errno: error.raw_os_error(),
    })
}

#[expect(
    unsafe_code,
    reason = "tokio returns the handle of a child as a number"
)]
fn join(job: &JobObject, child: &Child, pid: u32) -> io::Result<()> {
    let handle = child.raw_handle().ok_or(io::ErrorKind::NotFound)?;
    // SAFETY: the child was not awaited, so its handle is open as long as it is borrowed here.
    let handle = unsafe { BorrowedHandle::borrow_raw(handle) };
    job.start_suspended(handle, pid)
}

/// Reports the exit, ends the processes that the child has left behind, and returns the child's id.
async fn watch_child(
    id: u64,
    mut child: Child,
    job: Arc<JobObject>,
    exit: watch::Sender<Option<ChildExit>>,
) -> u64 {
    let ended = child.wait().await.map_or(ChildExit::LOST, ChildExit::from);
    exit.send_replace(Some(ended));
    job.terminate();
    id
}

impl From<ExitStatus> for ChildExit {
    fn from(status: ExitStatus) -> Self {
        ChildExit {
            code: status.code(),
            signal: None,
            exceeded: None,
        }
    }
}
