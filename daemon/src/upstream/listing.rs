//! The tools of a server, page by page, in our own words.
//!
//! Invariant: a list that does not end is an error, not a wait.

use std::{borrow::Cow, sync::Arc};

use rmcp::{
    RoleClient,
    model::{PaginatedRequestParams, Tool},
    service::{Peer, ServiceError},
};
use serde_json::{Map, Value};

use crate::{
    catalog::{Standing, ToolDescription},
    length,
};

const MAX_TOOLS: usize = 10_000;
const MAX_PAGES: usize = 500;
/// Of all pages together, as JSON text. What is kept of a list takes several times as much.
const MAX_BYTES: usize = 8 << 20;
/// JSON-RPC's code for it.
const METHOD_NOT_FOUND: i32 = -32601;

pub(super) async fn list_tools(peer: &Peer<RoleClient>) -> Result<Vec<ToolDescription>, String> {
    let mut tools = Vec::new();
    let (mut cursor, mut room) = (None, MAX_BYTES);
    for _ in 0..MAX_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = match peer.list_tools(Some(page)).await {
            Ok(page) => page,
            // A server without tools need not know the method.
            Err(ServiceError::McpError(e)) if e.code.0 == METHOD_NOT_FOUND => return Ok(tools),
            Err(error) => return Err(format!("its tools cannot be listed: {error}")),
        };
        room = length::of(&page.tools, room)
            .map(|length| room - length)
            .ok_or_else(|| format!("its list of tools is longer than {MAX_BYTES} bytes"))?;
        tools.extend(page.tools.into_iter().map(describe));
        if tools.len() > MAX_TOOLS {
            return Err(format!("it lists more than {MAX_TOOLS} tools"));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(format!("its list of tools has more than {MAX_PAGES} pages"))
}

fn describe(tool: Tool) -> ToolDescription {
    let extra = extra(&tool);
    let annotations = tool.annotations.as_ref();
    ToolDescription {
        title: tool
            .title
            .clone()
            .or_else(|| annotations.and_then(|a| a.title.clone())),
        read_only: annotations.and_then(|a| a.read_only_hint),
        destructive: annotations.and_then(|a| a.destructive_hint),
        description: tool.description.map(Cow::into_owned),
        input_schema: Value::Object((*tool.input_schema).clone()),
        output_schema: tool
            .output_schema
            .map(|schema| Value::Object((*schema).clone())),
        name: tool.name.into_owned(),
        extra,
        standing: Standing::default(),
    }
}

/// What is said of a tool beside its name, its description and its schemas.
fn extra(tool: &Tool) -> Map<String, Value> {
    let mut rest = tool.clone();
    rest.description = None;
    rest.input_schema = Arc::default();
    rest.output_schema = None;
    let Ok(Value::Object(mut rest)) = serde_json::to_value(rest) else {
        return Map::new();
    };
    rest.retain(|name, _| name != "name" && name != "inputSchema");
    rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::ToolSet;

    #[test]
    fn everything_that_a_server_says_of_a_tool_is_taken_over() {
        let said = json!({
            "name": "n",
            "title": "T",
            "description": "D",
            "inputSchema": { "type": "object" },
            "outputSchema": { "type": "object", "properties": {} },
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
            "icons": [{ "src": "https://x/y.png", "mimeType": "image/png" }],
            "_meta": { "a/b": [1] },
        });
        let tool: Tool = serde_json::from_value(said.clone()).unwrap();
        let described = describe(tool);
        let kept: Vec<&str> = described.extra.keys().map(String::as_str).collect();
        assert_eq!(kept, ["title", "annotations", "icons", "_meta"]);
        let set = ToolSet::new("s", vec![described], &[]);
        assert_eq!(set.find("n").unwrap().definition(), said);
    }
}
