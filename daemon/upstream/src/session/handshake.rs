//! The handshake with a server: finds the era of MCP that it speaks, and starts a session in that era.
//!
//! A process gets `initialize` first: some servers refuse everything after another first message, and a server that
//! speaks both eras can send requests to its client only in the legacy era. If the process refuses `initialize`,
//! `server/discover` is sent on the same connection. A remote server of unknown era gets `server/discover` first. No
//! choice depends on how fast a process starts.
//!
//! Invariant: at most two methods are sent before there is a session, and an answer to the first is never taken for an
//! answer to the second. `initialize` never offers a version of the modern era.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use parking_lot::Mutex;
use rmcp::{
    RoleClient,
    model::{
        ClientRequest, ClientResult, DiscoverRequest, DiscoverRequestParams, DiscoverResult,
        EmptyResult, ErrorCode, ErrorData, JsonRpcMessage, ProtocolVersion, RequestId,
        RequestMetaObject, ServerPeerInfo, ServerRequest, ServerResult,
    },
    service::{
        ClientInitializeError, RunningService, RxJsonRpcMessage, Service, TxJsonRpcMessage,
        serve_client, serve_directly,
    },
    transport::Transport,
};
use serde::Deserialize;
use tokio::time::timeout;
use tracing::debug;

use crate::{
    link::{LinkError, OpenError, raw_message},
    server_messages::ClientRequestHandler,
};
use mux_catalog::ProtocolEra;
use mux_text::error_chain::excerpt;

/// How long a process that has refused `initialize` may take to answer the probe.
const REFUSED_PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a remote server may take to answer the probe. Servers normally answer at least with an error.
pub(super) const REMOTE_PROBE_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a process that last spoke the modern era may take to answer the probe, including its start.
pub(super) const REMEMBERED_PROBE_TIMEOUT: Duration = Duration::from_secs(5);
const NEWEST_PROTOCOL_VERSION: ProtocolVersion = ProtocolVersion::V_2026_07_28;
/// The ids of the probe. These ids never clash with rmcp's, which are numbers.
const DISCOVER_REQUEST_IDS: [&str; 2] = ["discover", "discover-again"];

/// A session and the era to remember for its server.
pub(super) struct HandshakeOutcome {
    pub(super) service: RunningService<RoleClient, ClientRequestHandler>,
    /// The era of the negotiated version.
    pub(crate) era: ProtocolEra,
    /// The era whose handshake opens the next session.
    pub(crate) next: ProtocolEra,
}

/// The knowledge of a server's era before the handshake.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum EraKnowledge {
    Era(ProtocolEra),
    /// No other era is tried.
    Only(ProtocolEra),
    /// The server last spoke the modern era, but may be another version now. `within` is how long the probe waits.
    Remembered {
        within: Duration,
        remote: bool,
    },
    /// A process that is not known to speak only the modern era.
    Process,
    /// There an unanswered probe blocks the following requests.
    UnknownRemote,
}

impl EraKnowledge {
    fn is_remote(self) -> bool {
        matches!(
            self,
            Self::UnknownRemote | Self::Remembered { remote: true, .. }
        )
    }
}

/// The reason a link to a server did not become a session.
#[derive(Default)]
pub(super) struct ServerConnectError {
    pub(super) problem: String,
    /// Set if the server closed its end.
    pub(super) closed_by_server: bool,
    /// The link's error, if that was the cause.
    pub(super) link: Option<LinkError>,
    /// Set if the server was not ready within `start_timeout`.
    pub(super) too_slow: bool,
    /// The program does not exist, so there is no link.
    pub(super) unopened: Option<OpenError>,
    /// A new connection that begins in this era may succeed.
    pub(super) retry_era: Option<ProtocolEra>,
    /// The newest legacy version that the refusal of `initialize` names.
    pub(super) named_version: Option<ProtocolVersion>,
}

impl ServerConnectError {
    pub(crate) fn of(problem: String) -> Self {
        Self {
            problem,
            ..Self::default()
        }
    }

    /// The link closed during the probe, so the legacy era is tried next unless the server was never reached.
    fn closed(link: Option<LinkError>) -> Self {
        let was_reached = match &link {
            Some(LinkError::SignIn(_) | LinkError::Unreached(_)) => false,
            Some(_) | None => true,
        };
        Self {
            closed_by_server: true,
            retry_era: was_reached.then_some(ProtocolEra::Legacy),
            ..Self::from_link_error(link, "it closed its pipes on `server/discover`")
        }
    }

