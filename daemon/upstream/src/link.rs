//! The link to a server: the transport for its messages, and the process or remote server behind it.
//!
//! A process is connected over its pipes (`process`), a remote server over streamable HTTP or over HTTP+SSE of
//! 2024-11-05 (`http`), and a source is in this process (`in_process`). `reader` reads every message of another
//! program. This folder knows no other folder of the crate.
//!
//! Invariant: with every kind of link, an error names the outcome of the message.

mod http;
mod in_process;
mod link_ending;
mod link_error;
mod lost_session_words;
mod process;
pub(crate) mod raw_message;
mod reader;
mod server_launcher;
mod server_log;

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures::{FutureExt as _, TryFutureExt as _, future::BoxFuture};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{oneshot, watch},
    time::timeout,
};

use self::{
    http::{HttpExchange, SseTransport, StreamableHttpTransport, streamable_transport},
    in_process::InProcessTransport,
    link_ending::LinkEnding,
    process::{PipesHandover, StderrHandover, StdioTransport, TransportPipes, drain_stderr},
    reader::MessageReader,
};
pub use self::{
    link_error::OpenError,
    process::{ProcessLauncher, without_output},
    server_launcher::{
        LaunchedServer, ObservationError, RunningSandbox, SandboxReport, SandboxState,
        ServerIdentity, ServerLauncher,
    },
};
pub(crate) use self::{
    link_error::{AuthChallenge, LinkError},
    lost_session_words::names_lost_session,
    process::{LastLines, StrayOutput},
    reader::{Repair, Repairs},
    server_log::{ActiveRuns, LogStamp, ServerLog},
};
use mux_auth::Account;
use mux_keeper::{KeptChild, StderrPipe, StdinPipe, StdoutPipe};
use mux_process::blocking_pool;
use mux_settings::{ProcessServer, RemoteServer, RemoteTransport};
use mux_sources::Source;

/// How long the last output of a process may take to arrive after its exit.
pub(crate) const FINAL_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);
/// The delay between closing a server's input and SIGTERM, and between SIGTERM and SIGKILL.
pub(crate) const TERMINATION_GRACE_PERIOD: Duration = Duration::from_secs(2);

/// The transport for messages.
pub(crate) enum LinkTransport {
    Stdio(StdioTransport<StdoutPipe, StdinPipe>),
    Embedded(StdioTransport<Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>>),
    Streamable(StreamableHttpTransport),
    Sse(SseTransport),
    InProcess(InProcessTransport),
}

/// The other end of a link.
pub(crate) enum LinkEndpoint {
    Process {
        child: KeptChild,
        /// Boxed, because most links have none.
        sandbox: Box<RunningSandbox>,
        /// Resolves when the standard error is read to its end.
        stderr_ended: oneshot::Receiver<()>,
        stderr: StderrHandover<StderrPipe>,
        pipes: PipesHandover<StdoutPipe, StdinPipe>,
    },
    /// A server that is not a process of this daemon.
    Remote(LinkEnding),
}

/// A link before the handshake.
pub(crate) struct ServerLink {
    pub(crate) transport: LinkTransport,
    pub(crate) endpoint: LinkEndpoint,
    /// Output outside messages, for errors.
    pub(crate) last_lines: LastLines,
    /// The repairs in the server's messages.
    pub(crate) repairs: Arc<Repairs>,
    /// Never stray unless the link is over pipes.
    pub(crate) stray_output: StrayOutput,
}

/// The state that an earlier session has left on a process's pipes.
#[derive(Default)]
pub(crate) struct ResumedPipes {
    /// Output that has not been parsed yet.
    pub(crate) unread: Vec<u8>,
    /// The next request id: neither this nor a greater id has been used.
    pub(crate) next: i64,
    pub(crate) modern: bool,
}

/// A process and its pipes, taken from its link to be handed over.
#[derive(Debug)]
pub(crate) struct DetachedProcess {
    pub(crate) child: KeptChild,
    pub(crate) pipes: TransportPipes<StdoutPipe, StdinPipe>,
    pub(crate) stderr: StderrPipe,
}

