//! Lists the tools of a server page by page, and converts them to our description.
//!
//! Invariant: an endless list is cut or an error, never an endless wait.

use std::{sync::Arc, time::Duration};

use rmcp::{
    RoleClient,
    model::{ErrorCode, ListToolsRequest, PaginatedRequestParams, Tool},
    service::{Peer, PeerRequestOptions, ServiceError},
};
use serde::Deserialize;
use serde_json::Value;
use tokio::{runtime::Handle, task::spawn_blocking};
use tracing::warn;

use super::{list_expiry::shorter_ttl, list_pages::ListPages};
use crate::{
    calls::CancelOnDrop,
    link::{AuthChallenge, LinkError, Repair, Repairs, raw_message},
};
use mux_catalog::ToolDescription;
use mux_process::{blocking_pool, malloc_trim};
use mux_text::{error_chain::excerpt, json_length};

const MAX_TOOL_PAGES: usize = 500;
const SERVER_LIMITS: ToolsListLimits = ToolsListLimits {
    tools: 10_000,
    bytes: 8 << 20,
};
/// The list is our own work, and has the limits of the entry: these are more than any entry allows.
const SOURCE_LIMITS: ToolsListLimits = ToolsListLimits {
    tools: 50_000,
    bytes: 256 << 20,
};

pub(crate) struct ListedTools {
    pub(crate) tools: Vec<ToolDescription>,
    /// The validity of the list, if the server states it.
    pub(crate) ttl: Option<Duration>,
    /// The digest of the server's original list.
    pub(crate) digest: blake3::Hash,
}

/// The limits of all pages together.
#[derive(Clone, Copy, Debug)]
struct ToolsListLimits {
    tools: usize,
    /// The length as JSON. In memory a list takes several times as much.
    bytes: usize,
}

/// The reason there is no tool list.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListToolsError {
    /// The server has answered with an error, but the session works.
    #[error("its tools cannot be listed: {0}")]
    Refused(String),
    /// The server has answered with a demand to sign in.
    #[error("its tools cannot be listed: {0}")]
    SignIn(AuthChallenge),
    #[error("{0}")]
    Failed(String),
}

impl ListToolsError {
    fn of_request(error: &ServiceError) -> Self {
        if let ServiceError::TransportSend(error) = error
            && let LinkError::SignIn(challenge) = LinkError::of_call(error)
        {
            return Self::SignIn(challenge);
        }
        let why = LinkError::text_of_request(error);
        Self::Failed(format!("its tools cannot be listed: {why}"))
    }
}

impl From<String> for ListToolsError {
    fn from(problem: String) -> Self {
        Self::Failed(problem)
    }
}

/// A page of any list.
pub(crate) struct ListPage {
    pub(crate) items: Vec<Value>,
    pub(crate) next: Option<String>,
    pub(crate) ttl: Option<Duration>,
}

impl ListPage {
    /// Parses a page with the items in the field `items`. `None` if the result is not such a page.
    pub(crate) fn page_from_result(result: Value, items: &str) -> Option<Self> {
        let Value::Object(mut page) = result else {
            return None;
        };
        let Some(Value::Array(items)) = page.remove(items) else {
            return None;
        };
        let next = page.get("nextCursor").and_then(Value::as_str);
        Some(Self {
            items,
            next: next.map(str::to_owned),
            ttl: page.get("ttlMs").and_then(parse_ttl),
        })
    }
}

/// Parses a TTL. Negative values become zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
fn parse_ttl(value: &Value) -> Option<Duration> {
    let millis = value
        .as_u64()
        .or(value.as_f64().map(|millis| millis as u64))?;
    Some(Duration::from_millis(millis))
}

/// Lists all tools. `transport` is the name of the session's transport.
///
/// A source lists all its tools at once, on a blocking thread: a thousand of them take a few hundred milliseconds,
/// which would delay other tasks of the runtime. Lists that a server sends page by page are awaited directly.
pub(crate) async fn list_tools(
    peer: &Peer<RoleClient>,
    transport: &'static str,
    repairs: &Arc<Repairs>,
) -> Result<ListedTools, ListToolsError> {
    if transport != "source" {
        return list_all_pages(peer, SERVER_LIMITS, repairs).await;
    }
    let peer = peer.clone();
    let repairs = Arc::clone(repairs);
    let runtime = Handle::current();
    let listed = move || {
        let pages = list_all_pages(&peer, SOURCE_LIMITS, &repairs);
        runtime.block_on(pages)
    };
    let listed = spawn_blocking(listed).await;
    listed.unwrap_or_else(|_| {
        let problem = "its tools could not be listed: see `mux logs`";
        Err(ListToolsError::Failed(problem.into()))
    })
}

/// Lists all tools, within the limits.
async fn list_all_pages(
    peer: &Peer<RoleClient>,
    limits: ToolsListLimits,
    repairs: &Arc<Repairs>,
) -> Result<ListedTools, ListToolsError> {
    let listed = fetch_tools_pages(peer, limits, repairs).await;
    if listed.is_err() {
        // The partial list may have been very long.
        malloc_trim::give_back_soon();
    }
    listed
}

