//! A conversation of an agent with `mux mcp`, whose texts are kept.

use mux_tests::Agent;
use serde_json::Value;

use super::transcript::ConversationTranscript;

pub(crate) struct Conversation<'a> {
    agent: &'a mut Agent,
    pub(crate) texts: ConversationTranscript,
}

impl<'a> Conversation<'a> {
    /// Begins with the definitions of the tools.
    pub(crate) fn new(agent: &'a mut Agent, definitions: String) -> Self {
        Self {
            agent,
            texts: ConversationTranscript::new(vec![definitions]),
        }
    }

    /// One call as a model makes it, with the result that it then reads. Several concurrent calls
    /// are one turn.
    pub(crate) fn turn(&mut self, calls: &[(&str, Value)]) -> anyhow::Result<Vec<Value>> {
        let said = calls
            .iter()
            .map(|(tool, arguments)| said(tool, arguments))
            .collect();
        self.texts.say(said);
        let mut results = Vec::new();
        for (tool, arguments) in calls {
            let result = self.agent.call(tool, arguments.clone());
            if result["isError"] == true {
                anyhow::bail!("{tool} failed: {result}");
            }
            self.texts.hear(if is_plain(tool) {
                plain_text(&result)
            } else {
                text(&result)
            });
            results.push(result);
        }
        Ok(results)
    }

    pub(crate) fn one(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let mut results = self.turn(&[(tool, arguments)])?;
        Ok(results.remove(0))
    }
}

/// A call as a model writes it.
pub(crate) fn said(tool: &str, arguments: &Value) -> String {
    format!("{tool} {arguments}")
}

/// The part of a result that a client shows to its model: its texts.
pub(crate) fn text(result: &Value) -> String {
    let parts = result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}

/// The same without the fence of muxd, which a client of the servers themselves does not get.
pub(crate) fn plain_text(result: &Value) -> String {
    let text = text(result);
    match text.strip_prefix("<untrusted data of ") {
        Some(rest) => {
            let data = rest.split_once('\n').map_or("", |(_, data)| data);
            data.rsplit_once('\n').map_or("", |(data, _)| data).into()
        }
        None => text,
    }
}

/// Returns true for a server's tool, as `--passthrough` names it.
fn is_plain(tool: &str) -> bool {
    tool.contains("__")
}

/// The tools as a client puts them before its model: their names, descriptions and input schemas.
pub(crate) fn definitions(agent: &mut Agent) -> Vec<Value> {
    let listed = agent.ask("tools/list", serde_json::json!({}));
    let tools = listed["tools"].as_array().into_iter().flatten();
    tools
        .map(|tool| {
            serde_json::json!({
                "name": tool["name"],
                "description": tool["description"],
                "input_schema": tool["inputSchema"],
            })
        })
        .collect()
}
