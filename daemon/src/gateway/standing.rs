//! The last look at a tool before its call goes out.
//!
//! Invariant: what is sent is a call of a tool that its session lists at that moment, and that stands as it should. A list
//! that changes while a call is in line, or with the session after this one, is looked at again.

use std::sync::Arc;

use mux_sandbox::Fault;
use serde_json::{Map, Value};

use super::{Arguments, Gateway};
use crate::{
    catalog::Tool,
    upstream::{CallError, Sending, Session},
};

/// A call that went out, or was too late.
#[derive(Clone)]
pub(super) struct Sent {
    /// As it was described when the call went out.
    pub(super) tool: Arc<Tool>,
    pub(super) answer: Result<Value, CallError>,
}

impl Gateway {
    /// Calls the tool of that name, with the arguments that were read for it when it was looked up. `lets` has the
    /// last word on whether it goes out.
    pub(super) async fn send(
        &self,
        session: &Session,
        tool: &Arc<Tool>,
        read: Option<Map<String, Value>>,
        arguments: &Arguments,
        lets: &(dyn Fn(&Tool) -> bool + Send + Sync),
        sending: &Sending<'_>,
    ) -> Result<Sent, Fault> {
        let listed = session.current_tools().await;
        let now = listed.find(&tool.name).filter(|now| now.name == tool.name);
        // Of a tool that is gone the server has the last word.
        let now = now.unwrap_or(tool);
        now.check_standing()?;
        let arguments = match read {
            Some(read) if now.definition_key == tool.definition_key => read,
            _ => self.readers.read(now, arguments).await?,
        };
        let answer = match lets(now) {
            true => session.call(&now.name, arguments, sending).await,
            false => Err(CallError::NotSent),
        };
        Ok(Sent {
            tool: Arc::clone(now),
            answer,
        })
    }
}
