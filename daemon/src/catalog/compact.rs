//! Values that are held for long, in as much room as they need.
//!
//! What was read grows by doubling and keeps what it did not need: half of the memory of ten thousand small objects is
//! empty places. A schema is made of nothing but those.

use serde_json::{Map, Value};

/// The same value, without empty places.
pub(super) fn compact(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut kept = Map::with_capacity(members.len());
            for (name, member) in members {
                kept.insert(fitting(name), compact(member));
            }
            Value::Object(kept)
        }
        // What is collected in place would keep the room of what it is made of.
        Value::Array(items) => {
            let mut kept = Vec::with_capacity(items.len());
            kept.extend(items.into_iter().map(compact));
            Value::Array(kept)
        }
        Value::String(text) => Value::String(fitting(text)),
        scalar => scalar,
    }
}

fn fitting(text: String) -> String {
    text.into_boxed_str().into_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_changes_but_the_room() {
        let mut grown = json!({ "b": [1, "two", null], "a": { "c": {} } });
        grown["b"].as_array_mut().unwrap().reserve(100);
        let kept = compact(grown.clone());
        assert_eq!(kept.to_string(), grown.to_string());
        assert_eq!(kept["b"].as_array().unwrap().capacity(), 3);
    }
}
