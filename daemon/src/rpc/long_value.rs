//! A value for a client: inline, or stored behind a handle if it is too long for a message.

use mux_proto as wire;
use tracing::warn;

use super::connection::ConnectionState;
use crate::daemon::Daemon;

/// Stores a value of a client, however short it is.
pub(super) async fn keep(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::KeepRequest,
) -> wire::Result<wire::Handle> {
    let handles = daemon.handles.for_origin(&connection.origin());
    let text = request.value.into_boxed_str().into_string();
    Ok(handles.keep(text, "the value").await?)
}

pub(super) async fn held(
    daemon: &Daemon,
    connection: &ConnectionState,
    text: String,
) -> wire::Result<wire::Held> {
    let held = daemon.handles.for_origin(&connection.origin());
    let (held, warning) = held.inline_or_keep(text, "the result").await?;
    if let Some(warning) = warning {
        warn!(warning, "a long result is sent inline");
    }
    Ok(held)
}
