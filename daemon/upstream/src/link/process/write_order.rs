//! Keeps messages in the order in which they were handed over, although each has its own task.
//!
//! Invariant: a message is written after all earlier ones were written or given up.

use tokio::sync::oneshot;

/// Gives out turns, in order.
#[derive(Debug, Default)]
pub(super) struct WriteOrder {
    last: Option<EarlierTurn>,
}

/// The right to write one message, which ends on drop.
#[derive(Debug)]
pub(super) struct WriteTurn {
    earlier: Option<EarlierTurn>,
    ended: Option<oneshot::Sender<Option<EarlierTurn>>>,
}

/// Resolves when a turn has ended. A turn that was given up passes on the turn for which it still waited.
#[derive(Debug)]
struct EarlierTurn(oneshot::Receiver<Option<EarlierTurn>>);

impl WriteOrder {
    pub(super) fn next_turn(&mut self) -> WriteTurn {
        let (ended, last) = oneshot::channel();
        WriteTurn {
            earlier: self.last.replace(EarlierTurn(last)),
            ended: Some(ended),
        }
    }
}

impl WriteTurn {
    /// Resolves when all earlier turns have ended.
    pub(super) async fn wait(&mut self) {
        while let Some(EarlierTurn(earlier)) = &mut self.earlier {
            self.earlier = earlier.await.ok().flatten();
        }
    }
}

impl Drop for WriteTurn {
    fn drop(&mut self) {
        if let Some(ended) = self.ended.take() {
            // Without a receiver the transport is gone.
            ended.send(self.earlier.take()).ok();
        }
    }
}
