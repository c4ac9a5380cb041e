//! Reads response bodies and event streams of a remote server within memory limits.
//!
//! Invariant: one session keeps at most one body longer than [`SHORT_BODY_BYTES`] in memory, and none longer than
//! [`MAX_HTTP_MESSAGE_BYTES`].

use std::{sync::Arc, time::Duration};

use futures::{
    StreamExt,
    stream::{self, BoxStream, try_unfold},
};
use reqwest::Response;
use rmcp::{
    RoleClient, model::RequestId, service::RxJsonRpcMessage,
    transport::streamable_http_client::SseError,
};
use serde::de::IgnoredAny;
use sse_stream::Sse;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::bytes::Bytes;

use super::{http_exchange::HttpExchange, sse_decoder::SseDecoder};
use crate::link::{link_error::LinkError, reader::MessageReader};
use mux_process::blocking_pool;
use mux_text::json_weight::MIN_OFFLOAD_BYTES;

/// The maximum length of a response body or an event in bytes.
pub(super) const MAX_HTTP_MESSAGE_BYTES: usize = 16 << 20;
/// Bodies up to this length need no permit.
const SHORT_BODY_BYTES: usize = 1 << 20;
/// The maximum delay that a server may request before a stream is resumed.
const MAX_SSE_RETRY_MS: u64 = 30_000;
/// The time limit for the next chunk of an error response.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(2);
const MIN_SSE_RETRY_MS: u64 = 50;

/// Reads a whole response body. A body longer than `most` ends the session.
pub(super) async fn read_body(
    exchange: &HttpExchange,
    response: Response,
    most: usize,
) -> Result<Vec<u8>, LinkError> {
    let mut budget = BodyMemoryBudget::new(exchange, most);
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| exchange.reqwest_link_error(error))?;
        budget.reserve_bytes(chunk.len()).await?;
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads at most `most` bytes of an error response, up to the first read error.
pub(super) async fn read_error_body(response: Response, most: usize) -> Vec<u8> {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Ok(Some(Ok(chunk))) = timeout(ERROR_BODY_TIMEOUT, chunks.next()).await {
        body.extend_from_slice(&chunk[..chunk.len().min(most - body.len())]);
        if body.len() == most {
            break;
        }
    }
    body
}

/// The events of a response. An event longer than [`MAX_HTTP_MESSAGE_BYTES`] ends the session. The last event may lack
/// its empty line, if its data is whole.
pub(super) fn event_stream(
    exchange: &HttpExchange,
    response: Response,
) -> BoxStream<'static, Result<Sse, LinkError>> {
    let start = EventReader {
        chunks: Some(response.bytes_stream().boxed()),
        decoder: SseDecoder::default(),
        budget: BodyMemoryBudget::new(exchange, MAX_HTTP_MESSAGE_BYTES),
        exchange: exchange.clone(),
    };
    try_unfold(start, |mut reader| async move {
        let event = reader.next_event().await?;
        Ok(event.map(|event| (event, reader)))
    })
    .boxed()
}

/// The events of a response for rmcp, in which placeholders stand for the messages. `answered` is the request to which
/// the response belongs.
pub(super) fn rmcp_event_stream(
    exchange: &HttpExchange,
    response: Response,
    answered: Option<RequestId>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let reader = exchange.reader().clone();
    let kept = exchange.messages().clone();
    let events = event_stream(exchange, response).then(move |event| {
        let (reader, answered) = (reader.clone(), answered.clone());
        async move {
            let mut event = event.map_err(|error| SseError::Body(Box::new(error)))?;
            let retry = event.retry;
            event.retry = retry.map(|ms| ms.clamp(MIN_SSE_RETRY_MS, MAX_SSE_RETRY_MS));
            let messages = read_event(&reader, &mut event, answered.as_ref()).await;
            Ok((event, messages))
        }
    });
    events
        .flat_map(move |event| {
            let (event, messages) = match event {
                Ok(read) => read,
                Err(error) => return stream::iter([Err(error)]).boxed(),
            };
            let kept = kept.clone();
            let messages = messages.into_iter();
            let messages = messages.map(move |message| {
                let placeholder = kept.keep_as_text(message);
                Ok(Sse::default().data(placeholder))
            });
            // The event itself comes last, with its id: all its messages have arrived then.
            stream::iter(messages)
                .chain(stream::iter([Ok(event)]))
                .boxed()
        })
        .boxed()
}

/// Takes the messages out of an event; an event of another name holds none.
pub(super) async fn read_event(
    reader: &MessageReader,
    event: &mut Sse,
    answered: Option<&RequestId>,
) -> Vec<RxJsonRpcMessage<RoleClient>> {
    let data = event.data.take().unwrap_or_default();
    let holds_messages = matches!(event.event.as_deref(), None | Some("" | "message"));
    if !holds_messages || data.trim().is_empty() {
        return Vec::new();
    }
    let (reader, answered) = (reader.clone(), answered.cloned());
    let is_long = data.len() > MIN_OFFLOAD_BYTES;
    let read = move || reader.read(data.as_bytes(), answered.as_ref()).messages;
    blocking_pool::run_if(is_long, read).await
}

/// Reads a response chunk by chunk up to the next event.
struct EventReader {
    /// `None` at the end of the stream.
    chunks: Option<BoxStream<'static, reqwest::Result<Bytes>>>,
    decoder: SseDecoder,
    budget: BodyMemoryBudget,
    exchange: HttpExchange,
}

impl EventReader {
    async fn next_event(&mut self) -> Result<Option<Sse>, LinkError> {
        loop {
            if let Some(event) = self.decoder.next_event() {
                return Ok(Some(event));
            }
            let Some(chunks) = &mut self.chunks else {
                return Ok(None);
            };
            let Some(chunk) = chunks.next().await else {
                self.chunks = None;
                let is_whole = |event: &Sse| {
                    let data = event.data.as_deref().unwrap_or_default();
                    serde_json::from_str::<IgnoredAny>(data).is_ok()
                };
                return Ok(self.decoder.finish().filter(is_whole));
            };
            let chunk = chunk.map_err(|error| self.exchange.reqwest_link_error(error))?;
            self.decoder.push_chunk(&chunk);
            let pending = self.decoder.pending_bytes();
            if pending < self.budget.used {
                self.budget.release_bytes();
            }
            let added = pending.saturating_sub(self.budget.used);
            self.budget.reserve_bytes(added).await?;
        }
    }
}

/// The memory that one response body takes.
struct BodyMemoryBudget {
    used: usize,
    most: usize,
    exchange: HttpExchange,
    long_body_permits: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl BodyMemoryBudget {
    fn new(exchange: &HttpExchange, most: usize) -> Self {
        Self {
            used: 0,
            most,
            exchange: exchange.clone(),
            long_body_permits: exchange.long_body_semaphore(),
            permit: None,
        }
    }

    async fn reserve_bytes(&mut self, bytes: usize) -> Result<(), LinkError> {
        self.used += bytes;
        if self.used > self.most {
            let most = self.most;
            let text = format!("it sent a message longer than {most} bytes");
            self.exchange.ending().mark_ended(text.clone());
            return Err(LinkError::Lost(text));
        }
        if self.used > SHORT_BODY_BYTES && self.permit.is_none() {
            // The semaphore is never closed, so this cannot fail.
            self.permit = Arc::clone(&self.long_body_permits)
                .acquire_owned()
                .await
                .ok();
        }
        Ok(())
    }

    fn release_bytes(&mut self) {
        self.used = 0;
        self.permit = None;
    }
}
