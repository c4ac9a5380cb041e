//! Passes a remote server's messages around rmcp, which would parse them again and drop the members that it does not
//! know.
//!
//! rmcp's worker gets a short placeholder with the same id, which is replaced with the message where rmcp returns it.
//!
//! Invariant: a placeholder is recognized by a random prefix that no server can know.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rmcp::{
    RoleClient,
    model::{
        CustomResult, ErrorCode, ErrorData, GetExtensions as _, JsonRpcMessage, ListToolsResult,
        MetaObject, ServerNotification, ServerRequest, ServerResult, Tool,
    },
    service::RxJsonRpcMessage,
};
use serde_json::{Value, json};

type IncomingMessage = RxJsonRpcMessage<RoleClient>;

/// The maximum number of kept messages of one session. The limit is exceeded only if rmcp loses messages.
const MAX_KEPT_MESSAGES: usize = 512;
/// The schema keyword by which a tool's argument is sent in a header, too: rmcp sets these headers.
const HEADER_KEYWORD: &str = "x-mcp-header";

/// The messages of one session that rmcp has not returned yet. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct KeptMessages(Arc<KeptMessagesInner>);

#[derive(Debug)]
struct KeptMessagesInner {
    /// The prefix of every placeholder's name.
    prefix: String,
    kept: Mutex<MessageQueue>,
}

#[derive(Debug, Default)]
struct MessageQueue {
    count: u64,
    /// The messages by placeholder name, in order of arrival.
    messages: Vec<(String, IncomingMessage)>,
}

impl Default for KeptMessages {
    fn default() -> Self {
        Self(Arc::new(KeptMessagesInner {
            prefix: format!("muxd/{}/", uuid::Uuid::new_v4()),
            kept: Mutex::default(),
        }))
    }
}

impl KeptMessages {
    /// Keeps the message and returns its placeholder as JSON. The answer to `initialize` is returned unchanged: rmcp
    /// reads the version in it.
    pub(super) fn keep_as_text(&self, message: IncomingMessage) -> String {
        let placeholder = match &message {
            JsonRpcMessage::Response(answer)
                if matches!(answer.result, ServerResult::InitializeResult(_)) =>
            {
                message
            }
            JsonRpcMessage::Response(_) => {
                let message = self.keep_tools_list(message);
                if is_tools_list(&message) {
                    message
                } else {
                    self.keep_message(message)
                }
            }
            _ => self.keep_message(message),
        };
        serde_json::to_string(&placeholder).unwrap_or_default()
    }

    /// Keeps a tool list with header arguments and returns a list of only these tools. Returns other messages
    /// unchanged.
    pub(super) fn keep_tools_list(&self, message: IncomingMessage) -> IncomingMessage {
        let JsonRpcMessage::Response(answer) = &message else {
            return message;
        };
        let tools = header_tools(&answer.result);
        if tools.is_empty() {
            return message;
        }
        let id = answer.id.clone();
        let mut meta = MetaObject::default();
        meta.insert(self.keep(message), Value::Null);
        let list = ListToolsResult {
            meta: Some(meta),
            ..ListToolsResult::with_all_items(tools)
        };
        let list = ServerResult::ListToolsResult(list);
        JsonRpcMessage::response(list, id)
    }

    fn keep_message(&self, message: IncomingMessage) -> IncomingMessage {
        let (id, method) = match &message {
            JsonRpcMessage::Response(answer) => (Some(answer.id.clone()), None),
            JsonRpcMessage::Error(answer) => (answer.id.clone(), None),
            JsonRpcMessage::Request(request) => (Some(request.id.clone()), Some(())),
            JsonRpcMessage::Notification(_) => (None, Some(())),
        };
        let name = self.keep(message);
        match method {
            Some(()) => {
                let mut placeholder = json!({ "jsonrpc": "2.0", "method": name });
                if let Some(id) = id {
                    placeholder["id"] = json!(id);
                }
                // A custom request or notification always parses.
                serde_json::from_value(placeholder)
                    .unwrap_or_else(|_| JsonRpcMessage::error(ErrorData::default(), None))
            }
            None => JsonRpcMessage::error(ErrorData::new(ErrorCode(0), name, None), id),
        }
    }

    /// Keeps the message and returns its name.
    fn keep(&self, message: IncomingMessage) -> String {
        let mut kept = self.kept();
        kept.count += 1;
        let name = format!("{}{}", self.0.prefix, kept.count);
        if kept.messages.len() == MAX_KEPT_MESSAGES {
            kept.messages.remove(0);
        }
        kept.messages.push((name.clone(), message));
        name
    }

    /// Replaces a placeholder with its kept message. Returns other messages unchanged.
    pub(super) fn restore_message(&self, message: IncomingMessage) -> IncomingMessage {
        let name = match &message {
            JsonRpcMessage::Error(answer) => &*answer.error.message,
            JsonRpcMessage::Request(request) => match &request.request {
                ServerRequest::CustomRequest(custom) => &custom.method,
                _ => return message,
            },
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::CustomNotification(custom) => &custom.method,
                _ => return message,
            },
            JsonRpcMessage::Response(answer) => match &answer.result {
                ServerResult::ListToolsResult(list) => placeholder_name(list).unwrap_or_default(),
                _ => return message,
            },
        };
        if !name.starts_with(&self.0.prefix) {
            return message;
        }
        let mut kept = self.kept();
        let known = kept.messages.iter().position(|(known, _)| known == name);
        match (known.map(|at| kept.messages.remove(at).1), message) {
            // Only rmcp's copy has the extensions, such as the originating stream.
            (Some(JsonRpcMessage::Request(mut request)), JsonRpcMessage::Request(placeholder)) => {
                request
                    .request
                    .extensions_mut()
                    .extend(placeholder.request.extensions().clone());
                JsonRpcMessage::Request(request)
            }
            (Some(JsonRpcMessage::Response(mut answer)), JsonRpcMessage::Response(placeholder)) => {
                remove_refused_tools(&mut answer.result, &placeholder.result);
                JsonRpcMessage::Response(answer)
            }
            (Some(kept), _) => kept,
            (None, placeholder) => placeholder,
        }
    }

    fn kept(&self) -> MutexGuard<'_, MessageQueue> {
        self.0.kept.lock()
    }
}

