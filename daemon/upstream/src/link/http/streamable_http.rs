//! Streamable HTTP: each message is a POST, answered by one message or a stream of messages.
//!
//! rmcp's worker keeps the order of messages and resumes lost streams. The requests are made here.
//!
//! Invariant: a POST is never repeated. Only a GET, which resumes a stream, is.

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
    model::{
        ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
    },
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
    http_exchange::{HttpExchange, HttpRequest, header_map},
    kept_messages::KeptMessages,
    response_body,
    sse_backoff::MAX_STREAM_RETRY_DELAY,
};
use crate::link::{link_ending::LinkEnding, link_error::LinkError, reader::MessageReader};
use mux_process::blocking_pool;
use mux_text::{error_chain::excerpt, json_weight::MIN_OFFLOAD_BYTES};

pub(super) const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID_HEADER: HeaderName = HeaderName::from_static("last-event-id");
const JSON_MEDIA_TYPE: &str = "application/json";
const SSE_MEDIA_TYPE: &str = "text/event-stream";
/// The maximum number of bytes kept of an error response.
pub(super) const MAX_ERROR_BODY_BYTES: usize = 64 << 10;
/// The time limit for deleting a session at its server.
const DELETE_SESSION_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum number of failed attempts to retry a stream.
const MAX_STREAM_RETRIES: usize = 8;
const MIN_STREAM_RETRY_DELAY: Duration = Duration::from_secs(1);
/// How long a call waits for the event stream on which the server may send requests.
const STREAM_OPEN_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct StreamableHttpTransport {
    rmcp: StreamableHttpClientTransport<HttpExchange>,
    messages: KeptMessages,
    reader: MessageReader,
}

impl Transport<RoleClient> for StreamableHttpTransport {
    type Error = StreamableHttpError<LinkError>;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.reader.note_sent(&item);
        self.rmcp.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.rmcp.receive().await?;
        Some(self.messages.restore_message(message))
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.rmcp.close().await
    }
}

pub(in crate::link) fn streamable_transport(
    exchange: HttpExchange,
    url: &str,
) -> StreamableHttpTransport {
    let messages = exchange.0.messages.clone();
    let reader = exchange.0.reader.clone();
    let retry = Arc::new(StreamRetryPolicy(exchange.0.ending.clone()));
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        // Our own lower limit applies first and counts streams, too.
        .max_concurrent_requests(256)
        // The slot opens a new session explicitly, and no call moves to that session by itself.
        .reinit_on_expired_session(false)
        .max_sse_event_size(response_body::MAX_HTTP_MESSAGE_BYTES);
    config.retry_config = retry;
    StreamableHttpTransport {
        rmcp: StreamableHttpClientTransport::with_client(exchange, config),
        messages,
        reader,
    }
}

/// Decides when a dropped stream is retried.
#[derive(Debug)]
struct StreamRetryPolicy(LinkEnding);

impl SseRetryPolicy for StreamRetryPolicy {
    fn retry(&self, times: usize) -> Option<Duration> {
        if times >= MAX_STREAM_RETRIES {
            self.0
                .mark_ended("its event stream was lost and could not be resumed");
            return None;
        }
        let doubled = MIN_STREAM_RETRY_DELAY.saturating_mul(1 << times.min(8));
        // Half to all of the delay, to keep sessions from reconnecting simultaneously.
        let chance = RandomState::new().build_hasher().finish() % 512;
        let part = 512 + u32::try_from(chance).unwrap_or(0);
        Some(doubled.min(MAX_STREAM_RETRY_DELAY) * part / 1024)
    }
}

