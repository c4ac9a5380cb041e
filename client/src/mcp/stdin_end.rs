//! A reader that cancels a token when standard input ends.
//!
//! rmcp lets pending requests finish for a while after the agent has closed the connection. A `subscriptions/listen`
//! request would never finish, and uses the token.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

pub(super) struct EndDetectingReader<R> {
    input: R,
    over: CancellationToken,
}

impl<R> EndDetectingReader<R> {
    pub(super) fn new(input: R, over: CancellationToken) -> Self {
        Self { input, over }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for EndDetectingReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.input).poll_read(context, buffer));
        if read.is_err() || buffer.filled().len() == before {
            self.over.cancel();
        }
        Poll::Ready(read)
    }
}
