//! Finds the tool that a call would reach, without a call.
//!
//! Invariant: the lookup is the same as for a call, so the result is the tool that a call would find at this moment.

use std::sync::Arc;

use mux_wire::{CallTarget, Fault};

use super::{
    CallContext, CallObserver, Gateway, ResolvedTarget, caller_sessions::CallerSessions, find_tool,
};
use mux_catalog::Tool;
use mux_upstream::{CallerIdentity, HeldSession};

impl Gateway {
    /// `None` if the server cannot be reached now. Starts the server if needed.
    pub async fn find_current_tool(
        &self,
        path: &str,
        context: &CallContext,
        observer: &dyn CallObserver,
    ) -> Result<Option<Arc<Tool>>, Fault> {
        let target = CallTarget::Path {
            path: path.to_owned(),
            raw: false,
        };
        let scope = self.scope_now(context);
        let ResolvedTarget { server, tool, .. } = self.resolve_server(target, &scope)?;
        let sessions = CallerSessions {
            server: &server,
            identity: &CallerIdentity::of(&context.caller),
            context,
            observer,
        };
        let Ok(HeldSession { session, .. }) = sessions.ready().await else {
            return Ok(None);
        };
        let tools = session.current_tools().await;
        let tools = scope.view(&tools);
        find_tool(&tools, server.name(), &tool).map(Some)
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
