//! The process behind a [`super::Compiler`], and its pipes.
//!
//! Invariant: when the process or a pipe ends, or the compiler is dropped, everything else ends too, and all pending
//! requests fail.

use std::{
    collections::HashMap,
    ffi::OsStr,
    path::Path,
    process::Stdio,
    sync::{Arc, OnceLock},
    time::Duration,
};

use mux_process::child_group;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::{mpsc, oneshot},
    time::timeout,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::AbortOnDropHandle,
};
use tracing::debug;

use super::super::lsp;

/// The maximum length of a line of standard error.
const MAX_STDERR_LINE_BYTES: u64 = 1 << 10;
/// How long a killed process may take to end.
const REAP_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a process that has closed its output may take to exit by itself.
const EXIT_TIMEOUT: Duration = Duration::from_millis(200);

pub(super) type LspAnswer = Result<Box<RawValue>, String>;

/// The requests that wait for a response.
pub(super) struct PendingRequests {
    pub(super) next: u64,
    /// Senders by request ID, or `None` when the process has ended.
    pub(super) askers: Option<HashMap<u64, oneshot::Sender<LspAnswer>>>,
}

/// A compiler's command without arguments: with an empty environment, in its own process group.
pub(in super::super) fn command(program: &Path, path: Option<&OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    child_group::set_apart(&mut command);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command
}

/// The process and its pipes, owned by one task.
pub(super) struct CompilerProcess {
    pub(super) child: Child,
    pub(super) pid: u32,
    pub(super) waiting: Arc<Mutex<PendingRequests>>,
    /// Why the process has ended.
    pub(super) why: Arc<OnceLock<String>>,
    pub(super) end: CancellationToken,
    pub(super) _over: DropGuard,
}

impl CompilerProcess {
    pub(super) async fn live(
        mut self,
        stdin: ChildStdin,
        letters: mpsc::UnboundedReceiver<Vec<u8>>,
        stdout: ChildStdout,
        stderr: ChildStderr,
        outbox: mpsc::UnboundedSender<Vec<u8>>,
    ) {
        let complaints = AbortOnDropHandle::new(tokio::spawn(complaints(stderr, self.pid)));
        let (cause, is_killed) = tokio::select! {
            () = self.end.cancelled() => (None, true),
            problem = listen(stdout, &self.waiting, &outbox) => (problem, false),
            () = write(stdin, letters) => (None, false),
        };
        // A process that has closed its output is about to exit: its exit status is the reason.
        let status = if is_killed || cause.is_some() {
            None
        } else {
            timeout(EXIT_TIMEOUT, self.child.wait()).await.ok()
        };
        kill_group(self.pid);
        drop(self.child.start_kill());
        drop(timeout(REAP_TIMEOUT, self.child.wait()).await);
        // The pipe ends with the process.
        let last_words = match timeout(REAP_TIMEOUT, complaints).await {
            Ok(Ok(words)) => words,
            _ => String::new(),
        };
        let how = match status {
            Some(Ok(status)) => status.to_string(),
            _ => "it closed its output".into(),
        };
        let cause = cause.unwrap_or_else(|| {
            if last_words.is_empty() {
                how
            } else {
                format!("{how}: {last_words}")
            }
        });
        drop(self.why.set(cause));
        let mut waiting = self.waiting.lock();
        waiting.askers = None;
    }
}

/// Dispatches responses until the pipe ends. Returns the error in the output, if any.
async fn listen(
    stdout: ChildStdout,
    waiting: &Mutex<PendingRequests>,
    outbox: &mpsc::UnboundedSender<Vec<u8>>,
) -> Option<String> {
    let mut pipe = BufReader::with_capacity(64 << 10, stdout);
    loop {
        let message = match lsp::read_message(&mut pipe).await {
            Ok(Some(message)) => message,
            Ok(None) => return None,
            Err(error) => return Some(error.to_string()),
        };
        match (message.id, message.method) {
            (Some(id), Some(method)) => {
                let answer = lsp::answer_compiler_request(&id, &method, message.params.as_deref());
                drop(outbox.send(lsp::encode_message(&answer)));
            }
            (Some(id), None) => {
                let asker = id.as_u64().and_then(|id| {
                    let mut waiting = waiting.lock();
                    waiting.askers.as_mut()?.remove(&id)
                });
                let answer = match (message.result, message.error) {
                    (Some(result), None) => Ok(result),
                    (_, Some(error)) => Err(format!("it answered with an error: {error}")),
                    (None, None) => Err("its answer was empty".into()),
                };
                if let Some(asker) = asker {
                    drop(asker.send(answer));
                }
            }
            // Notifications, such as log messages.
            (None, _) => {}
        }
    }
}

async fn write(mut stdin: ChildStdin, mut letters: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(letter) = letters.recv().await {
        if stdin.write_all(&letter).await.is_err() {
            break;
        }
    }
    // The remaining output is still to be read.
    std::future::pending::<()>().await;
}

/// Reads standard error, and keeps the most informative line: a Go crash begins with its cause.
async fn complaints(stderr: ChildStderr, pid: u32) -> String {
    let mut kept = String::new();
    let mut pipe = BufReader::new(stderr);
    let mut line = Vec::new();
    while let Ok(1..) = (&mut pipe)
        .take(MAX_STDERR_LINE_BYTES)
        .read_until(b'\n', &mut line)
        .await
    {
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        line.clear();
        debug!(compiler = pid, "{text}");
        let tells = text.starts_with("panic:") || text.starts_with("fatal error:");
        if !text.is_empty() && (kept.is_empty() || tells) {
            kept = text;
        }
    }
    kept
}

#[cfg(unix)]
fn kill_group(pid: u32) {
    use nix::{
        sys::signal::{Signal, killpg},
        unistd::Pid,
    };
    if let Some(pid) = i32::try_from(pid).ok().filter(|pid| *pid > 1) {
        let _gone_already = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

/// Does nothing: the compiler itself is killed when its handle is dropped, and its children end with the daemon's
/// job.
#[cfg(windows)]
fn kill_group(_pid: u32) {}
