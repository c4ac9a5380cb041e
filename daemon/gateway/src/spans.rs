//! Trace spans of the requests to servers, by OpenTelemetry's conventions for MCP and for agents' tools.
//!
//! Invariant: names and attributes of spans are known without the call: they contain no argument, result, resource URI
//! or error message.

use mux_wire::Fault;
use serde_json::Value;

use mux_settings::ServerEndpoint;
use mux_telemetry::trace::{Span, SpanKind, TraceScope};
use mux_upstream::{CallError, ContentRequest, Server, Session};

/// The span of waiting for a session to open.
pub(super) fn session_open_span(trace: &TraceScope, server: &Server) -> Span {
    let mut span = trace.begin_span(SpanKind::Internal, || "session open".into());
    set_server_attributes(&mut span, server);
    span
}

pub(super) fn tool_call_span(
    trace: &TraceScope,
    server: &Server,
    session: &Session,
    tool: &str,
) -> Span {
    let is_source = server.source().is_some();
    let mut span = trace.begin_span(SpanKind::Client, || {
        if is_source {
            format!("execute_tool {tool}")
        } else {
            format!("tools/call {tool}")
        }
    });
    set_server_attributes(&mut span, server);
    span.set("gen_ai.operation.name", || Some("execute_tool"));
    span.set("gen_ai.tool.name", || Some(tool));
    if !is_source {
        set_mcp_attributes(&mut span, session, "tools/call");
    }
    span
}

/// The span of a resource, prompt or completion request.
pub(super) fn offer_request_span(
    trace: &TraceScope,
    server: &Server,
    session: &Session,
    wanted: &ContentRequest,
) -> Span {
    let method = wanted.method();
    let prompt = match wanted {
        ContentRequest::Prompt { name, .. } => Some(name.as_str()),
        ContentRequest::Resource { .. } | ContentRequest::Completion(_) => None,
    };
    let mut span = trace.begin_span(SpanKind::Client, || match prompt {
        Some(name) => format!("{method} {name}"),
        None => method.to_owned(),
    });
    set_server_attributes(&mut span, server);
    span.set("gen_ai.prompt.name", || prompt);
    set_mcp_attributes(&mut span, session, method);
    span
}

/// The error type of a failed call.
pub(super) fn error_type(answer: Result<&Result<Value, CallError>, &Fault>) -> Option<String> {
    match answer {
        Ok(Ok(result)) => (result["isError"] == true).then(|| "tool_error".into()),
        Ok(Err(CallError::Refused { code, .. })) => Some(code.to_string()),
        Ok(Err(error)) => Some(super::call_fault::fault_kind(error).to_string()),
        Err(fault) => Some(fault.kind.to_string()),
    }
}

fn set_server_attributes(span: &mut Span, server: &Server) {
    span.set("mux.server", || Some(server.name()));
    let (transport, url) = match server.endpoint() {
        Some(ServerEndpoint::Process(_)) => ("pipe", None),
        Some(ServerEndpoint::Remote(remote)) if remote.socket.is_some() => ("unix", None),
        Some(ServerEndpoint::Remote(remote)) => ("tcp", url::Url::parse(remote.url.expose()).ok()),
        Some(ServerEndpoint::Source(_)) | None => return,
    };
    span.set("network.transport", || Some(transport));
    span.set("server.address", || {
        url.as_ref()?.host_str().map(str::to_owned)
    });
    span.set("server.port", || {
        url.as_ref()?.port_or_known_default().map(i64::from)
    });
}

fn set_mcp_attributes(span: &mut Span, session: &Session, method: &str) {
    span.set("mcp.method.name", || Some(method));
    span.set("mcp.protocol.version", || session.protocol.clone());
}
