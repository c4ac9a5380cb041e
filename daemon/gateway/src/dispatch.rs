//! Checks a tool again before its call is sent.
//!
//! Invariant: only a tool that its session lists at that moment, and that its pin does not refuse, is called. If the
//! list changes while a call is queued, or with a new session, the tool is checked again, and so are the tools that a
//! GraphQL document reaches.

use std::sync::Arc;

use mux_wire::Fault;
use serde_json::{Map, Value};

use super::{
    CallArguments, CallContext, Gateway,
    graphql_policy::is_graphql,
    permission::{PermissionRequest, PermissionSubject},
};
use mux_audit::CallAuditGuard;
use mux_catalog::{Tool, ToolSet};
use mux_upstream::{CallError, RequestOptions, Server, Session};

/// The call that policy has decided on, before it was queued.
pub(super) struct PermittedCall {
    pub(super) tool: Arc<Tool>,
    /// All tools of the session at that time.
    pub(super) tools: Arc<ToolSet>,
    /// The identity of the approval, if the call needed one.
    pub(super) approved: Option<String>,
}

/// A call that was sent, or was not sent because its tool has changed.
#[derive(Clone)]
pub(super) struct DispatchedCall {
    /// The tool as described when the call was sent.
    pub(super) tool: Arc<Tool>,
    pub(super) answer: Result<Value, CallError>,
}

impl Gateway {
    /// Calls the tool of that name, with the arguments that were parsed for it when it was looked up. `lets` makes the
    /// final decision to send the call.
    pub(super) async fn dispatch_call(
        &self,
        (server, session): (&Server, &Session),
        permitted: &PermittedCall,
        read: Option<Map<String, Value>>,
        (arguments, asking): (&CallArguments, &CallContext),
        lets: &(dyn Fn(&Tool) -> bool + Send + Sync),
        sending: &RequestOptions<'_>,
    ) -> Result<DispatchedCall, Fault> {
        let tool = &permitted.tool;
        let listed = session.current_tools().await;
        let now = listed.find(&tool.name).filter(|now| now.name == tool.name);
        // If the tool is gone, the server decides.
        let now = now.unwrap_or(tool);
        now.check_standing()?;
        let same = now.definition_key == tool.definition_key;
        let is_same_list = Arc::ptr_eq(&listed, &permitted.tools);
        // A changed tool that needs approval is not the tool that was approved.
        let mut unseen = false;
        if !same || (!is_same_list && is_graphql(server)) {
            // The tool and its arguments, or the tools that a document reaches, may mean something else now.
            let again = PermissionRequest {
                path: &now.path(),
                server,
                what: PermissionSubject::Tool(now, &listed, arguments),
                asking,
            };
            let ask = self.permit(&again, &mut CallAuditGuard::disabled()).await?;
            unseen = ask.is_some_and(|ask| !same || permitted.approved != Some(ask.identity));
        }
        let arguments = match read {
            Some(read) if same => read,
            _ => self.readers.read_checked(now, arguments).await?,
        };
        let answer = if !unseen && lets(now) {
            session.call(now, arguments, sending).await
        } else {
            Err(CallError::NotSent)
        };
        Ok(DispatchedCall {
            tool: Arc::clone(now),
            answer,
        })
    }
}