impl StreamableHttpClient for HttpExchange {
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
        let posted = self.post_json_rpc(&uri, &message, session_id.as_deref(), headers);
        let ClientJsonRpcMessage::Request(request) = &message else {
            return Ok(self.send_notification_in_time(posted).await?);
        };
        let posted = posted.await;
        // Only a stream brings the answer later.
        if !matches!(posted, Ok(StreamableHttpPostResponse::Sse(..))) {
            self.0.reader.forget_request(&request.id);
        }
        Ok(posted?)
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
        headers.insert(ACCEPT, HeaderValue::from_static(SSE_MEDIA_TYPE));
        insert_session_header(&mut headers, session_id.as_deref())?;
        let resumes = last_event_id.is_some();
        if let Some(id) = last_event_id {
            let id = HeaderValue::try_from(id)
                .map_err(|_| LinkError::Lost("its event id cannot be sent".into()))?;
            headers.insert(LAST_EVENT_ID_HEADER, id);
        }
        let request = HttpRequest {
            method: Method::GET,
            url: &uri,
            headers,
            body: None,
        };
        if !resumes {
            let delay = self.0.sse_backoff.lock().retry_delay();
            tokio::time::sleep(delay).await;
        }
        let was_opened = resumes || self.0.sse_backoff.lock().was_opened();
        let response = if was_opened {
            self.send(request).await
        } else {
            // A server that accepts messages may refuse only its stream, which a login does not change.
            self.send_without_refresh(request).await
        };
        self.0.listening.send_replace(true);
        let response = response?;
        let status = response.status();
        let is_stream = media_type(response.headers()) == SSE_MEDIA_TYPE;
        if status.is_success() && is_stream {
            if !resumes {
                self.0.sse_backoff.lock().record_stream_open();
            }
            return Ok(response_body::rmcp_event_stream(self, response, None));
        }
        let known = resumes || self.0.sse_backoff.lock().was_opened();
        if is_gone(status) && session_id.is_some() && known {
            self.0.ending.mark_ended(LinkError::Gone.to_string());
            return Err(LinkError::Gone.into());
        }
        // A server need not offer an event stream.
        if !resumes && (status.is_client_error() || status.is_success()) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Err(self
            .status_link_error(status, response.headers(), "")
            .into())
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), StreamableHttpError<LinkError>> {
        let mut headers = header_map(custom_headers);
        insert_session_header(&mut headers, Some(&session_id))?;
        let request = HttpRequest {
            method: Method::DELETE,
            url: &uri,
            headers,
            body: None,
        };
        // Whatever the answer, the session has ended on our side.
        if let Ok(answer) =
            timeout(DELETE_SESSION_TIMEOUT, self.send_without_refresh(request)).await
        {
            drop(answer?);
        } else {
            let text = format!(
                "it did not confirm the end of the session within {DELETE_SESSION_TIMEOUT:?}"
            );
            return Err(LinkError::Lost(text).into());
        }
        Ok(())
    }
}

/// True if the server may ask the user something while it handles this message.
fn may_ask_user(message: &ClientJsonRpcMessage) -> bool {
    use ClientRequest::{CallToolRequest, GetPromptRequest, ReadResourceRequest};
    let ClientJsonRpcMessage::Request(request) = message else {
        return false;
    };
    matches!(
        request.request,
        CallToolRequest(_) | GetPromptRequest(_) | ReadResourceRequest(_)
    )
}

impl HttpExchange {
    /// Waits until the server's event stream is open: servers lose requests that they send before. A server that never
    /// answers delays only one call.
    async fn wait_for_server_stream(&self) {
        let mut listening = self.0.listening.subscribe();
        if timeout(STREAM_OPEN_TIMEOUT, listening.wait_for(|is| *is))
            .await
            .is_err()
        {
            self.0.listening.send_replace(true);
        }
    }

