//! The way to a server: what its messages go over, and what stands behind it.
//!
//! A process is spoken to over its pipes; a remote server over streamable HTTP, or over the HTTP+SSE of
//! 2024-11-05; a source is in this process.
//! Invariant: whatever the way is, an error of it says what became of the message.

mod authorization;
mod body;
mod ending;
mod error;
mod exchange;
mod inside;
mod long_messages;
mod signed;
mod sse;
mod standing;
mod streamable;

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
    authorization::{Authorization, Unsigned},
    error::{Challenge, LinkError, OpenError},
    signed::Signed,
};
use self::{
    ending::Ending, exchange::Exchange, inside::InsideTransport, sse::SseTransport,
    streamable::StreamableTransport,
};
use super::{
    handed::{Handed, HandedState, Parted},
    in_flight::InFlight,
    process::Launcher,
    session::LAST_WORDS,
    stamp::Stamp,
    stderr::{self, LastLines, Leave},
    transport::{Parting, Pipes, StdioTransport},
};
use mux_keeper::KeptChild;
use mux_settings::{Process, Remote, RemoteTransport};
use mux_sources::Source;

/// What messages go over.
pub(super) enum Wire {
    Stdio(StdioTransport<pipe::Receiver, pipe::Sender>),
    Streamable(StreamableTransport),
    Sse(SseTransport),
    Inside(InsideTransport),
}

/// What is at the other end.
pub(super) enum Behind {
    Process {
        child: KeptChild,
        /// Resolves when everything that it wrote to its standard error was read.
        stderr_ended: oneshot::Receiver<()>,
        stderr: Leave<pipe::Receiver>,
        parting: Parting<pipe::Receiver, pipe::Sender>,
    },
    Remote(Ending),
}

/// A way that stands, before the first word.
pub(super) struct Way {
    pub(super) wire: Wire,
    pub(super) behind: Behind,
    /// What was said beside the messages, for errors.
    pub(super) last_lines: LastLines,
    /// What will be on its way there.
    pub(super) in_flight: Arc<InFlight>,
}

impl Way {
    /// Starts a process.
    pub(super) async fn process(
        name: &str,
        process: &Process,
        launcher: &Launcher,
        log: PathBuf,
    ) -> Result<Self, OpenError> {
        let child = launcher.launch(name, process).await?;
        Self::of_child(child, (Vec::new(), 0), false, process, log)
    }

    /// Goes on with a process of the daemon before us.
    pub(super) fn handed(
        handed: Handed,
        process: &Process,
        log: PathBuf,
    ) -> Result<Self, OpenError> {
        let HandedState {
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
        process: &Process,
        log: PathBuf,
    ) -> Result<Self, OpenError> {
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(OpenError::Failed("the process has no pipes".into()));
        };
        let in_flight = Arc::<InFlight>::default();
        let stamp = Stamp::of(&in_flight);
        let (last_lines, stderr_ended, stderr) =
            stderr::drain(stderr, log.clone(), stamp.clone(), &process.hidden);
        let pipes = Pipes {
            reader: stdout,
            writer: stdin,
            unread,
            next,
        };
        let transport = StdioTransport::over(pipes, modern, (log, stamp), last_lines.clone());
        let parting = transport.parting();
        Ok(Self {
            wire: Wire::Stdio(transport),
            behind: Behind::Process {
                child,
                stderr_ended,
                stderr,
                parting,
            },
            last_lines,
            in_flight,
        })
    }

    /// Makes ready to speak to a remote server; nothing is sent yet.
    pub(super) fn remote(
        remote: &Remote,
        over: RemoteTransport,
        authorization: Arc<dyn Authorization>,
    ) -> Result<Self, OpenError> {
        let ending = Ending::default();
        let exchange = Exchange::new(remote, authorization, ending.clone())?;
        let wire = match over {
            RemoteTransport::StreamableHttp => {
                Wire::Streamable(streamable::transport(exchange, remote.url.expose()))
            }
            RemoteTransport::Sse => Wire::Sse(SseTransport::new(exchange, remote.url.expose())),
        };
        Ok(Self {
            wire,
            behind: Behind::Remote(ending),
            last_lines: LastLines::without(&remote.secrets()),
            in_flight: Arc::default(),
        })
    }
}

impl From<watch::Receiver<Arc<dyn Source>>> for Way {
    fn from(source: watch::Receiver<Arc<dyn Source>>) -> Self {
        Self {
            wire: Wire::Inside(InsideTransport::new(source)),
            behind: Behind::Remote(Ending::default()),
            last_lines: LastLines::default(),
            in_flight: Arc::default(),
        }
    }
}

impl Wire {
    /// As `mux servers` shows it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Streamable(_) => "streamable-http",
            Self::Sse(_) => "sse",
            Self::Inside(_) => "source",
        }
    }
}

impl Transport<RoleClient> for Wire {
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

impl Behind {
    pub(super) fn pid(&self) -> Option<u32> {
        match self {
            Self::Process { child, .. } => Some(child.pid),
            Self::Remote(_) => None,
        }
    }

    /// Resolves at its end, with a sentence on it.
    pub(super) async fn ended(&self) -> String {
        match self {
            Self::Process { child, .. } => format!("the process ended ({})", child.wait().await),
            Self::Remote(ending) => ending.told().await,
        }
    }

    /// The same in the moment after which the messages have ended; `None` if it goes on.
    pub(super) async fn last_word(&self) -> Option<String> {
        match self {
            Self::Process { .. } => timeout(LAST_WORDS, self.ended()).await.ok(),
            Self::Remote(ending) => ending.cause(),
        }
    }

    /// A process whose messages go on in another daemon, when `serving` has ended those here. If that cannot be, it
    /// is ended, and nothing comes.
    pub(super) async fn part(self, serving: impl Future<Output = ()>) -> Option<Parted> {
        let Self::Process {
            child,
            stderr,
            parting,
            ..
        } = self
        else {
            return None;
        };
        let pipes = parting.begin();
        serving.await;
        // The transport has ended, or never will.
        let pipes = timeout(LAST_WORDS, pipes).await;
        if let (Ok(Ok(pipes)), Some(stderr)) = (pipes, stderr.pipe().await) {
            return Some(Parted {
                child,
                pipes,
                stderr,
            });
        }
        child.stop(super::open::GRACE).await;
        None
    }

    /// Ends a process, with its tree. All that it said has been read then.
    pub(super) async fn stop(self) {
        match self {
            Self::Process {
                child,
                stderr_ended,
                ..
            } => {
                child.stop(super::open::GRACE).await;
                _ = timeout(LAST_WORDS, stderr_ended).await;
            }
            Self::Remote(_) => {}
        }
    }
}
