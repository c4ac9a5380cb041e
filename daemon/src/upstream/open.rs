//! From a definition to a session that is ready: the way to the server, the handshake, the list of
//! tools.
//!
//! Invariant: a process that does not become a session is ended, with its tree, before the error is
//! told.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use rmcp::{
    RoleClient,
    service::{ClientInitializeError, RunningService, serve_client},
};
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, info};

use super::{
    asks::Asks,
    beside::Beside,
    ears::Ears,
    handler::Handler,
    health::Health,
    link::{Authorization, LinkError, OpenError, Signed, Unsigned, Way, Wire},
    listing::list_tools,
    offer::Offer,
    overheard::Overheard,
    process::Launcher,
    session::{LAST_WORDS, Session},
    watch::Watch,
};
use crate::{
    auth::Auth,
    catalog::ToolDescription,
    settings::{Link, Remote, RemoteTransport, ServerDefinition},
};

/// Between the end of a server's input and TERM, and between TERM and KILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);

impl Session {
    /// Finds the way to the server and shakes hands. An error tells a person what to do.
    pub(super) async fn open(
        offer: &Offer,
        definition: &ServerDefinition,
        launcher: &Launcher,
        log: PathBuf,
        beside: &Arc<Beside>,
        auth: &Auth,
    ) -> Result<Arc<Self>, OpenError> {
        let opening = Opening {
            started: Instant::now(),
            offer,
            definition,
            log: &log,
            beside,
        };
        let remote = match &definition.link {
            Link::Process(process) => {
                let way = Way::process(&offer.name, process, launcher, log.clone()).await?;
                return opening.over(way).await.map_err(OpenError::from);
            }
            Link::Remote(remote) => remote,
        };
        let mut first_problem = None;
        for over in candidates(remote, beside) {
            let way = remote_way(remote, over, auth)?;
            match opening.over(way).await {
                Ok(session) => {
                    beside.speaks(&remote.url, over);
                    return Ok(session);
                }
                Err(unfit) => {
                    let other = unfit
                        .link
                        .as_ref()
                        .is_some_and(LinkError::may_speak_otherwise);
                    // What the address said first is nearer to what is wrong with it.
                    let problem = first_problem.get_or_insert(unfit);
                    if !other {
                        break;
                    }
                    debug!(
                        server = offer.name,
                        ?over,
                        problem.problem,
                        "not spoken there"
                    );
                }
            }
        }
        Err(first_problem.map_or_else(|| OpenError::Failed("no transport".into()), OpenError::from))
    }
}

/// What to try at an address, one after the other: what the entry says; what worked before; streamable
/// HTTP, and then its elder.
fn candidates(remote: &Remote, beside: &Beside) -> Vec<RemoteTransport> {
    use RemoteTransport::{Sse, StreamableHttp};
    match (remote.transport, beside.spoken(&remote.url)) {
        (Some(said), _) => vec![said],
        (None, Some(Sse)) => vec![Sse, StreamableHttp],
        (None, _) => vec![StreamableHttp, Sse],
    }
}

/// Nothing is sent yet.
fn remote_way(remote: &Remote, over: RemoteTransport, auth: &Auth) -> Result<Way, OpenError> {
    let authorization: Arc<dyn Authorization> = match auth.account(remote) {
        Some(account) => Arc::new(Signed(account)),
        None => Arc::new(Unsigned),
    };
    Way::remote(remote, over, authorization)
}

/// What every way to a session needs.
struct Opening<'a> {
    started: Instant,
    offer: &'a Offer,
    definition: &'a ServerDefinition,
    log: &'a PathBuf,
    beside: &'a Arc<Beside>,
}

