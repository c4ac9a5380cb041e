//! A schema as a parsed value or as JSON.
//!
//! Invariant: JSON is parsed for one tool at a time. As values, all schemas of a large API would take several times as
//! much memory.

use serde_json::Value;

use super::normal_form::normalize;

/// A JSON value from a server.
#[derive(Clone, Copy, Debug)]
pub enum SchemaSource<'a> {
    Value(&'a Value),
    /// Unparsed JSON. Invalid JSON counts as null.
    Text(&'a str),
}

impl SchemaSource<'_> {
    /// The schema in normal form.
    pub(super) fn to_normal_form(self) -> Value {
        match self {
            Self::Value(value) => normalize(value).schema,
            Self::Text(text) => {
                let value = serde_json::from_str(text).unwrap_or_default();
                normalize(&value).schema
            }
        }
    }
}

impl<'a> From<&'a Value> for SchemaSource<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Value(value)
    }
}

impl<'a> From<&'a str> for SchemaSource<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}
