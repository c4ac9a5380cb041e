//! `mux.search`, `mux.describe`, `mux.discover` and `mux.catalog`: tool discovery from within a program.
//!
//! Invariant: results contain only tools that the run's agent may see.

use mux_wire::{Fault, FaultKind};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::parse_arguments;
use crate::{
    run_context::RunContext,
    tool_discovery::{ToolDiscovery, description_summary},
};
use mux_catalog::{
    Tool, ToolSet,
    search::{SearchHit, SearchResults},
};

const SEARCH_USAGE: &str =
    "mux.search(query: string, { server?: string, limit?: number, cursor?: string })";
const DESCRIBE_USAGE: &str =
    "mux.describe(\"server.tool\", …) or mux.describe([\"server.tool\", …])";
const DISCOVER_USAGE: &str =
    "mux.discover({ query: string, limit?: number, compact?: boolean, includeSchemas?: boolean })";
const NAMESPACES_USAGE: &str = "mux.catalog.namespaces({})";
const TOOLS_USAGE: &str =
    "mux.catalog.tools({ namespace?: string, query?: string, limit?: number, cursor?: string })";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
    server: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribeArguments {
    paths: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DiscoverArguments {
    query: String,
    limit: Option<usize>,
    #[serde(default)]
    compact: bool,
    #[serde(default, rename = "includeSchemas")]
    include_schemas: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamespacesArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolsArguments {
    namespace: Option<String>,
    query: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

impl RunContext {
    /// The run's view of tools, in the scope that its caller has now.
    fn discovery(&self) -> ToolDiscovery<'_> {
        ToolDiscovery {
            upstreams: self.gateway.upstreams(),
            viewer: self.viewer_in(self.gateway.scope_now(&self.call_context)),
        }
    }
}

pub(super) async fn search_tools(arguments: &str, context: &RunContext) -> Result<String, Fault> {
    let SearchArguments {
        query,
        server,
        limit,
        cursor,
    } = parse_arguments("search", arguments, SEARCH_USAGE)?;
    let discovery = context.discovery();
    let page = discovery.search(query, server.as_deref(), limit, cursor);
    let page = page.await?;
    let mut answer = search_page_json(&discovery, &page);
    answer.insert("unknown".into(), discovery.unlisted_server_names().into());
    Ok(Value::Object(answer).to_string())
}

/// `results`, `total` and `next`.
fn search_page_json(discovery: &ToolDiscovery<'_>, page: &SearchResults) -> Map<String, Value> {
    let results = page.hits.iter().map(|hit| {
        let mut shown = tool_json(discovery, &hit.tools, &hit.tool);
        shown.insert("score".into(), hit.score.into());
        Value::Object(shown)
    });
    let mut answer = Map::new();
    answer.insert("results".into(), results.collect());
    answer.insert("total".into(), page.total.into());
    answer.insert("next".into(), page.next.clone().into());
    answer
}

/// A tool as an entry of a list.
fn tool_json(discovery: &ToolDiscovery<'_>, tools: &ToolSet, tool: &Tool) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("path".into(), tools.path(tool).into());
    shown.insert("server".into(), (*tool.server).into());
    shown.insert("name".into(), tools.shown(tool).into());
    if let Some(description) = description_summary(tool) {
        shown.insert("description".into(), description.into());
    }
    let signature = discovery.signature(tools, tool);
    shown.insert("signature".into(), signature.into());
    shown
}

pub(super) async fn describe_tools(arguments: &str, context: &RunContext) -> Result<String, Fault> {
    let DescribeArguments { paths } = parse_arguments("describe", arguments, DESCRIBE_USAGE)?;
    if paths.is_empty() {
        let message = "mux.describe needs the path of a tool";
        return Err(Fault::new(FaultKind::Validation, message).hint(DESCRIBE_USAGE));
    }
    let discovery = context.discovery();
    let (described, missing) = discovery.describe(&paths).await?;
    let servers = discovery.instructions(Some(&paths)).into_iter();
    let servers = servers.map(|(name, text)| json!({ "name": name, "instructions": &*text }));
    let servers: Vec<Value> = servers.collect();
    let tools = described.iter().map(|found| {
        let tool = &found.tool;
        let mut shown = tool_json(&discovery, &found.tools, tool);
        // The complete description, because the caller asked for this tool.
        if let Some(description) = tool.whole_description() {
            shown.insert("description".into(), description.into());
        }
        let traits = [
            ("readOnly", tool.read_only),
            ("destructive", tool.destructive),
        ];
        for (name, holds) in traits {
            if let Some(holds) = holds {
                shown.insert(name.into(), holds.into());
            }
        }
        let declaration = discovery
            .catalog()
            .declaration(tool, &discovery.viewer.reader);
        shown.insert("declaration".into(), declaration.into());
        Value::Object(shown)
    });
    let missing = missing.into_iter().map(|fault| {
        let path = fault.path;
        let message = fault.message;
        let hint = fault.hint;
        json!({ "path": path, "message": message, "hint": hint })
    });
    let tools: Vec<Value> = tools.collect();
    let missing: Vec<Value> = missing.collect();
    Ok(json!({ "tools": tools, "servers": servers, "missing": missing }).to_string())
}

pub(super) async fn discover_tools(arguments: &str, context: &RunContext) -> Result<String, Fault> {
    let asked: DiscoverArguments = parse_arguments("discover", arguments, DISCOVER_USAGE)?;
    let discovery = context.discovery();
    let page = discovery.search(asked.query.clone(), None, asked.limit, None);
    let page = page.await?;
    let results: Vec<Value> = page
        .hits
        .iter()
        .map(|hit| discover_result_json(&discovery, hit, &asked))
        .collect();
    let best = page.hits.first().map(|hit| hit.tools.path(&hit.tool));
    let answer = json!({ "bestPath": best, "results": results, "total": page.total });
    Ok(answer.to_string())
}

fn discover_result_json(
    discovery: &ToolDiscovery<'_>,
    hit: &SearchHit,
    asked: &DiscoverArguments,
) -> Value {
    let mut shown = tool_json(discovery, &hit.tools, &hit.tool);
    if asked.compact {
        shown.retain(|name, _| name == "path" || name == "signature");
    } else {
        drop(shown.insert("score".into(), hit.score.into()));
    }
    if asked.include_schemas {
        shown.insert("inputSchema".into(), hit.tool.input_schema());
        if let Some(schema) = hit.tool.output_schema() {
            shown.insert("outputSchema".into(), schema);
        }
    }
    Value::Object(shown)
}

pub(super) fn list_namespaces(arguments: &str, context: &RunContext) -> Result<String, Fault> {
    let NamespacesArguments {} =
        parse_arguments("catalog.namespaces", arguments, NAMESPACES_USAGE)?;
    let namespaces = context.discovery().namespaces();
    Ok(json!({ "namespaces": namespaces }).to_string())
}

/// Without a query, lists all tools, sorted by path.
pub(super) async fn list_catalog_tools(
    arguments: &str,
    context: &RunContext,
) -> Result<String, Fault> {
    let ToolsArguments {
        namespace,
        query,
        limit,
        cursor,
    } = parse_arguments("catalog.tools", arguments, TOOLS_USAGE)?;
    let discovery = context.discovery();
    let query = query.unwrap_or_default();
    let page = discovery.search(query, namespace.as_deref(), limit, cursor);
    let answer = search_page_json(&discovery, &page.await?);
    Ok(Value::Object(answer).to_string())
}
