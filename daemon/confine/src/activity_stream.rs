//! A stream that knows when it last carried a byte, to end silent connections.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, sleep_until},
};

pub(super) struct ActivityStream<S> {
    inner: S,
    last_byte: LastByte,
}

/// The time when a stream last carried a byte. Cheap to clone.
#[derive(Clone)]
pub(super) struct LastByte(Arc<Mutex<Instant>>);

impl<S> ActivityStream<S> {
    pub(super) fn new(inner: S) -> (Self, LastByte) {
        let last_byte = LastByte(Arc::new(Mutex::new(Instant::now())));
        let stream = Self {
            inner,
            last_byte: last_byte.clone(),
        };
        (stream, last_byte)
    }
}

impl LastByte {
    /// Resolves once the stream has carried nothing, in either direction, for `limit`.
    pub(super) async fn wait_until_idle(&self, limit: Duration) {
        loop {
            let idle_at = *self.0.lock() + limit;
            if idle_at <= Instant::now() {
                return;
            }
            sleep_until(idle_at).await;
        }
    }

    fn set_now(&self) {
        *self.0.lock() = Instant::now();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ActivityStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.last_byte.set_now();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ActivityStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        self.last_byte.set_now();
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