async fn fetch_tools_pages(
    peer: &Peer<RoleClient>,
    limits: ToolsListLimits,
    repairs: &Arc<Repairs>,
) -> Result<ListedTools, ListToolsError> {
    let mut listed = ListedTools {
        tools: Vec::new(),
        ttl: None,
        digest: blake3::hash(b""),
    };
    let mut hasher = blake3::Hasher::new();
    let mut cursor = None;
    let mut remaining = limits.bytes;
    let mut pages = ListPages::new("name");
    for _ in 0..MAX_TOOL_PAGES {
        let failed = |why: &str| format!("its tools cannot be listed: {why}");
        let mut page = match fetch_tools_page(peer, cursor).await {
            Ok(page) => page.ok_or_else(|| failed("the answer is not a list"))?,
            // A server without tools need not know the method.
            Err(ServiceError::McpError(e)) if e.code == ErrorCode::METHOD_NOT_FOUND => {
                return Ok(listed);
            }
            // The tools read so far are offered.
            Err(ServiceError::McpError(error)) if !listed.tools.is_empty() => {
                let reason = excerpt(&error.message);
                let position = format!(
                    "tools/list: the pages after tool {}: {reason}",
                    listed.tools.len()
                );
                repairs.record(Repair::LeftOut, position);
                return Ok(listed);
            }
            // The link reports an unreadable answer as an error with this code.
            Err(ServiceError::McpError(error)) if error.code != ErrorCode::PARSE_ERROR => {
                return Err(ListToolsError::Refused(error.message.into_owned()));
            }
            Err(error) => return Err(ListToolsError::of_request(&error)),
        };
        listed.ttl = shorter_ttl(listed.ttl, page.ttl);
        cursor = pages.add_page(&mut page.items, page.next.take());
        // Before the tools are converted, which takes memory.
        if listed.tools.len() + page.items.len() > limits.tools {
            return Err(format!("it lists more than {} tools", limits.tools).into());
        }
        // A page can be long.
        let repairs = Arc::clone(repairs);
        let read = blocking_pool::run(move || {
            let length = json_length::of(&page.items, remaining)?;
            // The hasher never fails.
            drop(serde_json::to_writer(&mut hasher, &page.items));
            Some((length, describe_tools(page.items, &repairs), hasher))
        });
        let (length, described, hashed) = (read.await)
            .ok_or_else(|| format!("its tool list is longer than {} bytes", limits.bytes))?;
        remaining -= length;
        hasher = hashed;
        listed.digest = hasher.finalize();
        listed.tools.extend(described);
        if cursor.is_none() {
            return Ok(listed);
        }
    }
    warn!("its tool list has more than {MAX_TOOL_PAGES} pages; the rest is left out");
    Ok(listed)
}

/// Fetches one page. `None` if the answer is not a page.
async fn fetch_tools_page(
    peer: &Peer<RoleClient>,
    cursor: Option<String>,
) -> Result<Option<ListPage>, ServiceError> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ListToolsRequest::with_param(params).into();
    let options = PeerRequestOptions::no_options();
    let handle = peer.send_cancellable_request(request, options).await?;
    let guard = CancelOnDrop::new(peer, &handle.id);
    let result = handle.await_response().await?;
    guard.disarm();
    let result = raw_message::result_to_value(result).unwrap_or_default();
    Ok(ListPage::page_from_result(result, "tools"))
}

/// Converts the tools. A tool that cannot be converted is left out.
fn describe_tools(items: Vec<Value>, repairs: &Repairs) -> Vec<ToolDescription> {
    let described = items.into_iter().enumerate().map(|(index, tool)| {
        let name = tool["name"].as_str().unwrap_or_default().to_owned();
        let described = describe_tool(tool);
        if described.is_none() {
            let position = format!("tools/list: tools[{index}] ({name}): not a tool");
            repairs.record(Repair::LeftOut, position);
        }
        described
    });
    described.flatten().collect()
}

/// Converts a tool. `None` if rmcp cannot parse the tool. Members that rmcp does not know are kept.
fn describe_tool(mut tool: Value) -> Option<ToolDescription> {
    // rmcp copies everything it parses, and most of a tool is its schemas.
    let schemas = ["inputSchema", "outputSchema"].map(|name| match tool.get_mut(name) {
        Some(Value::Object(schema)) => Some((name, std::mem::take(schema))),
        _ => None,
    });
    Tool::deserialize(&tool).ok()?;
    for (name, schema) in schemas.into_iter().flatten() {
        tool[name] = Value::Object(schema);
    }
    let Value::Object(mut members) = tool else {
        return None;
    };
    members.retain(|_, value| !value.is_null());
    ToolDescription::of_members(members)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use mux_settings::ToolOverrides;

    use super::*;
    use mux_catalog::ToolSet;

    #[test]
    fn all_members_of_a_tool_are_kept() {
        let value = json!({
            "name": "n",
            "title": "T",
            "description": "D",
            "inputSchema": { "type": "object" },
            "outputSchema": { "type": "object", "properties": {} },
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
            "icons": [{ "src": "https://x/y.png", "mimeType": "image/png" }],
            "_meta": { "a/b": [1] },
            "execution": { "taskSupport": "optional" },
        });
        let described = describe_tool(value.clone()).unwrap();
        let kept: Vec<&str> = described.extra.keys().map(String::as_str).collect();
        assert_eq!(
            kept,
            ["title", "annotations", "icons", "_meta", "execution"]
        );
        let set = ToolSet::new("s", vec![described], &[], &ToolOverrides::default());
        assert_eq!(set.find("n").unwrap().definition(), value);
    }
}
