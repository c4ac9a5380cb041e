//! What a server says of one of its tools, as a value and as MCP's `Tool`.
//!
//! Invariant: there and back again nothing is lost: a definition that was written down describes the same tool.

use serde_json::{Map, Value};

use super::Standing;

/// What a server says of a tool, before it is checked.
#[derive(Clone, Debug, Default)]
pub struct ToolDescription {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub input_schema: Value,
    pub output_schema: Option<Value>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    /// Everything else of MCP's `Tool`.
    pub extra: Map<String, Value>,
    /// What was found when it was held against its pin.
    pub standing: Standing,
}

impl ToolDescription {
    /// MCP's `Tool`, whole.
    pub fn definition(&self) -> Value {
        let mut definition = Map::new();
        definition.insert("name".into(), self.name.clone().into());
        if let Some(description) = &self.description {
            definition.insert("description".into(), description.clone().into());
        }
        definition.insert("inputSchema".into(), self.input_schema.clone());
        if let Some(schema) = &self.output_schema {
            definition.insert("outputSchema".into(), schema.clone());
        }
        definition.extend(self.extra.clone());
        Value::Object(definition)
    }

    /// The tool that such a definition is of. `None` if it is none.
    pub fn of_definition(definition: &Value) -> Option<Self> {
        let mut members = definition.as_object()?.clone();
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let name = text(members.shift_remove("name"))?;
        let description = text(members.shift_remove("description"));
        let input_schema = members.shift_remove("inputSchema")?;
        let output_schema = members.shift_remove("outputSchema");
        let hint = |name: &str| members.get("annotations")?.get(name)?.as_bool();
        let (read_only, destructive) = (hint("readOnlyHint"), hint("destructiveHint"));
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
            standing: Standing::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_describes_the_same_tool_again() {
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
