//! How much memory JSON text takes as a value, without the value.
//!
//! Sixteen megabytes of `[1,1,1…]` are eight million values of 72 bytes each, and an object takes several times as
//! much as what stands in it. So whoever reads JSON of a stranger looks at its weight first, and what is long is read
//! beside the runtime's threads.
//!
//! Invariant: what weighs no more than a limit takes at most some hundred bytes for each unit of it.

use serde_json::Value;

use mux_process::blocking_pool;

/// The most of a message, an answer or a text of a stranger, in values.
pub const MAX_JSON_WEIGHT: usize = 1_000_000;
/// So many bytes are read, or written, in less time than it takes to have another thread do it.
pub const MIN_OFFLOAD_BYTES: usize = 256 << 10;
/// The same of values.
const MIN_OFFLOAD_VALUES: usize = 4_000;

/// As it is told beside a limit.
pub const WEIGHT_RULE_TEXT: &str = "where an object counts as four";
/// What an object takes beside its members, in values.
const OBJECT_WEIGHT: usize = 4;

/// In values; none if that is more than `most`. Of text that is no JSON it is the weight of something.
pub fn of(text: &[u8], most: usize) -> Option<usize> {
    let mut weight = 1_usize;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        weight += match byte {
            b'"' => {
                // Nothing counts up to its end.
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
                0
            }
            b',' | b'[' => 1,
            b'{' => OBJECT_WEIGHT,
            _ => 0,
        };
        if weight > most {
            return None;
        }
    }
    Some(weight)
}

/// A value as text.
pub async fn to_text(value: Value) -> String {
    match is_light(&value) {
        true => value.to_string(),
        false => blocking_pool::run(move || value.to_string()).await,
    }
}

/// The same for whoever needs both.
pub async fn with_text(value: Value) -> (Value, String) {
    let write = |value: Value| {
        let text = value.to_string();
        (value, text)
    };
    match is_light(&value) {
        true => write(value),
        false => blocking_pool::run(move || write(value)).await,
    }
}

/// Drops a value that nobody needs. To be called inside a tokio runtime.
pub fn drop_beside(value: Value) {
    if !is_light(&value) {
        drop(tokio::task::spawn_blocking(move || drop(value)));
    }
}

/// Whether a value is written and dropped in a moment.
pub fn is_light(value: &Value) -> bool {
    is_within(value, MIN_OFFLOAD_VALUES, MIN_OFFLOAD_BYTES)
}

/// Whether a value consists of at most so many values, with at most so many bytes of text. Looks at no more of it than
/// that.
pub fn is_within(value: &Value, max_values: usize, max_bytes: usize) -> bool {
    fn left_of(value: &Value, (values, bytes): (usize, usize)) -> Option<(usize, usize)> {
        let left = (values.checked_sub(1)?, bytes);
        match value {
            Value::String(text) => Some((left.0, bytes.checked_sub(text.len())?)),
            Value::Array(items) => items
                .iter()
                .try_fold(left, |left, item| left_of(item, left)),
            Value::Object(members) => members.iter().try_fold(left, |left, (name, value)| {
                left_of(value, (left.0, left.1.checked_sub(name.len())?))
            }),
            _ => Some(left),
        }
    }
    left_of(value, (max_values, max_bytes)).is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_has_many_values_or_long_texts_is_not_light() {
        for (value, light) in [
            (json!({ "a": [1, "x"] }), true),
            (json!("x".repeat(MIN_OFFLOAD_BYTES)), true),
            (json!(["x".repeat(MIN_OFFLOAD_BYTES), "y"]), false),
            (json!({ "x".repeat(MIN_OFFLOAD_BYTES + 1): 1 }), false),
            (json!(vec![1; MIN_OFFLOAD_VALUES]), false),
            (json!(vec![1; MIN_OFFLOAD_VALUES - 1]), true),
        ] {
            assert_eq!(is_light(&value), light);
        }
    }

    #[test]
    fn values_are_counted_and_what_stands_in_texts_is_none() {
        for (text, weight) in [
            ("1", 1),
            ("[1,[2],3]", 5),
            ("{\"a\": {\"b\": 1, \"c\": 2}}", 10),
            ("[\"a,[{\\\",\", \"\\\\\", 1]", 4),
        ] {
            assert_eq!(of(text.as_bytes(), weight), Some(weight), "{text}");
            assert_eq!(of(text.as_bytes(), weight - 1), None, "{text}");
        }
    }
}
