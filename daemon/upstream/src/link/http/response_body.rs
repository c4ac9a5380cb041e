//! Reads response bodies and event streams of a remote server within memory limits.
//!
//! Invariant: one session keeps at most one body longer than [`SHORT_BODY_BYTES`] in memory, and none longer than
//! [`MAX_HTTP_MESSAGE_BYTES`].

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures::{
    StreamExt,
    stream::{self, BoxStream, try_unfold},
};
use reqwest::Response;
use rmcp::{
    RoleClient, model::RequestId, service::RxJsonRpcMessage,
    transport::streamable_http_client::SseError,
};
use serde_json::Value;
use sse_stream::Sse;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::bytes::Bytes;

use super::{
    http_exchange::HttpExchange, sse_backoff::MAX_STREAM_RETRY_DELAY, sse_decoder::SseDecoder,
};
use crate::link::{
    link_error::LinkError,
    reader::{MessageReader, ReadText},
};
use mux_process::blocking_pool;
use mux_text::json_weight::MIN_OFFLOAD_BYTES;

/// The maximum length of a response body or an event in bytes.
pub(super) const MAX_HTTP_MESSAGE_BYTES: usize = 16 << 20;
/// Bodies up to this length need no permit.
const SHORT_BODY_BYTES: usize = 1 << 20;
/// The longest delay that a server may request before a stream is retried.
const MAX_SSE_RETRY_MS: u64 = MAX_STREAM_RETRY_DELAY.as_secs() * 1_000;
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
/// its empty line, if its data is complete.
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
    let start = PlaceholderStream {
        events: Some(event_stream(exchange, response)),
        exchange: exchange.clone(),
        answered,
        queued: VecDeque::new(),
        foreign_answer: None,
    };
    stream::unfold(start, |mut stream| async move {
        let event = stream.next_event().await?;
        Some((event, stream))
    })
    .boxed()
}

/// The events of a response, with their messages kept aside.
struct PlaceholderStream {
    /// `None` at the end of the response.
    events: Option<BoxStream<'static, Result<Sse, LinkError>>>,
    exchange: HttpExchange,
    answered: Option<RequestId>,
    /// Placeholders and events that are not returned yet.
    queued: VecDeque<Sse>,
    /// The last answer whose id matches no open request. Used if no other answer comes.
    foreign_answer: Option<Value>,
}

impl PlaceholderStream {
    async fn next_event(&mut self) -> Option<Result<Sse, SseError>> {
        loop {
            if let Some(event) = self.queued.pop_front() {
                return Some(Ok(event));
            }
            match self.events.as_mut()?.next().await {
                Some(Ok(event)) => self.queue_event(event).await,
                Some(Err(error)) => return Some(Err(SseError::Body(Box::new(error)))),
                None => {
                    self.events = None;
                    let id = self.answered.as_ref()?;
                    let reader = &self.exchange.0.reader;
                    let Some(foreign) = self.foreign_answer.take() else {
                        reader.forget_request(id);
                        return None;
                    };
                    let adopted = reader.adopt_answer(foreign, id)?;
                    self.queued.push_back(self.placeholder_of(adopted));
                }
            }
        }
    }

    async fn queue_event(&mut self, mut event: Sse) {
        let retry = event.retry;
        event.retry = retry.map(|ms| ms.clamp(MIN_SSE_RETRY_MS, MAX_SSE_RETRY_MS));
        let reader = &self.exchange.0.reader;
        let read = read_event(reader, &mut event, self.answered.as_ref()).await;
        // A response that can be resumed has its answer later.
        if event.id.is_some() {
            self.answered = None;
        }
        self.foreign_answer = read.foreign_answer.or(self.foreign_answer.take());
        for message in read.messages {
            self.queued.push_back(self.placeholder_of(message));
        }
        // The event itself comes last, with its id, when all its messages have arrived.
        self.queued.push_back(event);
    }

    fn placeholder_of(&self, message: RxJsonRpcMessage<RoleClient>) -> Sse {
        Sse::default().data(self.exchange.0.messages.keep_as_text(message))
    }
}

/// Takes the messages out of an event. Events of another name contain no messages.
pub(super) async fn read_event(
    reader: &MessageReader,
    event: &mut Sse,
    answered: Option<&RequestId>,
) -> ReadText {
    let data = event.data.take().unwrap_or_default();
    let holds_messages = matches!(event.event.as_deref(), None | Some("" | "message"));
    if !holds_messages || data.trim().is_empty() {
        return ReadText::default();
    }
    let reader = reader.clone();
    let answered = answered.cloned();
    let is_long = data.len() > MIN_OFFLOAD_BYTES;
    let read = move || reader.read(data.as_bytes(), answered.as_ref());
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
                    MessageReader::is_whole(data.as_bytes())
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
            long_body_permits: Arc::clone(&exchange.0.long_body_permits),
            permit: None,
        }
    }

    async fn reserve_bytes(&mut self, bytes: usize) -> Result<(), LinkError> {
        self.used += bytes;
        if self.used > self.most {
            let most = self.most;
            let text = format!("it sent a message longer than {most} bytes");
            self.exchange.0.ending.mark_ended(text.clone());
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
