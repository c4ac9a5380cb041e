//! The answers of the tools.

#![expect(
    deprecated,
    reason = "MCP has deprecated logging, and clients still want it"
)]

use std::time::Duration;

use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolRequestParams, LoggingLevel, ServerNotification},
    service::RequestContext,
};
use serde_json::{Value, json};

use super::{
    asking,
    asks::{Asker, Stop, is_modern},
    server::Server,
};

/// One red pixel.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
/// No samples, 8 kHz.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
/// Between two notifications of one call.
const PAUSE: Duration = Duration::from_millis(50);

/// The result of one call, in MCP's format.
pub(crate) async fn call(
    server: &Server,
    params: &CallToolRequestParams,
    asker: &Asker<'_>,
    context: &RequestContext<RoleServer>,
) -> Result<Value, Stop> {
    let argument = |name: &str| {
        let found = params.arguments.as_ref().and_then(|all| all.get(name));
        found.cloned().unwrap_or_default()
    };
    Ok(match &*params.name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => content(&[image()]),
        "test_audio_content" => {
            content(&[json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" })])
        }
        "test_embedded_resource" => content(&[json!({
            "type": "resource",
            "resource": {
                "uri": "test://embedded-resource",
                "mimeType": "text/plain",
                "text": "This is an embedded resource content."
            }
        })]),
        "test_multiple_content_types" => content(&[
            json!({ "type": "text", "text": "Multiple content types test:" }),
            image(),
            json!({
                "type": "resource",
                "resource": {
                    "uri": "test://mixed-content-resource",
                    "mimeType": "application/json",
                    "text": r#"{"test":"data","value":123}"#
                }
            }),
        ]),
        "test_error_handling" => {
            let mut result = text("This tool intentionally returns an error for testing");
            result["isError"] = json!(true);
            result
        }
        "test_tool_with_logging" => {
            log(server, context, "Tool execution started").await?;
            tokio::time::sleep(PAUSE).await;
            log(server, context, "Tool processing data").await?;
            tokio::time::sleep(PAUSE).await;
            log(server, context, "Tool execution completed").await?;
            text("logged three times")
        }
        "test_logging_tool" => {
            log(server, context, "once").await?;
            text("logged once")
        }
        "test_tool_with_progress" => {
            for (done, pause) in [(0, PAUSE), (50, PAUSE), (100, Duration::ZERO)] {
                progress(context, done).await?;
                tokio::time::sleep(pause).await;
            }
            text("reported three times")
        }
        "test_reconnection" => {
            tokio::time::sleep(PAUSE).await;
            text("here again")
        }
        "test_trigger_tool_change" => {
            server.change_tools(context).await?;
            text("the tools have changed")
        }
        "test_trigger_prompt_change" => {
            server.change_prompts(context).await?;
            text("the prompts have changed")
        }
        "wait" => {
            server.note("begun");
            context.ct.cancelled().await;
            server.note("cancelled");
            text("cancelled")
        }
        "add" => {
            let number = |name| argument(name).as_f64().unwrap_or_default();
            let sum = json!({ "sum": number("a") + number("b") });
            let mut result = text(&sum.to_string());
            result["structuredContent"] = sum;
            result
        }
        "json_schema_2020_12_tool" => text(&format!("reached {}", argument("name"))),
        "extra" if server.has_extra_tool() => text("extra"),
        name => return asking::call(name, &argument, asker).await,
    })
}

pub(crate) fn text(text: &str) -> Value {
    content(&[json!({ "type": "text", "text": text })])
}

fn content(parts: &[Value]) -> Value {
    json!({ "content": parts })
}

fn image() -> Value {
    json!({ "type": "image", "data": PNG, "mimeType": "image/png" })
}

/// One line at level `info`, if this client wants it: in the new era a request says so itself.
async fn log(
    server: &Server,
    context: &RequestContext<RoleServer>,
    line: &str,
) -> Result<(), ErrorData> {
    let wanted = if is_modern(context) {
        context.meta.log_level()
    } else {
        Some(server.log_level())
    };
    let below_info = [LoggingLevel::Debug, LoggingLevel::Info];
    if !wanted.is_some_and(|level| below_info.contains(&level)) {
        return Ok(());
    }
    notify(
        context,
        "notifications/message",
        json!({ "level": "info", "logger": "conformance", "data": line }),
    )
    .await
}

/// So many hundredths, if the client gave a token.
async fn progress(context: &RequestContext<RoleServer>, done: u32) -> Result<(), ErrorData> {
    let Some(token) = context.meta.get_progress_token() else {
        return Ok(());
    };
    notify(
        context,
        "notifications/progress",
        json!({ "progressToken": token, "progress": done, "total": 100 }),
    )
    .await
}

pub(crate) async fn notify(
    context: &RequestContext<RoleServer>,
    method: &str,
    params: Value,
) -> Result<(), ErrorData> {
    let internal = |error: String| ErrorData::internal_error(error, None);
    let notification: ServerNotification =
        serde_json::from_value(json!({ "method": method, "params": params }))
            .map_err(|error| internal(error.to_string()))?;
    let sent = context.peer.send_notification(notification).await;
    sent.map_err(|error| internal(error.to_string()))
}
