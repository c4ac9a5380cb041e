//! `mux servers pins`, `mux servers accept`.
//!
//! Invariant: only a definition that was shown is accepted, identified by its digest.

use mux_client::Session;
use mux_proto::{
    AcceptPinsRequest, Error, Kind, PinInfo, PinList, PinStanding, PinsRequest, SeenTool,
};

use super::{
    CommandFailure, CommandResult,
    confirm::{DefaultAnswer, confirm},
    connect_or_start, within_server_start,
};
use crate::{
    args,
    render::{self, count_text},
};

pub(super) async fn list_pins(args: args::PinsArgs, json: bool) -> CommandResult {
    let list = fetch_pins(&connect_or_start().await?, args.server, false, json).await?;
    Ok(render::show(&list, json, render::pins))
}

pub(super) async fn accept_pins(args: args::AcceptArgs, json: bool) -> CommandResult {
    let session = connect_or_start().await?;
    let list = fetch_pins(&session, args.server, true, json).await?;
    let wanted = tools_to_accept(&list, &args.tools)?;
    if wanted.is_empty() {
        return Ok(render::accepted(&list.server, &wanted, 0, json));
    }
    if !json {
        render::differences(&list, &wanted);
    }
    let agreed = args.yes || {
        let question = format!("accept {} as shown?", count_text(wanted.len(), "tool"));
        !json && confirm(&question, DefaultAnswer::No)
    };
    if !agreed {
        let server = &list.server;
        let tools = count_text(wanted.len(), "tool");
        let message = format!("nothing was accepted: {tools} of `{server}` still pending");
        let error = Error::new(Kind::Pending, message);
        return Err(error.hint("--yes accepts what is shown").into());
    }
    let seen = wanted.iter().filter_map(|tool| {
        Some(SeenTool {
            name: tool.name.clone(),
            digest: tool.digest.clone()?,
        })
    });
    let request = AcceptPinsRequest {
        server: list.server.clone(),
        tools: seen.collect(),
    };
    let answer = session.client.accept_pins(within_server_start(), request);
    let count = answer.await??.tools;
    Ok(render::accepted(&list.server, &wanted, count, json))
}

async fn fetch_pins(
    session: &Session,
    server: String,
    current: bool,
    json: bool,
) -> Result<PinList, CommandFailure> {
    let what = format!("asking {server} for its tools");
    let request = PinsRequest { server, current };
    let answer = session.client.pins(within_server_start(), request);
    Ok(render::with_spinner(&what, json, answer).await??)
}

/// The tools that are new, changed or refused, limited to `names` unless that is empty.
fn tools_to_accept(list: &PinList, names: &[String]) -> Result<Vec<PinInfo>, CommandFailure> {
    let waits = |tool: &PinInfo| {
        matches!(
            tool.standing,
            PinStanding::New | PinStanding::Changed | PinStanding::Refused
        )
    };
    let is_named = |tool: &PinInfo, name: &str| {
        tool.name == name || render::pinned_tool_name(list, tool) == name
    };
    for name in names {
        if !list.tools.iter().any(|tool| is_named(tool, name)) {
            let server = &list.server;
            let message = format!("`{server}` has no tool `{name}`");
            let error = Error::new(Kind::NotFound, message);
            return Err(error
                .hint(format!("`mux servers pins {server}` lists its tools"))
                .into());
        }
    }
    let meant = |tool: &PinInfo| names.is_empty() || names.iter().any(|name| is_named(tool, name));
    let wanted = list.tools.iter().filter(|tool| waits(tool) && meant(tool));
    let mut wanted: Vec<PinInfo> = wanted.cloned().collect();
    wanted.sort_by_key(urgency);
    Ok(wanted)
}

/// Changed descriptions and arguments come first, then hints that permit more, then changes that
/// need no decision.
fn urgency(tool: &PinInfo) -> u8 {
    match tool.changed_paths.first() {
        _ if tool.note.is_some() => 2,
        Some(path) if path.starts_with("annotations.") => 1,
        _ => 0,
    }
}
