//! `mux.resources` and `mux.prompts`: MCP resources and prompts of servers.
//!
//! Invariant: requests go through the gateway and are observed like tool calls.

use std::{future::Future, sync::Arc};

use mux_wire::{CallTarget, Fault};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::parse_arguments;
use crate::run_context::{RunContext, store_if_too_long};
use mux_approvals::BegunCall;
use mux_catalog::contents_of;
use mux_gateway::CallContext;
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
    reach: &RunContext,
) -> Option<Result<String, Fault>> {
    Some(match name {
        "resources.list" => list(ListKind::Resources, name, arguments, reach).await,
        "resources.templates" => list(ListKind::ResourceTemplates, name, arguments, reach).await,
        "prompts.list" => list(ListKind::Prompts, name, arguments, reach).await,
        "resources.read" => read(arguments, reach).await,
        "prompts.get" => get(arguments, reach).await,
        _ => return None,
    })
}

async fn list(
    kind: ListKind,
    name: &str,
    arguments: &str,
    reach: &RunContext,
) -> Result<String, Fault> {
    let ListOffersArguments { server } =
        parse_arguments(name, arguments, RESOURCES_AND_PROMPTS_USAGE)?;
    let found = reach
        .gateway
        .list_offers(kind, Some(&server), None, &reach.asking)
        .await?;
    if let Some((_, fault)) = found.missing.into_iter().next() {
        Err(fault)
    } else {
        let list: Vec<&Value> = found.lists.iter().flat_map(|(_, list)| &list[..]).collect();
        store_if_too_long(json!(list).to_string(), &reach.handles).await
    }
}

async fn read(arguments: &str, reach: &RunContext) -> Result<String, Fault> {
    let ReadResourceArguments { server, uri } =
        parse_arguments("resources.read", arguments, RESOURCES_AND_PROMPTS_USAGE)?;
    let wanted = ContentRequest::Resource { uri };
    logged("resources.read", arguments, reach, |asking| async move {
        let contents = ask(&server, &wanted, &asking, reach).await?;
        let contents = contents_of(contents).await?;
        store_if_too_long(json_weight::to_text(contents).await, &reach.handles).await
    })
    .await
}

async fn get(arguments: &str, reach: &RunContext) -> Result<String, Fault> {
    let GetPromptArguments { server, name, args } =
        parse_arguments("prompts.get", arguments, RESOURCES_AND_PROMPTS_USAGE)?;
    let wanted = ContentRequest::Prompt {
        name,
        arguments: args,
    };
    logged("prompts.get", arguments, reach, |asking| async move {
        let mut got = ask(&server, &wanted, &asking, reach).await?;
        if let Some(got) = got.as_object_mut() {
            got.retain(|name, _| ["description", "messages"].contains(&name.as_str()));
        }
        store_if_too_long(json_weight::to_text(got).await, &reach.handles).await
    })
    .await
}

/// Logs the request like a tool call: a request that had ended in the resumed run is answered from its call log.
async fn logged<F: Future<Output = Result<String, Fault>>>(
    name: &str,
    arguments: &str,
    reach: &RunContext,
    make: impl FnOnce(CallContext) -> F,
) -> Result<String, Fault> {
    let mut asking = reach.asking.clone();
    let Some(resumable) = asking.resumable.clone() else {
        return make(asking).await;
    };
    let target = CallTarget::Own { name: name.into() };
    let place = match resumable.begin_logged_call(&target, &Arc::from(arguments)) {
        BegunCall::Known(outcome) => return outcome.map(|text| text.as_ref().to_owned()),
        BegunCall::New(place) => place,
    };
    asking.place = place;
    let approvals = reach.gateway.approvals();
    approvals.record_begun_call(&resumable).await?;
    let outcome = make(asking).await;
    resumable.end_logged_call(place, &outcome);
    approvals.record_ended_call(&resumable).await;
    outcome
}

async fn ask(
    server: &str,
    wanted: &ContentRequest,
    asking: &CallContext,
    reach: &RunContext,
) -> Result<Value, Fault> {
    let gateway = &reach.gateway;
    let observer = reach.observer.as_ref();
    gateway
        .request_offer(server, wanted, asking, observer)
        .await
}
