//! The tools, as they are listed.

use rmcp::model::Tool;
use serde_json::{Value, json};

use super::schemas;

/// `(name, description)` of the tools that take no arguments.
const PLAIN: &[(&str, &str)] = &[
    ("test_simple_text", "Answers with one line of text"),
    ("test_image_content", "Answers with a PNG of one pixel"),
    ("test_audio_content", "Answers with a WAV of silence"),
    ("test_embedded_resource", "Answers with a resource"),
    (
        "test_multiple_content_types",
        "Answers with text, an image and a resource",
    ),
    ("test_tool_with_logging", "Logs three times while it works"),
    (
        "test_tool_with_progress",
        "Reports progress three times while it works",
    ),
    ("test_error_handling", "Always fails"),
    (
        "test_elicitation_sep1034_defaults",
        "Asks with defaults in the form",
    ),
    (
        "test_elicitation_sep1330_enums",
        "Asks with each kind of choice in the form",
    ),
    ("test_input_required_result_elicitation", "Asks for a name"),
    (
        "test_input_required_result_sampling",
        "Asks the client's model",
    ),
    (
        "test_input_required_result_list_roots",
        "Asks for the client's roots",
    ),
    (
        "test_input_required_result_request_state",
        "Asks for a confirmation",
    ),
    (
        "test_input_required_result_multiple_inputs",
        "Asks for three things at once",
    ),
    (
        "test_input_required_result_multi_round",
        "Asks for one thing after the other",
    ),
    (
        "test_input_required_result_tampered_state",
        "Asks for a confirmation",
    ),
    (
        "test_input_required_result_capabilities",
        "Asks whatever the client can answer",
    ),
    (
        "test_streaming_elicitation",
        "Asks for a confirmation while it works",
    ),
    ("test_missing_capability", "Needs the client's model"),
    ("test_logging_tool", "Logs once"),
    (
        "test_trigger_tool_change",
        "Adds a tool, or takes it away again",
    ),
    (
        "test_trigger_prompt_change",
        "Adds a prompt, or takes it away again",
    ),
    ("test_reconnection", "Answers after a while"),
    ("wait", "Waits until it is cancelled"),
];

/// All tools. `extra` is the tool that `test_trigger_tool_change` adds.
pub(crate) fn all(extra: bool) -> Vec<Tool> {
    let none = json!({ "type": "object", "properties": {} });
    let mut tools: Vec<Tool> = PLAIN
        .iter()
        .map(|(name, description)| tool(name, description, &none))
        .collect();
    tools.push(tool(
        "test_sampling",
        "Asks the client's model a question",
        &schemas::strings(&["prompt"]),
    ));
    tools.push(tool(
        "test_elicitation",
        "Asks the user with a message",
        &schemas::strings(&["message"]),
    ));
    tools.push(tool(
        "json_schema_2020_12_tool",
        "Takes a person and how to reach them",
        &schemas::person(),
    ));
    let mut add = tool("add", "Adds two numbers", &schemas::numbers(&["a", "b"]));
    add.output_schema = schemas::numbers(&["sum"])
        .as_object()
        .cloned()
        .map(Into::into);
    tools.push(add);
    if extra {
        tools.push(tool("extra", "Comes and goes", &none));
    }
    tools
}

fn tool(name: &'static str, description: &'static str, schema: &Value) -> Tool {
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, description, schema)
}
