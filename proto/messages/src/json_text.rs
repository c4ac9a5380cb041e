//! JSON that is passed on without being parsed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// A JSON value in serialized form. On the wire, it is the value itself.
///
/// The text is well-formed JSON, but of any depth, and with numbers of any size: [`parse`](Self::parse) may still
/// fail.
#[derive(Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct JsonText(#[cfg_attr(feature = "schema", schemars(with = "Value"))] Box<RawValue>);

impl JsonText {
    /// Fails if the text is not well-formed JSON.
    pub fn new(text: String) -> serde_json::Result<Self> {
        RawValue::from_string(text).map(Self)
    }

    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    pub fn into_boxed_str(self) -> Box<str> {
        self.0.into()
    }

    pub fn is_null(&self) -> bool {
        self.as_str() == "null"
    }

    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<T> {
        serde_json::from_str(self.as_str())
    }

    /// The value to show or to edit. Values that a [`Value`] cannot represent, such as the number `1e999`, become
    /// strings.
    pub fn to_value(&self) -> Value {
        self.parse()
            .unwrap_or_else(|_| Value::String(self.as_str().to_owned()))
    }
}

impl From<Value> for JsonText {
    fn from(value: Value) -> Self {
        // A value can always be serialized.
        serde_json::value::to_raw_value(&value).map_or_else(|_| Self::default(), Self)
    }
}

impl Default for JsonText {
    /// `null`.
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

/// Equal if the values are equal, regardless of white space.
impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() || self.to_value() == other.to_value()
    }
}

impl PartialEq<Value> for JsonText {
    fn eq(&self, other: &Value) -> bool {
        self.to_value() == *other
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_carried_as_it_is() {
        let text = r#"{"held":[1.0,  1e999,"\ud83d\ude00"]}"#;
        let carried: JsonText = serde_json::from_str(text).unwrap();
        assert_eq!(carried.as_str(), text);
        assert_eq!(serde_json::to_string(&carried).unwrap(), text);
        assert_eq!(carried.to_value(), json!(text));
    }

    #[test]
    fn equality_ignores_white_space_and_order() {
        let read = |text: &str| JsonText::new(text.to_owned()).unwrap();
        assert_eq!(read(r#"{"a":1,"b":[2]}"#), read(r#"{ "b": [2], "a": 1 }"#));
        assert_ne!(read("1"), read("2"));
        assert!(JsonText::default().is_null());
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        for text in ["", "{", "1 2", "nul", "\"\n\""] {
            assert!(JsonText::new(text.to_owned()).is_err(), "{text}");
        }
    }
}
