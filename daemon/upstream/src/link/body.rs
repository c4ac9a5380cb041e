//! What a remote server says, within bounds.
//!
//! Invariant: one session keeps at most one answer in memory that is longer than [`SHORT`], and none
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

use super::{super::incoming, error::LinkError, exchange::Exchange, long_messages::LongMessages};
use mux_process::blocking_pool;
use mux_text::{json_depth, json_weight::LONG};

/// The longest answer or event in bytes.
pub(super) const MOST: usize = 16 << 20;
/// As much may many have at once.
const SHORT: usize = 1 << 20;
/// The longest that a server may have us wait before we take up a stream again.
const LONGEST_RETRY_MS: u64 = 30_000;
/// Levels that serde reads without fail.
const DEEPEST: usize = 100;
/// For the next part of an answer that says no.
const PATIENCE: Duration = Duration::from_secs(2);
const SHORTEST_RETRY_MS: u64 = 50;

/// The whole of an answer. What is longer than `most` ends the session.
pub(super) async fn whole(
    exchange: &Exchange,
    response: Response,
    most: usize,
) -> Result<Vec<u8>, LinkError> {
    let mut room = Room::new(exchange, most);
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| exchange.failed(error))?;
        room.take(chunk.len()).await?;
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The beginning of an answer that says no. What cannot be read of it is not missed.
pub(super) async fn beginning(response: Response, most: usize) -> Vec<u8> {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Ok(Some(Ok(chunk))) = timeout(PATIENCE, chunks.next()).await {
        body.extend_from_slice(&chunk[..chunk.len().min(most - body.len())]);
        if body.len() == most {
            break;
        }
    }
    body
}

/// The events of an answer; what is long goes by way of `messages`, if rmcp is to read it. One that is longer than [`MOST`] ends the session, and so do as many bytes
/// without an event.
pub(super) fn events(
    exchange: &Exchange,
    response: Response,
    messages: Option<LongMessages>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let chunks = bounded(exchange.clone(), response);
    SseStream::from_bytes_stream(chunks.boxed())
        .then(move |event| {
            let messages = messages.clone();
            async move {
                let mut event = event?;
                let retry = event.retry;
                event.retry = retry.map(|ms| ms.clamp(SHORTEST_RETRY_MS, LONGEST_RETRY_MS));
                if let Some(data) = event.data.take() {
                    event.data = Some(match data.len() > LONG {
                        true => {
                            blocking_pool::run(move || read_before(data, messages.as_ref())).await
                        }
                        false => answerable(data),
                    });
                }
                Ok(event)
            }
        })
        .boxed()
}

/// What stands for a long message, which is read here.
fn read_before(data: String, messages: Option<&LongMessages>) -> String {
    let Some(messages) = messages else {
        // Whoever gets it reads it beside the runtime's threads.
        return data;
    };
    let Some(message) = incoming::read(data.as_bytes()) else {
        // Nobody can read it, and rmcp passes over what is empty.
        return String::new();
    };
    messages.keep(message).unwrap_or(data)
}

/// rmcp passes over what nests too deep, and the one who asked would wait for ever: he is answered in
/// its place.
fn answerable(data: String) -> String {
    if json_depth::depth(&data) <= DEEPEST {
        return data;
    }
    let read = serde_json::from_str::<ServerJsonRpcMessage>(&data);
    let refusal = read
        .err()
        .and_then(|why| incoming::unreadable(data.as_bytes(), &why.to_string()));
    let refusal = refusal.and_then(|refusal| serde_json::to_string(&refusal).ok());
    refusal.unwrap_or(data)
}

fn bounded(
    exchange: Exchange,
    response: Response,
) -> impl Stream<Item = Result<Bytes, io::Error>> + Send {
    let room = Room::new(&exchange, MOST);
    let start = (response.bytes_stream(), Events::default(), room, exchange);
    try_unfold(
        start,
        |(mut chunks, mut events, mut room, exchange)| async move {
            let Some(chunk) = chunks.next().await else {
                return Ok(None);
            };
            let chunk = chunk.map_err(|error| io::Error::other(exchange.failed(error)))?;
            if events.ended(&chunk) {
                room.leave();
            }
            room.take(events.begun).await.map_err(io::Error::other)?;
            Ok(Some((chunk, (chunks, events, room, exchange))))
        },
    )
}

/// Where in a stream an event ends: at an empty line.
#[derive(Default)]
struct Events {
    line: bool,
    after_return: bool,
    /// Bytes of the chunk after its last end of an event.
    begun: usize,
}

impl Events {
    /// Whether an event ends in this chunk.
    fn ended(&mut self, chunk: &[u8]) -> bool {
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
struct Room {
    taken: usize,
    most: usize,
    exchange: Exchange,
    long: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Room {
    fn new(exchange: &Exchange, most: usize) -> Self {
        Self {
            taken: 0,
            most,
            exchange: exchange.clone(),
            long: exchange.long(),
            permit: None,
        }
    }

    async fn take(&mut self, bytes: usize) -> Result<(), LinkError> {
        self.taken += bytes;
        if self.taken > self.most {
            let most = self.most;
            let text = format!("it sent a message longer than {most} bytes");
            self.exchange.ending().tell(text.clone());
            return Err(LinkError::Lost(text));
        }
        if self.taken > SHORT && self.permit.is_none() {
            // Never closed: an error cannot be.
            self.permit = Arc::clone(&self.long).acquire_owned().await.ok();
        }
        Ok(())
    }

    fn leave(&mut self) {
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
                let (mut events, (one, two)) = (Events::default(), text.split_at(cut));
                let ends = [one, two].map(|part| events.ended(part.as_bytes()));
                assert!(ends.contains(&true), "{text:?} cut at {cut}");
            }
        }
        let mut events = Events::default();
        assert!(!events.ended(&[b'x'; 100]));
        assert_eq!(events.begun, 100);
        assert!(!events.ended(b"\ndata: y\n"));
        assert!(events.ended(b"\ndata: z"));
        assert_eq!(events.begun, 7);
    }
}
