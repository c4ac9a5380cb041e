//! A schema as JSON text.
//!
//! Parsed values take ten times as much memory, and the ten thousand tools of a large API are all in memory while their
//! list is compared with the pins.
//!
//! Invariant: the text is that of a JSON value.

use serde::{Deserialize, Serialize};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub struct SchemaText(Box<RawValue>);

impl SchemaText {
    pub fn parse(&self) -> Value {
        serde_json::from_str(self.as_str()).unwrap_or_default()
    }

    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl From<&Value> for SchemaText {
    fn from(schema: &Value) -> Self {
        Self(to_raw_value(schema).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

impl From<Value> for SchemaText {
    fn from(schema: Value) -> Self {
        Self::from(&schema)
    }
}

impl Default for SchemaText {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}
