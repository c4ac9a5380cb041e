//! Opens a session from a definition: the link to the server, the handshake, the tool list.
//!
//! Invariant: a process that does not become a session is terminated with its process tree before the error is
//! returned.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use rmcp::model::{ProtocolVersion, ServerPeerInfo};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, info};

use super::{
    Session,
    handshake::{
        EraKnowledge, HandshakeOutcome, REMEMBERED_PROBE_TIMEOUT, REMOTE_PROBE_TIMEOUT,
        ServerConnectError, perform_handshake, resume_service,
    },
    session_handover::HandedSession,
    session_health::SessionHealth,
    session_watch::SessionWatch,
    truncate_server_text,
};
use crate::{
    calls::InFlight,
    link::{
        FINAL_OUTPUT_TIMEOUT, LinkError, LinkTransport, LogStamp, OpenError, Repairs, ResumedPipes,
        RunningSandbox, ServerIdentity, ServerLauncher, ServerLink,
    },
    listing::{ListExpiry, ListToolsError, ListedTools, ServerCatalogEntry, list_tools},
    server_messages::{
        ClientRequestHandler, InterceptingTransport, NotificationRouter, RequestPolicyContext,
        ServerRequests, SubscriptionListenHandle,
    },
    sharing::SlotShared,
};
use mux_auth::Auth;
use mux_catalog::ProtocolEra;
use mux_settings::{RemoteServer, RemoteTransport, RootsSetting, ServerDefinition, ServerEndpoint};
use mux_sources::Sources;

/// The inputs from which a session is opened.
#[derive(Clone, Copy)]
pub(crate) struct SessionInputs<'a> {
    pub(crate) catalog_entry: &'a ServerCatalogEntry,
    /// The definition with the workspace of the session's key filled in.
    pub(crate) definition: &'a ServerDefinition,
    pub(crate) launcher: &'a dyn ServerLauncher,
    pub(crate) identity: &'a ServerIdentity,
    pub(crate) slot_shared: &'a Arc<SlotShared>,
    pub(crate) policy: &'a RequestPolicyContext,
    pub(crate) auth: &'a Auth,
    pub(crate) sources: &'a Sources,
}

impl Session {
    /// Resumes a session of the previous daemon. The server is already initialized, so only its tools are listed.
    pub(crate) async fn resume_handed_session(
        inputs: SessionInputs<'_>,
        handed: HandedSession,
    ) -> Result<Arc<Self>, OpenError> {
        let connector = SessionConnector::new(inputs);
        let ServerEndpoint::Process(process) = &inputs.definition.endpoint else {
            handed.stop_process();
            return Err(OpenError::Failed("it is no longer a process".into()));
        };
        let state = handed.state;
        let mode = HandshakeMode::Resume(state.era(), Box::new(state.server));
        let resumed = ResumedPipes {
            unread: state.unread,
            next: state.next,
            modern: state.modern,
        };
        let name = &inputs.catalog_entry.name;
        let sandbox = RunningSandbox {
            layers: state.sandbox_layers,
            egress: inputs.launcher.adopt(name, process, inputs.identity).await,
            empty_home: None,
        };
        let in_flight = Arc::<InFlight>::default();
        let log = (inputs.identity.log().to_owned(), LogStamp::of(&in_flight));
        let link = ServerLink::over_child((handed.child, sandbox), resumed, process, log)?;
        connector
            .establish_session(link, in_flight, mode)
            .await
            .map_err(OpenError::from)
    }

