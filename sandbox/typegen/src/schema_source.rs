//! A schema as a parsed value or as text.
//!
//! Invariant: text is parsed for one tool at a time. As values, all schemas of a large API would take several times as
//! much memory.

use std::borrow::Cow;

use serde_json::Value;

/// A JSON value from a server.
#[derive(Clone, Copy, Debug)]
pub enum SchemaSource<'a> {
    Value(&'a Value),
    /// JSON text. Invalid text counts as null.
    Text(&'a str),
}

impl<'a> SchemaSource<'a> {
    pub(super) fn to_value(self) -> Cow<'a, Value> {
        match self {
            Self::Value(value) => Cow::Borrowed(value),
            Self::Text(text) => Cow::Owned(serde_json::from_str(text).unwrap_or_default()),
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
