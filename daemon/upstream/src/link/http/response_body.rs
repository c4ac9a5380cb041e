//! Reads response bodies and event streams of a remote server within memory limits.
//!
//! Invariant: one session keeps at most one body longer than [`SHORT_BODY_BYTES`] in memory, and none longer than
//! [`MAX_HTTP_MESSAGE_BYTES`].

use std::{io, sync::Arc, time::Duration};

use futures::{
    Stream, StreamExt,
    stream::{BoxStream, try_unfold},
};
use reqwest::Response;
use rmcp::{model::ServerJsonRpcMessage, transport::streamable_http_client::SseError};
use sse_stream::{Sse, SseStream};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::bytes::Bytes;

use super::{http_exchange::HttpExchange, long_messages::LongMessages};
use crate::link::{link_error::LinkError, parse_message};
use mux_process::blocking_pool;
use mux_text::{json_depth, json_weight::MIN_OFFLOAD_BYTES};

/// The maximum length of a response body or an event in bytes.
pub(super) const MAX_HTTP_MESSAGE_BYTES: usize = 16 << 20;
/// Bodies up to this length need no permit.
const SHORT_BODY_BYTES: usize = 1 << 20;
/// The maximum delay that a server may request before a stream is resumed.
const MAX_SSE_RETRY_MS: u64 = 30_000;
/// A JSON depth that serde always accepts.
const MAX_JSON_DEPTH: usize = 100;
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

/// The events of a response. If rmcp reads them, `messages` takes the long ones. An event longer than
/// [`MAX_HTTP_MESSAGE_BYTES`] ends the session, and so do as many bytes without an event.
pub(super) fn event_stream(
    exchange: &HttpExchange,
    response: Response,
    messages: Option<LongMessages>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let chunks = bounded_chunks(exchange.clone(), response);
    SseStream::from_bytes_stream(chunks.boxed())
        .then(move |event| {
            let messages = messages.clone();
            async move {
                let mut event = event?;
                let retry = event.retry;
                event.retry = retry.map(|ms| ms.clamp(MIN_SSE_RETRY_MS, MAX_SSE_RETRY_MS));
                if let Some(data) = event.data.take() {
                    event.data = Some(match data.len() > MIN_OFFLOAD_BYTES {
                        true => {
                            blocking_pool::run(move || parse_ahead_of_rmcp(data, messages.as_ref()))
                                .await
                        }
                        false => replace_if_too_deep(data),
                    });
                }
                Ok(event)
            }
        })
        .boxed()
}

/// Parses a long message here and returns its placeholder for rmcp.
fn parse_ahead_of_rmcp(data: String, messages: Option<&LongMessages>) -> String {
    let Some(messages) = messages else {
        // The receiver parses it on a blocking thread.
        return data;
    };
    let Some(message) = parse_message::parse_incoming(data.as_bytes()) else {
        // It cannot be parsed; rmcp skips empty data.
        return String::new();
    };
    messages.keep_message(message).unwrap_or(data)
}

/// rmcp skips messages that nest too deep, and the caller would wait forever: such an answer is replaced with an error.
fn replace_if_too_deep(data: String) -> String {
    if json_depth::depth(&data) <= MAX_JSON_DEPTH {
        return data;
    }
    let read = serde_json::from_str::<ServerJsonRpcMessage>(&data);
    let refusal = read
        .err()
        .and_then(|why| parse_message::unreadable_answer(data.as_bytes(), &why.to_string()));
    let refusal = refusal.and_then(|refusal| serde_json::to_string(&refusal).ok());
    refusal.unwrap_or(data)
}

fn bounded_chunks(
    exchange: HttpExchange,
    response: Response,
) -> impl Stream<Item = Result<Bytes, io::Error>> + Send {
    let budget = BodyMemoryBudget::new(&exchange, MAX_HTTP_MESSAGE_BYTES);
    let start = (
        response.bytes_stream(),
        EventBoundaryScanner::default(),
        budget,
        exchange,
    );
    try_unfold(
        start,
        |(mut chunks, mut events, mut budget, exchange)| async move {
            let Some(chunk) = chunks.next().await else {
                return Ok(None);
            };
            let chunk =
                chunk.map_err(|error| io::Error::other(exchange.reqwest_link_error(error)))?;
            if events.scan_chunk(&chunk) {
                budget.release_bytes();
            }
            budget
                .reserve_bytes(events.partial)
                .await
                .map_err(io::Error::other)?;
            Ok(Some((chunk, (chunks, events, budget, exchange))))
        },
    )
}

/// Finds the end of events in a stream: an empty line.
#[derive(Default)]
struct EventBoundaryScanner {
    line_started: bool,
    after_return: bool,
    /// The bytes of the chunk after the last end of an event.
    partial: usize,
}

impl EventBoundaryScanner {
    /// Whether an event ends in this chunk.
    fn scan_chunk(&mut self, chunk: &[u8]) -> bool {
        let mut ended = false;
        self.partial = 0;
        for byte in chunk {
            self.partial += 1;
            match byte {
                b'\n' if self.after_return => {}
                b'\n' | b'\r' => {
                    if !self.line_started {
                        ended = true;
                        self.partial = 0;
                    }
                    self.line_started = false;
                }
                _ => self.line_started = true,
            }
            self.after_return = *byte == b'\r';
        }
        ended
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_ends_at_empty_line_for_all_line_ends_and_chunk_cuts() {
        for end in ["\n", "\r\n", "\r"] {
            let text = format!("id: 1{end}data: x{end}{end}data: yy");
            for cut in 1..text.len() {
                let (mut events, (one, two)) =
                    (EventBoundaryScanner::default(), text.split_at(cut));
                let ends = [one, two].map(|part| events.scan_chunk(part.as_bytes()));
                assert!(ends.contains(&true), "{text:?} cut at {cut}");
            }
        }
        let mut events = EventBoundaryScanner::default();
        assert!(!events.scan_chunk(&[b'x'; 100]));
        assert_eq!(events.partial, 100);
        assert!(!events.scan_chunk(b"\ndata: y\n"));
        assert!(events.scan_chunk(b"\ndata: z"));
        assert_eq!(events.partial, 7);
    }
}