    /// Connects to the server and performs the handshake. The error tells the user what to do.
    pub(crate) async fn open(inputs: SessionInputs<'_>) -> Result<Arc<Self>, OpenError> {
        let connector = SessionConnector::new(inputs);
        let SessionInputs {
            catalog_entry,
            definition,
            slot_shared,
            ..
        } = inputs;
        let remote = match &definition.endpoint {
            ServerEndpoint::Process(_) | ServerEndpoint::Source(_) => {
                let transport = RemoteTransport::StreamableHttp;
                let opened = connector.connect_over(transport).await;
                return opened.map_err(OpenError::from);
            }
            ServerEndpoint::Remote(remote) => remote,
        };
        let mut first_error = None;
        for transport in candidate_transports(remote, definition.era, slot_shared) {
            match connector.connect_over(transport).await {
                Ok(session) => {
                    slot_shared.remember_transport(remote.url.expose(), transport);
                    return Ok(session);
                }
                Err(error) => {
                    let try_other = error
                        .link
                        .as_ref()
                        .is_some_and(LinkError::suggests_other_transport);
                    // The first error at this address is the most relevant one, unless the server speaks a later
                    // transport and fails there.
                    if !matches!(error.link, Some(LinkError::Declined { .. })) {
                        first_error = None;
                    }
                    let problem = first_error.get_or_insert(error);
                    if !try_other {
                        break;
                    }
                    debug!(
                        server = catalog_entry.name,
                        ?transport,
                        problem.problem,
                        "transport not supported there"
                    );
                }
            }
        }
        Err(first_error.map_or_else(|| OpenError::Failed("no transport".into()), OpenError::from))
    }
}

/// The transports to try at an address, in order: the configured transport, or the transport that worked before, or
/// streamable HTTP and then HTTP+SSE.
fn candidate_transports(
    remote: &RemoteServer,
    era: Option<ProtocolEra>,
    slot_shared: &SlotShared,
) -> Vec<RemoteTransport> {
    use RemoteTransport::{Sse, StreamableHttp};
    // HTTP+SSE exists only in the legacy era.
    let transport = match era {
        Some(ProtocolEra::Modern) => Some(StreamableHttp),
        _ => remote.transport,
    };
    match (transport, slot_shared.known_transport(remote.url.expose())) {
        (Some(configured), _) => vec![configured],
        (None, Some(Sse)) => vec![Sse, StreamableHttp],
        (None, _) => vec![StreamableHttp, Sse],
    }
}

/// The way in which a session begins on a link.
enum HandshakeMode {
    Start {
        knowledge: EraKnowledge,
        /// The version that `initialize` offers.
        offered: ProtocolVersion,
    },
    /// Another daemon initialized the session in this era. The server described itself with this info.
    Resume(ProtocolEra, Box<ServerPeerInfo>),
}

/// Makes the attempts to open one session.
struct SessionConnector<'a> {
    started: Instant,
    inputs: SessionInputs<'a>,
}

impl<'a> SessionConnector<'a> {
    fn new(inputs: SessionInputs<'a>) -> Self {
        Self {
            started: Instant::now(),
            inputs,
        }
    }

    /// Opens the link: a new process, a remote server over `transport`, or a source.
    async fn open_link(
        &self,
        transport: RemoteTransport,
        in_flight: &Arc<InFlight>,
    ) -> Result<ServerLink, OpenError> {
        let SessionInputs {
            catalog_entry,
            definition,
            launcher,
            identity,
            ..
        } = self.inputs;
        let stamp = LogStamp::of(in_flight);
        match &definition.endpoint {
            ServerEndpoint::Process(process) => {
                let name = &catalog_entry.name;
                ServerLink::start_server(name, process, launcher, identity, stamp).await
            }
            ServerEndpoint::Remote(remote) => {
                let log = (identity.log().to_owned(), stamp);
                let account = self.inputs.auth.account(remote);
                ServerLink::prepare_remote(remote, transport, account, log)
            }
            ServerEndpoint::Source(source) => {
                let within = definition.start_timeout;
                let opening = self
                    .inputs
                    .sources
                    .open(&catalog_entry.name, source, within);
                Ok(ServerLink::from(opening.await?))
            }
        }
    }

