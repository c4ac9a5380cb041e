//! The state of a slot: the state that its task publishes, and a snapshot for readers.

use std::time::Duration;

use tokio::time::Instant;

use super::super::server_view::UnavailableCause;

/// The state that the task publishes.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotStatus {
    pub(super) state: UpstreamState,
    pub(crate) reason: Option<String>,
    /// Set if the reason may quote the server's output about calls.
    pub(super) quotes_calls: bool,
    pub(super) detail: Option<String>,
    pub(super) cause: Option<UnavailableCause>,
    pub(super) pid: Option<u32>,
    pub(super) retry_at: Option<Instant>,
    /// When the start began, for `Starting`.
    pub(super) started_at: Option<Instant>,
}

/// A snapshot of one slot.
#[derive(Clone, Debug, Default)]
pub struct SlotView {
    pub of: String,
    pub state: UpstreamState,
    pub reason: Option<String>,
    /// Set if the reason may quote the server's output about calls.
    pub quotes_calls: bool,
    pub detail: Option<String>,
    pub cause: Option<UnavailableCause>,
    pub pid: Option<u32>,
    pub retry_in: Option<Duration>,
    /// How long the start has lasted, for `Starting`.
    pub starting_for: Option<Duration>,
}

/// The state of a server, ordered by how long a caller has to wait.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Eq,
    Ord,
    PartialEq,
    PartialOrd,
    strum::Display,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
pub enum UpstreamState {
    Ready,
    /// The server answers, but not properly.
    Degraded,
    Starting,
    /// Not started yet, or closed.
    #[default]
    Cold,
    /// The last start failed. The next call tries again.
    Failed,
    /// The server failed too often and is not started for a while.
    BackingOff,
    /// The server's configuration cannot be used.
    Broken,
}
