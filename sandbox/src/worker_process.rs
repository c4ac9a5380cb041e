//! One worker process: starts it, exchanges frames with it, and ends it.
//!
//! Invariant: a [`Worker`] that is dropped is killed. Only [`crate::pool`] keeps one for another run, and only after a
//! clean end.

mod death;
mod isolation;
mod link;
mod outbox;

use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, mpsc as std_mpsc},
    thread,
    time::Duration,
};

use futures::StreamExt;
use mux_wire::{EngineInfo, FRAME_VERSION, FromWorker, MAX_FRAME_BYTES, ProgramFindings, ToWorker};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
    runtime::Handle,
    sync::oneshot,
    task::{JoinHandle, consume_budget, spawn_blocking, yield_now},
    time::timeout,
};
use tokio_util::{
    codec::{FramedRead, LengthDelimitedCodec},
    sync::CancellationToken,
    task::AbortOnDropHandle,
};
use tracing::debug;

use self::link::LinkReader;
pub(crate) use self::{
    death::{DeathCause, WorkerDeath},
    isolation::isolate_process,
    outbox::FrameOutbox,
};
use crate::limits::MemoryLimits;

/// How long to wait for the exit status and the last output of a worker that is ending.
const REAP_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a ready worker may take to accept a program.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);
/// Frames up to this many bytes are decoded inline: handing them to another thread takes longer.
const MAX_INLINE_DECODE_BYTES: usize = 256 << 10;
/// How many lines of its standard error are kept, and how many bytes of each.
const MAX_STDERR_LINES: usize = 20;
const MAX_STDERR_LINE_BYTES: usize = 4 << 10;
const STDERR_CHUNK_BYTES: usize = 64 << 10;
/// How many bytes of a worker's standard error are logged during its life. The limit keeps a flood from filling the
/// log.
const MAX_LOGGED_STDERR_BYTES: usize = 64 << 10;

/// Why a worker cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    #[error("cannot start the worker {path}: {source}")]
    Start { path: PathBuf, source: io::Error },
    #[error("the worker was not ready within {0:?}")]
    TooSlow(Duration),
    #[error("the worker is of another build (frame version {0}, not {FRAME_VERSION})")]
    OtherBuild(u32),
    #[error("the worker broke the protocol: {0}")]
    Protocol(String),
    #[error("the worker process ended: {0}")]
    Ended(WorkerDeath),
}

/// Starts workers from one thread that lives as long as the pool.
///
/// A worker asks the kernel to be killed when its parent dies, and on Linux the parent is the thread.
#[derive(Clone)]
pub(crate) struct ProcessSpawner(std_mpsc::Sender<(Command, oneshot::Sender<io::Result<Child>>)>);

impl ProcessSpawner {
    pub(crate) fn start() -> io::Result<Self> {
        let (sender, requests) =
            std_mpsc::channel::<(Command, oneshot::Sender<io::Result<Child>>)>();
        let runtime = Handle::current();
        thread::Builder::new()
            .name("mux-spawn".into())
            .spawn(move || {
                let _entered = runtime.enter();
                for (mut command, reply) in requests {
                    // If the requester no longer exists, dropping the child kills it.
                    drop(reply.send(command.spawn()));
                }
            })?;
        Ok(Self(sender))
    }

    pub(crate) async fn spawn(&self, command: Command) -> io::Result<Child> {
        let (reply, answer) = oneshot::channel();
        let gone = || io::Error::other("the spawning thread has ended");
        self.0.send((command, reply)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

/// The program and the options to start a worker process with.
#[derive(Clone, Copy)]
pub(crate) struct WorkerLaunch<'a> {
    pub(crate) program: &'a Path,
    pub(crate) memory: MemoryLimits,
    pub(crate) snapshot: Option<&'a Path>,
}

impl WorkerLaunch<'_> {
    fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command
            .args(["--heap", &self.memory.heap.to_string()])
            .args(["--buffers", &self.memory.buffers.to_string()])
            .env_clear()
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        isolate_process(&mut command);
        if let Some(snapshot) = self.snapshot {
            command.arg("--snapshot").arg(snapshot);
        }
        command
    }
}

/// A worker process whose isolate is ready, or is being rebuilt.
pub(crate) struct Worker {
    child: Child,
    memory: MemoryLimits,
    frames: FramedRead<LinkReader, LengthDelimitedCodec>,
    /// A long frame that another thread is decoding.
    decoding: Option<JoinHandle<Result<FromWorker, WorkerError>>>,
    outbox: FrameOutbox,
    _writer: AbortOnDropHandle<()>,
    stderr: Arc<Mutex<VecDeque<String>>>,
    /// The task that reads standard error until its end. Aborted when this is dropped.
    drained: Option<AbortOnDropHandle<()>>,
    /// Cancelled when standard error ends.
    over: CancellationToken,
    pub(crate) engine: EngineInfo,
    /// Runs served so far.
    pub(crate) runs: u32,
    /// The owner of these runs.
    pub(crate) owner: Option<Arc<str>>,
}