    fn from_link_error(link: Option<LinkError>, default_problem: &str) -> Self {
        let problem = match &link {
            Some(LinkError::Unreached(problem)) => problem.clone(),
            Some(other) => other.to_string(),
            None => default_problem.to_owned(),
        };
        Self {
            link,
            ..Self::of(problem)
        }
    }
}

/// Starts a session in the known era, or detects the server's era.
pub(super) async fn perform_handshake<T: Transport<RoleClient, Error = LinkError> + 'static>(
    handler: ClientRequestHandler,
    mut transport: T,
    knowledge: EraKnowledge,
) -> Result<HandshakeOutcome, ServerConnectError> {
    let answer = {
        let probe = discover(&handler, &mut transport);
        match knowledge {
            EraKnowledge::Process
            | EraKnowledge::Era(ProtocolEra::Legacy)
            | EraKnowledge::Only(ProtocolEra::Legacy) => Ok(Ok(None)),
            // No separate timeout: this may take as long as the start.
            EraKnowledge::Era(ProtocolEra::Modern) | EraKnowledge::Only(ProtocolEra::Modern) => {
                Ok(probe.await)
            }
            EraKnowledge::Remembered { within, .. } => timeout(within, probe).await,
            EraKnowledge::UnknownRemote => timeout(REMOTE_PROBE_TIMEOUT, probe).await,
        }
    };
    match answer {
        Ok(Ok(Some(result))) if supports_newest_version(&result) => {
            return Ok(serve_modern(handler, transport, result));
        }
        Ok(Err(ClosedDuringDiscover(link))) => return Err(ServerConnectError::closed(link)),
        Ok(Ok(_)) if knowledge == EraKnowledge::Only(ProtocolEra::Modern) => {
            let problem = "it does not answer `server/discover` with 2026-07-28";
            return Err(ServerConnectError::of(problem.into()));
        }
        Err(_) if knowledge.is_remote() => return Err(ServerConnectError::closed(None)),
        Ok(Ok(_)) => {}
        Err(_) => debug!("no answer to `server/discover`"),
    }
    initialize(handler, transport, knowledge).await
}

/// Starts a session with `initialize`. A process that refuses it is probed for the modern era.
async fn initialize<T: Transport<RoleClient, Error = LinkError> + 'static>(
    handler: ClientRequestHandler,
    transport: T,
    knowledge: EraKnowledge,
) -> Result<HandshakeOutcome, ServerConnectError> {
    let offered = handler.offered_version.clone();
    let server_requests = Arc::clone(&handler.server_requests);
    let late = Arc::<LateDiscovery<T>>::default();
    let transport = LateDiscoverFilter {
        inner: Some(transport),
        late: Arc::clone(&late),
    };
    let error = match serve_client(handler, transport).await {
        Ok(service) => {
            let peer_info = service.peer().peer_info();
            let era = if peer_info.is_none_or(|info| info.protocol_version.has_initialize()) {
                ProtocolEra::Legacy
            } else {
                ProtocolEra::Modern
            };
            return Ok(HandshakeOutcome {
                service,
                era,
                next: ProtocolEra::Legacy,
            });
        }
        Err(error) => error,
    };
    let mut named_version = None;
    let mut names_newest = false;
    let is_refusal = matches!(error, ClientInitializeError::JsonRpcError(_));
    if let ClientInitializeError::JsonRpcError(refusal) = &error {
        named_version = newest_named_version(refusal, &offered);
        names_newest = lists_newest_version(refusal);
        let transport = late.transport.lock().take();
        if let Some(mut transport) = transport {
            let handler = ClientRequestHandler::new(server_requests);
            let probes = knowledge == EraKnowledge::Process && named_version.is_none();
            let answer = match late.answer.get().cloned() {
                // The server needed longer to start than the probe waited.
                Some(answer) => Some(answer),
                None if probes => {
                    let probe = discover(&handler, &mut transport);
                    let answer = timeout(REFUSED_PROBE_TIMEOUT, probe).await;
                    answer.ok().and_then(Result::ok).flatten()
                }
                None => None,
            };
            if let Some(answer) = answer.filter(supports_newest_version) {
                return Ok(serve_modern(handler, transport, answer));
            }
        }
    }
    let speaks_newest = late.answer.get().is_some_and(supports_newest_version);
    let mut error = connect_error(&error);
    // The server may have understood the probe after all, or it was never probed.
    let unprobed = knowledge == EraKnowledge::Era(ProtocolEra::Legacy) && !error.closed_by_server;
    error.retry_era = match knowledge {
        EraKnowledge::Only(_) => None,
        _ if speaks_newest || names_newest || unprobed => Some(ProtocolEra::Modern),
        EraKnowledge::Remembered { .. } => Some(ProtocolEra::Legacy),
        // The probe may have broken the connection.
        EraKnowledge::UnknownRemote if is_refusal => Some(ProtocolEra::Legacy),
        _ => None,
    };
    error.named_version = named_version;
    Err(error)
}

