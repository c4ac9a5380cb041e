//! A schema as it is at hand: read, or as text.
//!
//! Invariant: text is read for one tool at a time. The schemas of a large API take several times as much room when all of them
//! are values at once.

use std::borrow::Cow;

use serde_json::Value;

/// JSON of somebody else.
#[derive(Clone, Copy, Debug)]
pub enum Json<'a> {
    Value(&'a Value),
    /// Any other text says nothing.
    Text(&'a str),
}

impl<'a> Json<'a> {
    pub(super) fn read(self) -> Cow<'a, Value> {
        match self {
            Self::Value(value) => Cow::Borrowed(value),
            Self::Text(text) => Cow::Owned(serde_json::from_str(text).unwrap_or_default()),
        }
    }
}

impl<'a> From<&'a Value> for Json<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Value(value)
    }
}

impl<'a> From<&'a str> for Json<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}
