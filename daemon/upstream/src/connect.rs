//! Opens a session from a definition: the link to the server, the handshake, the list of tools.
//!
//! Invariant: a process that does not become a session is terminated with its process tree before the error is
//! returned.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use rmcp::model::ServerPeerInfo;
use tokio::{sync::mpsc, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, info};

use super::{
    client_request_handler::ClientRequestHandler,
    handshake::{
        EraKnowledge, HandshakeOutcome, REMEMBERED_PROBE_TIMEOUT, REMOTE_PROBE_TIMEOUT,
        ServerConnectError, perform_handshake, resume_service,
    },
    intercepting_transport::InterceptingTransport,
    link::{
        AccountTokenProvider, LinkError, LinkTransport, NoTokenProvider, OpenError, ServerLink,
        TokenProvider,
    },
    list_expiry::ListExpiry,
    notification_router::NotificationRouter,
    parse_off_thread,
    process_launcher::ProcessLauncher,
    server_catalog_entry::ServerCatalogEntry,
    server_requests::ServerRequests,
    session::{FINAL_OUTPUT_TIMEOUT, Session, truncate_server_text},
    session_handover::HandedSession,
    session_health::SessionHealth,
    session_watch::SessionWatch,
    slot_shared::SlotShared,
    subscriptions_listen::SubscriptionListenHandle,
    tools_list::ListedTools,
};
use mux_auth::Auth;
use mux_catalog::ProtocolEra;
use mux_settings::{RemoteServer, RemoteTransport, RootsSetting, ServerDefinition, ServerEndpoint};
use mux_sources::Sources;

/// The delay between closing a server's input and SIGTERM, and between SIGTERM and SIGKILL.
pub(super) const TERMINATION_GRACE_PERIOD: Duration = Duration::from_secs(2);

impl Session {
    /// Resumes a session of the previous daemon. The server is already initialized; only its tools are listed.
    pub(super) async fn resume_handed_session(
        offer: &ServerCatalogEntry,
        definition: &ServerDefinition,
        launcher: &ProcessLauncher,
        log: PathBuf,
        beside: &Arc<SlotShared>,
        (auth, sources): (&Auth, &Sources),
        handed: HandedSession,
    ) -> Result<Arc<Self>, OpenError> {
        let opening = SessionConnector {
            started: Instant::now(),
            offer,
            definition,
            launcher,
            log: &log,
            beside,
            auth,
            sources,
        };
        let ServerEndpoint::Process(process) = &definition.link else {
            handed.stop_process();
            return Err(OpenError::Failed("it is no longer a process".into()));
        };
        let beginning =
            HandshakeMode::GoesOn(handed.state.era(), Box::new(handed.state.server.clone()));
        let way = ServerLink::resume_process(handed, process, log.clone())?;
        opening
            .establish_session(way, beginning)
            .await
            .map_err(OpenError::from)
    }

    /// Connects to the server and performs the handshake. The error tells the user what to do.
    pub(super) async fn open(
        offer: &ServerCatalogEntry,
        definition: &ServerDefinition,
        launcher: &ProcessLauncher,
        log: PathBuf,
        beside: &Arc<SlotShared>,
        (auth, sources): (&Auth, &Sources),
    ) -> Result<Arc<Self>, OpenError> {
        let opening = SessionConnector {
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
            ServerEndpoint::Process(_) | ServerEndpoint::Source(_) => {
                let over = RemoteTransport::StreamableHttp;
                return opening.connect_over(over).await.map_err(OpenError::from);
            }
            ServerEndpoint::Remote(remote) => remote,
        };
        let mut first_problem = None;
        for over in candidate_transports(remote, definition.era, beside) {
            match opening.connect_over(over).await {
                Ok(session) => {
                    beside.remember_transport(remote.url.expose(), over);
                    return Ok(session);
                }
                Err(unfit) => {
                    let other = unfit
                        .link
                        .as_ref()
                        .is_some_and(LinkError::suggests_other_transport);
                    // The first error at this address is the most relevant one, unless a later one only asks to sign
                    // in.
                    if unfit.wants_sign_in()
                        && first_problem
                            .as_ref()
                            .is_some_and(|it: &ServerConnectError| !it.wants_sign_in())
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
                        "transport not supported there"
                    );
                }
            }
        }
        Err(first_problem.map_or_else(|| OpenError::Failed("no transport".into()), OpenError::from))
    }
}

/// The transports to try at an address, in order: the configured one, or the one that worked before, or streamable HTTP
/// and then HTTP+SSE.
fn candidate_transports(
    remote: &RemoteServer,
    era: Option<ProtocolEra>,
    beside: &SlotShared,
) -> Vec<RemoteTransport> {
    use RemoteTransport::{Sse, StreamableHttp};
    // HTTP+SSE exists only in the legacy era.
    let transport = match era {
        Some(ProtocolEra::Modern) => Some(StreamableHttp),
        _ => remote.transport,
    };
    match (transport, beside.known_transport(remote.url.expose())) {
        (Some(said), _) => vec![said],
        (None, Some(Sse)) => vec![Sse, StreamableHttp],
        (None, _) => vec![StreamableHttp, Sse],
    }
}

