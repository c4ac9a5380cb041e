//! How long commands and the page wait for answers of the daemon.

use std::time::Duration;

use mux_proto::transport;
use tarpc::context::Context;

/// The timeout of requests that may need to start every server.
pub(crate) const SERVER_START_TIMEOUT: Duration = Duration::from_mins(5);
/// The context of a request that may need to start every server.
pub(crate) fn within_server_start() -> Context {
    transport::within(SERVER_START_TIMEOUT)
}

/// Longer than the daemon's own limit for a call, because the daemon should report the timeout.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_hours(1);
/// Seconds for requests that discover and ask the authorization server, which may be slow.
pub(crate) const LOGIN_TIMEOUT_SECS: u64 = 180;
