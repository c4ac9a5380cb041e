//! What a remote server says, within bounds.
//!
//! Invariant: one session keeps at most one answer in memory that is longer than [`SHORT_BODY_BYTES`], and none
//! that is longer than [`MOST`].

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

use super::{
    super::parse_message, http_exchange::HttpExchange, link_error::LinkError,
    long_messages::LongMessages,
};
use mux_process::blocking_pool;
use mux_text::{json_depth, json_weight::MIN_OFFLOAD_BYTES};

/// The longest answer or event in bytes.
pub(super) const MAX_HTTP_MESSAGE_BYTES: usize = 16 << 20;
/// As much may many have at once.
const SHORT_BODY_BYTES: usize = 1 << 20;
/// The longest that a server may have us wait before we take up a stream again.
const MAX_SSE_RETRY_MS: u64 = 30_000;
/// Levels that serde reads without fail.
const MAX_JSON_DEPTH: usize = 100;
/// For the next part of an answer that says no.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(2);
const MIN_SSE_RETRY_MS: u64 = 50;

/// The whole of an answer. What is longer than `most` ends the session.
pub(super) async fn read_body(
    exchange: &HttpExchange,
    response: Response,
    most: usize,
) -> Result<Vec<u8>, LinkError> {
    let mut room = BodyMemoryBudget::new(exchange, most);
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| exchange.reqwest_link_error(error))?;
        room.reserve_bytes(chunk.len()).await?;
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The beginning of an answer that says no. What cannot be read of it is not missed.
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

/// The events of an answer; what is long goes by way of `messages`, if rmcp is to read it. One that is longer than [`MOST`] ends the session, and so do as many bytes
/// without an event.
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

/// What stands for a long message, which is read here.
fn parse_ahead_of_rmcp(data: String, messages: Option<&LongMessages>) -> String {
    let Some(messages) = messages else {
        // Whoever gets it reads it beside the runtime's threads.
        return data;
    };
    let Some(message) = parse_message::parse_incoming(data.as_bytes()) else {
        // Nobody can read it, and rmcp passes over what is empty.
        return String::new();
    };
    messages.keep_message(message).unwrap_or(data)
}

/// rmcp passes over what nests too deep, and the one who asked would wait for ever: he is answered in
/// its place.
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
    let room = BodyMemoryBudget::new(&exchange, MAX_HTTP_MESSAGE_BYTES);
    let start = (
        response.bytes_stream(),
        EventBoundaryScanner::default(),
        room,
        exchange,
    );
    try_unfold(
        start,
        |(mut chunks, mut events, mut room, exchange)| async move {
            let Some(chunk) = chunks.next().await else {
                return Ok(None);
            };
            let chunk =
                chunk.map_err(|error| io::Error::other(exchange.reqwest_link_error(error)))?;
            if events.scan_chunk(&chunk) {
                room.release_bytes();
            }
            room.reserve_bytes(events.begun)
                .await
                .map_err(io::Error::other)?;
            Ok(Some((chunk, (chunks, events, room, exchange))))
        },
    )
}

/// Where in a stream an event ends: at an empty line.
#[derive(Default)]
struct EventBoundaryScanner {
    line: bool,
    after_return: bool,
    /// Bytes of the chunk after its last end of an event.
    begun: usize,
}

impl EventBoundaryScanner {
    /// Whether an event ends in this chunk.
    fn scan_chunk(&mut self, chunk: &[u8]) -> bool {
        let mut ended = false;
        self.begun = 0;
        for byte in chunk {
            self.begun += 1;
            match byte {
                b'\n' if self.after_return => {}
                b'\n' | b'\r' => {
                    if !self.line {
                        ended = true;
                        self.begun = 0;
                    }
                    self.line = false;
                }
                _ => self.line = true,
            }
            self.after_return = *byte == b'\r';
        }
        ended
    }
}

/// What one answer has of the memory.
struct BodyMemoryBudget {
    taken: usize,
    most: usize,
    exchange: HttpExchange,
    long: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl BodyMemoryBudget {
    fn new(exchange: &HttpExchange, most: usize) -> Self {
        Self {
            taken: 0,
            most,
            exchange: exchange.clone(),
            long: exchange.long_body_semaphore(),
            permit: None,
        }
    }

    async fn reserve_bytes(&mut self, bytes: usize) -> Result<(), LinkError> {
        self.taken += bytes;
        if self.taken > self.most {
            let most = self.most;
            let text = format!("it sent a message longer than {most} bytes");
            self.exchange.ending().mark_ended(text.clone());
            return Err(LinkError::Lost(text));
        }
        if self.taken > SHORT_BODY_BYTES && self.permit.is_none() {
            // Never closed: an error cannot be.
            self.permit = Arc::clone(&self.long).acquire_owned().await.ok();
        }
        Ok(())
    }

    fn release_bytes(&mut self) {
        self.taken = 0;
        self.permit = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_ends_at_an_empty_line_however_lines_end_and_chunks_are_cut() {
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
        assert_eq!(events.begun, 100);
        assert!(!events.scan_chunk(b"\ndata: y\n"));
        assert!(events.scan_chunk(b"\ndata: z"));
        assert_eq!(events.begun, 7);
    }
}