    /// Connects in the known era, or probes for it. A server that does not survive the probe is connected to once more.
    async fn connect_over(
        &self,
        transport: RemoteTransport,
    ) -> Result<Arc<Session>, ServerConnectError> {
        let SessionInputs {
            catalog_entry,
            definition,
            ..
        } = self.inputs;
        if let Some(era) = definition.era {
            return self.connect_in_era(era, transport).await;
        }
        // HTTP+SSE exists only in the legacy era, and an in-process source needs no probe.
        let known = match (transport, &definition.endpoint) {
            (RemoteTransport::Sse, _) | (_, ServerEndpoint::Source(_)) => Some(ProtocolEra::Legacy),
            (RemoteTransport::StreamableHttp, _) => catalog_entry.era(),
        };
        let remote = !matches!(definition.endpoint, ServerEndpoint::Process(_));
        let knowledge = match known {
            Some(ProtocolEra::Modern) => {
                let longest = if remote {
                    REMOTE_PROBE_TIMEOUT
                } else {
                    REMEMBERED_PROBE_TIMEOUT
                };
                let within = longest.min(definition.start_timeout / 2);
                EraKnowledge::Remembered { within, remote }
            }
            Some(ProtocolEra::Legacy) | None if !remote => EraKnowledge::Process,
            Some(era) => EraKnowledge::Era(era),
            None => EraKnowledge::UnknownRemote,
        };
        match self.connect_once(transport, knowledge).await {
            Err(ServerConnectError {
                retry_era: Some(era),
                ..
            }) if transport == RemoteTransport::StreamableHttp => {
                if known.is_none() && era == ProtocolEra::Legacy {
                    catalog_entry.remember_era(era, "");
                }
                let outcome = self.connect_once(transport, EraKnowledge::Era(era)).await;
                self.record_only_modern(known, &outcome);
                outcome
            }
            outcome => {
                self.record_only_modern(known, &outcome);
                outcome
            }
        }
    }

    /// Records that a server whose tools need the legacy era could be opened only in the modern era.
    fn record_only_modern(
        &self,
        known: Option<ProtocolEra>,
        outcome: &Result<Arc<Session>, ServerConnectError>,
    ) {
        let has_initialize = |session: &Arc<Session>| session.era == ProtocolEra::Legacy;
        if known == Some(ProtocolEra::Legacy)
            && outcome
                .as_ref()
                .is_ok_and(|session| !has_initialize(session))
        {
            self.inputs.catalog_entry.remember_only_modern();
        }
    }

    /// Connects only in the era that the entry sets.
    async fn connect_in_era(
        &self,
        era: ProtocolEra,
        transport: RemoteTransport,
    ) -> Result<Arc<Session>, ServerConnectError> {
        let connected = self.connect_once(transport, EraKnowledge::Only(era)).await;
        connected.map_err(|error| ServerConnectError {
            problem: format!(
                "{} (only {} is tried, as `era` in its entry says)",
                error.problem,
                era.revision()
            ),
            ..error
        })
    }

    /// Connects once. If the server refuses the version and names older versions, connects once more with the newest of
    /// those.
    async fn connect_once(
        &self,
        transport: RemoteTransport,
        knowledge: EraKnowledge,
    ) -> Result<Arc<Session>, ServerConnectError> {
        let newest = ProtocolVersion::LATEST_WITH_INITIALIZE;
        match self.open_session(transport, knowledge, newest).await {
            Err(ServerConnectError {
                named_version: Some(version),
                ..
            }) => {
                let legacy = EraKnowledge::Only(ProtocolEra::Legacy);
                self.open_session(transport, legacy, version).await
            }
            outcome => outcome,
        }
    }

    async fn open_session(
        &self,
        transport: RemoteTransport,
        knowledge: EraKnowledge,
        offered: ProtocolVersion,
    ) -> Result<Arc<Session>, ServerConnectError> {
        let in_flight = Arc::default();
        let link = self.open_link(transport, &in_flight).await?;
        let mode = HandshakeMode::Start { knowledge, offered };
        self.establish_session(link, in_flight, mode).await
    }

