//! Detects a program that writes text instead of messages and then falls silent: such a program is not an MCP server
//! over stdio.
//!
//! A server may write a banner first, so output alone proves nothing, but silence afterwards does: a server in its HTTP
//! mode writes its address, and never answers.
//!
//! Invariant: once a message has arrived, other output no longer matters.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

/// How long a program may be silent after a line that is not a message, before its first message.
const MAX_SILENCE: Duration = Duration::from_secs(5);

/// The state of one link's output. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct StrayOutput(Arc<watch::Sender<OutputState>>);

#[derive(Clone, Copy, Debug)]
enum OutputState {
    Silent,
    /// The last line was not a message, and came at this time.
    Stray(Instant),
    Messages,
}

impl Default for StrayOutput {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(OutputState::Silent)))
    }
}

impl StrayOutput {
    pub(super) fn record_line(&self) {
        self.0.send_if_modified(|state| {
            let before_messages = !matches!(state, OutputState::Messages);
            if before_messages {
                *state = OutputState::Stray(Instant::now());
            }
            before_messages
        });
    }

    pub(super) fn record_message(&self) {
        if !self.has_messages() {
            self.0.send_replace(OutputState::Messages);
        }
    }

    pub(super) fn has_messages(&self) -> bool {
        matches!(*self.0.borrow(), OutputState::Messages)
    }

    /// Resolves when the program has written no message and is silent.
    pub(crate) async fn wait_for_silence(&self) {
        let mut state = self.0.subscribe();
        loop {
            let OutputState::Stray(at) = *state.borrow_and_update() else {
                // The sender is in `self`, so this cannot fail.
                _ = state.changed().await;
                continue;
            };
            if timeout_at(at + MAX_SILENCE, state.changed()).await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn silence_after_a_banner_is_noticed_and_messages_end_the_watch() {
        let output = StrayOutput::default();
        let mut silence = Box::pin(output.wait_for_silence());
        tokio::time::advance(MAX_SILENCE * 10).await;
        assert!(silence.as_mut().now_or_never().is_none());
        for _ in 0..5 {
            output.record_line();
            tokio::time::advance(MAX_SILENCE.checked_sub(Duration::from_secs(1)).unwrap()).await;
            assert!(silence.as_mut().now_or_never().is_none());
        }
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(silence.as_mut().now_or_never().is_some());

        output.record_message();
        output.record_line();
        let mut silence = Box::pin(output.wait_for_silence());
        tokio::time::advance(MAX_SILENCE * 2).await;
        assert!(silence.as_mut().now_or_never().is_none());
    }
}