impl Worker {
    /// Starts a process and waits until its isolate is ready.
    pub(crate) async fn start(
        spawner: &ProcessSpawner,
        launch: WorkerLaunch<'_>,
        within: Duration,
    ) -> Result<Self, WorkerError> {
        let failed = |source| WorkerError::Start {
            path: launch.program.to_owned(),
            source,
        };
        let mut command = launch.command();
        link::prepare(&mut command);
        let mut child = spawner.spawn(command).await.map_err(failed)?;
        let stderr = Arc::default();
        let over = CancellationToken::new();
        let pid = child.id().unwrap_or_default();
        let drained = child
            .stderr
            .take()
            .map(|pipe| {
                let kept = Arc::clone(&stderr);
                let guard = over.clone().drop_guard();
                tokio::spawn(async move {
                    let _guard = guard;
                    drain_stderr(pipe, kept, pid).await;
                })
            })
            .map(AbortOnDropHandle::new);
        let (read, write) = link::open(&mut child).map_err(failed)?;
        let (outbox, writer) = FrameOutbox::open(write);
        let mut worker = Self {
            child,
            memory: launch.memory,
            frames: FramedRead::new(read, frame_codec()),
            decoding: None,
            outbox,
            _writer: writer,
            stderr,
            drained,
            over,
            engine: EngineInfo::default(),
            runs: 0,
            owner: None,
        };
        match timeout(within, worker.receive_hello()).await {
            Ok(greeted) => greeted.map(|()| worker),
            Err(_) => Err(WorkerError::TooSlow(within)),
        }
    }

    async fn receive_hello(&mut self) -> Result<(), WorkerError> {
        match self.receive().await? {
            FromWorker::Hello {
                version: FRAME_VERSION,
                engine,
            } => {
                debug!(worker = self.pid(), layers = ?engine.layers, "worker locked down");
                self.engine = engine;
            }
            FromWorker::Hello { version, .. } => return Err(WorkerError::OtherBuild(version)),
            other => return Err(unexpected_frame_error(&other)),
        }
        self.wait_until_ready().await
    }

    /// Waits until a fresh isolate is ready.
    pub(crate) async fn wait_until_ready(&mut self) -> Result<(), WorkerError> {
        match self.receive().await? {
            FromWorker::Ready => Ok(()),
            other => Err(unexpected_frame_error(&other)),
        }
    }

    /// Sends a program and waits until it is accepted. On an error, the program has not started.
    pub(crate) async fn start_program(&mut self, program: &ToWorker) -> Result<(), WorkerError> {
        self.send(program)?;
        match timeout(ACCEPT_TIMEOUT, self.receive()).await {
            Ok(Ok(FromWorker::Accepted)) => Ok(()),
            Ok(Ok(other)) => Err(unexpected_frame_error(&other)),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(WorkerError::TooSlow(ACCEPT_TIMEOUT)),
        }
    }

    /// Receives the next frame. Cancel-safe.
    pub(crate) async fn receive(&mut self) -> Result<FromWorker, WorkerError> {
        // Without this, a worker that sends many short frames could occupy a thread of the runtime.
        consume_budget().await;
        if self.decoding.is_some() {
            return self.await_decoding().await;
        }
        match self.frames.next().await {
            Some(Ok(bytes)) if bytes.len() <= MAX_INLINE_DECODE_BYTES => decode_frame(&bytes),
            Some(Ok(bytes)) => {
                self.decoding = Some(spawn_blocking(move || decode_frame(&bytes)));
                self.await_decoding().await
            }
            Some(Err(e)) if e.kind() == io::ErrorKind::InvalidData => {
                Err(WorkerError::Protocol(e.to_string()))
            }
            // A process that was killed may leave a partial frame.
            Some(Err(_)) | None => Err(WorkerError::Ended(self.wait_for_death().await)),
        }
    }

    /// Waits for the long frame that another thread is decoding. Cancel-safe.
    async fn await_decoding(&mut self) -> Result<FromWorker, WorkerError> {
        let Some(decoding) = &mut self.decoding else {
            return Err(WorkerError::Protocol("no frame is read".into()));
        };
        let decoded = decoding.await;
        self.decoding = None;
        decoded.unwrap_or_else(|lost| Err(WorkerError::Protocol(lost.to_string())))
    }

    /// Queues a frame. The worker must have taken all previous ones.
    fn send(&self, frame: &ToWorker) -> Result<(), WorkerError> {
        self.outbox.send(frame)
    }

    /// A handle that queues frames for the worker without waiting.
    pub(crate) fn outbox(&self) -> FrameOutbox {
        self.outbox.clone()
    }

