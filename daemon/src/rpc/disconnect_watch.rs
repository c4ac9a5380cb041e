//! A connection's frames, with a token that is cancelled when the other side has closed it.
//!
//! tarpc continues to serve a client that has closed its end, because it may have closed one direction only. muxd's
//! clients close both, and a run must end with the connection that owns it.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures::{Sink, Stream};
use tokio_util::sync::CancellationToken;

pub(super) struct DisconnectWatch<T> {
    frames: T,
    /// Cancelled when the other side has closed its sending direction.
    gone: CancellationToken,
}

impl<T> DisconnectWatch<T> {
    pub(super) fn new(frames: T, gone: CancellationToken) -> Self {
        Self { frames, gone }
    }
}

impl<T: Stream + Unpin> Stream for DisconnectWatch<T> {
    type Item = T::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T::Item>> {
        let frame = ready!(Pin::new(&mut self.frames).poll_next(cx));
        if frame.is_none() {
            self.gone.cancel();
        }
        Poll::Ready(frame)
    }
}

impl<T: Sink<Item> + Unpin, Item> Sink<Item> for DisconnectWatch<T> {
    type Error = T::Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), T::Error>> {
        Pin::new(&mut self.frames).poll_ready(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, item: Item) -> Result<(), T::Error> {
        Pin::new(&mut self.frames).start_send(item)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), T::Error>> {
        Pin::new(&mut self.frames).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), T::Error>> {
        Pin::new(&mut self.frames).poll_close(cx)
    }
}
