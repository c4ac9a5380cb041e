//! Frames on their way to a worker.
//!
//! Invariant: a worker that does not read holds back its own answers and nothing else: a few frames
//! wait here, and whoever has more keeps them.

use bytes::Bytes;
use futures::SinkExt;
use mux_wire::ToWorker;
use tokio::{net::unix::OwnedWriteHalf, sync::mpsc};
use tokio_util::{
    codec::{BytesCodec, FramedWrite},
    task::AbortOnDropHandle,
};

use super::WorkerError;

/// Each may be as long as a frame can be.
const FRAMES: usize = 2;

#[derive(Clone)]
pub(crate) struct Outbox(mpsc::Sender<Bytes>);

impl Outbox {
    /// Frames are written by a task of their own, which ends with its handle: a process that was killed
    /// may have left its end of the socket to another that reads nothing.
    pub(super) fn open(stream: OwnedWriteHalf) -> (Self, AbortOnDropHandle<()>) {
        let (sender, mut queue) = mpsc::channel::<Bytes>(FRAMES);
        let writer = tokio::spawn(async move {
            // The frames carry their length already.
            let mut sink = FramedWrite::new(stream, BytesCodec::new());
            while let Some(bytes) = queue.recv().await {
                if sink.send(bytes).await.is_err() {
                    break;
                }
            }
        });
        (Self(sender), AbortOnDropHandle::new(writer))
    }

    /// Resolves when there is room for a frame. Cancel-safe.
    pub(crate) async fn room(&self) {
        // A closed outbox means that the process is ending, which the next `receive` reports.
        drop(self.0.reserve().await);
    }

    /// Queues a frame, for which there must be room.
    pub(crate) fn send(&self, frame: &ToWorker) -> Result<(), WorkerError> {
        let bytes = mux_wire::encode(frame).map_err(|e| WorkerError::Protocol(e.to_string()))?;
        match self.0.try_send(Bytes::from(bytes)) {
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Full(_)) => {
                Err(WorkerError::Protocol("it does not read its frames".into()))
            }
        }
    }
}
