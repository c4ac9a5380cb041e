//! HTTP+SSE of 2024-11-05: one stream for all messages of the server, and an endpoint for messages to it.
//!
//! Invariant: the session ends with its stream. Streams are never resumed, so no message arrives twice.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{
    http_exchange::{HttpExchange, HttpRequest, MAX_CONCURRENT_REQUESTS},
    response_body,
    streamable_http::media_type,
};
use crate::link::{FINAL_OUTPUT_TIMEOUT, link_error::LinkError};
use futures::StreamExt;
use reqwest::{
    Method, StatusCode, Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    sync::{mpsc, watch},
    task::AbortHandle,
    time::timeout,
};

/// The maximum number of messages that are read but not received yet.
const MAX_QUEUED_MESSAGES: usize = 16;
/// The maximum number of bytes kept of an error response.
const MAX_SSE_ERROR_BYTES: usize = 64 << 10;

pub(crate) struct SseTransport {
    exchange: HttpExchange,
    endpoint: watch::Receiver<Option<NamedEndpoint>>,
    messages: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
    listening: AbortHandle,
}

/// The endpoint for messages, once the server has sent one.
type NamedEndpoint = Result<Arc<MessageEndpoint>, LinkError>;

struct MessageEndpoint {
    url: Url,
    /// Set once a message was accepted there.
    has_accepted: AtomicBool,
}

impl SseTransport {
    pub(in crate::link) fn new(exchange: HttpExchange, url: &str) -> Self {
        let (endpoint_sender, endpoint) = watch::channel(None);
        let (message_sender, messages) = mpsc::channel(MAX_QUEUED_MESSAGES);
        let listener = SseListener {
            exchange: exchange.clone(),
            url: url.to_owned(),
            endpoint_sender,
            message_sender,
        };
        Self {
            exchange,
            endpoint,
            messages,
            listening: tokio::spawn(listener.run()).abort_handle(),
        }
    }
}

impl Drop for SseTransport {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = LinkError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), LinkError>> + Send + 'static {
        self.exchange.0.reader.note_sent(&item);
        let exchange = self.exchange.clone();
        let mut endpoint = self.endpoint.clone();
        async move {
            let endpoint = match endpoint.wait_for(Option::is_some).await.as_deref() {
                Ok(Some(Ok(endpoint))) => Arc::clone(endpoint),
                Ok(Some(Err(error))) => return Err(error.clone()),
                Ok(None) | Err(_) => {
                    return Err(LinkError::Unreached(stream_end_reason(&exchange)));
                }
            };
            let posted = post_to_endpoint(&exchange, &endpoint, &item);
            match &item {
                TxJsonRpcMessage::<RoleClient>::Request(request) => {
                    let posted = posted.await;
                    if posted.is_err() {
                        exchange.0.reader.forget_request(&request.id);
                    }
                    posted
                }
                _ => exchange.send_notification_in_time(posted).await,
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), LinkError> {
        self.listening.abort();
        Ok(())
    }
}

async fn post_to_endpoint(
    exchange: &HttpExchange,
    endpoint: &MessageEndpoint,
    message: &TxJsonRpcMessage<RoleClient>,
) -> Result<(), LinkError> {
    if exchange.0.ending.cause().is_some() {
        return Err(LinkError::Unreached(stream_end_reason(exchange)));
    }
    // The semaphore is never closed, so this cannot fail.
    let _permit = match message {
        TxJsonRpcMessage::<RoleClient>::Request(_) => Arc::clone(&exchange.0.request_permits)
            .acquire_owned()
            .await
            .ok(),
        _ => None,
    };
    let mut headers = exchange.trace_headers(message);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let body =
        serde_json::to_vec(message).map_err(|error| LinkError::Unreached(error.to_string()))?;
    let request = HttpRequest {
        method: Method::POST,
        url: endpoint.url.as_str(),
        headers,
        body: Some(body),
    };
    let response = exchange.send(request).await?;
    let status = response.status();
    if status.is_success() {
        endpoint.has_accepted.store(true, Ordering::Relaxed);
        return Ok(());
    }
    let has_accepted = endpoint.has_accepted.load(Ordering::Relaxed);
    if status == StatusCode::NOT_FOUND && has_accepted {
        exchange.0.ending.mark_ended(LinkError::Gone.to_string());
        return Err(LinkError::Gone);
    }
    let headers = response.headers().clone();
    let body = response_body::read_error_body(response, MAX_SSE_ERROR_BYTES).await;
    let body = String::from_utf8_lossy(&body);
    let error = exchange.status_link_error(status, &headers, &body);
    match error {
        LinkError::Declined { status, .. } if !has_accepted => {
            let text = refused_endpoint_text(exchange, &endpoint.url, status);
            Err(LinkError::Unreached(text))
        }
        error => Err(error),
    }
}

