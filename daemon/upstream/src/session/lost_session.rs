//! Detects a session that its server no longer knows, regardless of the server's words and codes.
//!
//! Servers that restarted, or whose sessions expire, answer with different HTTP status codes, or with a JSON-RPC error
//! inside a successful response. A tool may use the same words for sessions of another kind, so one more request decides.
//!
//! Invariant: a call is sent in a new session only if the server has refused it.

use std::time::Duration;

use rmcp::model::ListToolsRequest;

use super::{Session, request::RequestOptions};
use crate::{calls::CallError, link::names_lost_session};
use mux_catalog::ProtocolEra;

/// How long the deciding request may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// Several SDKs' code for an unknown session. Others use it for timeouts.
const SESSION_NOT_FOUND: i32 = -32001;

impl Session {
    /// If the error means that the server no longer knows the session, the session takes no more calls, and a refused
    /// call counts as not sent.
    pub(super) async fn detect_lost_session(&self, error: CallError) -> CallError {
        if self.era != ProtocolEra::Legacy || !may_mean_lost_session(&error) {
            return error;
        }
        if self.is_open() {
            let probe = RequestOptions::without_caller(PROBE_TIMEOUT);
            let probed = self
                .send_and_wait(ListToolsRequest::default().into(), &probe)
                .await;
            // A request that was not sent has found the session ended.
            let is_lost = matches!(&probed, Err(error) if may_mean_lost_session(error))
                || matches!(probed, Err(CallError::NotSent));
            if !is_lost {
                return error;
            }
            self.set_cause("the server no longer knows the session".into());
            self.draining.cancel();
        }
        match error {
            CallError::Refused { .. } | CallError::Declined(_) => CallError::NotSent,
            // The server may have processed the call.
            error => error,
        }
    }
}

fn may_mean_lost_session(error: &CallError) -> bool {
    match error {
        CallError::Refused { code, message, .. } => {
            *code == SESSION_NOT_FOUND || names_lost_session(message)
        }
        CallError::Declined(text) | CallError::Unknown(text) => names_lost_session(text),
        _ => false,
    }
}
