//! The TypeScript equivalent of step programs.

use mux_proto as wire;

use super::connection::ConnectionState;
use crate::daemon::Daemon;

pub(super) fn explain(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: &wire::ExplainRequest,
) -> wire::Result<wire::Explained> {
    let origin = connection.origin();
    let scope = connection.scope();
    let agent = origin.agent.as_deref();
    let source = daemon.runs.explain(&request.source, agent, &scope)?;
    Ok(wire::Explained { source })
}
