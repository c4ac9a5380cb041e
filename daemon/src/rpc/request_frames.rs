//! Parses the requests of one connection from their frames. A long request is parsed on another thread, because no
//! other connection may wait for it. A token is cancelled when the client has closed its end: tarpc continues to serve
//! such a client, because it may have closed one direction only. muxd's clients close both, and a run must end with
//! the connection that owns it.
//!
//! Invariant: requests keep the order of their frames, and while a long request is parsed no further frame is read. A
//! request that would take too much memory is refused before it is parsed.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures::{Sink, Stream};
use mux_proto::transport::{self, FrameStream};
use serde::{Serialize, de::DeserializeOwned};
use tarpc::tokio_util::bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::{JoinHandle, spawn_blocking},
};
use tokio_util::sync::CancellationToken;

use mux_process::malloc_trim;
use mux_text::json_weight::{self, MAX_JSON_WEIGHT, MIN_OFFLOAD_BYTES};

pub(super) struct RequestFrames<S, Request> {
    frames: FrameStream<S>,
    /// A long frame that another thread parses.
    reading: Option<JoinHandle<io::Result<ParsedFrame<Request>>>>,
    /// A refusal that is not sent yet.
    unsent: Option<UnsentRefusal>,
    /// Cancelled when the client has closed its sending direction.
    gone: CancellationToken,
}

enum ParsedFrame<Request> {
    Request(Request),
    /// The response frame with the reason.
    Refused(Vec<u8>),
}

enum UnsentRefusal {
    Refusal(Vec<u8>),
    /// The refusal is in the sink, which must be flushed.
    Flush,
}

fn parse_frame<Request: DeserializeOwned>(frame: &[u8]) -> io::Result<ParsedFrame<Request>> {
    // A shorter frame cannot contain that many values.
    if frame.len() > MIN_OFFLOAD_BYTES && json_weight::of(frame, MAX_JSON_WEIGHT).is_none() {
        let rule = json_weight::WEIGHT_RULE_TEXT;
        let why = format!(
            "the request holds more than {MAX_JSON_WEIGHT} JSON values, {rule}: this limit is fixed; send less at a time, \
             such as a part of the input"
        );
        if let Some(refusal) = transport::refusal(frame, &why) {
            return Ok(ParsedFrame::Refused(refusal));
        }
    }
    transport::read_request(frame).map(ParsedFrame::Request)
}

impl<S: AsyncRead + AsyncWrite, Request> RequestFrames<S, Request> {
    pub(super) fn new(stream: S, gone: CancellationToken) -> Self {
        Self {
            frames: transport::raw_frames(stream),
            reading: None,
            unsent: None,
            gone,
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, Request> RequestFrames<S, Request> {
    fn sink(&mut self) -> Pin<&mut impl Sink<Bytes, Error = io::Error>> {
        Pin::new(&mut self.frames)
    }

    /// Sends the refusal, if there is one.
    fn poll_refuse(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if matches!(self.unsent, Some(UnsentRefusal::Refusal(_))) {
            ready!(self.sink().poll_ready(cx))?;
            if let Some(UnsentRefusal::Refusal(refusal)) = self.unsent.replace(UnsentRefusal::Flush)
            {
                self.sink().start_send(refusal.into())?;
            }
        }
        if self.unsent.is_some() {
            ready!(self.sink().poll_flush(cx))?;
            self.unsent = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S, Request> Stream for RequestFrames<S, Request>
where
    S: AsyncRead + AsyncWrite + Unpin,
    Request: DeserializeOwned + Send + 'static,
{
    type Item = io::Result<Request>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Err(error) = ready!(self.poll_refuse(cx)) {
                return Poll::Ready(Some(Err(error)));
            }
            let read = match &mut self.reading {
                Some(reading) => {
                    let read = ready!(Pin::new(reading).poll(cx));
                    self.reading = None;
                    read.unwrap_or_else(|lost| Err(lost.into()))
                }
                None => match ready!(Pin::new(&mut self.frames).poll_next(cx)) {
                    None => {
                        self.gone.cancel();
                        return Poll::Ready(None);
                    }
                    Some(Err(error)) => Err(error),
                    Some(Ok(frame)) if frame.len() <= MIN_OFFLOAD_BYTES => parse_frame(&frame),
                    Some(Ok(frame)) => {
                        malloc_trim::give_back_soon();
                        self.reading = Some(spawn_blocking(move || parse_frame(&frame)));
                        continue;
                    }
                },
            };
            match read {
                Ok(ParsedFrame::Request(request)) => return Poll::Ready(Some(Ok(request))),
                Ok(ParsedFrame::Refused(refusal)) => {
                    self.unsent = Some(UnsentRefusal::Refusal(refusal));
                }
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

impl<S, Request, Answer> Sink<Answer> for RequestFrames<S, Request>
where
    S: AsyncRead + AsyncWrite + Unpin,
    Answer: Serialize,
{
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink().poll_ready(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, answer: Answer) -> io::Result<()> {
        let frame = serde_json::to_vec(&answer)?;
        self.sink().start_send(frame.into())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink().poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink().poll_close(cx)
    }
}

#[cfg(test)]
mod tests {
    use futures::{SinkExt as _, StreamExt as _};
    use serde_json::{Value, json};
    use tokio::io::duplex;

    use super::*;

    fn request(id: u64, message: &str) -> String {
        let context = json!({ "deadline": { "secs": 1, "nanos": 0 } });
        format!(r#"{{"Request":{{"context":{context},"id":{id},"message":{message}}}}}"#)
    }

    #[tokio::test]
    async fn request_with_too_many_values_is_refused_and_the_connection_continues() {
        let (ours, theirs) = duplex(1 << 16);
        let mut client = transport::raw_frames(ours);
        let mut daemon = RequestFrames::<_, Value>::new(theirs, CancellationToken::new());
        let heavy = request(7, &format!("[{}{{}}]", "{},".repeat(MAX_JSON_WEIGHT / 4)));
        let long = request(8, &format!("{:?}", "x".repeat(MIN_OFFLOAD_BYTES)));
        let requesting = async {
            for frame in [heavy, long, request(9, "1")] {
                client.send(Bytes::from(frame)).await.unwrap();
            }
            client.next().await.unwrap().unwrap()
        };
        let serving = async { [daemon.next().await, daemon.next().await] };
        let (refusal, requests) = tokio::join!(requesting, serving);
        let refusal: Value = serde_json::from_slice(&refusal).unwrap();
        assert_eq!(refusal["request_id"], 7);
        let why = refusal["message"]["Err"]["detail"].as_str().unwrap();
        assert!(why.contains("1000000"), "{why}");
        let ids = requests.map(|request| request.unwrap().unwrap()["Request"]["id"].clone());
        assert_eq!(ids, [8, 9]);
    }
}