/// True if the message is a placeholder of a list: the answers of servers stay JSON.
fn is_tools_list(message: &IncomingMessage) -> bool {
    matches!(message, JsonRpcMessage::Response(answer) if matches!(answer.result, ServerResult::ListToolsResult(_)))
}

fn placeholder_name(list: &ListToolsResult) -> Option<&str> {
    let (name, _) = list.meta.as_ref()?.iter().next()?;
    Some(name)
}

/// The tools of a list whose schema asks for headers, without the members that rmcp does not need.
fn header_tools(result: &ServerResult) -> Vec<Tool> {
    let ServerResult::CustomResult(CustomResult(result)) = result else {
        return Vec::new();
    };
    let tools = result["tools"].as_array().into_iter().flatten();
    tools
        .filter(|tool| mentions_header(&tool["inputSchema"]))
        .filter_map(|tool| {
            let name = tool["name"].as_str()?.to_owned();
            let schema = tool["inputSchema"].as_object()?.clone();
            Some(Tool::new(name, "", Arc::new(schema)))
        })
        .collect()
}

fn mentions_header(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name == HEADER_KEYWORD || mentions_header(value)),
        Value::Array(elements) => elements.iter().any(mentions_header),
        _ => false,
    }
}

/// Removes the tools whose header annotations rmcp has refused.
fn remove_refused_tools(result: &mut ServerResult, accepted: &ServerResult) {
    let asked = header_tools(result);
    let (ServerResult::CustomResult(CustomResult(result)), ServerResult::ListToolsResult(accepted)) =
        (result, accepted)
    else {
        return;
    };
    let is_refused = |name: &str| {
        asked.iter().any(|tool| tool.name == name)
            && !accepted.tools.iter().any(|tool| tool.name == name)
    };
    if let Some(tools) = result["tools"].as_array_mut() {
        tools.retain(|tool| !tool["name"].as_str().is_some_and(is_refused));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::raw_message;

    fn message(text: &Value) -> IncomingMessage {
        raw_message::parse_value(text.clone()).unwrap()
    }

    #[test]
    fn kept_message_is_restored_unchanged() {
        let kept = KeptMessages::default();
        for said in [
            json!({ "jsonrpc": "2.0", "id": 3, "result": { "content": [1], "x": 2 } }),
            json!({ "jsonrpc": "2.0", "id": "a", "error": { "code": -1, "message": "no", "data": 3 } }),
            json!({ "jsonrpc": "2.0", "id": 4, "method": "of/ours", "params": { "a": 1 } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/of_ours", "params": { "a": 1 } }),
        ] {
            let instead = kept.keep_as_text(message(&said));
            let instead: Value = serde_json::from_str(&instead).unwrap();
            assert_eq!(instead.get("id"), said.get("id"));
            // rmcp parses this message itself.
            let passed: IncomingMessage = serde_json::from_value(instead).unwrap();
            let back = kept.restore_message(passed);
            assert_eq!(serde_json::to_value(&back).unwrap(), said);
        }
        assert!(kept.kept().messages.is_empty());
    }

    #[test]
    fn rmcp_sees_the_tools_with_header_arguments_and_may_refuse_them() {
        let kept = KeptMessages::default();
        let schema =
            json!({ "properties": { "region": { "type": "string", "x-mcp-header": "R" } } });
        let tools = json!([
            { "name": "plain", "inputSchema": {}, "execution": {} },
            { "name": "good", "inputSchema": schema, "x": 1 },
            { "name": "refused", "inputSchema": schema },
        ]);
        let said = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": tools, "y": 2 } });
        let instead = kept.keep_as_text(message(&said));
        let mut seen: IncomingMessage = serde_json::from_str(&instead).unwrap();
        let JsonRpcMessage::Response(answer) = &mut seen else {
            panic!("{instead} is an answer");
        };
        let ServerResult::ListToolsResult(list) = &mut answer.result else {
            panic!("{instead} is a list");
        };
        assert_eq!(list.tools.len(), 2);
        list.tools.pop();
        let back = serde_json::to_value(kept.restore_message(seen)).unwrap();
        let mut expected = said;
        expected["result"]["tools"].as_array_mut().unwrap().pop();
        assert_eq!(back, expected);
    }

    #[test]
    fn forged_placeholder_is_not_restored_and_kept_messages_are_bounded() {
        let kept = KeptMessages::default();
        let notification = json!({ "jsonrpc": "2.0", "method": "x" });
        for _ in 0..MAX_KEPT_MESSAGES + 10 {
            drop(kept.keep_as_text(message(&notification)));
        }
        assert_eq!(kept.kept().messages.len(), MAX_KEPT_MESSAGES);
        let forged = json!({ "jsonrpc": "2.0", "method": "muxd/1", "params": null });
        let passed = kept.restore_message(message(&forged));
        assert_eq!(serde_json::to_value(&passed).unwrap(), forged);
    }
}
