//! A transport that sends the methods that were added to the contract only to a daemon that lists them in its `hello`
//! response.
//!
//! An unknown method would end the connection, with all its requests in flight. Invariant: a request for an added method
//! that is not listed is not sent, but answered here with an `Unsupported` error.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, Waker},
};

use futures::{Sink, Stream};
use mux_proto::service::{MuxRequest, MuxResponse};
use tarpc::{ClientMessage, RequestName, Response, ServerError};

type MuxRpcResponse = Response<MuxResponse>;

/// The features that the daemon listed. Unset until `hello` is answered.
pub(crate) type ListedFeatures = Arc<OnceLock<Vec<String>>>;

pub(crate) struct FeatureGate<T> {
    inner: T,
    /// The methods that were added to the contract since its first build.
    added: &'static [&'static str],
    features: ListedFeatures,
    refused: VecDeque<MuxRpcResponse>,
    reader: Option<Waker>,
}

impl<T> FeatureGate<T> {
    pub(crate) fn new(inner: T, added: &'static [&'static str], features: ListedFeatures) -> Self {
        Self {
            inner,
            added,
            features,
            refused: VecDeque::new(),
            reader: None,
        }
    }

    /// The method of a request that the daemon does not know.
    fn unknown_method(&self, request: &MuxRequest) -> Option<String> {
        let method = request.name().rsplit('.').next()?;
        // Only `hello` is sent before it is answered.
        let listed = self.features.get()?;
        let is_known = !self.added.contains(&method) || listed.iter().any(|known| known == method);
        (!is_known).then(|| method.to_owned())
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
            && let Some(method) = self.unknown_method(&request.message)
        {
            let error = ServerError::new(io::ErrorKind::Unsupported, method);
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

#[cfg(test)]
mod tests {
    use mux_proto::{Kind, MuxClient, transport};
    use serde_json::{Value, json};
    use tarpc::client::Config;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn added_method_is_sent_only_if_the_daemon_lists_it() {
        let (ours, mut theirs) = duplex(1 << 16);
        let features = ListedFeatures::default();
        features.set(vec!["servers".to_owned()]).unwrap();
        let frames = transport::frames(ours);
        let gate = FeatureGate::new(frames, &["status", "servers"], features);
        let client = MuxClient::new(Config::default(), gate).spawn();
        let context = || crate::within_seconds(30);

        let refused = client.status(context()).await.unwrap_err();
        let error = crate::rpc_error(refused);
        assert_eq!(error.kind, Kind::Unavailable);
        assert!(error.message.contains("`status`"), "{error:?}");
        assert!(error.hint.unwrap().contains("mux restart"));

        // The connection stays open: listed methods and methods that every daemon knows are sent.
        let daemon = async {
            for (method, answer) in [("Servers", json!([])), ("CancelRun", Value::Null)] {
                let length = theirs.read_u32().await.unwrap();
                let mut frame = vec![0; length as usize];
                theirs.read_exact(&mut frame).await.unwrap();
                let request: Value = serde_json::from_slice(&frame).unwrap();
                let request = &request["Request"];
                assert!(request["message"][method].is_object(), "{request}");
                let answer = json!({ method: { "Ok": answer } });
                let response =
                    json!({ "request_id": request["id"], "message": { "Ok": answer } }).to_string();
                theirs
                    .write_u32(u32::try_from(response.len()).unwrap())
                    .await
                    .unwrap();
                theirs.write_all(response.as_bytes()).await.unwrap();
            }
        };
        let requests = async {
            assert_eq!(client.servers(context()).await.unwrap(), Ok(Vec::new()));
            let cancelled = client.cancel_run(context(), "r-1".into()).await;
            assert_eq!(cancelled.unwrap(), Ok(()));
        };
        tokio::join!(daemon, requests);
    }
}
