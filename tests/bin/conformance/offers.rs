//! Resources, prompts and completions.

use rmcp::ErrorData;
use serde_json::{Value, json};

use super::{
    asks::{Asker, Stop},
    calls::PNG,
    schemas,
};

pub(crate) fn resources() -> Value {
    json!({ "resources": [
        { "uri": "test://static-text", "name": "Static text", "mimeType": "text/plain",
          "description": "One line that never changes" },
        { "uri": "test://static-binary", "name": "Static image", "mimeType": "image/png",
          "description": "One pixel that never changes" },
        { "uri": "test://watched-resource", "name": "Watched", "mimeType": "text/plain",
          "description": "A resource that can be subscribed to" }
    ] })
}

pub(crate) fn templates() -> Value {
    json!({ "resourceTemplates": [
        { "uriTemplate": "test://template/{id}/data", "name": "Data of an id",
          "mimeType": "application/json", "description": "Tells the id that it was asked for" }
    ] })
}

pub(crate) fn read(uri: &str) -> Result<Value, ErrorData> {
    let (mime, field, data) = match uri {
        "test://static-text" => (
            "text/plain",
            "text",
            "This is the content of the static text resource.".to_owned(),
        ),
        "test://watched-resource" => ("text/plain", "text", "Nothing new.".to_owned()),
        "test://static-binary" => ("image/png", "blob", PNG.to_owned()),
        _ => {
            let id = uri
                .strip_prefix("test://template/")
                .and_then(|rest| rest.strip_suffix("/data"));
            let Some(id) = id else {
                return Err(ErrorData::resource_not_found(
                    "Resource not found",
                    Some(json!({ "uri": uri })),
                ));
            };
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            ("application/json", "text", data.to_string())
        }
    };
    Ok(json!({ "contents": [{ "uri": uri, "mimeType": mime, field: data }] }))
}

/// All prompts. `extra` is the prompt that `test_trigger_prompt_change` adds.
pub(crate) fn prompts(extra: bool) -> Value {
    let argument = |name: &str| json!({ "name": name, "description": format!("The argument {name}"), "required": true });
    let mut prompts = vec![
        json!({ "name": "test_simple_prompt", "description": "A prompt without arguments" }),
        json!({ "name": "test_prompt_with_arguments", "description": "A prompt with two arguments",
                "arguments": [argument("arg1"), argument("arg2")] }),
        json!({ "name": "test_prompt_with_embedded_resource",
                "description": "A prompt that holds a resource",
                "arguments": [argument("resourceUri")] }),
        json!({ "name": "test_prompt_with_image", "description": "A prompt that holds an image" }),
        json!({ "name": "test_input_required_result_prompt",
                "description": "A prompt that asks for its context" }),
    ];
    if extra {
        prompts.push(json!({ "name": "extra", "description": "Comes and goes" }));
    }
    json!({ "prompts": prompts })
}

pub(crate) async fn prompt(
    name: &str,
    arguments: &Value,
    asker: &Asker<'_>,
) -> Result<Value, Stop> {
    let argument = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    let text = |text: String| json!({ "type": "text", "text": text });
    let contents = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.".into())],
        "test_prompt_with_arguments" => {
            let one = argument("arg1");
            let two = argument("arg2");
            vec![text(format!(
                "Prompt with arguments: arg1='{one}', arg2='{two}'"
            ))]
        }
        "test_prompt_with_embedded_resource" => vec![
            json!({
                "type": "resource",
                "resource": {
                    "uri": argument("resourceUri"),
                    "mimeType": "text/plain",
                    "text": "Embedded resource content for testing."
                }
            }),
            text("Please process the embedded resource above.".into()),
        ],
        "test_prompt_with_image" => vec![
            json!({ "type": "image", "data": PNG, "mimeType": "image/png" }),
            text("Please analyze the image above.".into()),
        ],
        "test_input_required_result_prompt" => {
            let form = json!({
                "message": "What context should the prompt use?",
                "requestedSchema": schemas::strings(&["context"])
            });
            let question = ("user_context", "elicitation/create", form);
            let answers = asker.ask(&[question]).await?;
            vec![text(format!(
                "Context: {}",
                answers[0]["content"]["context"]
            ))]
        }
        "extra" => vec![text("extra".into())],
        _ => return Err(ErrorData::invalid_params(format!("unknown prompt {name}"), None).into()),
    };
    let message = |content: Value| json!({ "role": "user", "content": content });
    let messages: Vec<Value> = contents.into_iter().map(message).collect();
    Ok(json!({ "messages": messages }))
}

/// Places that begin with the typed text.
pub(crate) fn completions(typed: &str) -> Value {
    let places = ["paris", "park", "party", "testville"];
    let values: Vec<&str> = places
        .into_iter()
        .filter(|p| p.starts_with(typed))
        .collect();
    json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } })
}
