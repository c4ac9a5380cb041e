//! That the way to a remote server is at its end, and why.
//!
//! Invariant: the first reason is kept.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// Shared by all that speak over one session; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkEnding(Arc<LinkEndingInner>);

#[derive(Debug, Default)]
struct LinkEndingInner {
    cause: OnceLock<String>,
    told: CancellationToken,
}

impl LinkEnding {
    /// The session is over.
    pub(super) fn mark_ended(&self, cause: impl Into<String>) {
        self.0.cause.get_or_init(|| cause.into());
        self.0.told.cancel();
    }

    /// Resolves when it is, with the cause.
    pub(super) async fn wait_for_cause(&self) -> String {
        self.0.told.cancelled().await;
        self.cause().unwrap_or_default()
    }

    pub(super) fn cause(&self) -> Option<String> {
        self.0.cause.get().cloned()
    }
}