/// Names the address that refused the first message, because it is not the address that the user wrote.
fn refused_endpoint_text(exchange: &HttpExchange, endpoint: &Url, status: u16) -> String {
    // The query may contain the session's id.
    let origin = endpoint.origin().ascii_serialization();
    let text = format!(
        "{origin}{} answers HTTP {status}: {} names this address for messages; a proxy in front of the server may need \
         a path that the server does not know",
        endpoint.path(),
        exchange.shown_url()
    );
    exchange.mask_secrets(&text)
}

fn stream_end_reason(exchange: &HttpExchange) -> String {
    let cause = exchange.0.ending.cause();
    cause.unwrap_or_else(|| "its event stream has ended".into())
}

/// Reads the stream to its end.
struct SseListener {
    exchange: HttpExchange,
    url: String,
    endpoint_sender: watch::Sender<Option<NamedEndpoint>>,
    message_sender: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
}

impl SseListener {
    async fn run(self) {
        let cause = match self.read_event_stream().await {
            Ok(()) => "its event stream has ended".to_owned(),
            Err(error) => {
                let cause = error.to_string();
                self.endpoint_sender.send_if_modified(|endpoint| {
                    let first = endpoint.is_none();
                    endpoint.get_or_insert(Err(error));
                    first
                });
                cause
            }
        };
        // The responses to the pending POSTs carry the outcomes of their messages.
        let every = u32::try_from(MAX_CONCURRENT_REQUESTS).unwrap_or(u32::MAX);
        let answered = Arc::clone(&self.exchange.0.request_permits).acquire_many_owned(every);
        drop(timeout(FINAL_OUTPUT_TIMEOUT, answered).await);
        self.exchange.0.ending.mark_ended(cause);
    }

    async fn read_event_stream(&self) -> Result<(), LinkError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let request = HttpRequest {
            method: Method::GET,
            url: &self.url,
            headers,
            body: None,
        };
        let response = self.exchange.send(request).await?;
        let status = response.status();
        let headers = response.headers().clone();
        if !status.is_success() {
            let body = response_body::read_error_body(response, MAX_SSE_ERROR_BYTES).await;
            let body = String::from_utf8_lossy(&body);
            return Err(self.exchange.status_link_error(status, &headers, &body));
        }
        if media_type(&headers) != "text/event-stream" {
            let shown = self.exchange.shown_url();
            let text = format!("{shown} does not send an event stream: check the path of `url`");
            return Err(LinkError::Declined {
                status: status.as_u16(),
                text,
            });
        }
        // The server's URLs are relative to the target of a redirect.
        let base = response.url().clone();
        let mut events = response_body::event_stream(&self.exchange, response);
        while let Some(event) = events.next().await {
            let mut event = event.map_err(|error| {
                let text = self.exchange.mask_secrets(&error.to_string());
                LinkError::Lost(format!("its event stream was lost: {text}"))
            })?;
            if event.event.as_deref() == Some("endpoint") {
                self.set_endpoint(&base, event.data.unwrap_or_default().trim())?;
                continue;
            }
            let reader = &self.exchange.0.reader;
            let read = response_body::read_event(reader, &mut event, None).await;
            for message in read.messages {
                // An error means that the session is closing.
                drop(self.message_sender.send(message).await);
            }
        }
        Ok(())
    }

    /// Sets the endpoint. Only the first endpoint counts. The endpoint must have the stream's origin, because our
    /// headers go nowhere else.
    fn set_endpoint(&self, base: &Url, endpoint: &str) -> Result<(), LinkError> {
        let url = match base.join(endpoint) {
            Ok(url) if url.origin() == base.origin() => url,
            _ => {
                let text = "its message endpoint is at another origin, which is refused";
                return Err(LinkError::Declined {
                    status: 200,
                    text: text.into(),
                });
            }
        };
        self.endpoint_sender.send_if_modified(|endpoint| {
            let first = endpoint.is_none();
            endpoint.get_or_insert_with(|| {
                Ok(Arc::new(MessageEndpoint {
                    url,
                    has_accepted: AtomicBool::new(false),
                }))
            });
            first
        });
        Ok(())
    }
}
