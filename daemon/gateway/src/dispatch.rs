//! Checks a tool again before its call is sent.
//!
//! Invariant: only a tool that its session lists at that moment, and that its pin does not refuse, is called. If the
//! list changes while a call is queued, or with a new session, the tool is checked again, and so are the tools that a
//! GraphQL document reaches.

use std::sync::Arc;

use mux_wire::Fault;
use serde_json::{Map, Value};

use super::{
    call_attempts::CallAttempts,
    call_path::{CallPath, ListedTool},
    graphql_policy::is_graphql,
    permission::{PermissionRequest, PermissionSubject},
};
use mux_audit::CallAuditGuard;
use mux_catalog::Tool;
use mux_upstream::{CallError, HeldSession, RequestOptions};

/// A call that was sent, or was not sent because its tool has changed.
#[derive(Clone)]
pub(super) struct DispatchedCall {
    /// The tool as described when the call was sent.
    pub(super) tool: Arc<Tool>,
    pub(super) answer: Result<Value, CallError>,
}

impl CallPath<'_> {
    /// Calls the tool of that name, with the arguments that were parsed for it when it was looked up.
    pub(super) async fn dispatch(
        &self,
        held: &HeldSession,
        listed: &ListedTool,
        read: Option<Map<String, Value>>,
        attempts: &CallAttempts,
        options: &RequestOptions<'_>,
    ) -> Result<DispatchedCall, Fault> {
        let HeldSession { slot, session } = held;
        let tool = &listed.tool;
        let tools = session.current_tools().await;
        let now = tools.find(&tool.name).filter(|now| now.name == tool.name);
        // If the tool is gone, the server decides.
        let now = now.unwrap_or(tool);
        now.check_standing()?;
        let is_same = now.definition_key == tool.definition_key;
        let is_same_list = Arc::ptr_eq(&tools, &listed.tools);
        // A changed tool that needs approval is not the tool that was approved.
        let mut is_unapproved = false;
        if !is_same || (!is_same_list && is_graphql(&self.server)) {
            // The tool and its arguments, or the tools that a document reaches, may mean something else now.
            let again = PermissionRequest {
                path: &now.path(),
                server: &self.server,
                what: PermissionSubject::Tool(now, &tools, &self.arguments),
                context: &self.context,
            };
            let entry = &mut CallAuditGuard::disabled();
            let ask = self.gateway.permit(&again, entry).await?;
            is_unapproved = ask.is_some_and(|ask| !is_same || self.approved != Some(ask.identity));
        }
        let arguments = match read {
            Some(read) if is_same => read,
            _ => {
                let readers = &self.gateway.readers;
                readers.read_checked(now, &self.arguments).await?
            }
        };
        let answer = if !is_unapproved && self.may_send(slot, listed, now, attempts) {
            session.call(now, arguments, options).await
        } else {
            Err(CallError::NotSent)
        };
        Ok(DispatchedCall {
            tool: Arc::clone(now),
            answer,
        })
    }
}
