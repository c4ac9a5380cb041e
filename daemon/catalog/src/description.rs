//! A server's description of a tool, as a value and as MCP's `Tool`.
//!
//! Invariant: a round trip through [`definition`](ToolDescription::definition) loses nothing: a stored definition
//! describes the same tool.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Map, Value};

use super::{OverriddenTool, PinStatus, SchemaText};

/// A server's description of a tool, before it is validated.
#[derive(Clone, Debug, Default)]
pub struct ToolDescription {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub input_schema: SchemaText,
    pub output_schema: Option<SchemaText>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    /// All other members of MCP's `Tool`.
    pub extra: Map<String, Value>,
    /// The result of the comparison with its pin.
    pub pin_status: PinStatus,
    /// The user's override and its changes, if there is one.
    pub overridden: Option<Arc<OverriddenTool>>,
}

impl ToolDescription {
    /// The complete MCP `Tool`.
    pub fn definition(&self) -> Value {
        let members = self.members().into_iter();
        members
            .map(|(name, member)| (name.to_owned(), member.into_owned()))
            .collect()
    }

    /// The members of the MCP `Tool`.
    pub fn members(&self) -> Vec<(&str, Cow<'_, Value>)> {
        let text = |text: &str| Cow::Owned(Value::from(text));
        let mut members = vec![("name", text(&self.name))];
        members.extend(
            self.description
                .as_deref()
                .map(|it| ("description", text(it))),
        );
        members.push(("inputSchema", Cow::Owned(self.input_schema.parse())));
        let output = self.output_schema.as_ref();
        members.extend(output.map(|schema| ("outputSchema", Cow::Owned(schema.parse()))));
        let extra = self.extra.iter();
        members.extend(extra.map(|(name, member)| (name.as_str(), Cow::Borrowed(member))));
        members
    }

    /// This tool with the annotations of another, which differs only in its hints.
    pub(super) fn with_hints_of(mut self, other: &Self) -> Self {
        self.read_only = other.read_only;
        self.destructive = other.destructive;
        match other.extra.get("annotations") {
            Some(annotations) => drop(
                self.extra
                    .insert("annotations".to_owned(), annotations.clone()),
            ),
            None => drop(self.extra.shift_remove("annotations")),
        }
        self
    }

    /// The value of an annotation hint.
    pub(super) fn hint(&self, name: &str) -> Option<bool> {
        self.extra.get("annotations")?.get(name)?.as_bool()
    }

    pub(super) fn needs_task(&self) -> bool {
        let execution = self.extra.get("execution");
        execution.is_some_and(|execution| execution["taskSupport"] == "required")
    }

    /// True if MCP Apps visibility hides the tool from models. Without visibility, everyone may see it.
    pub(super) fn is_for_apps(&self) -> bool {
        let visibility = || {
            self.extra
                .get("_meta")?
                .get("ui")?
                .get("visibility")?
                .as_array()
        };
        visibility().is_some_and(|seen_by| !seen_by.iter().any(|who| who == "model"))
    }

    pub(super) fn verb(&self) -> Option<String> {
        let http = self.extra.get("_meta")?.get("mux/http")?;
        http.get("method")?.as_str().map(str::to_owned)
    }

    /// Parses an MCP `Tool`. `None` if the value is not a tool.
    pub fn of_definition(definition: &Value) -> Option<Self> {
        Self::of_members(definition.as_object()?.clone())
    }

    /// Reads the members of an MCP `Tool`. `None` if the members are not a tool's.
    pub fn of_members(mut members: Map<String, Value>) -> Option<Self> {
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let name = text(members.shift_remove("name"))?;
        let description = text(members.shift_remove("description"));
        let input_schema = members.shift_remove("inputSchema")?.into();
        let output_schema = members.shift_remove("outputSchema").map(Into::into);
        let hint = |name: &str| members.get("annotations")?.get(name)?.as_bool();
        let read_only = hint("readOnlyHint");
        let destructive = hint("destructiveHint");
        let own = text(members.get("title").cloned());
        let of_annotations = || text(members.get("annotations")?.get("title").cloned());
        Some(Self {
            title: own.or_else(of_annotations),
            name,
            description,
            input_schema,
            output_schema,
            read_only,
            destructive,
            extra: members,
            pin_status: PinStatus::default(),
            overridden: None,
        })
    }
}

/// The schema of the single value that results wrap into an object, if they wrap one: FastMCP marks such schemas of
/// tools that return something other than an object, and its own client unwraps it.
pub(super) fn wrapped_schema(output_schema: &Value) -> Option<Value> {
    let schema = output_schema.as_object()?;
    if schema.get("x-fastmcp-wrap-result") != Some(&Value::Bool(true)) {
        return None;
    }
    let mut wrapped = schema
        .get("properties")?
        .get("result")?
        .as_object()?
        .clone();
    // References into the definitions stay valid.
    for name in ["$defs", "definitions"] {
        if let Some(definitions) = schema.get(name) {
            wrapped.entry(name).or_insert_with(|| definitions.clone());
        }
    }
    Some(Value::Object(wrapped))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tool_is_for_apps_if_its_visibility_excludes_models() {
        for (meta, for_apps) in [
            (json!({ "ui": { "visibility": ["app"] } }), true),
            (json!({ "ui": { "visibility": [] } }), true),
            (json!({ "ui": { "visibility": ["model"] } }), false),
            (json!({ "ui": { "visibility": ["app", "model"] } }), false),
            (json!({ "ui": { "visibility": "app" } }), false),
            (json!({ "ui": { "resourceUri": "ui://x" } }), false),
            (json!({}), false),
        ] {
            let tool = json!({ "name": "n", "inputSchema": {}, "_meta": meta });
            let described = ToolDescription::of_definition(&tool).unwrap();
            assert_eq!(described.is_for_apps(), for_apps, "{tool}");
        }
    }

    #[test]
    fn result_schema_is_unwrapped_only_if_marked() {
        let schema = json!({
            "type": "object",
            "properties": { "result": { "type": "array", "items": { "$ref": "#/$defs/Item" } } },
            "required": ["result"],
            "$defs": { "Item": { "type": "integer" } },
            "x-fastmcp-wrap-result": true,
        });
        let value = json!({
            "type": "array",
            "items": { "$ref": "#/$defs/Item" },
            "$defs": { "Item": { "type": "integer" } },
        });
        assert_eq!(wrapped_schema(&schema), Some(value));
        let mut unmarked = schema;
        unmarked["x-fastmcp-wrap-result"] = json!(false);
        assert_eq!(wrapped_schema(&unmarked), None);
        let marked = json!({ "type": "object", "x-fastmcp-wrap-result": true });
        assert_eq!(wrapped_schema(&marked), None);
    }

    #[test]
    fn definition_round_trips() {
        let whole = json!({
            "name": "n",
            "description": "D",
            "inputSchema": { "type": "object" },
            "outputSchema": { "type": "object" },
            "annotations": { "title": "T", "readOnlyHint": true, "destructiveHint": false },
            "_meta": { "a/b": [1] },
        });
        let described = ToolDescription::of_definition(&whole).unwrap();
        assert_eq!(described.definition(), whole);
        assert_eq!(described.title.as_deref(), Some("T"));
        assert_eq!(
            (described.read_only, described.destructive),
            (Some(true), Some(false))
        );
        for none in [
            json!({ "name": "n" }),
            json!(1),
            json!({ "name": 1, "inputSchema": {} }),
        ] {
            assert!(ToolDescription::of_definition(&none).is_none(), "{none}");
        }
    }
}