    /// Checks a program without running it. The worker must be ready.
    pub(crate) async fn check(&mut self, source: String) -> Result<ProgramFindings, WorkerError> {
        self.send(&ToWorker::Check { source })?;
        match self.receive().await? {
            FromWorker::Checked(findings) => Ok(findings),
            other => Err(unexpected_frame_error(&other)),
        }
    }

    pub(crate) fn memory(&self) -> MemoryLimits {
        self.memory
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Cancelled when the process has ended or this is dropped. A process that closes its standard error counts as
    /// ended.
    pub(crate) fn end_token(&self) -> CancellationToken {
        self.over.clone()
    }

    pub(crate) fn is_dead(&mut self) -> bool {
        self.over.is_cancelled() || !matches!(self.child.try_wait(), Ok(None))
    }

    async fn wait_for_death(&mut self) -> WorkerDeath {
        let status = match timeout(REAP_TIMEOUT, self.child.wait()).await {
            Ok(Ok(status)) => Some(status),
            _ => None,
        };
        // The pipe closes with the process: wait until its last output has been read.
        if let Some(drained) = self.drained.take() {
            drop(timeout(REAP_TIMEOUT, drained).await);
        }
        let last_words = {
            let lines = self.stderr.lock();
            lines
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" | ")
        };
        WorkerDeath::of(status, last_words, self.memory)
    }
}

fn unexpected_frame_error(frame: &FromWorker) -> WorkerError {
    WorkerError::Protocol(format!("unexpected frame {}", frame.as_ref()))
}

fn decode_frame(bytes: &[u8]) -> Result<FromWorker, WorkerError> {
    mux_wire::decode_frame(bytes).map_err(|e| WorkerError::Protocol(e.to_string()))
}

fn frame_codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder()
        .max_frame_length(MAX_FRAME_BYTES)
        .new_codec()
}

/// Logs the first lines of a worker's standard error and keeps its last ones. Long lines are split. Only the last lines
/// of each chunk are read, which makes a flood cheap.
async fn drain_stderr(pipe: impl AsyncRead + Unpin, kept: Arc<Mutex<VecDeque<String>>>, pid: u32) {
    let mut pipe = BufReader::with_capacity(STDERR_CHUNK_BYTES, pipe);
    let mut line = Vec::new();
    let mut logged = 0;
    let mut keep = |line: &mut Vec<u8>| {
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        line.clear();
        if logged < MAX_LOGGED_STDERR_BYTES {
            debug!(worker = pid, "{text}");
            logged += text.len() + 1;
            if logged >= MAX_LOGGED_STDERR_BYTES {
                debug!(worker = pid, "no more of its standard error is logged");
            }
        }
        let mut kept = kept.lock();
        if kept.len() == MAX_STDERR_LINES {
            kept.pop_front();
        }
        kept.push_back(text);
    };
    while let Ok(chunk @ [_, ..]) = pipe.fill_buf().await {
        let read = chunk.len();
        let newlines = chunk
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, byte)| **byte == b'\n');
        let tail = match newlines.map(|(place, _)| place).nth(MAX_STDERR_LINES) {
            Some(place) => {
                line.clear();
                &chunk[place + 1..]
            }
            None => chunk,
        };
        let lines = tail.split_inclusive(|byte| *byte == b'\n');
        for piece in lines.flat_map(|line| line.chunks(MAX_STDERR_LINE_BYTES)) {
            line.extend_from_slice(piece);
            if line.ends_with(b"\n") || line.len() >= MAX_STDERR_LINE_BYTES {
                keep(&mut line);
            }
        }
        pipe.consume(read);
        // The budget of a task is counted in reads, and would allow 8 MiB at a time.
        yield_now().await;
    }
    if !line.is_empty() {
        keep(&mut line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn last_lines(output: &[u8]) -> Vec<String> {
        let kept = Arc::default();
        drain_stderr(output, Arc::clone(&kept), 1).await;
        let kept = kept.lock();
        kept.iter().cloned().collect()
    }

    #[tokio::test]
    async fn last_lines_of_standard_error_are_kept_whole() {
        assert_eq!(last_lines(b"").await, Vec::<String>::new());
        assert_eq!(last_lines(b"a\n\nb").await, ["a", "", "b"]);
        // With lines of 7 bytes, chunks end in the middle of a line.
        let flood: Vec<_> = (100_000..200_000).map(|n| format!("{n}\n")).collect();
        let kept = last_lines(flood.concat().as_bytes()).await;
        assert_eq!(kept.len(), MAX_STDERR_LINES);
        assert_eq!(kept.last().unwrap(), "199999");
        assert!(kept.iter().all(|line| line.len() == 6), "{kept:?}");
        let long = last_lines(&vec![b'x'; 1 << 20]).await;
        assert_eq!(long.len(), MAX_STDERR_LINES);
        assert!(
            long.iter()
                .all(|line| line.len() <= 2 * MAX_STDERR_LINE_BYTES)
        );
    }
}
