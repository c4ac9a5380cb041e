//! The dependencies of every server of the daemon.

use std::{path::PathBuf, sync::Arc};

use super::start_limiter::StartLimiter;
use crate::{link::ServerLauncher, server_messages::RequestPolicy, session::IncomingSessions};
use mux_auth::Auth;
use mux_caller::ListChangeNotifier;
use mux_catalog::{Catalog, pins::Pins};
use mux_sources::Sources;
use mux_telemetry::metrics::Metrics;

/// The dependencies of every server.
#[derive(Clone, Debug)]
pub struct ServerContext {
    pub launcher: Arc<dyn ServerLauncher>,
    /// The directory for the servers' logs, one file each.
    pub logs: PathBuf,
    /// Remembers the servers' tools.
    pub catalog: Arc<Catalog>,
    /// The tools' definitions when they were first trusted.
    pub pins: Arc<Pins>,
    /// Notified when the servers' lists change.
    pub list_changes: Arc<ListChangeNotifier>,
    /// Limits the servers that start at the same time.
    pub start_limiter: Arc<StartLimiter>,
    /// Provides the tokens for remote servers.
    pub auth: Arc<Auth>,
    /// APIs that the daemon calls itself, without a server.
    pub sources: Arc<Sources>,
    /// The sessions that the previous daemon hands over.
    pub incoming_sessions: IncomingSessions,
    /// The metrics of the servers.
    pub metrics: Arc<Metrics>,
    /// Decides on the servers' requests to clients, once it is set.
    pub request_policy: RequestPolicy,
}
