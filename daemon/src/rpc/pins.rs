//! A server's tools beside their pins, and what somebody accepts of them.

use std::sync::Arc;

use mux_proto as wire;
use mux_wire::{Fault, Kind};

use super::{budget::Budget, door::Door};
use mux_audit::Deed;
use mux_catalog::{
    Standing, Tool, ToolSet,
    pins::{AcceptError, Pinned, readable},
};
use mux_gateway::Gateway;
use mux_upstream::{Server, Upstreams, Whose};

pub(super) async fn list(
    upstreams: &Upstreams,
    door: &Door,
    request: wire::PinsRequest,
) -> Result<wire::PinList, Fault> {
    let server = upstreams.find_seen(&request.server, &door.sight())?;
    let tools = match server.tools() {
        Some(tools) if !request.current => tools,
        _ => asked(&server, &door.whose()).await?,
    };
    let key = server.pin_key()?;
    let pinned = upstreams.pins().of(&key, &tools);
    let mut budget = Budget::new();
    let infos = tools.iter().zip(pinned).map(|(tool, pinned)| {
        let info = info(tool, pinned);
        budget.take(&info).map(|()| info)
    });
    Ok(wire::PinList {
        tools: infos.collect::<Result<_, _>>()?,
        server: server.name().to_owned(),
    })
}

pub(super) async fn accept(
    gateway: &Gateway,
    door: &Door,
    request: wire::AcceptPinsRequest,
) -> Result<wire::AcceptedPins, Fault> {
    let upstreams = gateway.upstreams();
    let server = upstreams.find_seen(&request.server, &door.sight())?;
    let seen = request.tools.into_iter().map(|seen| {
        let digest = blake3::Hash::from_hex(&seen.digest);
        let wrong = || format!("the digest of `{}` is none", seen.name);
        match digest {
            Ok(digest) => Ok((seen.name, digest.into())),
            Err(_) => Err(Fault::new(Kind::Validation, wrong())),
        }
    });
    let seen = seen.collect::<Result<Vec<_>, _>>()?;
    let session = server.session(&door.whose()).await?.session;
    let tools = session.current_tools().await;
    let accepted = upstreams
        .pins()
        .accept(&server.pin_key()?, &tools, &seen)
        .await;
    let written = accepted.map_err(|error| refused(server.name(), &error))?;
    written.map_err(|error| {
        let message =
            format!("the pins cannot be written: {error}; what was accepted holds until muxd ends");
        Fault::new(Kind::Internal, message).hint("see `mux status`")
    })?;
    let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    let subject = format!("{}: {}", server.name(), names.join(", "));
    let audit = gateway.audit();
    audit.note(Deed::PinsAccepted, &subject, &door.origin());
    session.list_again();
    session.current_tools().await;
    Ok(wire::AcceptedPins { tools: seen.len() })
}

async fn asked(server: &Server, whose: &Whose) -> Result<Arc<ToolSet>, Fault> {
    Ok(server.session(whose).await?.session.current_tools().await)
}

fn refused(server: &str, error: &AcceptError) -> Fault {
    let message = format!("nothing was accepted of `{server}`: {error}");
    match error {
        AcceptError::Unknown(_) => Fault::new(Kind::NotFound, message)
            .hint(format!("`mux servers pins {server}` lists its tools")),
        AcceptError::Other(_) => {
            Fault::new(Kind::Validation, message).hint("look again at what it is now")
        }
        AcceptError::Full => Fault::new(Kind::Validation, message)
            .hint("pins = \"off\" in its entry does without pins"),
        AcceptError::Off => Fault::new(Kind::Validation, message)
            .hint("`pins` in its entry, or `on_change` in [pins], is \"off\""),
    }
}

fn info(tool: &Tool, pinned: Pinned) -> wire::PinInfo {
    let change = tool.change();
    let digest = change.map(|change| change.digest).or(pinned.digest);
    wire::PinInfo {
        name: tool.name.clone(),
        standing: match (&tool.standing, pinned.digest) {
            (Standing::Changed(_), _) if tool.is_refused() => wire::PinStanding::Refused,
            (Standing::Changed(_), _) => wire::PinStanding::Changed,
            (Standing::New, _) => wire::PinStanding::New,
            (Standing::Trusted, Some(_)) => wire::PinStanding::Trusted,
            (Standing::Trusted, None) => wire::PinStanding::Unpinned,
        },
        digest: digest.map(|digest| blake3::Hash::from(digest).to_hex().to_string()),
        since_ms: pinned.since.map(|seconds| seconds.saturating_mul(1000)),
        before: change.and_then(|change| readable(change.before.as_deref()?)),
        now: change.and_then(|change| readable(&change.now)),
    }
}