fn supports_newest_version(result: &DiscoverResult) -> bool {
    result.supported_versions.contains(&NEWEST_PROTOCOL_VERSION)
}

/// The newest version of the legacy era that a refusal of `offered` names, in its message or its data.
fn newest_named_version(refusal: &ErrorData, offered: &ProtocolVersion) -> Option<ProtocolVersion> {
    let data = refusal.data.as_ref().map(ToString::to_string);
    let texts = [&refusal.message, data.as_deref().unwrap_or_default()];
    let is_named = |version: &&ProtocolVersion| {
        let name = version.as_str();
        texts.iter().any(|text| text.contains(name))
    };
    ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .filter(|version| version.has_initialize() && *version != offered)
        .rev()
        .find(is_named)
        .cloned()
}

/// Starts a session with a server that has answered `server/discover`.
fn serve_modern<T: Transport<RoleClient, Error = LinkError> + 'static>(
    handler: ClientRequestHandler,
    transport: T,
    answer: DiscoverResult,
) -> HandshakeOutcome {
    let server = ServerPeerInfo::from_discover_result(NEWEST_PROTOCOL_VERSION, answer);
    resume_service(handler, transport, ProtocolEra::Modern, server)
}

/// Resumes a session that another daemon started.
pub(super) fn resume_service<T: Transport<RoleClient, Error = LinkError> + 'static>(
    handler: ClientRequestHandler,
    transport: T,
    era: ProtocolEra,
    server: ServerPeerInfo,
) -> HandshakeOutcome {
    HandshakeOutcome {
        service: serve_directly(handler, transport, Some(server)),
        era,
        next: era,
    }
}

/// The error that the server closed the connection during the probe.
struct ClosedDuringDiscover(Option<LinkError>);

/// Probes the server with `server/discover`. `None` if the server does not know the method.
async fn discover<T: Transport<RoleClient, Error = LinkError>>(
    handler: &ClientRequestHandler,
    transport: &mut T,
) -> Result<Option<DiscoverResult>, ClosedDuringDiscover> {
    let mut answer = None;
    for id in DISCOVER_REQUEST_IDS {
        answer = discover_once(handler, transport, id).await?;
        // Some servers refuse the first request of an unknown client, regardless of its version.
        let repeat = matches!(&answer, Some(Err(error)) if lists_newest_version(error));
        if !repeat {
            break;
        }
    }
    Ok(answer.and_then(Result::ok))
}

/// True if the error refuses our version but lists it as supported.
fn lists_newest_version(error: &ErrorData) -> bool {
    let supported = error
        .data
        .as_ref()
        .and_then(|data| data["supported"].as_array());
    error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        && supported.is_some_and(|all| {
            all.iter()
                .any(|version| *version == NEWEST_PROTOCOL_VERSION.as_str())
        })
}

async fn discover_once<T: Transport<RoleClient, Error = LinkError>>(
    handler: &ClientRequestHandler,
    transport: &mut T,
    id: &str,
) -> Result<Option<Result<DiscoverResult, ErrorData>>, ClosedDuringDiscover> {
    let we = Service::<RoleClient>::get_info(handler);
    let mut request = DiscoverRequest::new(DiscoverRequestParams {});
    request
        .extensions
        .insert(RequestMetaObject::with_client_context(
            NEWEST_PROTOCOL_VERSION,
            we.client_info,
            we.capabilities,
        ));
    let request = ClientRequest::DiscoverRequest(request);
    let closed = |error| ClosedDuringDiscover(Some(error));
    transport
        .send(JsonRpcMessage::request(
            request,
            RequestId::String(id.into()),
        ))
        .await
        .map_err(closed)?;
    while let Some(message) = transport.receive().await {
        match message {
            JsonRpcMessage::Response(answer) if is_discover_id(&answer.id) => {
                return Ok(parse_discover_result(answer.result).map(Ok));
            }
            JsonRpcMessage::Error(error) if error.id.as_ref().is_none_or(is_discover_id) => {
                return Ok(Some(Err(error.error)));
            }
            JsonRpcMessage::Request(request) => {
                let answer = match request.request {
                    ServerRequest::PingRequest(_) => JsonRpcMessage::response(
                        ClientResult::EmptyResult(EmptyResult {}),
                        request.id,
                    ),
                    _ => JsonRpcMessage::error(
                        ErrorData::invalid_request("there is no session yet", None),
                        Some(request.id),
                    ),
                };
                transport.send(answer).await.map_err(closed)?;
            }
            // Notifications before the handshake have no receiver.
            _ => {}
        }
    }
    Err(ClosedDuringDiscover(None))
}

