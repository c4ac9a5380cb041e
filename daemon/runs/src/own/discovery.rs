//! `mux.search`, `mux.describe`, `mux.discover` and `mux.catalog`: a program finds its tools.
//!
//! Invariant: what is shown here is what the run's agent sees, and nothing beside it.

use mux_wire::{Fault, Kind};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::given;
use crate::{
    discovery::{Discovery, summary},
    reach::Reach,
};
use mux_catalog::{
    Scope, Tool, ToolSet,
    search::{Found, Page},
};
use mux_upstream::State;

const SEARCH: &str =
    "mux.search(query: string, { server?: string, limit?: number, cursor?: string })";
const DESCRIBE: &str = "mux.describe(\"server.tool\", …) or mux.describe([\"server.tool\", …])";
const DISCOVER: &str =
    "mux.discover({ query: string, limit?: number, compact?: boolean, includeSchemas?: boolean })";
const NAMESPACES: &str = "mux.catalog.namespaces({})";
const TOOLS: &str =
    "mux.catalog.tools({ namespace?: string, query?: string, limit?: number, cursor?: string })";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Describe {
    paths: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Discover {
    query: String,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    compact: bool,
    #[serde(default, rename = "includeSchemas")]
    include_schemas: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Namespaces {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tools {
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    cursor: Option<String>,
}

impl Reach {
    fn discovery<'a>(&'a self, scope: &'a Scope) -> Discovery<'a> {
        Discovery {
            upstreams: self.gateway.upstreams(),
            scope,
            whose: &self.whose,
        }
    }
}

pub(super) async fn search(arguments: &str, reach: &Reach) -> Result<String, Fault> {
    let Search {
        query,
        server,
        limit,
        cursor,
    } = given("search", arguments, SEARCH)?;
    let scope = reach.gateway.scope_now(&reach.asking);
    let discovery = reach.discovery(&scope);
    let page = discovery.search(query, server.as_deref(), limit, cursor);
    let page = page.await?;
    let mut answer = listed(&discovery, &page);
    answer.insert("unknown".into(), discovery.unknown().into());
    Ok(Value::Object(answer).to_string())
}

/// `results`, `total` and `next`.
fn listed(discovery: &Discovery<'_>, page: &Page) -> Map<String, Value> {
    let results = page.hits.iter().map(|hit| {
        let mut shown = entry(discovery, &hit.tools, &hit.tool);
        shown.insert("score".into(), hit.score.into());
        Value::Object(shown)
    });
    let mut answer = Map::new();
    answer.insert("results".into(), results.collect());
    answer.insert("total".into(), page.total.into());
    answer.insert("next".into(), page.next.clone().into());
    answer
}

/// A tool among others.
fn entry(discovery: &Discovery<'_>, tools: &ToolSet, tool: &Tool) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("path".into(), tools.path(tool).into());
    shown.insert("server".into(), (*tool.server).into());
    shown.insert("name".into(), tools.shown(tool).into());
    if let Some(description) = summary(tool) {
        shown.insert("description".into(), description.into());
    }
    let signature = discovery.catalog().signature_in(tools, tool);
    shown.insert("signature".into(), signature.into());
    shown
}

pub(super) async fn describe(arguments: &str, reach: &Reach) -> Result<String, Fault> {
    let Describe { paths } = given("describe", arguments, DESCRIBE)?;
    if paths.is_empty() {
        let message = "mux.describe needs the path of a tool";
        return Err(Fault::new(Kind::Validation, message).hint(DESCRIBE));
    }
    let scope = reach.gateway.scope_now(&reach.asking);
    let discovery = reach.discovery(&scope);
    let (described, missing) = discovery.describe(&paths).await?;
    let servers = discovery.instructions(Some(&paths)).into_iter();
    let servers = servers.map(|(name, text)| json!({ "name": name, "instructions": &*text }));
    let servers: Vec<Value> = servers.collect();
    let tools = described.iter().map(|found| {
        let tool = &found.tool;
        let mut shown = entry(&discovery, &found.tools, tool);
        // All of it, since somebody asked for just this one.
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
        let declaration = discovery.catalog().declaration(tool);
        shown.insert("declaration".into(), declaration.into());
        Value::Object(shown)
    });
    let missing = missing.into_iter().map(|fault| {
        let (path, message, hint) = (fault.path, fault.message, fault.hint);
        json!({ "path": path, "message": message, "hint": hint })
    });
    let tools: Vec<Value> = tools.collect();
    let missing: Vec<Value> = missing.collect();
    Ok(json!({ "tools": tools, "servers": servers, "missing": missing }).to_string())
}

pub(super) async fn discover(arguments: &str, reach: &Reach) -> Result<String, Fault> {
    let asked: Discover = given("discover", arguments, DISCOVER)?;
    let scope = reach.gateway.scope_now(&reach.asking);
    let discovery = reach.discovery(&scope);
    let page = discovery.search(asked.query.clone(), None, asked.limit, None);
    let page = page.await?;
    let results: Vec<Value> = page
        .hits
        .iter()
        .map(|hit| result(&discovery, hit, &asked))
        .collect();
    let best = page.hits.first().map(|hit| hit.tools.path(&hit.tool));
    let answer = json!({ "bestPath": best, "results": results, "total": page.total });
    Ok(answer.to_string())
}

fn result(discovery: &Discovery<'_>, hit: &Found, asked: &Discover) -> Value {
    let mut shown = entry(discovery, &hit.tools, &hit.tool);
    match asked.compact {
        true => shown.retain(|name, _| name == "path" || name == "signature"),
        false => drop(shown.insert("score".into(), hit.score.into())),
    }
    if asked.include_schemas {
        shown.insert("inputSchema".into(), hit.tool.input_schema());
        if let Some(schema) = hit.tool.output_schema() {
            shown.insert("outputSchema".into(), schema);
        }
    }
    Value::Object(shown)
}

pub(super) fn namespaces(arguments: &str, reach: &Reach) -> Result<String, Fault> {
    let Namespaces {} = given("catalog.namespaces", arguments, NAMESPACES)?;
    let scope = reach.gateway.scope_now(&reach.asking);
    let namespaces = reach
        .discovery(&scope)
        .namespaces()
        .into_iter()
        .map(|namespace| {
            let state = match namespace.state {
                State::Cold => "cold",
                State::Starting => "starting",
                State::Ready => "ready",
                State::Degraded => "degraded",
                State::BackingOff => "backing_off",
                State::Failed => "failed",
                State::Broken => "broken",
            };
            json!({ "name": namespace.name, "tools": namespace.tools, "state": state })
        });
    let namespaces: Vec<Value> = namespaces.collect();
    Ok(json!({ "namespaces": namespaces }).to_string())
}

/// Without a query all of them, in the order of their paths.
pub(super) async fn tools(arguments: &str, reach: &Reach) -> Result<String, Fault> {
    let Tools {
        namespace,
        query,
        limit,
        cursor,
    } = given("catalog.tools", arguments, TOOLS)?;
    let scope = reach.gateway.scope_now(&reach.asking);
    let discovery = reach.discovery(&scope);
    let query = query.unwrap_or_default();
    let page = discovery.search(query, namespace.as_deref(), limit, cursor);
    let answer = listed(&discovery, &page.await?);
    Ok(Value::Object(answer).to_string())
}