    async fn post_json_rpc(
        &self,
        url: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        mut headers: HeaderMap,
    ) -> Result<StreamableHttpPostResponse, LinkError> {
        let request_id = match message {
            ClientJsonRpcMessage::Request(request) => Some(&request.id),
            _ => None,
        };
        if session.is_some() && may_ask_user(message) {
            self.wait_for_server_stream().await;
        }
        let permit = match request_id {
            // The semaphore is never closed, so this cannot fail.
            Some(_) => Arc::clone(&self.0.request_permits)
                .acquire_owned()
                .await
                .ok(),
            None => None,
        };
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON_MEDIA_TYPE));
        insert_session_header(&mut headers, session)?;
        headers.extend(self.trace_headers(message));
        let body =
            serde_json::to_vec(message).map_err(|error| LinkError::Unreached(error.to_string()))?;
        let request = HttpRequest {
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
            return self.read_error_response(message, session, response).await;
        }
        let new_session_id = response.headers().get(SESSION_ID_HEADER);
        let new_session_id = new_session_id
            .and_then(|id| id.to_str().ok())
            .map(str::to_owned);
        let length = response
            .headers()
            .get(CONTENT_LENGTH)
            .map(|l| l.as_bytes().to_owned());
        match (&*media_type(response.headers()), request_id) {
            (SSE_MEDIA_TYPE, Some(id)) => {
                // The permit is returned when the stream ends.
                let events = response_body::rmcp_event_stream(self, response, Some(id.clone()));
                let events = events.map(move |event| {
                    let _held = &permit;
                    event
                });
                Ok(StreamableHttpPostResponse::Sse(
                    events.boxed(),
                    new_session_id,
                ))
            }
            // An answer to a notification has no receiver.
            (_, None) => Ok(StreamableHttpPostResponse::Accepted),
            (_, Some(_)) if length.as_deref() == Some(b"0") => {
                let text = format!("{} sent an empty response to a request", self.shown_url());
                Err(LinkError::Lost(text))
            }
            (media_type, Some(id)) => {
                let media_type = media_type.to_owned();
                let most = response_body::MAX_HTTP_MESSAGE_BYTES;
                let body = response_body::read_body(self, response, most).await?;
                let message = self.read_json_body(body, id, &media_type).await?;
                let message = self.0.messages.keep_tools_list(message);
                Ok(StreamableHttpPostResponse::Json(message, new_session_id))
            }
        }
    }

    /// Reads the answer in a response body, regardless of its media type. If the body is JSON but not an answer, the
    /// result is an error for the call.
    async fn read_json_body(
        &self,
        body: Vec<u8>,
        id: &RequestId,
        media_type: &str,
    ) -> Result<ServerJsonRpcMessage, LinkError> {
        let is_long = body.len() > MIN_OFFLOAD_BYTES;
        let excerpt = excerpt(&String::from_utf8_lossy(&body[..body.len().min(1_000)]));
        let reader = self.0.reader.clone();
        let request_id = id.clone();
        let read = move || {
            let mut read = reader.read(&body, Some(&request_id));
            let foreign = read.foreign_answer.take();
            let adopted = foreign.and_then(|answer| reader.adopt_answer(answer, &request_id));
            read.messages.extend(adopted);
            read.messages
        };
        let messages = blocking_pool::run_if(is_long, read).await;
        let is_answer = |message: &ServerJsonRpcMessage| {
            matches!(
                message,
                ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)
            )
        };
        // Notifications beside the answer in an array cannot reach rmcp otherwise.
        if let Some(answer) = messages.into_iter().find(is_answer) {
            return Ok(answer);
        }
        let shown = self.shown_url();
        if media_type == JSON_MEDIA_TYPE {
            let text = format!("the server's answer is not an MCP message: {excerpt}");
            let error = ErrorData::parse_error(self.mask_secrets(&text), None);
            return Ok(ServerJsonRpcMessage::error(error, Some(id.clone())));
        }
        let text = format!(
            "{shown} answers with {media_type:?}, which is not an MCP message: check the path of `url`"
        );
        Err(LinkError::Lost(self.mask_secrets(&text)))
    }

    /// Reads an error response, which may still contain a message.
    async fn read_error_response(
        &self,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        response: reqwest::Response,
    ) -> Result<StreamableHttpPostResponse, LinkError> {
        let status = response.status();
        let headers = response.headers().clone();
        let body = response_body::read_error_body(response, MAX_ERROR_BODY_BYTES).await;
        let json_error = self.0.reader.read_error_body(&body);
        let unknown_method = json_error
            .as_ref()
            .is_some_and(|e| e.code == ErrorCode::METHOD_NOT_FOUND);
        if is_gone(status) && session.is_some() && !unknown_method {
            self.0.ending.mark_ended(LinkError::Gone.to_string());
            return Err(LinkError::Gone);
        }
        let text = String::from_utf8_lossy(&body);
        if let ClientJsonRpcMessage::Request(request) = message {
            // The id may not be ours: a proxy in front of the server does not know it.
            let answer = |error| {
                let message = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
                Ok(StreamableHttpPostResponse::Json(message, None))
            };
            let forbidden = status == StatusCode::FORBIDDEN;
            match json_error {
                Some(error) if !forbidden => return answer(error),
                // A legacy server does not know this method, and may answer with something other than JSON.
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
        Err(self.status_link_error(status, &headers, &text))
    }
}

/// Returns true if the status alone says that the session is unknown.
fn is_gone(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE)
}

fn insert_session_header(headers: &mut HeaderMap, session: Option<&str>) -> Result<(), LinkError> {
    if let Some(session) = session {
        let id = HeaderValue::from_str(session)
            .map_err(|_| LinkError::Unreached("the session's id cannot be sent".into()))?;
        headers.insert(SESSION_ID_HEADER, id);
    }
    Ok(())
}

/// The `Content-Type` in lower case, without its parameters.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().split(';').next();
    kind.unwrap_or_default().trim().to_ascii_lowercase()
}
