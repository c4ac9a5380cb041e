//! The link to a server: the transport for its messages, and the process or remote server behind it.
//!
//! A process is connected over its pipes; a remote server over streamable HTTP, or over HTTP+SSE of 2024-11-05; a
//! source is in this process.
//!
//! Invariant: with every kind of link, an error says what happened to the message.

mod account_token_provider;
mod http_exchange;
mod in_process;
mod link_ending;
mod link_error;
mod long_messages;
mod response_body;
mod sse_backoff;
mod sse_transport;
mod streamable_http;
mod token_provider;

use std::{path::PathBuf, sync::Arc};

use futures::{FutureExt as _, TryFutureExt as _, future::BoxFuture};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    net::unix::pipe,
    sync::{oneshot, watch},
    time::timeout,
};

pub(crate) use self::{
    account_token_provider::AccountTokenProvider,
    link_error::{AuthChallenge, LinkError, OpenError},
    token_provider::{NoTokenProvider, TokenProvider},
};
use self::{
    http_exchange::HttpExchange, in_process::InProcessTransport, link_ending::LinkEnding,
    sse_transport::SseTransport, streamable_http::StreamableHttpTransport,
};
use super::{
    in_flight::InFlight,
    log_stamp::LogStamp,
    process_launcher::ProcessLauncher,
    session::FINAL_OUTPUT_TIMEOUT,
    session_handover::{DetachedSession, HandedSession, HandoverState},
    stderr::{self, LastLines, StderrHandover},
    stdio_transport::{PipesHandover, StdioTransport, TransportPipes},
};
use mux_keeper::KeptChild;
use mux_settings::{ProcessServer, RemoteServer, RemoteTransport};
use mux_sources::Source;

/// The transport for messages.
pub(super) enum LinkTransport {
    Stdio(StdioTransport<pipe::Receiver, pipe::Sender>),
    Streamable(StreamableHttpTransport),
    Sse(SseTransport),
    Inside(InProcessTransport),
}

/// The other end of a link.
pub(super) enum LinkEndpoint {
    Process {
        child: KeptChild,
        /// Resolves when the standard error is read to its end.
        stderr_ended: oneshot::Receiver<()>,
        stderr: StderrHandover<pipe::Receiver>,
        parting: PipesHandover<pipe::Receiver, pipe::Sender>,
    },
    Remote(LinkEnding),
}

/// A link before the handshake.
pub(super) struct ServerLink {
    pub(super) wire: LinkTransport,
    pub(super) behind: LinkEndpoint,
    /// Output outside of messages, for errors.
    pub(super) last_lines: LastLines,
    /// The requests in flight over this link.
    pub(super) in_flight: Arc<InFlight>,
}

impl ServerLink {
    /// Starts a process.
    pub(super) async fn start_process(
        name: &str,
        process: &ProcessServer,
        launcher: &ProcessLauncher,
        log: PathBuf,
    ) -> Result<Self, OpenError> {
        let child = launcher.launch(name, process).await?;
        Self::of_child(child, (Vec::new(), 0), false, process, log)
    }

    /// Resumes the process of a session that the previous daemon handed over.
    pub(super) fn resume_process(
        handed: HandedSession,
        process: &ProcessServer,
        log: PathBuf,
    ) -> Result<Self, OpenError> {
        let HandoverState {
            unread,
            next,
            modern,
            ..
        } = handed.state;
        Self::of_child(handed.child, (unread, next), modern, process, log)
    }

    fn of_child(
        mut child: KeptChild,
        (unread, next): (Vec<u8>, i64),
        modern: bool,
        process: &ProcessServer,
        log: PathBuf,
    ) -> Result<Self, OpenError> {
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(OpenError::Failed("the process has no pipes".into()));
        };
        let in_flight = Arc::<InFlight>::default();
        let stamp = LogStamp::of(&in_flight);
        let (last_lines, stderr_ended, stderr) =
            stderr::drain_stderr(stderr, log.clone(), stamp.clone(), &process.hidden);
        let pipes = TransportPipes {
            reader: stdout,
            writer: stdin,
            unread,
            next,
        };
        let transport = StdioTransport::over_pipes(pipes, modern, (log, stamp), last_lines.clone());
        let parting = transport.pipes_handover();
        Ok(Self {
            wire: LinkTransport::Stdio(transport),
            behind: LinkEndpoint::Process {
                child,
                stderr_ended,
                stderr,
                parting,
            },
            last_lines,
            in_flight,
        })
    }

    /// Prepares the link to a remote server; sends nothing.
    pub(super) fn prepare_remote(
        remote: &RemoteServer,
        over: RemoteTransport,
        authorization: Arc<dyn TokenProvider>,
    ) -> Result<Self, OpenError> {
        let ending = LinkEnding::default();
        let exchange = HttpExchange::new(remote, authorization, ending.clone())?;
        let wire = match over {
            RemoteTransport::StreamableHttp => LinkTransport::Streamable(
                streamable_http::streamable_transport(exchange, remote.url.expose()),
            ),
            RemoteTransport::Sse => {
                LinkTransport::Sse(SseTransport::new(exchange, remote.url.expose()))
            }
        };
        Ok(Self {
            wire,
            behind: LinkEndpoint::Remote(ending),
            last_lines: LastLines::masking(&remote.known_secrets()),
            in_flight: Arc::default(),
        })
    }
}