fn is_discover_id(id: &RequestId) -> bool {
    matches!(id, RequestId::String(id) if DISCOVER_REQUEST_IDS.contains(&&**id))
}

fn parse_discover_result(result: ServerResult) -> Option<DiscoverResult> {
    match result {
        ServerResult::DiscoverResult(result) => Some(result),
        result => DiscoverResult::deserialize(raw_message::result_to_value(result).ok()?).ok(),
    }
}

fn connect_error(error: &ClientInitializeError) -> ServerConnectError {
    let closed_by_server = matches!(
        error,
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }
    );
    let default_problem = if closed_by_server {
        "it closed its pipes before it had answered".into()
    } else {
        handshake_problem(error)
    };
    ServerConnectError {
        closed_by_server,
        ..ServerConnectError::from_link_error(LinkError::of_handshake(error), &default_problem)
    }
}

/// The reason a handshake failed, in words for the user.
fn handshake_problem(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::JsonRpcError(refusal) => format!(
            "it refuses `initialize`: {} (error {})",
            excerpt(&refusal.message),
            refusal.code.0
        ),
        ClientInitializeError::ExpectedInitResult(Some(answer)) => {
            let answer = serde_json::to_string(answer).unwrap_or_default();
            format!(
                "its answer to `initialize` is not valid: {}",
                excerpt(&answer)
            )
        }
        ClientInitializeError::UncorrelatedErrorResponse { .. }
        | ClientInitializeError::ConflictInitResponseId(..) => {
            "its answer to `initialize` carries the id of another request".into()
        }
        _ => "it sent something other than an answer to `initialize`".into(),
    }
}

/// The remains of a handshake that rmcp has ended.
struct LateDiscovery<T> {
    answer: OnceLock<DiscoverResult>,
    /// Set when rmcp drops the filter, as it does after a refused handshake.
    transport: Mutex<Option<T>>,
}

impl<T> Default for LateDiscovery<T> {
    fn default() -> Self {
        Self {
            answer: OnceLock::new(),
            transport: Mutex::new(None),
        }
    }
}

/// Filters out a late answer to `server/discover`, which must not reach rmcp's handshake.
struct LateDiscoverFilter<T> {
    /// `None` only during its drop.
    inner: Option<T>,
    late: Arc<LateDiscovery<T>>,
}

impl<T> Drop for LateDiscoverFilter<T> {
    fn drop(&mut self) {
        *self.late.transport.lock() = self.inner.take();
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for LateDiscoverFilter<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let sending = self.inner.as_mut().map(|inner| inner.send(item));
        async move {
            match sending {
                Some(sending) => sending.await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.inner.as_mut()?.receive().await? {
                JsonRpcMessage::Response(answer) if is_discover_id(&answer.id) => {
                    if let Some(result) = parse_discover_result(answer.result) {
                        // A second answer says the same.
                        drop(self.late.answer.set(result));
                    }
                }
                JsonRpcMessage::Error(error) if error.id.as_ref().is_some_and(is_discover_id) => {}
                message => return Some(message),
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        match &mut self.inner {
            Some(inner) => inner.close().await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn newest_version_of_the_legacy_era_is_found_in_any_refusal() {
        let offered = ProtocolVersion::LATEST_WITH_INITIALIZE;
        let older = ProtocolVersion::V_2025_06_18;
        let oldest = ProtocolVersion::V_2024_11_05;
        for (message, data, found) in [
            (
                "unsupported",
                json!({ "supported": ["2024-11-05", "2025-06-18"] }),
                Some(&older),
            ),
            (
                "Unsupported protocol version: 2025-11-25 (supported versions: 2025-06-18, 2025-03-26)",
                json!(null),
                Some(&older),
            ),
            (
                "bad version, use 2024-11-05",
                json!({ "requested": "2025-11-25" }),
                Some(&oldest),
            ),
            ("Unsupported protocol version 2025-11-25", json!(null), None),
            (
                "no such version",
                json!({ "supported": ["2026-07-28"] }),
                None,
            ),
            (
                "no such version",
                json!({ "supported": ["2023-01-01"] }),
                None,
            ),
        ] {
            let refusal = ErrorData::invalid_params(message, Some(data));
            assert_eq!(
                newest_named_version(&refusal, &offered).as_ref(),
                found,
                "{message}"
            );
        }
    }
}
