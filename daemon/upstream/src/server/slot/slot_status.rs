//! The state of a slot: the state that its task publishes, and a snapshot for readers.

use std::time::Duration;

use mux_messages::{ServerCause, ServerState};
use tokio::time::Instant;

/// The state that the task publishes.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotStatus {
    pub(super) state: ServerState,
    pub(crate) reason: Option<String>,
    /// Set if the reason may quote the server's output about calls.
    pub(super) quotes_calls: bool,
    pub(super) detail: Option<String>,
    pub(super) cause: Option<ServerCause>,
    pub(super) pid: Option<u32>,
    pub(super) retry_at: Option<Instant>,
    /// When the start began, for `Starting`.
    pub(super) started_at: Option<Instant>,
}

/// A snapshot of one slot.
#[derive(Clone, Debug, Default)]
pub struct SlotView {
    pub of: String,
    pub state: ServerState,
    pub reason: Option<String>,
    /// Set if the reason may quote the server's output about calls.
    pub quotes_calls: bool,
    pub detail: Option<String>,
    pub cause: Option<ServerCause>,
    pub pid: Option<u32>,
    pub retry_in: Option<Duration>,
    /// How long the start has lasted, for `Starting`.
    pub starting_for: Option<Duration>,
}
