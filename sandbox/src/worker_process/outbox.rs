//! The queue of frames to a worker.
//!
//! Invariant: a worker that does not read delays only its own answers: the queue holds a few frames, and senders keep
//! the rest.

use bytes::Bytes;
use futures::SinkExt;
use mux_wire::ToWorker;
use tokio::sync::mpsc;
use tokio_util::{
    codec::{BytesCodec, FramedWrite},
    task::AbortOnDropHandle,
};

use super::{WorkerError, link::LinkWriter};

/// The maximum number of queued frames. Each may have the maximum frame length.
const MAX_QUEUED_FRAMES: usize = 2;

#[derive(Clone)]
pub(crate) struct FrameOutbox(mpsc::Sender<Bytes>);

impl FrameOutbox {
    /// Frames are written by a separate task, which is aborted when its handle is dropped: a process that was killed
    /// may have left its end of the pipe to another process that does not read.
    pub(super) fn open(stream: LinkWriter) -> (Self, AbortOnDropHandle<()>) {
        let (sender, mut queue) = mpsc::channel::<Bytes>(MAX_QUEUED_FRAMES);
        let writer = tokio::spawn(async move {
            // The frames include their length prefix.
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
    pub(crate) async fn wait_for_room(&self) {
        // A closed outbox means that the process is ending, which the next `receive` reports.
        drop(self.0.reserve().await);
    }

    /// Queues a frame. Fails if there is no room.
    pub(crate) fn send(&self, frame: &ToWorker) -> Result<(), WorkerError> {
        let bytes =
            mux_wire::encode_frame(frame).map_err(|e| WorkerError::Protocol(e.to_string()))?;
        match self.0.try_send(Bytes::from(bytes)) {
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Full(_)) => {
                Err(WorkerError::Protocol("it does not read its frames".into()))
            }
        }
    }
}
