//! What a server says of one of its tools, as a value and as MCP's `Tool`.
//!
//! Invariant: there and back again nothing is lost: a definition that was written down describes the same tool.

use std::borrow::Cow;

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
        let members = self.members().into_iter();
        members
            .map(|(name, member)| (name.to_owned(), member.into_owned()))
            .collect()
    }

    /// The same by its members, without a copy of its schemas.
    pub(crate) fn members(&self) -> Vec<(&str, Cow<'_, Value>)> {
        let text = |text: &str| Cow::Owned(Value::from(text));
        let mut members = vec![("name", text(&self.name))];
        members.extend(
            self.description
                .as_deref()
                .map(|it| ("description", text(it))),
        );
        members.push(("inputSchema", Cow::Borrowed(&self.input_schema)));
        let output = self.output_schema.as_ref();
        members.extend(output.map(|schema| ("outputSchema", Cow::Borrowed(schema))));
        let extra = self.extra.iter();
        members.extend(extra.map(|(name, member)| (name.as_str(), Cow::Borrowed(member))));
        members
    }

    /// One of its annotations.
    pub(super) fn hint(&self, name: &str) -> Option<bool> {
        self.extra.get("annotations")?.get(name)?.as_bool()
    }

    pub(super) fn needs_task(&self) -> bool {
        let execution = self.extra.get("execution");
        execution.is_some_and(|execution| execution["taskSupport"] == "required")
    }

    pub(super) fn verb(&self) -> Option<String> {
        let http = self.extra.get("_meta")?.get("mux/http")?;
        http.get("method")?.as_str().map(str::to_owned)
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
