//! A transport that sends only methods that the daemon listed in its `hello` response.
//!
//! An unknown method would end the connection, with all its requests in flight. Invariant: a request for an unlisted
//! method is not sent, but answered here with an `Unsupported` error.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, Waker},
};

use futures::{Sink, Stream};
use mux_proto::{
    service::{MuxRequest, MuxResponse},
    version::feature,
};
use tarpc::{ClientMessage, RequestName, Response, ServerError};

type MuxRpcResponse = Response<MuxResponse>;

/// The features that the daemon listed. Unset until `hello` is answered.
pub(crate) type ListedFeatures = Arc<OnceLock<Vec<String>>>;

pub(crate) struct FeatureGate<T> {
    inner: T,
    features: ListedFeatures,
    refused: VecDeque<MuxRpcResponse>,
    reader: Option<Waker>,
}

impl<T> FeatureGate<T> {
    pub(crate) fn new(inner: T, features: ListedFeatures) -> Self {
        Self {
            inner,
            features,
            refused: VecDeque::new(),
            reader: None,
        }
    }

    /// The feature that a request needs and the daemon did not list.
    fn missing_feature(&self, request: &MuxRequest) -> Option<String> {
        let method = request.name().rsplit('.').next()?;
        let feature = feature(method)?;
        // Only `hello` is sent before it is answered.
        let known = self.features.get()?;
        let listed = known.iter().any(|known| known == feature);
        (!listed).then(|| feature.to_owned())
    }
}

impl<T> Stream for FeatureGate<T>
where
    T: Stream<Item = io::Result<MuxRpcResponse>> + Unpin,
{
    type Item = io::Result<MuxRpcResponse>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(refused) = self.refused.pop_front() {
            return Poll::Ready(Some(Ok(refused)));
        }
        self.reader = Some(cx.waker().clone());
        Pin::new(&mut self.inner).poll_next(cx)
    }
}

impl<T> Sink<ClientMessage<MuxRequest>> for FeatureGate<T>
where
    T: Sink<ClientMessage<MuxRequest>, Error = io::Error> + Unpin,
{
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_ready(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, message: ClientMessage<MuxRequest>) -> io::Result<()> {
        if let ClientMessage::Request(request) = &message
            && let Some(feature) = self.missing_feature(&request.message)
        {
            let error = ServerError::new(io::ErrorKind::Unsupported, feature);
            self.refused.push_back(Response {
                request_id: request.id,
                message: Err(error),
            });
            if let Some(reader) = self.reader.take() {
                reader.wake();
            }
            return Ok(());
        }
        Pin::new(&mut self.inner).start_send(message)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_close(cx)
    }
}
