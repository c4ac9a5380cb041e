//! `mux.resources` and `mux.prompts`: MCP resources and prompts of servers.
//!
//! Invariant: requests go through the gateway and are observed like tool calls.

use mux_wire::Fault;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::parse_arguments;
use crate::run_context::{RunContext, store_if_too_long};
use mux_catalog::contents_of;
use mux_text::json_weight;
use mux_upstream::{ContentRequest, ListKind};

const RESOURCES_AND_PROMPTS_USAGE: &str =
    "mux.resources.server.read(uri), mux.prompts.server.get(name, { … })";

/// Names without `mux.`. In programs the server's name is between the two parts.
pub(super) const RESOURCE_AND_PROMPT_NAMES: &[&str] = &[
    "resources.list",
    "resources.templates",
    "resources.read",
    "prompts.list",
    "prompts.get",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListOffersArguments {
    server: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadResourceArguments {
    server: String,
    uri: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GetPromptArguments {
    server: String,
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
}

/// Calls the function `name`. `None` if the name is not one of [`RESOURCE_AND_PROMPT_NAMES`].
pub(super) async fn call(
    name: &str,
    arguments: &str,
    context: &RunContext,
) -> Option<Result<String, Fault>> {
    Some(match name {
        "resources.list" => list(ListKind::Resources, name, arguments, context).await,
        "resources.templates" => list(ListKind::ResourceTemplates, name, arguments, context).await,
        "prompts.list" => list(ListKind::Prompts, name, arguments, context).await,
        "resources.read" => read(arguments, context).await,
        "prompts.get" => get(arguments, context).await,
        _ => return None,
    })
}

async fn list(
    kind: ListKind,
    name: &str,
    arguments: &str,
    context: &RunContext,
) -> Result<String, Fault> {
    let ListOffersArguments { server } =
        parse_arguments(name, arguments, RESOURCES_AND_PROMPTS_USAGE)?;
    let found = context
        .gateway
        .list_offers(kind, Some(&server), None, &context.call_context)
        .await?;
    if let Some((_, fault)) = found.missing.into_iter().next() {
        Err(fault)
    } else {
        let list: Vec<&Value> = found.lists.iter().flat_map(|(_, list)| &list[..]).collect();
        store_if_too_long(json!(list).to_string(), &context.handles).await
    }
}

async fn read(arguments: &str, context: &RunContext) -> Result<String, Fault> {
    let ReadResourceArguments { server, uri } =
        parse_arguments("resources.read", arguments, RESOURCES_AND_PROMPTS_USAGE)?;
    let wanted = ContentRequest::Resource { uri };
    let contents = ask(&server, &wanted, context).await?;
    let contents = contents_of(contents).await?;
    store_if_too_long(json_weight::to_text(contents).await, &context.handles).await
}

async fn get(arguments: &str, context: &RunContext) -> Result<String, Fault> {
    let GetPromptArguments { server, name, args } =
        parse_arguments("prompts.get", arguments, RESOURCES_AND_PROMPTS_USAGE)?;
    let wanted = ContentRequest::Prompt {
        name,
        arguments: args,
    };
    let mut got = ask(&server, &wanted, context).await?;
    if let Some(got) = got.as_object_mut() {
        got.retain(|name, _| ["description", "messages"].contains(&name.as_str()));
    }
    store_if_too_long(json_weight::to_text(got).await, &context.handles).await
}

async fn ask(server: &str, wanted: &ContentRequest, context: &RunContext) -> Result<Value, Fault> {
    let gateway = &context.gateway;
    gateway
        .request_offer(server, wanted, &context.call_context, &context.observer)
        .await
}
