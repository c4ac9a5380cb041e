//! Passes a remote server's answers around rmcp, which would parse them again and drop the members that it does not know.
//!
//! rmcp's worker gets a short placeholder with the same id, which is replaced with the answer where rmcp returns it.
//!
//! Invariant: the reader gives each request one answer, so what rmcp returns with the id of a kept answer stands for it.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use rmcp::{
    RoleClient,
    model::{
        CustomResult, ErrorData, JsonRpcMessage, JsonRpcResponse, ListToolsResult, RequestId,
        ServerResult, Tool,
    },
    service::RxJsonRpcMessage,
};
use serde_json::Value;

type IncomingMessage = RxJsonRpcMessage<RoleClient>;
type IncomingAnswer = JsonRpcResponse<ServerResult>;

/// The maximum number of kept answers of one session. The limit is exceeded only if rmcp loses messages.
const MAX_KEPT_ANSWERS: usize = 512;
/// The schema keyword by which a tool's argument is sent in a header, too: rmcp sets these headers.
const HEADER_KEYWORD: &str = "x-mcp-header";

/// The answers of one session that rmcp has not returned yet, in order of arrival. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptMessages(Arc<Mutex<VecDeque<IncomingAnswer>>>);

impl KeptMessages {
    /// Keeps an answer and returns its placeholder as JSON. Other messages have lost nothing yet, and are returned
    /// unchanged, like the answer to `initialize`: rmcp reads the version in it.
    pub(super) fn keep_as_text(&self, message: IncomingMessage) -> String {
        let placeholder = match self.keep_tools_list(message) {
            JsonRpcMessage::Response(answer)
                if matches!(answer.result, ServerResult::CustomResult(_)) =>
            {
                let id = answer.id.clone();
                self.keep(answer);
                JsonRpcMessage::error(ErrorData::default(), Some(id))
            }
            other => other,
        };
        serde_json::to_string(&placeholder).unwrap_or_default()
    }

    /// Keeps a tool list with header arguments and returns a list of only these tools. Returns other messages
    /// unchanged.
    pub(super) fn keep_tools_list(&self, message: IncomingMessage) -> IncomingMessage {
        let JsonRpcMessage::Response(answer) = message else {
            return message;
        };
        let tools = header_tools(&answer.result);
        if tools.is_empty() {
            return JsonRpcMessage::Response(answer);
        }
        let id = answer.id.clone();
        self.keep(answer);
        let list = ListToolsResult::with_all_items(tools);
        JsonRpcMessage::response(ServerResult::ListToolsResult(list), id)
    }

    fn keep(&self, answer: IncomingAnswer) {
        let mut kept = self.0.lock();
        if kept.len() == MAX_KEPT_ANSWERS {
            kept.pop_front();
        }
        kept.push_back(answer);
    }

    fn take(&self, id: &RequestId) -> Option<IncomingAnswer> {
        let mut kept = self.0.lock();
        let index = kept.iter().position(|answer| answer.id == *id)?;
        kept.remove(index)
    }

    /// Replaces a placeholder with its kept answer. Returns other messages unchanged.
    pub(super) fn restore_message(&self, message: IncomingMessage) -> IncomingMessage {
        let id = match &message {
            JsonRpcMessage::Error(answer) => answer.id.as_ref(),
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let Some(mut kept) = id.and_then(|id| self.take(id)) else {
            return message;
        };
        if let JsonRpcMessage::Response(placeholder) = message {
            remove_refused_tools(&mut kept.result, &placeholder.result);
        }
        JsonRpcMessage::Response(kept)
    }
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
    use serde_json::json;

    use super::*;
    use crate::link::raw_message;

    fn message(text: &Value) -> IncomingMessage {
        raw_message::parse_value(text.clone()).unwrap()
    }

    #[test]
    fn message_is_restored_unchanged() {
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
        assert!(kept.0.lock().is_empty());
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
    fn kept_answers_are_bounded() {
        let kept = KeptMessages::default();
        for id in 0..MAX_KEPT_ANSWERS + 10 {
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": {} });
            drop(kept.keep_as_text(message(&answer)));
        }
        assert_eq!(kept.0.lock().len(), MAX_KEPT_ANSWERS);
    }
}
