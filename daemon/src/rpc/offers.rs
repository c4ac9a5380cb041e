//! Resources, prompts and completions of servers, as clients see them.

use mux_proto as wire;
use mux_sandbox::{Fault, Kind};
use serde_json::Value;

use super::{convert, door::Door, held::held, told::Told};
use crate::{
    gateway::Asking,
    state::Daemon,
    upstream::{OfferKind, Wanted},
};

pub(super) async fn list(
    daemon: &Daemon,
    door: &Door,
    request: wire::OffersRequest,
) -> Result<wire::OfferList, Fault> {
    let kind = match request.kind {
        wire::OfferKind::Resources => OfferKind::Resources,
        wire::OfferKind::ResourceTemplates => OfferKind::ResourceTemplates,
        wire::OfferKind::Prompts => OfferKind::Prompts,
    };
    let asking = asking(door, None);
    let found = daemon
        .gateway
        .offers(kind, request.server.as_deref(), &asking);
    let found = found.await?;
    let offers = found.lists.into_iter().flat_map(|(server, list)| {
        let offered = |offer: &Value| wire::Offered {
            server: server.clone(),
            offer: offer.clone(),
        };
        list.iter().map(offered).collect::<Vec<_>>()
    });
    let missing = found.missing.into_iter().map(|(server, fault)| {
        let error = convert::error(fault);
        wire::MissingServer { server, error }
    });
    Ok(wire::OfferList {
        offers: offers.collect(),
        missing: missing.collect(),
    })
}

pub(super) async fn read_resource(
    daemon: &Daemon,
    door: &Door,
    request: wire::ResourceRequest,
) -> Result<wire::Held, wire::Error> {
    let wanted = Wanted::Resource { uri: request.uri };
    let found = ask(daemon, door, &request.server, &wanted, request.token).await;
    held(daemon, found.map_err(convert::error)?.to_string()).await
}

pub(super) async fn get_prompt(
    daemon: &Daemon,
    door: &Door,
    request: wire::PromptRequest,
) -> Result<wire::Held, wire::Error> {
    let wanted = Wanted::Prompt {
        name: request.name,
        arguments: request.arguments,
    };
    let found = ask(daemon, door, &request.server, &wanted, request.token).await;
    held(daemon, found.map_err(convert::error)?.to_string()).await
}

pub(super) async fn complete(
    daemon: &Daemon,
    door: &Door,
    request: wire::CompleteRequest,
) -> Result<Value, Fault> {
    let wanted = Wanted::completion(request.params).map_err(|wrong| {
        let message = format!("these are no params of completion/complete: {wrong}");
        Fault::new(Kind::Validation, message)
    })?;
    ask(daemon, door, &request.server, &wanted, None).await
}

pub(super) async fn subscribe(
    daemon: &Daemon,
    door: &Door,
    request: wire::SubscribeRequest,
) -> Result<(), Fault> {
    let (gateway, mailbox) = (&daemon.gateway, door.mailbox());
    let (server, uri) = (request.server.as_str(), request.uri.as_str());
    if !request.subscribe {
        return gateway.leave(server, uri, mailbox.connection()).await;
    }
    let _admitted = daemon.runs.admit()?;
    gateway
        .follow(server, uri, mailbox, &asking(door, None))
        .await
}

async fn ask(
    daemon: &Daemon,
    door: &Door,
    server: &str,
    wanted: &Wanted,
    token: Option<String>,
) -> Result<Value, Fault> {
    let asking = asking(door, token);
    let told = Told::of(&asking.caller);
    let _admitted = daemon.runs.admit()?;
    daemon.gateway.ask(server, wanted, &asking, &told).await
}

pub(super) fn asking(door: &Door, token: Option<String>) -> Asking {
    Asking {
        turn: door.turn(),
        scope: door.scope(),
        caller: door.caller(token),
    }
}
