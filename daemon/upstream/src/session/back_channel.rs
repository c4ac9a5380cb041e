//! Detects tools that send requests to their caller, as in revision 2025-11-25, over a session of revision 2026-07-28.
//!
//! In the modern era a server sends no requests: a tool that needs input returns `input_required`. SDKs that support
//! both eras still offer the legacy calls to tools, and these fail. Such a server is reopened in the legacy era.
//!
//! Invariant: no session ends under a call because of this, and nothing is resent here.

use std::sync::Arc;

use serde_json::Value;
use tracing::info;

use super::{Session, truncate_server_text};
use crate::calls::{BackChannelRemedy, CallError, NoBackChannel};
use mux_catalog::ProtocolEra;

/// The requests that a legacy server may send while it serves a call.
const BACK_CHANNEL_METHODS: [&str; 3] =
    ["elicitation/create", "sampling/createMessage", "roots/list"];
/// JSON-RPC's code for an invalid request: the Python SDK ends a tool with this code if the tool has sent a request.
const INVALID_REQUEST: i32 = -32600;

/// Texts of SDK exceptions, for results that are marked as errors without an error code. The texts are not part of the
/// protocol, so nothing else depends on them.
const BACK_CHANNEL_ERROR_TEXTS: [&str; 3] = [
    // Python SDK 2, if a tool caught the error and returned its text.
    "no back-channel for server-initiated requests",
    // FastMCP 4.
    "via server-initiated requests is unavailable on 2026-07-28",
    // TypeScript SDK 2.
    "Server-to-client requests are not available on protocol revision 2026-07-28",
];

impl Session {
    /// Turns an outcome that means that the server could not send a request into [`CallError::NoBackChannel`], and
    /// reopens the session in the legacy era if possible.
    pub(super) fn detect_missing_back_channel(
        &self,
        outcome: Result<Value, CallError>,
    ) -> Result<Value, CallError> {
        if self.era == ProtocolEra::Legacy {
            return outcome;
        }
        let Some((message, details)) = lacks_back_channel(&outcome) else {
            return outcome;
        };
        let remedy = self.reopen_in_legacy_era();
        info!(?remedy, message, "a tool cannot send requests in this era");
        Err(CallError::NoBackChannel(Box::new(NoBackChannel {
            message,
            details,
            remedy,
        })))
    }

    fn reopen_in_legacy_era(&self) -> BackChannelRemedy {
        if self.configured_era.is_some() {
            return BackChannelRemedy::Configured;
        }
        let identity = self.identity.as_deref().unwrap_or_default();
        if !self.catalog_entry.needs_legacy(identity) {
            return BackChannelRemedy::NoOther;
        }
        // The call that was just answered still counts.
        if self.calls.len() <= 1 {
            self.stop_taking_calls();
            BackChannelRemedy::Reopened
        } else {
            if let Some(session) = self.me.upgrade() {
                tokio::spawn(stop_taking_calls_when_idle(session));
            }
            BackChannelRemedy::WhenIdle
        }
    }

    /// The session takes no more calls from now on.
    fn stop_taking_calls(&self) {
        self.retired.cancel();
        if let Some(session) = self.me.upgrade() {
            tokio::spawn(close_when_idle(session));
        }
    }
}

async fn stop_taking_calls_when_idle(session: Arc<Session>) {
    tokio::select! {
        () = session.wait_until_idle() => session.stop_taking_calls(),
        () = session.ended.cancelled() => {}
    }
}

async fn close_when_idle(session: Arc<Session>) {
    tokio::select! {
        () = session.wait_until_idle() => session.close("it is reopened in the era 2025-11-25, which its tools need"),
        () = session.ended.cancelled() => {}
    }
}

/// The server's error text and details if the outcome means a missing back channel.
fn lacks_back_channel(outcome: &Result<Value, CallError>) -> Option<(String, Value)> {
    match outcome {
        Err(CallError::Refused {
            code,
            message,
            data,
        }) => {
            let names_method = BACK_CHANNEL_METHODS
                .iter()
                .any(|method| message.contains(method));
            let is_meant =
                *code == INVALID_REQUEST && names_method || mentions_back_channel(message);
            let details = || serde_json::json!({ "code": code, "data": data });
            is_meant.then(|| (truncate_server_text(message.clone()), details()))
        }
        Ok(result) if result["isError"] == true => {
            let parts = result["content"].as_array()?;
            let mut texts = parts.iter().filter_map(|part| part["text"].as_str());
            let text = texts.find(|text| mentions_back_channel(text))?;
            let details = serde_json::json!({ "content": parts });
            Some((truncate_server_text(text.to_owned()), details))
        }
        _ => None,
    }
}

fn mentions_back_channel(text: &str) -> bool {
    BACK_CHANNEL_ERROR_TEXTS
        .iter()
        .any(|known| text.contains(known))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(code: i32, message: &str) -> Result<Value, CallError> {
        Err(CallError::Refused {
            code,
            message: message.into(),
            data: None,
        })
    }

    #[expect(clippy::unnecessary_wraps, reason = "the outcome of a call")]
    fn failed(text: &str) -> Result<Value, CallError> {
        Ok(json!({ "isError": true, "content": [{ "type": "text", "text": text }] }))
    }

    #[test]
    fn missing_back_channel_is_detected_by_code_and_method_or_by_text() {
        let python = "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests.";
        for (outcome, is_meant) in [
            (refused(-32600, python), true),
            (refused(-32600, "cannot send 'roots/list' here"), true),
            (refused(-32600, "sampling/createMessage: no way"), true),
            (refused(-32602, "'roots/list' is no argument"), false),
            (refused(-32600, "the request is too large"), false),
            (failed(python), true),
            (
                failed(
                    "elicitation via server-initiated requests is unavailable on 2026-07-28 connections.",
                ),
                true,
            ),
            (
                failed(
                    "Server-to-client requests are not available on protocol revision 2026-07-28: 'roots/list' cannot be sent",
                ),
                true,
            ),
            (failed("elicitation/create failed: nobody is there"), false),
            (
                Ok(json!({ "content": [{ "type": "text", "text": python }] })),
                false,
            ),
            (Err(CallError::NotSent), false),
        ] {
            let found = lacks_back_channel(&outcome);
            assert_eq!(found.is_some(), is_meant, "{outcome:?}");
        }
    }
}