    async fn establish_session(
        &self,
        link: ServerLink,
        in_flight: Arc<InFlight>,
        mode: HandshakeMode,
    ) -> Result<Arc<Session>, ServerConnectError> {
        let SessionInputs {
            catalog_entry,
            definition,
            identity: server_identity,
            slot_shared,
            policy,
            ..
        } = self.inputs;
        let name = catalog_entry.name.as_str();
        let ServerLink {
            transport: link_transport,
            endpoint,
            last_lines,
            repairs,
            stray_output,
        } = link;
        let pid = endpoint.pid();
        let transport = link_transport.name();
        let router = NotificationRouter::new(name, in_flight, server_identity.log(), slot_shared);
        let server_requests = Arc::new(ServerRequests::new(
            name,
            Arc::clone(&router),
            definition,
            policy.clone(),
        ));
        let handler = ClientRequestHandler::new(Arc::clone(&server_requests));
        let intercepted = InterceptingTransport::new(
            link_transport,
            Arc::clone(&router),
            definition.roots == RootsSetting::Workspace,
        );
        let mut handshake = Box::pin(handshake_and_list_tools(
            handler,
            intercepted,
            transport,
            &repairs,
            mode,
        ));
        let began = Instant::now();
        let with_time = |end: String| match pid {
            Some(_) => end.replacen("ended", &time_of_end(began.elapsed()), 1),
            None => end,
        };
        let outcome = tokio::select! {
            biased;
            outcome = &mut handshake => outcome,
            end = endpoint.wait_for_end() => {
                // The rest of the output is still being read and tells more about the reason.
                match timeout(FINAL_OUTPUT_TIMEOUT, &mut handshake).await {
                    Ok(Err(error)) if error.link.is_some() && pid.is_none() => Err(error),
                    last => {
                        let last = last.ok().and_then(Result::err);
                        let last = last.unwrap_or_else(|| ServerConnectError::of(String::new()));
                        Err(ServerConnectError { problem: with_time(end), link: None, ..last })
                    }
                }
            }
            () = stray_output.wait_for_silence(), if !definition.has_long_start() => {
                let problem = "it writes text instead of MCP messages, and then nothing: is it an MCP server, and does it need \
                    an argument such as `stdio`? If it only takes long to start, set start_timeout above 60s";
                Err(ServerConnectError::of(problem.into()))
            }
            () = tokio::time::sleep(definition.start_timeout) => {
                let limit = definition.start_timeout;
                Err(ServerConnectError {
                    too_slow: true,
                    ..ServerConnectError::of(format!("it was not ready within {limit:?} (start_timeout)"))
                })
            }
        };
        // Dropping this closes the process's input, which asks the process to exit.
        drop(handshake);
        let (handshake, listed) = match outcome {
            Ok(ready) => ready,
            Err(mut error) => {
                // A process that exits closes its pipes a moment before its exit is reported.
                if error.closed_by_server
                    && let Some(end) = endpoint.recent_end_reason().await
                {
                    error.problem = with_time(end);
                }
                endpoint.stop().await;
                error.problem = last_lines.append_last_lines(&error.problem);
                return Err(error);
            }
        };
        let HandshakeOutcome { service, era, next } = handshake;
        let peer_info = service.peer().peer_info();
        let instructions = peer_info
            .as_ref()
            .and_then(|info| info.instructions.as_deref());
        let health = SessionHealth::default();
        let mut ttl = None;
        let set = match listed {
            Ok(listed) => {
                ttl = listed.ttl;
                catalog_entry
                    .build_tool_set(listed.tools, instructions)
                    .await
            }
            Err(problem) => {
                let problem = last_lines.mask_text(&problem.to_string());
                health.record_listing(Err(&problem));
                catalog_entry.unlisted_tools(instructions)
            }
        };
        let identity = peer_info.as_ref().and_then(|info| {
            let server = info.server_info.as_ref()?;
            Some(truncate_server_text(format!(
                "{} {}",
                server.name, server.version
            )))
        });
        if !matches!(transport, "sse" | "source") {
            catalog_entry.remember_era(next, identity.as_deref().unwrap_or_default());
        }
        let listening = (era == ProtocolEra::Modern)
            .then(|| SubscriptionListenHandle::start(service.peer(), &router));
        let (detach_requests, detach_receiver) = mpsc::channel(1);
        let session = Arc::new_cyclic(|me| Session {
            me: me.clone(),
            catalog_entry: catalog_entry.clone(),
            repairs: Arc::clone(&repairs),
            configured_era: definition.era,
            peer: service.peer().clone(),
            era,
            tools: ArcSwap::from_pointee(set),
            tools_expiry: ListExpiry::new(ttl),
            server_requests,
            listening,
            router,
            health,
            pid,
            sandbox_layers: endpoint.sandbox_layers().to_vec(),
            transport,
            identity,
            protocol: peer_info.map(|info| info.protocol_version.to_string()),
            start_time: self.started.elapsed(),
            calls: TaskTracker::new(),
            draining: CancellationToken::new(),
            retired: CancellationToken::new(),
            detach_requests,
            closing: CancellationToken::new(),
            ended: CancellationToken::new(),
            stopped: CancellationToken::new(),
            cause: parking_lot::Mutex::new(None),
            last_lines: last_lines.clone(),
        });
        info!(server = name, pid, transport, took = ?session.start_time, tools = session.tools().len(), "session open");
        let watch = SessionWatch {
            catalog_entry: catalog_entry.clone(),
            last_lines,
            listing: definition.start_timeout,
        };
        tokio::spawn(watch.watch_session(Arc::clone(&session), service, endpoint, detach_receiver));
        Ok(session)
    }
}

