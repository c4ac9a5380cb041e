//! Streamable HTTP: each message is a POST, whose answer is one message or a stream of them.
//!
//! rmcp's worker keeps the order of things and takes up a stream again where it was lost; the requests
//! are made here.
//!
//! Invariant: a POST is never repeated. Only a GET is, which takes up a stream.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher, RandomState},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, stream::BoxStream};
use reqwest::{
    Method, StatusCode,
    header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{
        StreamableHttpClientTransport, Transport,
        common::client_side_sse::SseRetryPolicy,
        streamable_http_client::{
            SseError, StreamableHttpClient, StreamableHttpClientTransportConfig,
            StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};
use sse_stream::Sse;
use tokio::time::timeout;

use super::{
    super::incoming,
    body,
    ending::Ending,
    error::LinkError,
    exchange::{Exchange, Request, header_map},
    long_messages::LongMessages,
};
use mux_process::blocking_pool;
use mux_text::json_weight::LONG;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// Of an answer that is none.
const MOST_OF_ERROR: usize = 64 << 10;
/// How long a server may take to forget a session that we close.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often a lost stream is looked for in vain.
const TRIES: usize = 8;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long a call waits for the stream on which its questions may come.
const LISTENING: Duration = Duration::from_secs(1);
const METHOD_NOT_FOUND: i32 = -32601;

pub(crate) struct StreamableTransport {
    rmcp: StreamableHttpClientTransport<Exchange>,
    messages: LongMessages,
}

impl Transport<RoleClient> for StreamableTransport {
    type Error = StreamableHttpError<LinkError>;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.rmcp.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.rmcp.receive().await?;
        Some(self.messages.put_back(message))
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.rmcp.close().await
    }
}

pub(super) fn transport(exchange: Exchange, url: &str) -> StreamableTransport {
    let messages = exchange.messages().clone();
    let retry = Arc::new(Resumption(exchange.ending().clone()));
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        // Ours come first, with a limit that counts streams too.
        .max_concurrent_requests(256)
        // A new session is opened where everybody can see it, and no call goes there by itself.
        .reinit_on_expired_session(false)
        .max_sse_event_size(body::MOST);
    config.retry_config = retry;
    StreamableTransport {
        rmcp: StreamableHttpClientTransport::with_client(exchange, config),
        messages,
    }
}

/// When a lost stream is taken up again.
#[derive(Debug)]
struct Resumption(Ending);

impl SseRetryPolicy for Resumption {
    fn retry(&self, times: usize) -> Option<Duration> {
        if times >= TRIES {
            self.0
                .tell("the stream of its messages was lost and could not be taken up again");
            return None;
        }
        let doubled = FIRST_PAUSE.saturating_mul(1 << times.min(8));
        // Between a half and the whole of it: not everybody comes back at once.
        let chance = RandomState::new().build_hasher().finish() % 512;
        let part = 512 + u32::try_from(chance).unwrap_or(0);
        Some(doubled.min(LONGEST_PAUSE) * part / 1024)
    }
}

impl StreamableHttpClient for Exchange {
    type Error = LinkError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<LinkError>> {
        let headers = header_map(custom_headers);
        let posted = self.post(&uri, &message, session_id.as_deref(), headers);
        Ok(match &message {
            ClientJsonRpcMessage::Request(_) => posted.await?,
            _ => self.in_time(posted).await?,
        })
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        _max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<LinkError>> {
        self.post_message(uri, message, session_id, auth_header, custom_headers)
            .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, StreamableHttpError<LinkError>> {
        let mut headers = header_map(custom_headers);
        headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
        session_header(&mut headers, session_id.as_deref())?;
        let resumes = last_event_id.is_some();
        if let Some(id) = last_event_id {
            let id = HeaderValue::try_from(id)
                .map_err(|_| LinkError::Lost("its event id cannot be sent".into()))?;
            headers.insert(LAST_EVENT, id);
        }
        let request = Request {
            method: Method::GET,
            url: &uri,
            headers,
            body: None,
        };
        if !resumes {
            let pause = self.standing().pause();
            tokio::time::sleep(pause).await;
        }
        let response = self.send(request).await;
        self.listening().send_replace(true);
        let response = response?;
        let status = response.status();
        let is_stream = media_type(response.headers()) == EVENTS;
        if status.is_success() && is_stream {
            if !resumes {
                self.standing().open();
            }
            return Ok(body::events(self, response, Some(self.messages().clone())));
        }
        let known = resumes || self.standing().is_known();
        if status == StatusCode::NOT_FOUND && session_id.is_some() && known {
            self.ending().tell(LinkError::Gone.to_string());
            return Err(LinkError::Gone.into());
        }
        // A server need not have a stream of its own.
        if !resumes && (status.is_client_error() || status.is_success()) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Err(self.refused(status, response.headers(), "").into())
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        _max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, StreamableHttpError<LinkError>> {
        self.get_stream(uri, session_id, last_event_id, auth_header, custom_headers)
            .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), StreamableHttpError<LinkError>> {
        let mut headers = header_map(custom_headers);
        session_header(&mut headers, Some(&session_id))?;
        let request = Request {
            method: Method::DELETE,
            url: &uri,
            headers,
            body: None,
        };
        // Whatever it answers, the session is over for us.
        match timeout(FAREWELL, self.send(request)).await {
            Ok(answer) => drop(answer?),
            Err(_) => {
                let text =
                    format!("it did not answer to the end of the session within {FAREWELL:?}");
                return Err(LinkError::Lost(text).into());
            }
        }
        Ok(())
    }
}

/// What a server may ask its user about while it works.
fn is_call(message: &ClientJsonRpcMessage) -> bool {
    use ClientRequest::{CallToolRequest, GetPromptRequest, ReadResourceRequest};
    let ClientJsonRpcMessage::Request(request) = message else {
        return false;
    };
    matches!(
        request.request,
        CallToolRequest(_) | GetPromptRequest(_) | ReadResourceRequest(_)
    )
}

impl Exchange {
    /// Servers lose what they ask before somebody reads their stream. Whoever never answers is waited for
    /// once.
    async fn listen(&self) {
        let mut listening = self.listening().subscribe();
        if timeout(LISTENING, listening.wait_for(|is| *is))
            .await
            .is_err()
        {
            self.listening().send_replace(true);
        }
    }

    async fn post(
        &self,
        url: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        mut headers: HeaderMap,
    ) -> Result<StreamableHttpPostResponse, LinkError> {
        let asked = match message {
            ClientJsonRpcMessage::Request(request) => Some(&request.id),
            _ => None,
        };
        if session.is_some() && is_call(message) {
            self.listen().await;
        }
        let place = match asked {
            // An error cannot be: it is never closed.
            Some(_) => self.places().acquire_owned().await.ok(),
            None => None,
        };
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        session_header(&mut headers, session)?;
        headers.extend(self.trace(message));
        let body =
            serde_json::to_vec(message).map_err(|error| LinkError::Unreached(error.to_string()))?;
        let request = Request {
            method: Method::POST,
            url,
            headers,
            body: Some(body),
        };
        let response = self.send(request).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !status.is_success() {
            return self.declined(message, session, response).await;
        }
        let given = response.headers().get(SESSION);
        let given = given.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let length = response
            .headers()
            .get(CONTENT_LENGTH)
            .map(|l| l.as_bytes().to_owned());
        match (media_type(response.headers()), asked) {
            (EVENTS, Some(_)) => {
                // Its place is free when the stream is at its end.
                let messages = Some(self.messages().clone());
                let events = body::events(self, response, messages).map(move |event| {
                    let _held = &place;
                    event
                });
                Ok(StreamableHttpPostResponse::Sse(events.boxed(), given))
            }
            // Nobody waits for what is said to a notification.
            (_, None) => Ok(StreamableHttpPostResponse::Accepted),
            (JSON, Some(id)) => {
                let body = body::whole(self, response, body::MOST).await?;
                let message = read(body, id).await;
                Ok(StreamableHttpPostResponse::Json(message, given))
            }
            (_, Some(_)) if length.as_deref() == Some(b"0") => {
                let text = format!("{} answers nothing to a request", self.shown());
                Err(LinkError::Lost(text))
            }
            (other, Some(_)) => {
                let text = format!(
                    "{} answers with {other:?}, which is no message of MCP: check the path of `url`",
                    self.shown()
                );
                Err(LinkError::Lost(self.clean(&text)))
            }
        }
    }

    /// An answer that says no, which may be a message all the same.
    async fn declined(
        &self,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        response: reqwest::Response,
    ) -> Result<StreamableHttpPostResponse, LinkError> {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = body::beginning(response, MOST_OF_ERROR).await;
        let said = match serde_json::from_slice(&body) {
            Ok(ServerJsonRpcMessage::Error(error)) => Some(error.error),
            _ => None,
        };
        let unknown_method = said.as_ref().is_some_and(|e| e.code.0 == METHOD_NOT_FOUND);
        if status == StatusCode::NOT_FOUND && session.is_some() && !unknown_method {
            self.ending().tell(LinkError::Gone.to_string());
            return Err(LinkError::Gone);
        }
        let text = String::from_utf8_lossy(&body);
        // Many say so with this status. It is no certain word that nothing was done, so nothing is sent again.
        let of_session = |e: &ErrorData| e.message.to_ascii_lowercase().contains("session");
        if status == StatusCode::BAD_REQUEST
            && session.is_some()
            && said.as_ref().is_some_and(of_session)
        {
            self.ending().tell(LinkError::Gone.to_string());
            return Err(self.refused(status, &headers, &text));
        }
        if let ClientJsonRpcMessage::Request(request) = message {
            // Its id need not be ours: what stands before a server cannot know it.
            let answer = |error| {
                let message = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
                Ok(StreamableHttpPostResponse::Json(message, None))
            };
            let forbidden = status == StatusCode::FORBIDDEN;
            match said {
                Some(error) if !forbidden => return answer(error),
                // A server of the first era does not know this question, and need not say so in JSON.
                None if matches!(request.request, ClientRequest::DiscoverRequest(_))
                    && session.is_none()
                    && status.is_client_error()
                    && !forbidden =>
                {
                    let text = format!("server/discover was answered with HTTP {status}");
                    return answer(ErrorData::invalid_request(text, None));
                }
                _ => {}
            }
        }
        Err(self.refused(status, &headers, &text))
    }
}

/// The message in an answer. One that cannot be read is an error of the call.
async fn read(body: Vec<u8>, id: &RequestId) -> ServerJsonRpcMessage {
    let long = body.len() > LONG;
    let read = move || {
        incoming::admit(&body)?;
        serde_json::from_slice(&body).map_err(|why| why.to_string())
    };
    let read = match long {
        true => blocking_pool::run(read).await,
        false => read(),
    };
    read.unwrap_or_else(|why| {
        let text = format!("the server's answer cannot be read: {why}");
        ServerJsonRpcMessage::error(ErrorData::parse_error(text, None), Some(id.clone()))
    })
}

fn session_header(headers: &mut HeaderMap, session: Option<&str>) -> Result<(), LinkError> {
    if let Some(session) = session {
        let id = HeaderValue::from_str(session)
            .map_err(|_| LinkError::Unreached("the session's id cannot be sent".into()))?;
        headers.insert(SESSION, id);
    }
    Ok(())
}

/// Without its parameters.
fn media_type(headers: &HeaderMap) -> &str {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().split(';').next();
    kind.unwrap_or_default().trim()
}
