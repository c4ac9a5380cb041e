//! The tools of a server, page by page, in our own words.
//!
//! Invariant: a list that does not end is an error, not a wait.

use std::borrow::Cow;

use rmcp::{
    RoleClient,
    model::{PaginatedRequestParams, Tool},
    service::{Peer, ServiceError},
};
use serde_json::Value;

use crate::catalog::ToolDescription;

const MAX_TOOLS: usize = 10_000;
const MAX_PAGES: usize = 500;
/// JSON-RPC's code for it.
const METHOD_NOT_FOUND: i32 = -32601;

pub(super) async fn list_tools(peer: &Peer<RoleClient>) -> Result<Vec<ToolDescription>, String> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = match peer.list_tools(Some(page)).await {
            Ok(page) => page,
            // A server without tools need not know the method.
            Err(ServiceError::McpError(e)) if e.code.0 == METHOD_NOT_FOUND => return Ok(tools),
            Err(error) => return Err(format!("its tools cannot be listed: {error}")),
        };
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
    }
}
