//! Tool calls that clients make directly.

use std::{sync::Arc, time::Duration};

use mux_proto as wire;
use mux_wire::CallTarget;
use serde_json::Value;

use super::{
    connection::ConnectionState, long_value::held, progress_observer::ProgressObserver,
    request_meta, resources_and_prompts,
};
use crate::daemon::Daemon;
use mux_gateway::{CallArguments, ToolCall};
use mux_process::blocking_pool;
use mux_telemetry::trace::{SpanKind, TraceContext};

/// Drops the text content of a result if it repeats its structured content.
fn lean(text: String) -> String {
    let Ok(mut result) = serde_json::from_str::<Value>(&text) else {
        return text;
    };
    let is_twice = match (&result["structuredContent"], &result["content"]) {
        (structured @ Value::Object(members), Value::Array(parts)) => match &parts[..] {
            [part] if part["type"] == "text" => {
                let text = part["text"].as_str().unwrap_or_default();
                // A result that is not an object is wrapped in one, and appears unwrapped in the text.
                let wrapped = members.get("result").filter(|_| members.len() == 1);
                let parsed = serde_json::from_str::<Value>(text).ok();
                wrapped.and_then(Value::as_str) == Some(text)
                    || parsed
                        .is_some_and(|parsed| parsed == *structured || Some(&parsed) == wrapped)
            }
            _ => false,
        },
        _ => false,
    };
    if !is_twice {
        return text;
    }
    result["content"] = Value::Array(Vec::new());
    result.to_string()
}

pub(super) async fn make(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::CallRequest,
) -> wire::Result<wire::Held> {
    let parent = request
        .traceparent
        .and_then(|parent| TraceContext::parse(&parent, request.tracestate.as_deref()));
    let tracer = daemon.gateway.tracer();
    let mut span = tracer.begin_trace(parent, SpanKind::Server, || "call".into());
    span.set("mux.client", || Some(connection.origin().client.clone()));
    span.set("gen_ai.agent.name", || connection.origin().agent.clone());
    let meta = request_meta::for_server(request.meta)?;
    let mut context = resources_and_prompts::call_context(connection, request.token);
    let caller = Arc::make_mut(&mut context.caller);
    (caller.trace, caller.meta) = (span.trace().clone(), meta);
    let call = ToolCall {
        target: CallTarget::Path {
            path: request.path,
            raw: request.raw,
        },
        arguments: match (request.arguments, request.typed) {
            (none, typed) if none.is_null() => CallArguments::Typed(typed),
            (object, _) => CallArguments::Json(object.into_boxed_str().into()),
        },
        declared_only: request.declared_only,
        within: request.timeout_ms.map(Duration::from_millis),
        context,
    };
    let observer = ProgressObserver::of(&call.context.caller);
    let _admitted = daemon.runs.admit()?;
    let _room = connection.call().await;
    let text = daemon.gateway.call(call, &observer).await;
    span.end_with(|| text.as_ref().err().map(|fault| fault.kind.to_string()));
    let mut text = text?;
    if request.raw && request.lean && text.len() > daemon.handles.max_inline_bytes() {
        text = blocking_pool::run(move || lean(text)).await;
    }
    held(daemon, connection, text).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_content_that_repeats_structured_content_is_dropped() {
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        for (content, structured, lean_content) in [
            (text("{\"a\": [1]}"), json!({ "a": [1] }), json!([])),
            (text("long"), json!({ "result": "long" }), json!([])),
            (text("[1,2]"), json!({ "result": [1, 2] }), json!([])),
            (text("{\"a\": 2}"), json!({ "a": 1 }), text("{\"a\": 2}")),
            (text("a table"), json!({ "a": 1 }), text("a table")),
            (text("x"), json!({ "result": "x", "n": 1 }), text("x")),
            (text("x"), Value::Null, text("x")),
        ] {
            let result = json!({ "content": content, "structuredContent": structured });
            let lean: Value = serde_json::from_str(&lean(result.to_string())).unwrap();
            assert_eq!(lean["content"], lean_content, "{result}");
            assert_eq!(lean["structuredContent"], structured);
        }
    }
}
