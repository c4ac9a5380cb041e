//! The spans of what is sent to servers, by OpenTelemetry's conventions for MCP and for tools of agents.
//!
//! Invariant: what names a span and stands in it is known without the call: no argument, result, address of a resource,
//! nor the words of an error.

use mux_wire::Fault;
use serde_json::Value;

use mux_settings::Link;
use mux_telemetry::trace::{Kind, Span, Trace};
use mux_upstream::{CallError, Server, Session, Wanted};

/// Somebody waits until a session is open.
pub(super) fn opening(trace: &Trace, server: &Server) -> Span {
    let mut span = trace.begin(Kind::Internal, || "session open".into());
    of_server(&mut span, server);
    span
}

pub(super) fn call(trace: &Trace, server: &Server, session: &Session, tool: &str) -> Span {
    let is_source = matches!(link(server), Some(Link::Source(_)));
    let mut span = trace.begin(Kind::Client, || match is_source {
        true => format!("execute_tool {tool}"),
        false => format!("tools/call {tool}"),
    });
    of_server(&mut span, server);
    span.set("gen_ai.operation.name", || Some("execute_tool"));
    span.set("gen_ai.tool.name", || Some(tool));
    if !is_source {
        of_mcp(&mut span, session, "tools/call");
    }
    span
}

/// What is asked for beside tools.
pub(super) fn offer(trace: &Trace, server: &Server, session: &Session, wanted: &Wanted) -> Span {
    let method = wanted.method();
    let prompt = match wanted {
        Wanted::Prompt { name, .. } => Some(name.as_str()),
        Wanted::Resource { .. } | Wanted::Completion(_) => None,
    };
    let mut span = trace.begin(Kind::Client, || match prompt {
        Some(name) => format!("{method} {name}"),
        None => method.to_owned(),
    });
    of_server(&mut span, server);
    span.set("gen_ai.prompt.name", || prompt);
    of_mcp(&mut span, session, method);
    span
}

/// In which way it went wrong, if it did.
pub(super) fn failed(answer: Result<&Result<Value, CallError>, &Fault>) -> Option<String> {
    match answer {
        Ok(Ok(result)) => (result["isError"] == true).then(|| "tool_error".into()),
        Ok(Err(CallError::Refused { code, .. })) => Some(code.to_string()),
        Ok(Err(error)) => Some(super::failure::kind(error).to_string()),
        Err(fault) => Some(fault.kind.to_string()),
    }
}

fn of_server(span: &mut Span, server: &Server) {
    span.set("mux.server", || Some(server.name()));
    let (transport, url) = match link(server) {
        Some(Link::Process(_)) => ("pipe", None),
        Some(Link::Remote(remote)) if remote.socket.is_some() => ("unix", None),
        Some(Link::Remote(remote)) => ("tcp", url::Url::parse(remote.url.expose()).ok()),
        Some(Link::Source(_)) | None => return,
    };
    span.set("network.transport", || Some(transport));
    span.set("server.address", || {
        url.as_ref()?.host_str().map(str::to_owned)
    });
    span.set("server.port", || {
        url.as_ref()?.port_or_known_default().map(i64::from)
    });
}

fn of_mcp(span: &mut Span, session: &Session, method: &str) {
    span.set("mcp.method.name", || Some(method));
    span.set("mcp.protocol.version", || session.protocol.clone());
}

fn link(server: &Server) -> Option<&Link> {
    let definition = server.definition().as_ref().ok();
    definition.map(|definition| &definition.link)
}
