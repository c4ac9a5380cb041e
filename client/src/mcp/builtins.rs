//! The built-in tools of this server: their definitions and arguments.

use std::sync::Arc;

use mux_proto::{Error, Kind};
use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{guide, meant_arguments::convert_arguments, run_texts::RunTexts};

/// The kinds of a JSON value. Without a kind, some models pass an object as a JSON string.
const ANY_KIND: [&str; 6] = ["object", "array", "string", "number", "boolean", "null"];

pub(super) const BUILTIN_TOOLS: &[&str] = &[
    "run",
    "search",
    "describe",
    "call",
    "read",
    "resume",
    "run_program",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunToolArgs {
    pub(super) code: String,
    #[serde(default)]
    pub(super) input: Value,
    pub(super) timeout_seconds: Option<f64>,
    #[serde(default)]
    pub(super) detach: bool,
    pub(super) check: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchToolArgs {
    #[serde(default)]
    pub(super) query: String,
    pub(super) server: Option<String>,
    pub(super) limit: Option<usize>,
    pub(super) cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribeToolArgs {
    pub(super) paths: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallToolArgs {
    pub(super) path: String,
    /// Named as in signatures and steps. MCP's name is `arguments`.
    #[serde(default, alias = "arguments")]
    pub(super) args: JsonObject,
    pub(super) timeout_seconds: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadToolArgs {
    pub(super) handle: String,
    #[serde(default)]
    pub(super) offset: u64,
    pub(super) length: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResumeToolArgs {
    pub(super) run: String,
    pub(super) wait_seconds: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunProgramToolArgs {
    steps: Value,
    #[serde(default, rename = "return")]
    returns: Option<Value>,
    #[serde(default)]
    pub(super) input: Value,
    pub(super) timeout_seconds: Option<f64>,
    #[serde(default)]
    pub(super) detach: bool,
}

impl RunProgramToolArgs {
    /// The step program as JSON for the daemon.
    pub(super) fn program_json(&self) -> String {
        let mut program = json!({ "steps": self.steps });
        if let Some(returns) = &self.returns {
            program["return"] = returns.clone();
        }
        program.to_string()
    }
}

/// Parses the arguments of a built-in tool.
pub(super) fn parse_tool_args<T: DeserializeOwned>(
    tool: &str,
    arguments: Option<JsonObject>,
) -> Result<T, Error> {
    let mut given = arguments.unwrap_or_default();
    let schema = builtin_definition(tool, &DefinitionTexts::default())
        .map(|tool| tool.input_schema)
        .unwrap_or_default();
    let converted = convert_arguments(tool, &mut given, &schema);
    let parsed = converted.and_then(|()| {
        serde_json::from_value(Value::Object(given)).map_err(|error| {
            let message = format!("invalid arguments for `{tool}`: {error}");
            Error::new(Kind::Validation, message)
        })
    });
    parsed.map_err(|error| {
        let schema = Value::Object((*schema).clone());
        error.hint(format!("input schema: {schema}"))
    })
}

/// The parts of the built-in definitions that depend on the session.
#[derive(Clone, Debug, Default)]
pub(super) struct DefinitionTexts {
    pub(super) run: RunTexts,
    /// Results have structured content.
    pub(super) structured: bool,
    pub(super) meta: JsonObject,
}

/// The definitions of all built-in tools.
pub(super) fn builtin_definitions(texts: &DefinitionTexts) -> Vec<Tool> {
    BUILTIN_TOOLS
        .iter()
        .filter_map(|name| builtin_definition(name, texts))
        .collect()
}

fn builtin_definition(name: &str, texts: &DefinitionTexts) -> Option<Tool> {
    let (title, description, input, output, hints) = match name {
        "run" => (
            "Run a program",
            texts.run.description.clone(),
            json!({
                "code": { "type": "string", "description": texts.run.code },
                "input": { "type": ANY_KIND, "description": "`mux.input` in the program." },
                "timeout_seconds": { "type": "number", "minimum": 1, "maximum": 300, "description": "Default 30." },
                "detach": { "type": "boolean", "description": "Return at once; `resume` gets the result." },
                "check": { "type": "boolean", "description": "false: run even if type checking fails." },
            }),
            Some(run_output()),
            tool_annotations(false, true, false, true),
        ),
        "search" => (
            "Search the tools",
            "Finds tools by keywords, which may have typos. Returns signatures, the best match first, and a cursor for more.".into(),
            json!({
                "query": { "type": "string" },
                "server": { "type": "string", "description": "Only this server's tools." },
                "limit": { "type": "integer", "minimum": 1, "maximum": 100, "description": "Default 10." },
                "cursor": { "type": "string" },
            }),
            None,
            tool_annotations(true, false, true, false),
        ),
        "describe" => (
            "Describe tools",
            "Shows TypeScript declarations and full documentation of tools, and the instructions of a server.".into(),
            json!({
                "paths": {
                    "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 100,
                    "description": "`server.tool`; `server` or `server.group` for all of its tools.",
                },
            }),
            None,
            tool_annotations(true, false, true, false),
        ),
        "call" => (
            "Call one tool",
            "Calls one tool and returns its whole result. For several calls, write a program for `run`.".into(),
            json!({
                "path": { "type": "string", "description": "`server.tool`" },
                "args": { "type": "object" },
                "arguments": { "type": "object", "description": "Same as args." },
                "timeout_seconds": { "type": "number", "exclusiveMinimum": 0 },
            }),
            None,
            tool_annotations(false, true, false, true),
        ),
        "read" => (
            "Read a stored value",
            "Reads part of a value that was too long for a message, as JSON text.".into(),
            json!({
                "handle": { "type": "string" },
                "offset": { "type": "integer", "minimum": 0, "description": "In bytes." },
                "length": { "type": "integer", "minimum": 1, "description": "In bytes. Default 32768 or less." },
            }),
            None,
            tool_annotations(true, false, true, false),
        ),
        "resume" => (
            "Wait for a run",
            "Waits for a detached run, or continues one that ended as `pending` because a call was not approved in time: calls \
             that have ended are not sent again, and the user is asked again. Returns what `run` would.".into(),
            json!({
                "run": { "type": "string", "description": "The whole id of the run, or `details.resume` of an error." },
                "wait_seconds": { "type": "number", "minimum": 0, "maximum": 300, "description": "Default 30." },
            }),
            Some(run_output()),
            tool_annotations(false, true, false, true),
        ),
        "run_program" => (
            "Run steps",
            guide::RUN_PROGRAM_DESCRIPTION.into(),
            json!({
                "steps": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": { "type": "string" },
                            "tool": { "type": "string", "description": "`server.tool`" },
                            "args": { "type": "object" },
                            "on_error": { "enum": ["abort", "continue"] },
                            "after": { "type": "array", "items": { "type": "string" } },
                        },
                        "required": ["id", "tool"],
                    },
                },
                "return": { "description": "The result, with references. Default: the result of the last step." },
                "input": { "type": ANY_KIND },
                "timeout_seconds": { "type": "number", "minimum": 1, "maximum": 300 },
                "detach": { "type": "boolean" },
            }),
            Some(steps_output()),
            tool_annotations(false, true, false, true),
        ),
        _ => return None,
    };
    let required: &[&str] = match name {
        "run" => &["code"],
        "search" => &["query"],
        "describe" => &["paths"],
        "call" => &["path"],
        "read" => &["handle"],
        "run_program" => &["steps"],
        _ => &["run"],
    };
    let input = into_object(json!({
        "type": "object",
        "properties": input,
        "required": required,
        "additionalProperties": false,
    }));
    let mut tool = Tool::new(name.to_owned(), description, Arc::new(input));
    tool.title = Some(title.into());
    tool.annotations = Some(hints);
    // A schema without structured content would be an error for agents.
    let output = output.filter(|_| texts.structured);
    tool.output_schema = output.map(|schema| Arc::new(into_object(schema)));
    if !texts.meta.is_empty() {
        tool.meta = Some(MetaObject(texts.meta.clone()));
    }
    Some(tool)
}

/// The output schema of `run_program`: that of `run`, with the steps.
fn steps_output() -> Value {
    let mut output = run_output();
    output["properties"]["steps"] = json!({ "type": "array", "items": { "type": "object" } });
    output
}

/// The output schema of `run` and `resume`. Empty properties are left out of results.
fn run_output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "run": { "type": "string" },
            "state": { "type": "string", "enum": ["succeeded", "failed", "running", "pending"] },
            "result": {},
            "stored": {
                "type": "object",
                "properties": { "handle": { "type": "string" }, "bytes": { "type": "integer" } },
            },
            "error": {
                "type": "object",
                "properties": { "kind": { "type": "string" }, "message": { "type": "string" } },
                "required": ["kind", "message"],
            },
            "console": { "type": "array", "items": { "type": "string" } },
            "warnings": { "type": "array", "items": { "type": "string" } },
            "calls": { "type": "integer" },
            "failed_calls": { "type": "array", "items": { "type": "string" } },
            "untrusted": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["state"],
    })
}

#[expect(clippy::fn_params_excessive_bools, reason = "the four hints of MCP")]
fn tool_annotations(
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
) -> ToolAnnotations {
    let mut hints = ToolAnnotations::new();
    hints.read_only_hint = Some(read_only);
    hints.destructive_hint = Some(destructive);
    hints.idempotent_hint = Some(idempotent);
    hints.open_world_hint = Some(open_world);
    hints
}

fn into_object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_definition_and_annotations() {
        let mut texts = DefinitionTexts {
            run: RunTexts {
                description: "COMPLETE: nothing".into(),
                code: "TypeScript".into(),
            },
            ..DefinitionTexts::default()
        };
        let tools = builtin_definitions(&texts);
        assert!(
            tools
                .iter()
                .all(|tool| tool.output_schema.is_none() && tool.meta.is_none())
        );
        texts.structured = true;
        texts.meta.insert("always".into(), true.into());
        let tools = builtin_definitions(&texts);
        assert!(tools.iter().all(|tool| tool.meta.is_some()));
        assert_eq!(tools.len(), BUILTIN_TOOLS.len());
        for tool in &tools {
            assert!(tool.annotations.is_some() && tool.title.is_some());
            assert_eq!(tool.input_schema["additionalProperties"], false);
        }
        let structured = ["run", "resume", "run_program"];
        for tool in &tools {
            assert_eq!(
                tool.output_schema.is_some(),
                structured.contains(&&*tool.name)
            );
        }
        let run = &tools[0];
        assert_eq!(run.description.as_deref(), Some("COMPLETE: nothing"));
        assert_eq!(
            run.input_schema["properties"]["code"]["description"],
            "TypeScript"
        );
        let given = into_object(json!({ "code": "return 1" }));
        let run: RunToolArgs = parse_tool_args("run", Some(given)).unwrap();
        assert!(!run.detach && run.input.is_null());
    }

    #[test]
    fn call_takes_args_or_arguments_but_not_both() {
        for name in ["args", "arguments"] {
            let given = into_object(json!({ "path": "a.b", name: { "x": 1 } }));
            let call: CallToolArgs = parse_tool_args("call", Some(given)).unwrap();
            assert_eq!(call.args["x"], 1, "{name}");
        }
        let both = into_object(json!({ "path": "a.b", "args": {}, "arguments": {} }));
        let error = parse_tool_args::<CallToolArgs>("call", Some(both)).unwrap_err();
        assert!(error.message.contains("duplicate field"), "{error:?}");
    }

    #[test]
    fn invalid_argument_error_contains_the_schema() {
        let given = into_object(json!({ "code": "return 1", "cod": 1 }));
        let error = parse_tool_args::<RunToolArgs>("run", Some(given)).unwrap_err();
        assert_eq!(error.kind, Kind::Validation);
        assert!(error.message.contains("cod"), "{error:?}");
        assert!(error.hint.unwrap().contains("timeout_seconds"));
        assert!(
            parse_tool_args::<ReadToolArgs>("read", None)
                .unwrap_err()
                .message
                .contains("handle")
        );
    }
}