impl From<ServerConnectError> for OpenError {
    fn from(error: ServerConnectError) -> Self {
        match (error.link, error.unopened) {
            (Some(LinkError::SignIn(challenge)), _) => Self::SignIn(challenge),
            (_, Some(unopened)) => unopened,
            (_, None) if error.too_slow => Self::TooSlow(truncate_server_text(error.problem)),
            (_, None) => Self::Failed(truncate_server_text(error.problem)),
        }
    }
}

impl From<OpenError> for ServerConnectError {
    fn from(error: OpenError) -> Self {
        let problem = error.to_string();
        let (link, unopened) = match error {
            OpenError::SignIn(challenge) => (Some(LinkError::SignIn(challenge)), None),
            OpenError::NotInPath { .. } | OpenError::NoProgramFile(_) => (None, Some(error)),
            OpenError::TooSlow(_) | OpenError::Failed(_) => (None, None),
        };
        Self {
            link,
            unopened,
            ..Self::of(problem)
        }
    }
}

/// The end of a process that did not become ready, for errors.
fn time_of_end(after: Duration) -> String {
    match after.as_secs() {
        0 | 1 => "ended at once".to_owned(),
        seconds => format!("ended after {seconds} s, before it was ready"),
    }
}

/// Starts a session and lists its tools. A server that refuses only the list has a session, and the reason instead of
/// the list.
async fn handshake_and_list_tools(
    handler: ClientRequestHandler,
    intercepted: InterceptingTransport<LinkTransport>,
    transport: &'static str,
    repairs: &Arc<Repairs>,
    mode: HandshakeMode,
) -> Result<(HandshakeOutcome, Result<ListedTools, ListToolsError>), ServerConnectError> {
    let handshake = match mode {
        HandshakeMode::Start { knowledge, offered } => {
            let handler = handler.offering(offered);
            perform_handshake(handler, intercepted, knowledge).await?
        }
        HandshakeMode::Resume(era, server) => {
            let intercepted = intercepted.with_negotiated_version(&server.protocol_version);
            resume_service(handler, intercepted, era, *server)
        }
    };
    match list_tools(handshake.service.peer(), transport, repairs).await {
        Ok(listed) => Ok((handshake, Ok(listed))),
        Err(refused @ ListToolsError::Refused(_)) => Ok((handshake, Err(refused))),
        Err(ListToolsError::SignIn(challenge)) => Err(OpenError::SignIn(challenge).into()),
        Err(ListToolsError::Failed(problem)) => Err(ServerConnectError {
            closed_by_server: handshake.service.peer().is_transport_closed(),
            ..ServerConnectError::of(problem)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_is_called_early_only_if_it_was() {
        for (millis, text) in [
            (0, "ended at once"),
            (1_999, "ended at once"),
            (3_000, "ended after 3 s, before it was ready"),
            (31_400, "ended after 31 s, before it was ready"),
        ] {
            assert_eq!(time_of_end(Duration::from_millis(millis)), text);
        }
    }
}
