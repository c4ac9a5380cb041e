//! Estimates how much memory JSON takes as a parsed value, without parsing it.
//!
//! Sixteen megabytes of `[1,1,1…]` are eight million values of 72 bytes each, and an object takes several times as
//! much as its text. So untrusted JSON is weighed before it is parsed, and long JSON is parsed on a blocking thread.
//!
//! Invariant: a value takes at most a few hundred bytes per unit of weight.

use serde_json::Value;

use mux_process::blocking_pool;

/// The maximum weight of untrusted JSON.
pub const MAX_JSON_WEIGHT: usize = 1_000_000;
/// Shorter JSON is parsed and written on the current thread: switching threads would take longer.
pub const MIN_OFFLOAD_BYTES: usize = 256 << 10;
/// Values with fewer values inside are handled on the current thread.
const MIN_OFFLOAD_VALUES: usize = 4_000;

/// The rule of weighing, as an addition to error messages.
pub const WEIGHT_RULE_TEXT: &str = "where an object counts as four";
/// The weight of an object without its members.
const OBJECT_WEIGHT: usize = 4;

/// The weight of JSON, in values, or `None` if it is more than `most`. Arbitrary for input that is not JSON.
pub fn of(text: &[u8], most: usize) -> Option<usize> {
    let mut weight = 1_usize;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        weight += match byte {
            b'"' => {
                // Skips the string.
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

/// Serializes a value, on a blocking thread if it is large.
pub async fn to_text(value: Value) -> String {
    blocking_pool::run_if(!is_light(&value), move || value.to_string()).await
}

/// Serializes a value, on a blocking thread if it is large. Also returns the value.
pub async fn with_text(value: Value) -> (Value, String) {
    let write = move |value: Value| {
        let text = value.to_string();
        (value, text)
    };
    blocking_pool::run_if(!is_light(&value), move || write(value)).await
}

/// Drops a value, on a blocking thread if it is large. Must be called inside a tokio runtime.
pub fn drop_beside(value: Value) {
    if !is_light(&value) {
        drop(tokio::task::spawn_blocking(move || drop(value)));
    }
}

/// Returns true if a value is small enough to be serialized and dropped on the current thread.
pub fn is_light(value: &Value) -> bool {
    is_within(value, MIN_OFFLOAD_VALUES, MIN_OFFLOAD_BYTES)
}

/// Returns true if a value has at most `max_values` values and `max_bytes` bytes of text. Stops counting at the
/// limits.
pub fn is_within(value: &Value, max_values: usize, max_bytes: usize) -> bool {
    fn left_of(value: &Value, left: (usize, usize)) -> Option<(usize, usize)> {
        let left = (left.0.checked_sub(1)?, left.1);
        match value {
            Value::String(text) => Some((left.0, left.1.checked_sub(text.len())?)),
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
    fn values_with_many_members_or_long_strings_are_not_light() {
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
    fn weight_counts_values_and_ignores_string_contents() {
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
