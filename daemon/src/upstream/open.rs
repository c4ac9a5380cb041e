//! From a definition to a session that is ready: the process, the handshake, the list of tools.
//!
//! Invariant: a process that does not become a session is ended, with its tree, before the error is
//! told.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use rmcp::service::{ClientInitializeError, serve_client};
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::info;

use super::{
    asks::Asks,
    beside::Beside,
    ears::Ears,
    handler::Handler,
    listing::list_tools,
    offer::Offer,
    overheard::Overheard,
    process::Launcher,
    session::{LAST_WORDS, Session},
    stderr,
    transport::StdioTransport,
    watch::Watch,
};
use crate::settings::{Link, ServerDefinition};

/// Between the end of a server's input and TERM, and between TERM and KILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);

impl Session {
    /// Starts the process and shakes hands. An error tells a person what to do.
    pub(super) async fn open(
        offer: &Offer,
        definition: &ServerDefinition,
        launcher: &Launcher,
        log: PathBuf,
        beside: &Arc<Beside>,
    ) -> Result<Arc<Self>, String> {
        let started = Instant::now();
        let name = offer.name.as_str();
        let Link::Process(process) = &definition.link else {
            return Err("servers with a `url` are not supported yet".into());
        };
        let mut child = launcher.launch(name, process).await?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("the process has no pipes".into());
        };
        let pid = child.pid;
        let (last_lines, stderr_ended) = stderr::drain(stderr, log.clone());
        let ears = Ears::new(name, &log, beside);
        let handler = Handler {
            asks: Asks::new(name, Arc::clone(&ears), definition.ask),
        };
        let transport = StdioTransport::new(stdout, stdin, log, last_lines.clone());
        let transport = Overheard::new(transport, Arc::clone(&ears));
        let mut handshake = Box::pin(async {
            let service = serve_client(handler, transport).await.map_err(unfit)?;
            let tools = list_tools(service.peer()).await.map_err(|problem| {
                let gone = service.peer().is_transport_closed();
                Unfit { problem, gone }
            })?;
            Ok::<_, Unfit>((service, tools))
        });
        let ended = |exit| format!("the process ended at once ({exit})");
        let outcome = tokio::select! {
            biased;
            outcome = &mut handshake => outcome,
            exit = child.wait() => {
                // What it said on its output is still being read.
                drop(timeout(LAST_WORDS, &mut handshake).await);
                Err(Unfit { problem: ended(exit), gone: false })
            }
            () = tokio::time::sleep(definition.start_timeout) => {
                let limit = definition.start_timeout;
                let problem = format!("it was not ready within {limit:?} (start_timeout)");
                Err(Unfit { problem, gone: false })
            }
        };
        // With it ends the process's input, which asks it to leave.
        drop(handshake);
        let (service, tools) = match outcome {
            Ok(ready) => ready,
            Err(Unfit { mut problem, gone }) => {
                // A process that ends closes its pipes a moment before its end is known.
                if gone && let Ok(exit) = timeout(LAST_WORDS, child.wait()).await {
                    problem = ended(exit);
                }
                child.stop(GRACE).await;
                _ = timeout(LAST_WORDS, stderr_ended).await;
                return Err(last_lines.after(problem));
            }
        };
        let set = offer.list(tools);
        let peer_info = service.peer().peer_info();
        let session = Arc::new(Self {
            peer: service.peer().clone(),
            tools: ArcSwap::from_pointee(set),
            ears,
            pid,
            identity: peer_info.as_ref().and_then(|info| {
                info.server_info
                    .as_ref()
                    .map(|s| format!("{} {}", s.name, s.version))
            }),
            protocol: peer_info.map(|info| info.protocol_version.to_string()),
            start_time: started.elapsed(),
            calls: TaskTracker::new(),
            shut: CancellationToken::new(),
            closing: CancellationToken::new(),
            known: CancellationToken::new(),
            ended: CancellationToken::new(),
            cause: Mutex::new(None),
        });
        info!(server = name, pid, took = ?session.start_time, tools = session.tools().len(), "session open");
        let watch = Watch {
            offer: offer.clone(),
            last_lines,
            listing: definition.start_timeout,
        };
        tokio::spawn(watch.over(Arc::clone(&session), service, child));
        Ok(session)
    }
}

/// Why a process that was started is no session.
struct Unfit {
    problem: String,
    /// It closed its pipes.
    gone: bool,
}

fn unfit(error: ClientInitializeError) -> Unfit {
    let gone = matches!(
        error,
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }
    );
    let problem = if gone {
        "it closed its pipes before it had answered".into()
    } else {
        format!("the handshake failed: {error}")
    };
    Unfit { problem, gone }
}
