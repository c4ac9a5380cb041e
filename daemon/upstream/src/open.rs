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
use rmcp::model::ServerPeerInfo;
use tokio::{sync::mpsc, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, info};

use super::{
    aside,
    asks::Asks,
    beside::Beside,
    ears::Ears,
    handed::Handed,
    handler::Handler,
    handshake::{Begun, Knowledge, REMEMBERED, REMOTE_PROBE, Unfit, go_on, shake},
    health::Health,
    lifetime::Lifetime,
    link::{Authorization, LinkError, OpenError, Signed, Unsigned, Way, Wire},
    listen::Listening,
    listing::Listed,
    offer::Offer,
    overheard::Overheard,
    process::Launcher,
    session::{LAST_WORDS, Session, said},
    watch::Watch,
};
use mux_auth::Auth;
use mux_catalog::Era;
use mux_settings::{Link, Remote, RemoteTransport, Roots, ServerDefinition};
use mux_sources::Sources;

/// Between the end of a server's input and TERM, and between TERM and KILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);

impl Session {
    /// Goes on with a session of the daemon before us. The server has been greeted; only its tools are asked for.
    pub(super) async fn go_on(
        offer: &Offer,
        definition: &ServerDefinition,
        launcher: &Launcher,
        log: PathBuf,
        beside: &Arc<Beside>,
        (auth, sources): (&Auth, &Sources),
        handed: Handed,
    ) -> Result<Arc<Self>, OpenError> {
        let opening = Opening {
            started: Instant::now(),
            offer,
            definition,
            launcher,
            log: &log,
            beside,
            auth,
            sources,
        };
        let Link::Process(process) = &definition.link else {
            handed.end();
            return Err(OpenError::Failed("it is no process any more".into()));
        };
        let beginning =
            Beginning::GoesOn(handed.state.era(), Box::new(handed.state.server.clone()));
        let way = Way::handed(handed, process, log.clone())?;
        opening.over(way, beginning).await.map_err(OpenError::from)
    }