/// Prepares the link to a remote server; sends nothing.
fn remote_link(
    remote: &RemoteServer,
    over: RemoteTransport,
    auth: &Auth,
) -> Result<ServerLink, OpenError> {
    let authorization: Arc<dyn TokenProvider> = match auth.account(remote) {
        Some(account) => Arc::new(AccountTokenProvider(account)),
        None => Arc::new(NoTokenProvider),
    };
    ServerLink::prepare_remote(remote, over, authorization)
}

/// How a session begins on a link.
enum HandshakeMode {
    Greet(EraKnowledge),
    /// Another daemon initialized it in this era; the server described itself with this info.
    GoesOn(ProtocolEra, Box<ServerPeerInfo>),
}

/// The inputs that every kind of connection needs.
struct SessionConnector<'a> {
    started: Instant,
    offer: &'a ServerCatalogEntry,
    definition: &'a ServerDefinition,
    launcher: &'a ProcessLauncher,
    log: &'a PathBuf,
    beside: &'a Arc<SlotShared>,
    auth: &'a Auth,
    sources: &'a Sources,
}

impl SessionConnector<'_> {
    /// Opens the link: a new process, a remote server over `over`, or a source.
    async fn open_link(&self, over: RemoteTransport) -> Result<ServerLink, OpenError> {
        match &self.definition.link {
            ServerEndpoint::Process(process) => {
                let log = self.log.clone();
                ServerLink::start_process(&self.offer.name, process, self.launcher, log).await
            }
            ServerEndpoint::Remote(remote) => remote_link(remote, over, self.auth),
            ServerEndpoint::Source(source) => {
                let within = self.definition.start_timeout;
                let opening = self.sources.open(&self.offer.name, source, within);
                Ok(ServerLink::from(opening.await?))
            }
        }
    }

    /// Connects in the known era, or probes for it. A server that does not survive the probe is connected to once more.
    async fn connect_over(
        &self,
        over: RemoteTransport,
    ) -> Result<Arc<Session>, ServerConnectError> {
        if let Some(era) = self.definition.era {
            return self.connect_in_era(era, over).await;
        }
        // HTTP+SSE exists only in the legacy era, and an in-process source needs no probe.
        let known = match (over, &self.definition.link) {
            (RemoteTransport::Sse, _) | (_, ServerEndpoint::Source(_)) => Some(ProtocolEra::Legacy),
            (RemoteTransport::StreamableHttp, _) => self.offer.era(),
        };
        let knowledge = |remote| match known {
            Some(ProtocolEra::Modern) => {
                let most = match remote {
                    true => REMOTE_PROBE_TIMEOUT,
                    false => REMEMBERED_PROBE_TIMEOUT,
                };
                let within = most.min(self.definition.start_timeout / 2);
                EraKnowledge::Remembered { within, remote }
            }
            Some(era) => EraKnowledge::Era(era),
            None if remote => EraKnowledge::NoneOfRemote,
            None => EraKnowledge::NoneOfProcess,
        };
        let way = self.open_link(over).await?;
        let knowledge = knowledge(way.behind.pid().is_none());
        match self
            .establish_session(way, HandshakeMode::Greet(knowledge))
            .await
        {
            Err(ServerConnectError {
                again: Some(era), ..
            }) if over == RemoteTransport::StreamableHttp => {
                if known.is_none() && era == ProtocolEra::Legacy {
                    self.offer.remember_era(era, "");
                }
                let beginning = HandshakeMode::Greet(EraKnowledge::Era(era));
                let outcome = self
                    .establish_session(self.open_link(over).await?, beginning)
                    .await;
                if outcome.is_ok()
                    && (known, era) == (Some(ProtocolEra::Legacy), ProtocolEra::Modern)
                {
                    self.offer.remember_only_modern();
                }
                outcome
            }
            outcome => outcome,
        }
    }

    /// Connects only in the era that the entry sets.
    async fn connect_in_era(
        &self,
        era: ProtocolEra,
        over: RemoteTransport,
    ) -> Result<Arc<Session>, ServerConnectError> {
        let way = self.open_link(over).await?;
        let beginning = HandshakeMode::Greet(EraKnowledge::Chosen(era));
        self.establish_session(way, beginning)
            .await
            .map_err(|unfit| ServerConnectError {
                problem: format!(
                    "{} (only {} is tried, as `era` in its entry says)",
                    unfit.problem,
                    era.revision()
                ),
                ..unfit
            })
    }

    async fn establish_session(
        &self,
        way: ServerLink,
        beginning: HandshakeMode,
    ) -> Result<Arc<Session>, ServerConnectError> {
        let (offer, definition) = (self.offer, self.definition);
        let name = offer.name.as_str();
        let ServerLink {
            wire,
            behind,
            last_lines,
            in_flight,
        } = way;
        let (pid, transport) = (behind.pid(), wire.name());
        let ears = NotificationRouter::new(name, in_flight, self.log, self.beside);
        let asks = Arc::new(ServerRequests::new(
            name,
            Arc::clone(&ears),
            definition,
            self.beside.requests.clone(),
        ));
        let handler = ClientRequestHandler {
            asks: Arc::clone(&asks),
        };
        let wire = InterceptingTransport::new(
            wire,
            Arc::clone(&ears),
            definition.roots == RootsSetting::Workspace,
        );
        let mut handshake = Box::pin(handshake_and_list_tools(
            handler, wire, transport, beginning,
        ));
        let at_once = |end: String| match pid {
            Some(_) => end.replacen("ended", "ended at once", 1),
            None => end,
        };
        let outcome = tokio::select! {
            biased;
            outcome = &mut handshake => outcome,
            end = behind.wait_for_end() => {
                // The rest of its output is still being read and tells more about the reason.
                match timeout(FINAL_OUTPUT_TIMEOUT, &mut handshake).await {
                    Ok(Err(unfit)) if unfit.link.is_some() && pid.is_none() => Err(unfit),
                    last => {
                        let again = last.ok().and_then(Result::err).and_then(|unfit| unfit.again);
                        Err(ServerConnectError { again, ..ServerConnectError::of(at_once(end)) })
                    }
                }
            }
            () = tokio::time::sleep(definition.start_timeout) => {
                let limit = definition.start_timeout;
                Err(ServerConnectError::of(format!("it was not ready within {limit:?} (start_timeout)")))
            }
        };
        // This closes the process's input, which asks it to exit.
        drop(handshake);
        let (begun, listed) = match outcome {
            Ok(ready) => ready,
            Err(mut unfit) => {
                // A process that exits closes its pipes a moment before its exit is reported.
                if unfit.gone
                    && let Some(end) = behind.recent_end_reason().await
                {
                    unfit.problem = at_once(end);
                }
                behind.stop().await;
                unfit.problem = last_lines.append_last_lines(unfit.problem);
                return Err(unfit);
            }
        };
        let HandshakeOutcome { service, era, next } = begun;
        let peer_info = service.peer().peer_info();
        let instructions = peer_info
            .as_ref()
            .and_then(|info| info.instructions.as_deref());
        let set = offer.build_tool_set(listed.tools, instructions).await;
        let identity = peer_info.as_ref().and_then(|info| {
            let server = info.server_info.as_ref()?;
            Some(truncate_server_text(format!(
                "{} {}",
                server.name, server.version
            )))
        });
        if !matches!(transport, "sse" | "source") {
            offer.remember_era(next, identity.as_deref().unwrap_or_default());
        }
        let listening = (era == ProtocolEra::Modern)
            .then(|| SubscriptionListenHandle::start(service.peer(), &ears));
        let (parting, partings) = mpsc::channel(1);
        let session = Arc::new_cyclic(|me| Session {
            me: me.clone(),
            offer: offer.clone(),
            chosen_era: definition.era,
            peer: service.peer().clone(),
            era,
            tools: ArcSwap::from_pointee(set),
            lifetime: ListExpiry::new(listed.ttl),
            asks,
            listening,
            ears,
            health: SessionHealth::default(),
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
            cause: parking_lot::Mutex::new(None),
        });
        info!(server = name, pid, transport, took = ?session.start_time, tools = session.tools().len(), "session open");
        let watch = SessionWatch {
            offer: offer.clone(),
            last_lines,
            listing: definition.start_timeout,
        };
        tokio::spawn(watch.watch_session(Arc::clone(&session), service, behind, partings));
        Ok(session)
    }
}

impl From<ServerConnectError> for OpenError {
    fn from(unfit: ServerConnectError) -> Self {
        match unfit.link {
            Some(LinkError::SignIn(challenge)) => Self::SignIn(challenge),
            _ => Self::Failed(truncate_server_text(unfit.problem)),
        }
    }
}

impl From<OpenError> for ServerConnectError {
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

async fn handshake_and_list_tools(
    handler: ClientRequestHandler,
    wire: InterceptingTransport<LinkTransport>,
    transport: &'static str,
    beginning: HandshakeMode,
) -> Result<(HandshakeOutcome, ListedTools), ServerConnectError> {
    let begun = match beginning {
        HandshakeMode::Greet(knowledge) => perform_handshake(handler, wire, knowledge).await?,
        HandshakeMode::GoesOn(era, server) => {
            let wire = wire.with_negotiated_version(&server.protocol_version);
            resume_service(handler, wire, era, *server)
        }
    };
    match parse_off_thread::list_tools_off_thread(begun.service.peer(), transport).await {
        Ok(listed) => Ok((begun, listed)),
        Err(problem) => Err(ServerConnectError {
            gone: begun.service.peer().is_transport_closed(),
            ..ServerConnectError::of(problem)
        }),
    }
}
