//! The input that reached the model with one request, in any dialect.

use serde_json::Value;

/// The body of a request.
#[derive(Clone, Debug)]
pub struct ModelRequest(pub Value);

/// A tool that the model may call.
#[derive(Clone, Debug)]
pub(super) struct OfferedTool {
    /// Codex has a namespace for each server.
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) definition: Value,
}

impl OfferedTool {
    /// Returns true for this tool of this MCP server. Each agent writes the name in its own way, such as
    /// `mcp__server__tool`.
    fn is(&self, server: &str, tool: &str) -> bool {
        let name = format!("{}.{}", self.namespace.as_deref().unwrap_or(""), self.name);
        name.strip_suffix(tool).is_some_and(|rest| {
            rest.contains(server) && !rest.ends_with(|last: char| last.is_alphanumeric())
        })
    }
}

impl ModelRequest {
    pub(super) fn tools(&self) -> Vec<OfferedTool> {
        let mut found = Vec::new();
        collect_tools(&self.0["tools"], None, &mut found);
        // The result of a search also has definitions.
        for item in self.0["input"].as_array().into_iter().flatten() {
            if item["type"] == "tool_search_output" {
                collect_tools(&item["tools"], None, &mut found);
            }
        }
        found
    }

    pub(super) fn tool(&self, server: &str, tool: &str) -> Option<OfferedTool> {
        let mut tools = self.tools().into_iter();
        tools.find(|offered| offered.is(server, tool))
    }

    /// The definition of a tool of an MCP server.
    pub fn definition(&self, server: &str, tool: &str) -> Option<Value> {
        self.tool(server, tool).map(|offered| offered.definition)
    }

    /// The result of a call, by the call's id.
    pub(super) fn result(&self, call: &str) -> Option<&Value> {
        find(&self.0, &|value| {
            value["tool_use_id"] == call
                || value["tool_call_id"] == call
                || (value["call_id"] == call && value.get("output").is_some())
                || (value["id"] == call && value.get("response").is_some())
        })
    }

    /// Every string.
    pub fn text(&self) -> String {
        strings(&self.0)
    }
}

fn collect_tools(list: &Value, namespace: Option<&str>, found: &mut Vec<OfferedTool>) {
    for tool in list.as_array().into_iter().flatten() {
        let name = tool["name"].as_str();
        let function = &tool["function"];
        if tool["functionDeclarations"].is_array() {
            collect_tools(&tool["functionDeclarations"], None, found);
        } else if tool["tools"].is_array() {
            collect_tools(&tool["tools"], name, found);
        } else if let Some(name) = function["name"].as_str().or(name).or(tool["type"].as_str()) {
            let definition = if function.is_object() { function } else { tool };
            found.push(OfferedTool {
                namespace: namespace.map(str::to_owned),
                name: name.to_owned(),
                definition: definition.clone(),
            });
        }
    }
}

/// Every string in a value, each on a separate line.
pub(super) fn strings(value: &Value) -> String {
    let mut all = String::new();
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            Value::String(text) => {
                all.push_str(text);
                all.push('\n');
            }
            Value::Array(items) => rest.extend(items.iter().rev()),
            Value::Object(members) => rest.extend(members.values().rev()),
            _ => {}
        }
    }
    all
}

/// Returns true if the value contains an image: each dialect has an object with its media type, or a data URL.
pub(super) fn has_image(value: &Value) -> bool {
    find(value, &|value| {
        let media_type = ["mimeType", "media_type", "mime_type"]
            .iter()
            .filter_map(|key| value[*key].as_str())
            .any(|media_type| media_type.starts_with("image/"));
        let urls = [&value["url"], &value["image_url"]];
        let mut urls = urls.iter().filter_map(|url| url.as_str());
        media_type || urls.any(|url| url.starts_with("data:image/"))
    })
    .is_some()
}

fn find<'a>(value: &'a Value, is_it: &impl Fn(&Value) -> bool) -> Option<&'a Value> {
    match value {
        Value::Object(members) => {
            if is_it(value) {
                Some(value)
            } else {
                members.values().find_map(|value| find(value, is_it))
            }
        }
        Value::Array(items) => items.iter().find_map(|value| find(value, is_it)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_are_found_in_every_dialect() {
        let tool = |name: &str| json!({ "name": name, "description": "…" });
        for (body, tool) in [
            (
                json!({ "tools": [tool("run"), tool("mcp__mux__run")] }),
                "run",
            ),
            (
                json!({ "tools": [{ "type": "function", "function": tool("mux-run") }] }),
                "run",
            ),
            (
                json!({ "tools": [{ "functionDeclarations": [tool("mcp_mux_run")] }] }),
                "run",
            ),
            (
                json!({ "tools": [{ "type": "namespace", "name": "mcp__mux", "tools": [tool("run")] }] }),
                "run",
            ),
            (
                json!({ "input": [{
                    "type": "tool_search_output",
                    "tools": [{ "type": "namespace", "name": "mcp__mux", "tools": [tool("run")] }],
                }] }),
                "run",
            ),
        ] {
            let request = ModelRequest(body);
            let found = request
                .tool("mux", tool)
                .unwrap_or_else(|| panic!("{request:?}"));
            assert_eq!(found.definition["description"], "…", "{request:?}");
            assert!(request.tool("mux", "un").is_none(), "{request:?}");
            assert!(request.tool("max", tool).is_none(), "{request:?}");
        }
    }

    #[test]
    fn results_are_found_in_every_dialect() {
        for body in [
            json!([{ "type": "tool_use", "id": "c1" }, { "type": "tool_result", "tool_use_id": "c1", "content": "yes" }]),
            json!([{ "tool_calls": [{ "id": "c1" }] }, { "role": "tool", "tool_call_id": "c1", "content": "yes" }]),
            json!([{ "type": "function_call", "call_id": "c1" }, { "call_id": "c1", "output": ["yes"] }]),
            json!([{ "functionCall": { "id": "c1" } }, { "functionResponse": { "id": "c1", "response": { "output": "yes" } } }]),
        ] {
            let request = ModelRequest(body);
            let result = request
                .result("c1")
                .unwrap_or_else(|| panic!("{request:?}"));
            assert!(strings(result).contains("yes\n"), "{result}");
            assert!(request.result("c2").is_none());
        }
    }
}