    /// Finds the way to the server and shakes hands. An error tells a person what to do.
    pub(super) async fn open(
        offer: &Offer,
        definition: &ServerDefinition,
        launcher: &Launcher,
        log: PathBuf,
        beside: &Arc<Beside>,
        (auth, sources): (&Auth, &Sources),
    ) -> Result<Arc<Self>, OpenError> {
        let opening = Opening {
            started: Instant::now(),
            offer,
            definition,
            launcher,
            log: &log,
            beside,
            auth,
            sources,
        };
        let remote = match &definition.link {
            Link::Process(_) | Link::Source(_) => {
                let over = RemoteTransport::StreamableHttp;
                return opening.greet(over).await.map_err(OpenError::from);
            }
            Link::Remote(remote) => remote,
        };
        let mut first_problem = None;
        for over in candidates(remote, definition.era, beside) {
            match opening.greet(over).await {
                Ok(session) => {
                    beside.speaks(remote.url.expose(), over);
                    return Ok(session);
                }
                Err(unfit) => {
                    let other = unfit
                        .link
                        .as_ref()
                        .is_some_and(LinkError::may_speak_otherwise);
                    // What the address said first is nearer to what is wrong with it, unless somebody only
                    // has to sign in.
                    if unfit.wants_sign_in()
                        && first_problem
                            .as_ref()
                            .is_some_and(|it: &Unfit| !it.wants_sign_in())
                    {
                        first_problem = None;
                    }
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
fn candidates(remote: &Remote, era: Option<Era>, beside: &Beside) -> Vec<RemoteTransport> {
    use RemoteTransport::{Sse, StreamableHttp};
    // HTTP+SSE is of the old era.
    let transport = match era {
        Some(Era::Modern) => Some(StreamableHttp),
        _ => remote.transport,
    };
    match (transport, beside.spoken(remote.url.expose())) {
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

/// How a session begins on a way.
enum Beginning {
    Greet(Knowledge),
    /// It was begun by another daemon, in this era, with a server that said this of itself.
    GoesOn(Era, Box<ServerPeerInfo>),
}

/// What every way to a session needs.
struct Opening<'a> {
    started: Instant,
    offer: &'a Offer,
    definition: &'a ServerDefinition,
    launcher: &'a Launcher,
    log: &'a PathBuf,
    beside: &'a Arc<Beside>,
    auth: &'a Auth,
    sources: &'a Sources,
}

impl Opening<'_> {
    /// A new process, or a remote server over this.
    async fn way(&self, over: RemoteTransport) -> Result<Way, OpenError> {
        match &self.definition.link {
            Link::Process(process) => {
                let log = self.log.clone();
                Way::process(&self.offer.name, process, self.launcher, log).await
            }
            Link::Remote(remote) => remote_way(remote, over, self.auth),
            Link::Source(source) => {
                let within = self.definition.start_timeout;
                let opening = self.sources.open(&self.offer.name, source, within);
                Ok(Way::from(opening.await?))
            }
        }
    }

    /// In the era that is known, or in the one that is found. A server that does not bear to be asked is
    /// reached once more.
    async fn greet(&self, over: RemoteTransport) -> Result<Arc<Session>, Unfit> {
        if let Some(era) = self.definition.era {
            return self.greet_in(era, over).await;
        }
        // HTTP+SSE is of the old era, and what is in this process need not be asked.
        let known = match (over, &self.definition.link) {
            (RemoteTransport::Sse, _) | (_, Link::Source(_)) => Some(Era::Legacy),
            (RemoteTransport::StreamableHttp, _) => self.offer.era(),
        };
        let knowledge = |remote| match known {
            Some(Era::Modern) => {
                let most = match remote {
                    true => REMOTE_PROBE,
                    false => REMEMBERED,
                };
                let within = most.min(self.definition.start_timeout / 2);
                Knowledge::Remembered { within, remote }
            }
            Some(era) => Knowledge::Era(era),
            None if remote => Knowledge::NoneOfRemote,
            None => Knowledge::NoneOfProcess,
        };
        let way = self.way(over).await?;
        let knowledge = knowledge(way.behind.pid().is_none());
        match self.over(way, Beginning::Greet(knowledge)).await {
            Err(Unfit {
                again: Some(era), ..
            }) if over == RemoteTransport::StreamableHttp => {
                if known.is_none() && era == Era::Legacy {
                    self.offer.spoke(era, "");
                }
                let beginning = Beginning::Greet(Knowledge::Era(era));
                let outcome = self.over(self.way(over).await?, beginning).await;
                if outcome.is_ok() && (known, era) == (Some(Era::Legacy), Era::Modern) {
                    self.offer.only_modern();
                }
                outcome
            }
            outcome => outcome,
        }
    }

    /// In the era that the entry names, and in no other.
    async fn greet_in(&self, era: Era, over: RemoteTransport) -> Result<Arc<Session>, Unfit> {
        let way = self.way(over).await?;
        let beginning = Beginning::Greet(Knowledge::Chosen(era));
        self.over(way, beginning).await.map_err(|unfit| Unfit {
            problem: format!(
                "{} (only {} is tried, as `era` in its entry says)",
                unfit.problem,
                era.revision()
            ),
            ..unfit
        })
    }

    async fn over(&self, way: Way, beginning: Beginning) -> Result<Arc<Session>, Unfit> {
        let (offer, definition) = (self.offer, self.definition);
        let name = offer.name.as_str();
        let Way {
            wire,
            behind,
            last_lines,
            in_flight,
        } = way;
        let (pid, transport) = (behind.pid(), wire.name());
        let ears = Ears::new(name, in_flight, self.log, self.beside);
        let asks = Arc::new(Asks::new(
            name,
            Arc::clone(&ears),
            definition,
            self.beside.requests.clone(),
        ));
        let handler = Handler {
            asks: Arc::clone(&asks),
        };
        let wire = Overheard::new(
            wire,
            Arc::clone(&ears),
            definition.roots == Roots::Workspace,
        );
        let mut handshake = Box::pin(shake_hands(handler, wire, transport, beginning));
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
                    last => {
                        let again = last.ok().and_then(Result::err).and_then(|unfit| unfit.again);
                        Err(Unfit { again, ..Unfit::of(at_once(end)) })
                    }
                }
            }
            () = tokio::time::sleep(definition.start_timeout) => {
                let limit = definition.start_timeout;
                Err(Unfit::of(format!("it was not ready within {limit:?} (start_timeout)")))
            }
        };
        // With it ends the process's input, which asks it to leave.
        drop(handshake);
        let (begun, listed) = match outcome {
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
        let Begun { service, era, next } = begun;
        let peer_info = service.peer().peer_info();
        let instructions = peer_info
            .as_ref()
            .and_then(|info| info.instructions.as_deref());
        let set = offer.list(listed.tools, instructions).await;
        let identity = peer_info.as_ref().and_then(|info| {
            let server = info.server_info.as_ref()?;
            Some(said(format!("{} {}", server.name, server.version)))
        });
        if !matches!(transport, "sse" | "source") {
            offer.spoke(next, identity.as_deref().unwrap_or_default());
        }
        let listening = (era == Era::Modern).then(|| Listening::start(service.peer(), &ears));
        let (parting, partings) = mpsc::channel(1);
        let session = Arc::new_cyclic(|me| Session {
            me: me.clone(),
            offer: offer.clone(),
            chosen_era: definition.era,
            peer: service.peer().clone(),
            era,
            tools: ArcSwap::from_pointee(set),
            lifetime: Lifetime::new(listed.ttl),
            asks,
            listening,
            ears,
            health: Health::default(),
            pid,
            transport,
            identity,
            protocol: peer_info.map(|info| info.protocol_version.to_string()),
            start_time: self.started.elapsed(),
            calls: TaskTracker::new(),
            shut: CancellationToken::new(),
            leaving: CancellationToken::new(),
            parting,
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
        tokio::spawn(watch.over(Arc::clone(&session), service, behind, partings));
        Ok(session)
    }
}

impl From<Unfit> for OpenError {
    fn from(unfit: Unfit) -> Self {
        match unfit.link {
            Some(LinkError::SignIn(challenge)) => Self::SignIn(challenge),
            _ => Self::Failed(said(unfit.problem)),
        }
    }
}

impl From<OpenError> for Unfit {
    fn from(error: OpenError) -> Self {
        let problem = error.to_string();
        let link = match error {
            OpenError::SignIn(challenge) => Some(LinkError::SignIn(challenge)),
            OpenError::Failed(_) => None,
        };
        Self {
            link,
            ..Self::of(problem)
        }
    }
}

async fn shake_hands(
    handler: Handler,
    wire: Overheard<Wire>,
    transport: &'static str,
    beginning: Beginning,
) -> Result<(Begun, Listed), Unfit> {
    let begun = match beginning {
        Beginning::Greet(knowledge) => shake(handler, wire, knowledge).await?,
        Beginning::GoesOn(era, server) => {
            let wire = wire.begun(&server.protocol_version);
            go_on(handler, wire, era, *server)
        }
    };
    match aside::list_tools(begun.service.peer(), transport).await {
        Ok(listed) => Ok((begun, listed)),
        Err(problem) => Err(Unfit {
            gone: begun.service.peer().is_transport_closed(),
            ..Unfit::of(problem)
        }),
    }
}
