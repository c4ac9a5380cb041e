//! Passes long messages of a remote server around rmcp, which would parse them on a thread of the runtime.
//!
//! A long event is parsed on a blocking thread; rmcp gets a short placeholder of the same kind and with the same id,
//! which is replaced with the long message where rmcp returns it.
//!
//! Invariant: a placeholder is recognized by a random prefix that no server can know.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rmcp::{
    RoleClient,
    model::{GetExtensions as _, JsonRpcMessage, ServerNotification, ServerRequest, ServerResult},
    service::RxJsonRpcMessage,
};
use serde_json::{Value, json};

type IncomingMessage = RxJsonRpcMessage<RoleClient>;

/// The maximum number of kept messages of one session. There are more only if rmcp loses some.
const MAX_KEPT_MESSAGES: usize = 64;

/// The long messages of one session; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct LongMessages(Arc<LongMessagesInner>);

#[derive(Debug)]
struct LongMessagesInner {
    /// The prefix of every placeholder's name.
    prefix: String,
    kept: Mutex<KeptMessages>,
}

#[derive(Debug, Default)]
struct KeptMessages {
    count: u64,
    /// The messages by placeholder name, in order of arrival.
    messages: Vec<(String, IncomingMessage)>,
}

impl Default for LongMessages {
    fn default() -> Self {
        Self(Arc::new(LongMessagesInner {
            prefix: format!("muxd/{}/", uuid::Uuid::new_v4()),
            kept: Mutex::default(),
        }))
    }
}

impl LongMessages {
    /// Keeps the message and returns its placeholder, or `None` for an answer to the handshake, which rmcp parses
    /// itself.
    pub(super) fn keep_message(&self, message: IncomingMessage) -> Option<String> {
        let id = match &message {
            JsonRpcMessage::Response(answer) => match &answer.result {
                ServerResult::InitializeResult(_) => return None,
                _ => Some(json!(answer.id)),
            },
            JsonRpcMessage::Error(answer) => answer.id.as_ref().map(|id| json!(id)),
            JsonRpcMessage::Request(asked) => Some(json!(asked.id)),
            JsonRpcMessage::Notification(_) => None,
        };
        let is_answer = matches!(
            message,
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
        );
        let mut kept = self.kept();
        kept.count += 1;
        let name = format!("{}{}", self.0.prefix, kept.count);
        if kept.messages.len() == MAX_KEPT_MESSAGES {
            kept.messages.remove(0);
        }
        kept.messages.push((name.clone(), message));
        let mut instead = json!({ "jsonrpc": "2.0" });
        match is_answer {
            true => instead["error"] = json!({ "code": 0, "message": name }),
            false => instead["method"] = Value::String(name),
        }
        if let Some(id) = id {
            instead["id"] = id;
        }
        Some(instead.to_string())
    }

    /// Replaces a placeholder with its kept message; returns other messages unchanged.
    pub(super) fn restore_message(&self, message: IncomingMessage) -> IncomingMessage {
        let name = match &message {
            JsonRpcMessage::Error(answer) => &*answer.error.message,
            JsonRpcMessage::Request(asked) => match &asked.request {
                ServerRequest::CustomRequest(custom) => &custom.method,
                _ => return message,
            },
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::CustomNotification(custom) => &custom.method,
                _ => return message,
            },
            JsonRpcMessage::Response(_) => return message,
        };
        if !name.starts_with(&self.0.prefix) {
            return message;
        }
        let mut kept = self.kept();
        let known = kept.messages.iter().position(|(known, _)| known == name);
        match known.map(|at| kept.messages.remove(at).1) {
            // The extensions, such as the stream it came from, are only in rmcp's copy.
            Some(JsonRpcMessage::Request(mut asked)) => {
                if let JsonRpcMessage::Request(instead) = message {
                    asked
                        .request
                        .extensions_mut()
                        .extend(instead.request.extensions().clone());
                }
                JsonRpcMessage::Request(asked)
            }
            Some(kept) => kept,
            None => message,
        }
    }

    fn kept(&self) -> MutexGuard<'_, KeptMessages> {
        self.0.kept.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::raw_message;

    fn message(text: &Value) -> IncomingMessage {
        raw_message::parse_line(text.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn kept_message_is_restored_unchanged() {
        let kept = LongMessages::default();
        for said in [
            json!({ "jsonrpc": "2.0", "id": 3, "result": { "content": [1], "x": 2 } }),
            json!({ "jsonrpc": "2.0", "id": "a", "error": { "code": -1, "message": "no", "data": 3 } }),
            json!({ "jsonrpc": "2.0", "id": 4, "method": "of/ours", "params": { "a": 1 } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/of_ours", "params": { "a": 1 } }),
        ] {
            let instead = kept.keep_message(message(&said)).unwrap();
            let instead: Value = serde_json::from_str(&instead).unwrap();
            assert_eq!(instead.get("id"), said.get("id"));
            // rmcp parses it itself.
            let passed: IncomingMessage = serde_json::from_value(instead).unwrap();
            let back = kept.restore_message(passed);
            assert_eq!(serde_json::to_value(&back).unwrap(), said);
        }
        assert!(kept.kept().messages.is_empty());
    }

    #[test]
    fn forged_placeholder_is_not_restored_and_kept_messages_are_bounded() {
        let kept = LongMessages::default();
        let notification = json!({ "jsonrpc": "2.0", "method": "x" });
        for _ in 0..MAX_KEPT_MESSAGES + 10 {
            assert!(kept.keep_message(message(&notification)).is_some());
        }
        assert_eq!(kept.kept().messages.len(), MAX_KEPT_MESSAGES);
        let forged = json!({ "jsonrpc": "2.0", "method": "muxd/1", "params": null });
        let passed = kept.restore_message(message(&forged));
        assert_eq!(serde_json::to_value(&passed).unwrap(), forged);
    }
}