impl ServerLink {
    /// Starts a server that is configured as a command.
    pub(crate) async fn start_server(
        name: &str,
        process: &ProcessServer,
        launcher: &dyn ServerLauncher,
        identity: &ServerIdentity,
        stamp: LogStamp,
    ) -> Result<Self, OpenError> {
        let log = (identity.log().to_owned(), stamp);
        match launcher.launch(name, process, identity).await? {
            LaunchedServer::Process(child, sandbox) => {
                Self::over_child((child, sandbox), ResumedPipes::default(), process, log)
            }
            LaunchedServer::Embedded { reader, writer } => {
                let last_lines = LastLines::masking(&process.hidden);
                let pipes = TransportPipes {
                    reader,
                    writer,
                    unread: Vec::new(),
                    next: 0,
                };
                let repairs = Arc::new(Repairs::logged_to(log.clone()));
                let messages = MessageReader::new(Arc::clone(&repairs));
                let transport =
                    StdioTransport::over_pipes(pipes, false, messages, log, last_lines.clone());
                Ok(Self {
                    repairs,
                    stray_output: transport.stray_output(),
                    transport: LinkTransport::Embedded(transport),
                    endpoint: LinkEndpoint::Remote(LinkEnding::default()),
                    last_lines,
                })
            }
        }
    }

    /// The link to a running process, on whose pipes there may have been an earlier session.
    pub(crate) fn over_child(
        (mut child, sandbox): (KeptChild, RunningSandbox),
        resumed: ResumedPipes,
        process: &ProcessServer,
        (log, stamp): (PathBuf, LogStamp),
    ) -> Result<Self, OpenError> {
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(OpenError::Failed("the process has no pipes".into()));
        };
        let (last_lines, stderr_ended, stderr) =
            drain_stderr(stderr, log.clone(), stamp.clone(), &process.hidden);
        let pipes = TransportPipes {
            reader: stdout,
            writer: stdin,
            unread: resumed.unread,
            next: resumed.next,
        };
        let log = (log, stamp);
        let repairs = Arc::new(Repairs::logged_to(log.clone()));
        let messages = MessageReader::new(Arc::clone(&repairs));
        let transport =
            StdioTransport::over_pipes(pipes, resumed.modern, messages, log, last_lines.clone());
        Ok(Self {
            endpoint: LinkEndpoint::Process {
                child,
                sandbox: Box::new(sandbox),
                stderr_ended,
                stderr,
                pipes: transport.pipes_handover(),
            },
            stray_output: transport.stray_output(),
            transport: LinkTransport::Stdio(transport),
            last_lines,
            repairs,
        })
    }

    /// Prepares the link to a remote server. Sends nothing.
    pub(crate) fn prepare_remote(
        remote: &RemoteServer,
        transport: RemoteTransport,
        account: Option<Arc<Account>>,
        log: (PathBuf, LogStamp),
    ) -> Result<Self, OpenError> {
        let ending = LinkEnding::default();
        let repairs = Arc::new(Repairs::logged_to(log));
        let reader = MessageReader::new(Arc::clone(&repairs));
        let exchange = HttpExchange::new(remote, account, ending.clone(), reader)?;
        let transport = match transport {
            RemoteTransport::StreamableHttp => {
                LinkTransport::Streamable(streamable_transport(exchange, remote.url.expose()))
            }
            RemoteTransport::Sse => {
                LinkTransport::Sse(SseTransport::new(exchange, remote.url.expose()))
            }
        };
        Ok(Self {
            transport,
            endpoint: LinkEndpoint::Remote(ending),
            last_lines: LastLines::masking(&remote.known_secrets()),
            repairs,
            stray_output: StrayOutput::default(),
        })
    }
}

impl From<watch::Receiver<Arc<dyn Source>>> for ServerLink {
    fn from(source: watch::Receiver<Arc<dyn Source>>) -> Self {
        Self {
            transport: LinkTransport::InProcess(InProcessTransport::new(source)),
            endpoint: LinkEndpoint::Remote(LinkEnding::default()),
            last_lines: LastLines::default(),
            // Our own messages need no repair.
            repairs: Arc::default(),
            stray_output: StrayOutput::default(),
        }
    }
}

impl LinkTransport {
    /// The name that `mux servers` shows.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Stdio(_) | Self::Embedded(_) => "stdio",
            Self::Streamable(_) => "streamable-http",
            Self::Sse(_) => "sse",
            Self::InProcess(_) => "source",
        }
    }
}

