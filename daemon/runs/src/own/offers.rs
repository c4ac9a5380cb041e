//! `mux.resources` and `mux.prompts`: what servers offer beside tools.
//!
//! Invariant: the way goes through the gateway like that of a call, and is told as one.

use std::{future::Future, sync::Arc};

use mux_wire::{Fault, Target};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::given;
use crate::reach::{Reach, fitting};
use mux_approvals::Begun;
use mux_catalog::contents_of;
use mux_gateway::Asking;
use mux_text::json_weight;
use mux_upstream::{OfferKind, Wanted};

const USAGE: &str = "mux.resources.server.read(uri), mux.prompts.server.get(name, { … })";

/// Their names, as they stand after `mux.`, with the server between.
pub(super) const NAMES: &[&str] = &[
    "resources.list",
    "resources.templates",
    "resources.read",
    "prompts.list",
    "prompts.get",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    server: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resource {
    server: String,
    uri: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Prompt {
    server: String,
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
}

/// None if `name` is none of these.
pub(super) async fn call(
    name: &str,
    arguments: &str,
    reach: &Reach,
) -> Option<Result<String, Fault>> {
    Some(match name {
        "resources.list" => list(OfferKind::Resources, name, arguments, reach).await,
        "resources.templates" => list(OfferKind::ResourceTemplates, name, arguments, reach).await,
        "prompts.list" => list(OfferKind::Prompts, name, arguments, reach).await,
        "resources.read" => read(arguments, reach).await,
        "prompts.get" => get(arguments, reach).await,
        _ => return None,
    })
}

async fn list(
    kind: OfferKind,
    name: &str,
    arguments: &str,
    reach: &Reach,
) -> Result<String, Fault> {
    let Listed { server } = given(name, arguments, USAGE)?;
    let found = reach
        .gateway
        .offers(kind, Some(&server), None, &reach.asking)
        .await?;
    match found.missing.into_iter().next() {
        Some((_, fault)) => Err(fault),
        None => {
            let list: Vec<&Value> = found.lists.iter().flat_map(|(_, list)| &list[..]).collect();
            fitting(json!(list).to_string(), &reach.handles).await
        }
    }
}

async fn read(arguments: &str, reach: &Reach) -> Result<String, Fault> {
    let Resource { server, uri } = given("resources.read", arguments, USAGE)?;
    let wanted = Wanted::Resource { uri };
    logged("resources.read", arguments, reach, |asking| async move {
        let contents = ask(&server, &wanted, &asking, reach).await?;
        let contents = contents_of(contents).await?;
        fitting(json_weight::to_text(contents).await, &reach.handles).await
    })
    .await
}

async fn get(arguments: &str, reach: &Reach) -> Result<String, Fault> {
    let Prompt { server, name, args } = given("prompts.get", arguments, USAGE)?;
    let wanted = Wanted::Prompt {
        name,
        arguments: args,
    };
    logged("prompts.get", arguments, reach, |asking| async move {
        let mut got = ask(&server, &wanted, &asking, reach).await?;
        if let Some(got) = got.as_object_mut() {
            got.retain(|name, _| ["description", "messages"].contains(&name.as_str()));
        }
        fitting(json_weight::to_text(got).await, &reach.handles).await
    })
    .await
}

/// As with a call: what had ended in the run with which this one goes on is answered from the record.
async fn logged<F: Future<Output = Result<String, Fault>>>(
    name: &str,
    arguments: &str,
    reach: &Reach,
    make: impl FnOnce(Asking) -> F,
) -> Result<String, Fault> {
    let mut asking = reach.asking.clone();
    let Some(dossier) = asking.dossier.clone() else {
        return make(asking).await;
    };
    let target = Target::Own { name: name.into() };
    let place = match dossier.begin(&target, &Arc::from(arguments)) {
        Begun::Known(outcome) => return outcome.map(|text| text.as_ref().to_owned()),
        Begun::New(place) => place,
    };
    asking.place = place;
    let approvals = reach.gateway.approvals();
    approvals.note_begun(&dossier).await?;
    let outcome = make(asking).await;
    dossier.end(place, &outcome);
    approvals.note_ended(&dossier).await;
    outcome
}

async fn ask(
    server: &str,
    wanted: &Wanted,
    asking: &Asking,
    reach: &Reach,
) -> Result<Value, Fault> {
    let (gateway, observer) = (&reach.gateway, reach.observer.as_ref());
    gateway.ask(server, wanted, asking, observer).await
}
