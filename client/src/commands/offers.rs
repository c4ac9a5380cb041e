//! `mux resources` and `mux prompts`: what servers offer besides tools.

use mux_client::{Session, within_seconds};
use mux_proto::{
    Error, Held, Kind, OfferKind, OfferList, OffersRequest, PromptRequest, ResourceRequest,
};
use serde_json::{Map, Value, json};

use super::{
    CommandFailure, CommandResult, UsageMistake,
    call::{CallArguments, parse_arguments},
    connect_or_start,
    part_files::{load_held_value, prepare_parts_dir, save_parts},
    within_server_start,
};
use crate::{args, render};

pub(super) async fn resources(args: args::ResourcesArgs, json: bool) -> CommandResult {
    if let Some(folder) = &args.save_parts {
        prepare_parts_dir(folder)?;
    }
    let session = connect_or_start().await?;
    let (Some(server), Some(uri)) = (args.server.clone(), args.uri) else {
        let mut list =
            list_offers(&session, OfferKind::Resources, args.server.clone(), json).await?;
        let templates = list_offers(
            &session,
            OfferKind::ResourceTemplates,
            args.server.clone(),
            json,
        )
        .await?;
        list.offers.extend(templates.offers);
        let server = args.server.as_deref();
        return Ok(render::show(&list, json, |list| {
            render::resources(list, server);
        }));
    };
    let request = ResourceRequest {
        server,
        uri,
        token: None,
        meta: Map::new(),
    };
    let what = format!("reading {}", request.uri);
    let server = request.server.clone();
    let answer = session.client.read_resource(within_server_start(), request);
    let answer = render::with_spinner(&what, json, answer).await?;
    let held = answer.map_err(|error| with_list_command(error, "resources", &server))?;
    let contents = load_held_value(&session, &held).await?;
    let contents = contents["contents"].as_array().cloned().unwrap_or_default();
    let block = |content: Value| json!({ "type": "resource", "resource": content });
    let parts: Vec<Held> = contents
        .into_iter()
        .map(|content| Held::Value(block(content).into()))
        .collect();
    let saved = match &args.save_parts {
        Some(folder) => Some(save_parts(&session, folder, &parts).await),
        None => None,
    };
    if json {
        return Ok(render::call_document(&held, saved.as_ref()));
    }
    Ok(render::resource(&parts, saved.as_ref()))
}

pub(super) async fn prompts(args: args::PromptsArgs, json: bool) -> CommandResult {
    let session = connect_or_start().await?;
    let (Some(server), Some(name)) = (args.server.clone(), args.prompt) else {
        let list = list_offers(&session, OfferKind::Prompts, args.server.clone(), json).await?;
        let server = args.server.as_deref();
        return Ok(render::show(&list, json, |list| {
            render::prompts(list, server);
        }));
    };
    let request = PromptRequest {
        server,
        name,
        arguments: prompt_arguments(&args.arguments)?,
        token: None,
        meta: Map::new(),
    };
    let what = format!("getting {}", request.name);
    let server = request.server.clone();
    let answer = session.client.get_prompt(within_server_start(), request);
    let answer = render::with_spinner(&what, json, answer).await?;
    let held = answer.map_err(|error| with_list_command(error, "prompts", &server))?;
    if json {
        return Ok(render::call_document(&held, None));
    }
    let prompt = load_held_value(&session, &held).await?;
    Ok(render::prompt(&prompt))
}

/// Adds a hint to a server's own words for something that it does not have.
fn with_list_command(error: Error, command: &str, server: &str) -> Error {
    match error.hint {
        None => error.hint(format!("`mux {command} {server}` lists what it has")),
        Some(_) => error,
    }
}

/// MCP's arguments of prompts are strings.
fn prompt_arguments(words: &[String]) -> Result<Map<String, Value>, UsageMistake> {
    match parse_arguments(words)? {
        CallArguments::Object(Value::Object(object)) => Ok(object),
        CallArguments::Object(_) => Ok(Map::new()),
        CallArguments::Typed(pairs) => Ok(pairs
            .into_iter()
            .map(|(key, value)| (key, value.into()))
            .collect()),
    }
}

async fn list_offers(
    session: &Session,
    kind: OfferKind,
    server: Option<String>,
    json: bool,
) -> Result<OfferList, CommandFailure> {
    if let Some(name) = &server {
        let servers = session.client.servers(within_seconds(10)).await??;
        if servers.iter().all(|known| known.name != *name) {
            let message = format!("there is no server `{name}`");
            return Err(Error::new(Kind::NotFound, message)
                .hint("`mux servers` lists them")
                .into());
        }
    }
    let request = OffersRequest {
        kind,
        server,
        wait_ms: None,
    };
    let answer = session.client.offers(within_server_start(), request);
    Ok(render::with_spinner("asking the servers", json, answer).await??)
}