impl Transport<RoleClient> for LinkTransport {
    type Error = LinkError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), LinkError>> + Send + 'static {
        let sending: BoxFuture<'static, _> = match self {
            Self::Stdio(transport) => transport.send(item).map_err(LinkError::from).boxed(),
            Self::Embedded(transport) => transport.send(item).map_err(LinkError::from).boxed(),
            Self::Streamable(transport) => transport.send(item).map_err(LinkError::of_http).boxed(),
            Self::Sse(transport) => transport.send(item).boxed(),
            Self::InProcess(transport) => transport.send(item).boxed(),
        };
        sending
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        match self {
            Self::Stdio(transport) => transport.receive().await,
            Self::Embedded(transport) => transport.receive().await,
            Self::Streamable(transport) => transport.receive().await,
            Self::Sse(transport) => transport.receive().await,
            Self::InProcess(transport) => transport.receive().await,
        }
    }

    async fn close(&mut self) -> Result<(), LinkError> {
        match self {
            Self::Stdio(transport) => transport.close().await.map_err(LinkError::from),
            Self::Embedded(transport) => transport.close().await.map_err(LinkError::from),
            Self::Streamable(transport) => transport.close().await.map_err(LinkError::of_http),
            Self::Sse(transport) => transport.close().await,
            Self::InProcess(transport) => transport.close().await,
        }
    }
}

impl LinkEndpoint {
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::Process { child, .. } => Some(child.pid),
            Self::Remote(_) => None,
        }
    }

    /// The layers of the sandbox around the process. Empty without a sandbox.
    pub(crate) fn sandbox_layers(&self) -> &[String] {
        match self {
            Self::Process { sandbox, .. } => &sandbox.layers,
            Self::Remote(_) => &[],
        }
    }

    /// Resolves when the link ends, with the reason as a sentence.
    pub(crate) async fn wait_for_end(&self) -> String {
        match self {
            Self::Process { child, .. } => format!("the process ended ({})", child.wait().await),
            Self::Remote(ending) => ending.wait_for_cause().await,
        }
    }

    /// The reason if the link ends shortly after its messages have. `None` if the link stays open.
    pub(crate) async fn recent_end_reason(&self) -> Option<String> {
        match self {
            Self::Process { .. } => timeout(FINAL_OUTPUT_TIMEOUT, self.wait_for_end())
                .await
                .ok(),
            Self::Remote(ending) => ending.cause(),
        }
    }

    /// Takes the process and its pipes out of this daemon once `serving` has ended its messages. If that fails, stops
    /// the process and returns `None`.
    pub(crate) async fn detach_process(
        self,
        serving: impl Future<Output = ()>,
    ) -> Option<DetachedProcess> {
        let Self::Process {
            child,
            sandbox,
            stderr,
            pipes,
            ..
        } = self
        else {
            return None;
        };
        let pipes = pipes.request_pipes();
        serving.await;
        // Fails if the transport has ended or never will.
        let pipes = timeout(FINAL_OUTPUT_TIMEOUT, pipes).await;
        if let (Ok(Ok(pipes)), Some(stderr)) = (pipes, stderr.take_pipe().await) {
            if let Some(egress) = sandbox.egress {
                egress.hand_over();
            }
            return Some(DetachedProcess {
                child,
                pipes,
                stderr,
            });
        }
        child.stop(TERMINATION_GRACE_PERIOD).await;
        None
    }

    /// Records the files in the empty home of a process that is about to be stopped.
    pub(crate) async fn record_discarded_files(&self) {
        if let Self::Process { child, sandbox, .. } = self
            && let Some((home, discarded)) = sandbox.empty_home.clone()
        {
            let pid = child.pid;
            blocking_pool::run(move || discarded.record_home_of(pid, &home)).await;
        }
    }

    /// Terminates a process with its tree, and reads its output to the end.
    pub(crate) async fn stop(self) {
        self.record_discarded_files().await;
        match self {
            Self::Process {
                child,
                sandbox,
                stderr_ended,
                ..
            } => {
                child.stop(TERMINATION_GRACE_PERIOD).await;
                drop(sandbox);
                _ = timeout(FINAL_OUTPUT_TIMEOUT, stderr_ended).await;
            }
            Self::Remote(_) => {}
        }
    }
}
