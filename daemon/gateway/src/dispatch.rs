//! The last look at a tool before its call goes out.
//!
//! Invariant: what is sent is a call of a tool that its session lists at that moment, and that stands as it should. A list
//! that changes while a call is in line, or with the session after this one, is looked at again.

use std::sync::Arc;

use mux_wire::Fault;
use serde_json::{Map, Value};

use super::{
    CallArguments, CallContext, Gateway,
    permission::{PermissionRequest, PermissionSubject},
};
use mux_audit::CallAuditGuard;
use mux_catalog::Tool;
use mux_upstream::{CallError, RequestOptions, Server, Session};

/// A call that went out, or was too late.
#[derive(Clone)]
pub(super) struct DispatchedCall {
    /// As it was described when the call went out.
    pub(super) tool: Arc<Tool>,
    pub(super) answer: Result<Value, CallError>,
}

impl Gateway {
    /// Calls the tool of that name, with the arguments that were read for it when it was looked up. `lets` has the
    /// last word on whether it goes out.
    pub(super) async fn dispatch_call(
        &self,
        (server, session): (&Server, &Session),
        tool: &Arc<Tool>,
        read: Option<Map<String, Value>>,
        (arguments, asking): (&CallArguments, &CallContext),
        lets: &(dyn Fn(&Tool) -> bool + Send + Sync),
        sending: &RequestOptions<'_>,
    ) -> Result<DispatchedCall, Fault> {
        let listed = session.current_tools().await;
        let now = listed.find(&tool.name).filter(|now| now.name == tool.name);
        // Of a tool that is gone the server has the last word.
        let now = now.unwrap_or(tool);
        now.check_standing()?;
        let same = now.definition_key == tool.definition_key;
        // What is to be asked for now is not what somebody has approved.
        let mut unseen = false;
        if !same {
            // It may mean something else now, and so may what was typed for it.
            let again = PermissionRequest {
                path: &now.path(),
                server,
                what: PermissionSubject::Tool(now, arguments),
                asking,
            };
            unseen = self
                .permit(&again, &mut CallAuditGuard::disabled())
                .await?
                .is_some();
        }
        let arguments = match read {
            Some(read) if same => read,
            _ => self.readers.read_checked(now, arguments).await?,
        };
        let answer = match !unseen && lets(now) {
            true => session.call(&now.name, arguments, sending).await,
            false => Err(CallError::NotSent),
        };
        Ok(DispatchedCall {
            tool: Arc::clone(now),
            answer,
        })
    }
}
