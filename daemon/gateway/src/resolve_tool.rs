//! Finds the tool that a call would reach, without a call.
//!
//! Invariant: the lookup is the same as for a call, so the result is the tool that a call would find at this moment.

use std::sync::Arc;

use mux_wire::{CallTarget, Fault};

use super::{CallContext, CallObserver, Gateway, find_tool, ready_session};
use mux_catalog::Tool;
use mux_upstream::{CallerIdentity, HeldSession};

impl Gateway {
    /// `None` if the server cannot be reached now. Starts the server if needed.
    pub async fn find_current_tool(
        &self,
        path: &str,
        asking: &CallContext,
        observer: &dyn CallObserver,
    ) -> Result<Option<Arc<Tool>>, Fault> {
        let target = CallTarget::Path {
            path: path.to_owned(),
            raw: false,
        };
        let scope = self.scope_now(asking);
        let (server, name, _) = self.resolve_server(target, &scope)?;
        let whose = CallerIdentity::of(&asking.caller);
        let Ok(HeldSession { session, .. }) =
            ready_session(&server, (&whose, &asking.caller.trace), observer).await
        else {
            return Ok(None);
        };
        let tools = session.current_tools().await;
        let tools = scope.view(&tools);
        find_tool(&tools, server.name(), &name).map(Some)
    }
}

/// The path as requested.
pub(super) fn requested_path(target: &CallTarget) -> String {
    match target {
        CallTarget::Named { server, tool } => format!("{server}.{tool}"),
        CallTarget::Path { path, .. } => path.clone(),
        CallTarget::Own { name } => name.clone(),
    }
}
