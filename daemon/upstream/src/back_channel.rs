//! Tools that ask their caller in the way of 2025-11-25 over a session of 2026-07-28.
//!
//! In the new era a server sends no requests: a tool that wants something returns what it wants. SDKs that speak both
//! eras still offer the calls of the old one to tools, and these fail there. Such a server is opened in the old era.
//!
//! Invariant: no session ends under a call because of this, and nothing is sent again here.

use std::sync::Arc;

use serde_json::Value;
use tracing::info;

use super::session::{CallError, Session, truncate_server_text};
use mux_catalog::ProtocolEra;

/// What a server may ask for while it serves a call, in requests of its own.
const BACK_CHANNEL_METHODS: [&str; 3] =
    ["elicitation/create", "sampling/createMessage", "roots/list"];
/// JSON-RPC's code for a request that cannot be made, with which Python's SDK ends a tool that has made one.
const INVALID_REQUEST: i32 = -32600;

/// What SDKs say where no code tells it: the tool's result is marked as an error, and holds the text of an exception.
/// They are no part of the protocol, so that nothing but this is decided by them.
const BACK_CHANNEL_ERROR_TEXTS: [&str; 3] = [
    // Python SDK 2, where a tool caught the error and passed on its text.
    "no back-channel for server-initiated requests",
    // FastMCP 4.
    "via server-initiated requests is unavailable on 2026-07-28",
    // TypeScript SDK 2.
    "Server-to-client requests are not available on protocol revision 2026-07-28",
];

/// A call that failed because its tool could not ask.
#[derive(Clone, Debug)]
pub struct NoBackChannel {
    /// What the server said.
    pub message: String,
    /// Its details for a program: the error's code and data, or the content of the result.
    pub details: Value,
    pub remedy: BackChannelRemedy,
}

/// What became of the sessions of a server whose tools need the other era.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BackChannelRemedy {
    /// The next call finds a session of the other era.
    Reopened,
    /// So does the one that comes once the other calls on this session have ended.
    WhenIdle,
    /// The server's entry names this era.
    Configured,
    /// It does not speak the other one.
    NoOther,
}

impl Session {
    /// Whether the outcome of a request means that the server could not ask. Then it is opened in the other era, if it
    /// may be.
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
        info!(?remedy, message, "a tool cannot ask over this session");
        Err(CallError::NoBackChannel(Box::new(NoBackChannel {
            message,
            details,
            remedy,
        })))
    }

    fn reopen_in_legacy_era(&self) -> BackChannelRemedy {
        if self.chosen_era.is_some() {
            return BackChannelRemedy::Configured;
        }
        let identity = self.identity.as_deref().unwrap_or_default();
        if !self.offer.needs_legacy(identity) {
            return BackChannelRemedy::NoOther;
        }
        // The call that was answered a moment ago is still counted.
        match self.calls.len() <= 1 {
            true => {
                self.stop_taking_calls();
                BackChannelRemedy::Reopened
            }
            false => {
                if let Some(session) = self.me.upgrade() {
                    tokio::spawn(stop_taking_calls_when_idle(session));
                }
                BackChannelRemedy::WhenIdle
            }
        }
    }

    /// It takes no more calls from now on.
    fn stop_taking_calls(&self) {
        self.leaving.cancel();
        if let Some(session) = self.me.upgrade() {
            tokio::spawn(close_when_idle(session));
        }
    }
}

async fn stop_taking_calls_when_idle(session: Arc<Session>) {
    tokio::select! {
        () = session.wait_until_idle() => session.stop_taking_calls(),
        () = session.known.cancelled() => {}
    }
}

async fn close_when_idle(session: Arc<Session>) {
    tokio::select! {
        () = session.wait_until_idle() => session.close("it is opened again in the era 2025-11-25, which its tools need"),
        () = session.known.cancelled() => {}
    }
}

/// What the server said, and its details.
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
        .any(|told| text.contains(told))
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

    fn failed(text: &str) -> Result<Value, CallError> {
        Ok(json!({ "isError": true, "content": [{ "type": "text", "text": text }] }))
    }

    #[test]
    fn what_sdks_say_without_a_back_channel_is_known_by_code_and_method_or_by_their_words() {
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