impl Opening<'_> {
    async fn over(&self, way: Way) -> Result<Arc<Session>, Unfit> {
        let (offer, definition) = (self.offer, self.definition);
        let name = offer.name.as_str();
        let Way {
            wire,
            behind,
            last_lines,
        } = way;
        let (pid, transport) = (behind.pid(), wire.name());
        let ears = Ears::new(name, self.log, self.beside);
        let handler = Handler {
            asks: Asks::new(name, Arc::clone(&ears), definition.ask),
        };
        let wire = Overheard::new(wire, Arc::clone(&ears));
        let mut handshake = Box::pin(shake_hands(handler, wire));
        let at_once = |end: String| match pid {
            Some(_) => end.replacen("ended", "ended at once", 1),
            None => end,
        };
        let outcome = tokio::select! {
            biased;
            outcome = &mut handshake => outcome,
            end = behind.ended() => {
                // What it said on its output is still being read, and says more of the reason.
                match timeout(LAST_WORDS, &mut handshake).await {
                    Ok(Err(unfit)) if unfit.link.is_some() && pid.is_none() => Err(unfit),
                    _ => Err(Unfit::of(at_once(end))),
                }
            }
            () = tokio::time::sleep(definition.start_timeout) => {
                let limit = definition.start_timeout;
                Err(Unfit::of(format!("it was not ready within {limit:?} (start_timeout)")))
            }
        };
        // With it ends the process's input, which asks it to leave.
        drop(handshake);
        let (service, tools) = match outcome {
            Ok(ready) => ready,
            Err(mut unfit) => {
                // A process that ends closes its pipes a moment before its end is known.
                if unfit.gone
                    && let Some(end) = behind.last_word().await
                {
                    unfit.problem = at_once(end);
                }
                behind.stop().await;
                unfit.problem = last_lines.after(unfit.problem);
                return Err(unfit);
            }
        };
        let set = offer.list(tools);
        let peer_info = service.peer().peer_info();
        let session = Arc::new(Session {
            peer: service.peer().clone(),
            tools: ArcSwap::from_pointee(set),
            ears,
            health: Health::default(),
            pid,
            transport,
            identity: peer_info.as_ref().and_then(|info| {
                info.server_info
                    .as_ref()
                    .map(|s| format!("{} {}", s.name, s.version))
            }),
            protocol: peer_info.map(|info| info.protocol_version.to_string()),
            start_time: self.started.elapsed(),
            calls: TaskTracker::new(),
            shut: CancellationToken::new(),
            closing: CancellationToken::new(),
            known: CancellationToken::new(),
            ended: CancellationToken::new(),
            cause: Mutex::new(None),
        });
        info!(server = name, pid, transport, took = ?session.start_time, tools = session.tools().len(), "session open");
        let watch = Watch {
            offer: offer.clone(),
            last_lines,
            listing: definition.start_timeout,
        };
        tokio::spawn(watch.over(Arc::clone(&session), service, behind));
        Ok(session)
    }
}

/// Why a way to a server is no session.
struct Unfit {
    problem: String,
    /// It closed its end.
    gone: bool,
    /// What was wrong on the way, if that was it.
    link: Option<LinkError>,
}

impl Unfit {
    fn of(problem: String) -> Self {
        Self {
            problem,
            gone: false,
            link: None,
        }
    }
}

impl From<Unfit> for OpenError {
    fn from(unfit: Unfit) -> Self {
        match unfit.link {
            Some(LinkError::SignIn(challenge)) => Self::SignIn(challenge),
            _ => Self::Failed(unfit.problem),
        }
    }
}

async fn shake_hands(
    handler: Handler,
    wire: Overheard<Wire>,
) -> Result<(RunningService<RoleClient, Handler>, Vec<ToolDescription>), Unfit> {
    let service = serve_client(handler, wire).await.map_err(unfit)?;
    match list_tools(service.peer()).await {
        Ok(tools) => Ok((service, tools)),
        Err(problem) => Err(Unfit {
            problem,
            gone: service.peer().is_transport_closed(),
            link: None,
        }),
    }
}

fn unfit(error: ClientInitializeError) -> Unfit {
    let link = LinkError::of_handshake(&error);
    let gone = matches!(
        error,
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }
    );
    let problem = match &link {
        Some(LinkError::Unreached(problem)) => problem.clone(),
        Some(other) => other.to_string(),
        None if gone => "it closed its pipes before it had answered".into(),
        None => format!("the handshake failed: {error}"),
    };
    Unfit {
        problem,
        gone,
        link,
    }
}
