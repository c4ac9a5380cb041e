//! A server's tools with their pins, and the acceptance of changed tools.

use std::sync::Arc;

use mux_proto as wire;
use mux_wire::{Fault, FaultKind};

use super::{answer_budget::AnswerBudget, connection::ConnectionState};
use mux_audit::AdminEvent;
use mux_catalog::{
    PinStatus, Tool, ToolSet,
    pins::{AcceptError, PinnedTool, readable_definition},
};
use mux_gateway::Gateway;
use mux_process::blocking_pool;
use mux_upstream::{CallerIdentity, Server, Upstreams};

pub(super) async fn list(
    upstreams: &Upstreams,
    connection: &ConnectionState,
    request: wire::PinsRequest,
) -> wire::Result<wire::PinList> {
    let server = upstreams.find_visible(&request.server, &connection.sight())?;
    let tools = match server.tools() {
        Some(tools) if !request.current => tools,
        _ => listed_tools(&server, &connection.identity()).await?,
    };
    let key = server.pin_key()?;
    let pinned = upstreams.pins().of(&key, &tools);
    // Changed definitions are scanned for instructions to a model.
    let infos = blocking_pool::run(move || {
        let mut budget = AnswerBudget::new();
        let tools = tools.iter().zip(pinned);
        let infos = tools.map(|(tool, pinned)| budget.take(pin_info(tool, &pinned)));
        infos.collect::<Result<_, Fault>>()
    });
    Ok(wire::PinList {
        tools: infos.await?,
        server: server.name().to_owned(),
    })
}

pub(super) async fn accept(
    gateway: &Gateway,
    connection: &ConnectionState,
    request: wire::AcceptPinsRequest,
) -> wire::Result<wire::AcceptedPins> {
    let upstreams = gateway.upstreams();
    let server = upstreams.find_visible(&request.server, &connection.sight())?;
    let seen = request.tools.into_iter().map(|seen| {
        let digest = blake3::Hash::from_hex(&seen.digest);
        let wrong = || format!("the digest of `{}` is malformed", seen.name);
        match digest {
            Ok(digest) => Ok((seen.name, digest.into())),
            Err(_) => Err(Fault::new(FaultKind::Validation, wrong())),
        }
    });
    let seen = seen.collect::<Result<Vec<_>, _>>()?;
    let session = server.session(&connection.identity()).await?.session;
    let tools = session.current_tools().await;
    let accepted = upstreams
        .pins()
        .accept(&server.pin_key()?, &tools, &seen)
        .await;
    let written = accepted.map_err(|error| accept_fault(server.name(), &error))?;
    written.map_err(|error| {
        let message =
            format!("the pins cannot be written: {error}; the acceptance is lost when muxd stops");
        Fault::new(FaultKind::Internal, message).hint("see `mux status`")
    })?;
    let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    let subject = format!("{}: {}", server.name(), names.join(", "));
    connection.audit(AdminEvent::PinsAccepted, &subject);
    session.request_tools_refresh();
    session.current_tools().await;
    Ok(wire::AcceptedPins { tools: seen.len() })
}

async fn listed_tools(server: &Server, identity: &CallerIdentity) -> Result<Arc<ToolSet>, Fault> {
    Ok(server
        .session(identity)
        .await?
        .session
        .current_tools()
        .await)
}

fn accept_fault(server: &str, error: &AcceptError) -> Fault {
    let message = format!("no tool of `{server}` was accepted: {error}");
    match error {
        AcceptError::Unknown(_) => Fault::new(FaultKind::NotFound, message)
            .hint(format!("`mux servers pins {server}` lists its tools")),
        AcceptError::Other(_) => {
            Fault::new(FaultKind::Validation, message).hint("review its present definition")
        }
        AcceptError::Full => Fault::new(FaultKind::Validation, message)
            .hint("`pins = \"off\"` in its entry disables pins"),
        AcceptError::Off => Fault::new(FaultKind::Validation, message)
            .hint("`pins` in its entry, or `on_change` in [pins], is \"off\""),
    }
}

fn pin_info(tool: &Tool, pinned: &PinnedTool) -> wire::PinInfo {
    let change = tool.change();
    let digest = change.map(|change| change.digest).or(pinned.digest);
    wire::PinInfo {
        name: tool.name.clone(),
        standing: match (&tool.pin_status, pinned.digest) {
            (PinStatus::Changed(_), _) if tool.is_refused() => wire::PinStanding::Refused,
            (PinStatus::Changed(_), _) => wire::PinStanding::Changed,
            (PinStatus::New, _) => wire::PinStanding::New,
            (PinStatus::Trusted | PinStatus::Reordered, Some(_)) => wire::PinStanding::Trusted,
            (PinStatus::Trusted | PinStatus::Reordered, None) => wire::PinStanding::Unpinned,
        },
        digest: digest.map(|digest| blake3::Hash::from(digest).to_hex().to_string()),
        since_ms: pinned.since.map(|seconds| seconds.saturating_mul(1000)),
        before: change.and_then(|change| readable_definition(change.before.as_deref()?)),
        now: change.and_then(|change| readable_definition(&change.now)),
        note: tool.pin_status.note().map(str::to_owned),
        changed_paths: change
            .map(|change| change.changed_paths.clone())
            .unwrap_or_default(),
        signs: {
            let signs = tool.injection_signs().into_iter();
            signs.map(|sign| sign.to_string()).collect()
        },
    }
}
