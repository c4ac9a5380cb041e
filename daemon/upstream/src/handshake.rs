//! The first words with a server: which era of MCP it speaks, and a session in that era.
//!
//! A server of the new era is asked what it is (`server/discover`); one of the old era is greeted
//! (`initialize`). Whoever is not known is asked, shortly: a server of the old era may answer with an
//! error, not at all, or by closing.
//!
//! Invariant: at most two things are said before there is a session, and an answer to the first never
//! passes for one to the second.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

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

use super::{handler::Handler, link::LinkError, raw};
use mux_catalog::Era;

/// How long a process that nobody knows may think about a question that it may not understand.
const PROBE: Duration = Duration::from_secs(1);
/// The same for a server behind a network, which says at least that it does not.
pub(super) const REMOTE_PROBE: Duration = Duration::from_secs(15);
/// The same for a process that spoke the new era when it was last asked, which may need its time to start.
pub(super) const REMEMBERED: Duration = Duration::from_secs(5);
const NEWEST: ProtocolVersion = ProtocolVersion::V_2026_07_28;
/// No request of rmcp bears them: those are numbers.
const IDS: [&str; 2] = ["discover", "discover-again"];

/// A session, and what is to be remembered of its beginning.
pub(super) struct Begun {
    pub(super) service: RunningService<RoleClient, Handler>,
    pub(super) era: Era,
    /// In which it is to be begun next time.
    pub(super) next: Era,
}

/// What is known of a server's era before anything is said.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Knowledge {
    Era(Era),
    /// The user says so: there is no other way.
    Chosen(Era),
    /// It spoke the new one when it was last asked, but there may be another version of it now: so long it
    /// may be silent.
    Remembered {
        within: Duration,
        remote: bool,
    },
    NoneOfProcess,
    /// What is not answered there holds back whatever is said next.
    NoneOfRemote,
}

impl Knowledge {
    fn is_remote(self) -> bool {
        matches!(
            self,
            Self::NoneOfRemote | Self::Remembered { remote: true, .. }
        )
    }
}

/// Why a way to a server is no session.
pub(super) struct Unfit {
    pub(super) problem: String,
    /// It closed its end.
    pub(super) gone: bool,
    /// What was wrong on the way, if that was it.
    pub(super) link: Option<LinkError>,
    /// It may do better if it is reached anew and greeted in this era.
    pub(super) again: Option<Era>,
}

impl Unfit {
    pub(super) fn of(problem: String) -> Self {
        Self {
            problem,
            gone: false,
            link: None,
            again: None,
        }
    }

    pub(super) fn wants_sign_in(&self) -> bool {
        matches!(self.link, Some(LinkError::SignIn(_)))
    }

    /// It may not have borne the question, unless it was not reached at all.
    fn closed(link: Option<LinkError>) -> Self {
        let heard = match &link {
            Some(LinkError::SignIn(_) | LinkError::Unreached(_)) => false,
            Some(_) | None => true,
        };
        Self {
            gone: true,
            again: heard.then_some(Era::Legacy),
            ..Self::on_the_way(link, "it closed its pipes when it was asked what it is")
        }
    }

    fn on_the_way(link: Option<LinkError>, otherwise: &str) -> Self {
        let problem = match &link {
            Some(LinkError::Unreached(problem)) => problem.clone(),
            Some(other) => other.to_string(),
            None => otherwise.to_owned(),
        };
        Self {
            link,
            ..Self::of(problem)
        }
    }
}

/// Begins a session in the era that is known, or finds out which it is.
pub(super) async fn shake<T: Transport<RoleClient, Error = LinkError> + 'static>(
    handler: Handler,
    transport: T,
    knowledge: Knowledge,
) -> Result<Begun, Unfit> {
    let late = Arc::<OnceLock<DiscoverResult>>::default();
    let mut transport = Sieve {
        inner: transport,
        late: Arc::clone(&late),
    };
    let answer = {
        let asked = discover(&handler, &mut transport.inner);
        match knowledge {
            Knowledge::Era(Era::Legacy) | Knowledge::Chosen(Era::Legacy) => Ok(Ok(None)),
            // It takes what a start takes.
            Knowledge::Era(Era::Modern) | Knowledge::Chosen(Era::Modern) => Ok(asked.await),
            Knowledge::Remembered { within, .. } => timeout(within, asked).await,
            Knowledge::NoneOfProcess => timeout(PROBE, asked).await,
            Knowledge::NoneOfRemote => timeout(REMOTE_PROBE, asked).await,
        }
    };
    match answer {
        Ok(Ok(Some(result))) if result.supported_versions.contains(&NEWEST) => {
            let peer = ServerPeerInfo::from_discover_result(NEWEST, result);
            let service = serve_directly(handler, transport, Some(peer));
            return Ok(Begun {
                service,
                era: Era::Modern,
                next: Era::Modern,
            });
        }
        Ok(Err(Closed(link))) => return Err(Unfit::closed(link)),
        Ok(Ok(_)) if knowledge == Knowledge::Chosen(Era::Modern) => {
            let problem = "it does not answer `server/discover` with 2026-07-28";
            return Err(Unfit::of(problem.into()));
        }
        Err(_) if knowledge.is_remote() => return Err(Unfit::closed(None)),
        Ok(Ok(_)) => {}
        Err(_) => debug!("nothing was answered to `server/discover`"),
    }
    let greeted = serve_client(handler, transport).await;
    let speaks_newest = late
        .get()
        .is_some_and(|result| result.supported_versions.contains(&NEWEST));
    let service = greeted.map_err(|error| {
        let mut unfit = unfit(error);
        // What it was asked first it may have understood after all, or it was not asked.
        let unasked = knowledge == Knowledge::Era(Era::Legacy) && !unfit.gone;
        unfit.again = match knowledge {
            _ if speaks_newest || unasked => Some(Era::Modern),
            Knowledge::Remembered { .. } => Some(Era::Legacy),
            _ => None,
        };
        unfit
    })?;
    Ok(Begun {
        service,
        era: Era::Legacy,
        next: match speaks_newest {
            true => Era::Modern,
            false => Era::Legacy,
        },
    })
}

