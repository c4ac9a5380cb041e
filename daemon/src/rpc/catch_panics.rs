//! Confines panics to their request, and keeps idle connections small.
//!
//! All requests of a connection are polled by its one task: a panic that propagated would end the connection, and with
//! it the runs that it owns. tarpc reserves space in each connection for several requests and for 32 answers. Requests
//! and answers are boxed, because the largest would take 25 KiB for every idle client. The future of a request is
//! boxed, too: each is as large as the largest request's future, and tarpc moves it several times.

use std::{io, panic::AssertUnwindSafe};

use futures::FutureExt;
use tarpc::{ServerError, context::Context, server::Serve};

#[derive(Clone)]
pub(super) struct CatchPanics<S>(pub(super) S);

impl<S: Serve> Serve for CatchPanics<S> {
    type Req = Box<S::Req>;
    type Resp = Box<S::Resp>;

    /// Unwind-safe: shared state synchronizes itself, and a poisoned lock is used as it was left.
    async fn serve(
        self,
        context: Context,
        request: Box<S::Req>,
    ) -> Result<Box<S::Resp>, ServerError> {
        let answer = AssertUnwindSafe(Box::pin(self.0.serve(context, *request))).catch_unwind();
        let answer = answer.await.unwrap_or_else(|_| {
            let detail = "muxd failed in this request; others are not affected; see `mux logs`";
            Err(ServerError::new(io::ErrorKind::Other, detail.to_owned()))
        });
        answer.map(Box::new)
    }
}

#[cfg(test)]
mod tests {
    use mux_proto::{Error, MuxClient, service::MuxRequest, service::MuxResponse, transport};
    use tarpc::{
        client::{Config, RpcError},
        server::{BaseChannel, Channel, serve},
    };
    use tokio::io::duplex;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::rpc::request_frames::RequestFrames;

    #[tokio::test]
    async fn panicking_request_gets_an_error_and_others_continue() {
        let (ours, theirs) = duplex(1 << 16);
        let service = serve(async |_, request: MuxRequest| match request {
            MuxRequest::Retire { .. } => panic!("on purpose"),
            _ => Ok::<_, ServerError>(MuxResponse::CancelRun(Ok(()))),
        });
        let channel =
            BaseChannel::with_defaults(RequestFrames::new(theirs, CancellationToken::new()));
        let requests = channel.execute(CatchPanics(service));
        let serving = tokio::spawn(async {
            use futures::StreamExt;
            requests.for_each_concurrent(None, |request| request).await;
        });
        let client = MuxClient::new(Config::default(), transport::frames(ours)).spawn();
        let soon = || transport::within(std::time::Duration::from_secs(30));
        let failed: Result<Result<(), Error>, RpcError> = client.retire(soon(), "x".into()).await;
        let Err(RpcError::Server(error)) = failed else {
            panic!("{failed:?}");
        };
        assert!(error.detail.contains("not affected"), "{error:?}");
        assert_eq!(
            client.cancel_run(soon(), "a-1".into()).await.unwrap(),
            Ok(())
        );
        drop(client);
        serving.await.unwrap();
    }
}
