//! The end of a link to a remote server, and its cause.
//!
//! Invariant: the first cause is kept.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// The end of one session's link, shared by all its users. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkEnding(Arc<LinkEndingInner>);

#[derive(Debug, Default)]
struct LinkEndingInner {
    cause: OnceLock<String>,
    ended: CancellationToken,
}

impl LinkEnding {
    /// Marks the link as ended. Only the first cause counts.
    pub(super) fn mark_ended(&self, cause: impl Into<String>) {
        self.0.cause.get_or_init(|| cause.into());
        self.0.ended.cancel();
    }

    /// Resolves when the link has ended, with the cause.
    pub(super) async fn wait_for_cause(&self) -> String {
        self.0.ended.cancelled().await;
        self.cause().unwrap_or_default()
    }

    pub(super) fn cause(&self) -> Option<String> {
        self.0.cause.get().cloned()
    }
}