/// A session that began in another daemon.
pub(super) fn go_on<T: Transport<RoleClient, Error = LinkError> + 'static>(
    handler: Handler,
    transport: T,
    era: Era,
    server: ServerPeerInfo,
) -> Begun {
    Begun {
        service: serve_directly(handler, transport, Some(server)),
        era,
        next: era,
    }
}

/// It took the question for the end.
struct Closed(Option<LinkError>);

/// None from a server that does not know the question.
async fn discover<T: Transport<RoleClient, Error = LinkError>>(
    handler: &Handler,
    transport: &mut T,
) -> Result<Option<DiscoverResult>, Closed> {
    let mut answer = None;
    for id in IDS {
        answer = discover_once(handler, transport, id).await?;
        // Some refuse the first request of whoever they do not know, whatever its version.
        let again = matches!(&answer, Some(Err(error)) if speaks_newest(error));
        if !again {
            break;
        }
    }
    Ok(answer.and_then(Result::ok))
}

/// The version that was refused is among those that are spoken.
fn speaks_newest(error: &ErrorData) -> bool {
    let supported = error
        .data
        .as_ref()
        .and_then(|data| data["supported"].as_array());
    error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        && supported.is_some_and(|all| all.iter().any(|version| *version == NEWEST.as_str()))
}

async fn discover_once<T: Transport<RoleClient, Error = LinkError>>(
    handler: &Handler,
    transport: &mut T,
    id: &str,
) -> Result<Option<Result<DiscoverResult, ErrorData>>, Closed> {
    let we = Service::<RoleClient>::get_info(handler);
    let mut request = DiscoverRequest::new(DiscoverRequestParams {});
    request
        .extensions
        .insert(RequestMetaObject::with_client_context(
            NEWEST,
            we.client_info,
            we.capabilities,
        ));
    let request = ClientRequest::DiscoverRequest(request);
    let closed = |error| Closed(Some(error));
    transport
        .send(JsonRpcMessage::request(
            request,
            RequestId::String(id.into()),
        ))
        .await
        .map_err(closed)?;
    while let Some(message) = transport.receive().await {
        match message {
            JsonRpcMessage::Response(answer) if is_ours(&answer.id) => {
                return Ok(read(answer.result).map(Ok));
            }
            JsonRpcMessage::Error(error) if error.id.as_ref().is_none_or(is_ours) => {
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
            // Of what was not asked nothing is known yet.
            _ => {}
        }
    }
    Err(Closed(None))
}

fn is_ours(id: &RequestId) -> bool {
    matches!(id, RequestId::String(id) if IDS.contains(&&**id))
}

fn read(result: ServerResult) -> Option<DiscoverResult> {
    match result {
        ServerResult::DiscoverResult(result) => Some(result),
        result => DiscoverResult::deserialize(raw::value(result).ok()?).ok(),
    }
}

fn unfit(error: ClientInitializeError) -> Unfit {
    let gone = matches!(
        error,
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }
    );
    let otherwise = match gone {
        true => "it closed its pipes before it had answered".into(),
        false => format!("the handshake failed: {error}"),
    };
    Unfit {
        gone,
        ..Unfit::on_the_way(LinkError::of_handshake(&error), &otherwise)
    }
}

/// Keeps an answer to `server/discover` that comes late from whoever waits for another.
struct Sieve<T> {
    inner: T,
    late: Arc<OnceLock<DiscoverResult>>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Sieve<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.inner.receive().await? {
                JsonRpcMessage::Response(answer) if is_ours(&answer.id) => {
                    if let Some(result) = read(answer.result) {
                        // A second one says the same.
                        drop(self.late.set(result));
                    }
                }
                JsonRpcMessage::Error(error) if error.id.as_ref().is_some_and(is_ours) => {}
                message => return Some(message),
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}