impl From<watch::Receiver<Arc<dyn Source>>> for ServerLink {
    fn from(source: watch::Receiver<Arc<dyn Source>>) -> Self {
        Self {
            wire: LinkTransport::Inside(InProcessTransport::new(source)),
            behind: LinkEndpoint::Remote(LinkEnding::default()),
            last_lines: LastLines::default(),
            in_flight: Arc::default(),
        }
    }
}

impl LinkTransport {
    /// The name that `mux servers` shows.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Streamable(_) => "streamable-http",
            Self::Sse(_) => "sse",
            Self::Inside(_) => "source",
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
            Self::Stdio(over) => over.send(item).map_err(LinkError::from).boxed(),
            Self::Streamable(over) => over.send(item).map_err(LinkError::of_http).boxed(),
            Self::Sse(over) => over.send(item).boxed(),
            Self::Inside(over) => over.send(item).boxed(),
        };
        sending
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        match self {
            Self::Stdio(over) => over.receive().await,
            Self::Streamable(over) => over.receive().await,
            Self::Sse(over) => over.receive().await,
            Self::Inside(over) => over.receive().await,
        }
    }

    async fn close(&mut self) -> Result<(), LinkError> {
        match self {
            Self::Stdio(over) => over.close().await.map_err(LinkError::from),
            Self::Streamable(over) => over.close().await.map_err(LinkError::of_http),
            Self::Sse(over) => over.close().await,
            Self::Inside(over) => over.close().await,
        }
    }
}

impl LinkEndpoint {
    pub(super) fn pid(&self) -> Option<u32> {
        match self {
            Self::Process { child, .. } => Some(child.pid),
            Self::Remote(_) => None,
        }
    }

    /// Resolves when the link ends, with the reason as a sentence.
    pub(super) async fn wait_for_end(&self) -> String {
        match self {
            Self::Process { child, .. } => format!("the process ended ({})", child.wait().await),
            Self::Remote(ending) => ending.wait_for_cause().await,
        }
    }

    /// The reason if the link ends shortly after its messages have; `None` if it stays open.
    pub(super) async fn recent_end_reason(&self) -> Option<String> {
        match self {
            Self::Process { .. } => timeout(FINAL_OUTPUT_TIMEOUT, self.wait_for_end())
                .await
                .ok(),
            Self::Remote(ending) => ending.cause(),
        }
    }

    /// Takes the process and its pipes out of this daemon once `serving` has ended its messages. If that fails, stops
    /// the process and returns `None`.
    pub(super) async fn detach_process(
        self,
        serving: impl Future<Output = ()>,
    ) -> Option<DetachedSession> {
        let Self::Process {
            child,
            stderr,
            parting,
            ..
        } = self
        else {
            return None;
        };
        let pipes = parting.request_pipes();
        serving.await;
        // The transport has ended, or it never will.
        let pipes = timeout(FINAL_OUTPUT_TIMEOUT, pipes).await;
        if let (Ok(Ok(pipes)), Some(stderr)) = (pipes, stderr.take_pipe().await) {
            return Some(DetachedSession {
                child,
                pipes,
                stderr,
            });
        }
        child.stop(super::connect::TERMINATION_GRACE_PERIOD).await;
        None
    }

    /// Terminates a process with its tree, and reads its output to the end.
    pub(super) async fn stop(self) {
        match self {
            Self::Process {
                child,
                stderr_ended,
                ..
            } => {
                child.stop(super::connect::TERMINATION_GRACE_PERIOD).await;
                _ = timeout(FINAL_OUTPUT_TIMEOUT, stderr_ended).await;
            }
            Self::Remote(_) => {}
        }
    }
}
