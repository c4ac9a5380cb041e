//! Secrets in the strings of a JSON value, such as a tool's result. The strings are prose.
//!
//! Base64 of images, audio and files is not text, and is left alone. So are the names of members.

use serde_json::{Map, Value};

use crate::{masker::Masker, scan};

/// Members that are base64 where `mimeType` is beside them.
const BINARY_MEMBERS: &[&str] = &["data", "blob"];

/// Whether a string of the value holds a secret.
pub fn value_has_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => scan::finds(text),
        Value::Array(items) => items.iter().any(value_has_secret),
        Value::Object(members) => members
            .iter()
            .any(|(name, member)| !is_binary(members, name) && value_has_secret(member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Masks the secrets in the strings of the value. A string that is JSON text stays so.
pub fn mask_value(value: &mut Value) {
    match value {
        Value::String(text) if scan::finds(text) => {
            let masker = Masker::default();
            let is_json = text.trim_start().starts_with(['{', '[']);
            *text = match is_json {
                true => masker.json(text),
                false => masker.text(text),
            };
        }
        Value::Array(items) => items.iter_mut().for_each(mask_value),
        Value::Object(members) => {
            let has_type = members.contains_key("mimeType");
            for (name, member) in members {
                if !(has_type && BINARY_MEMBERS.contains(&name.as_str())) {
                    mask_value(member);
                }
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_binary(members: &Map<String, Value>, name: &str) -> bool {
    BINARY_MEMBERS.contains(&name) && members.contains_key("mimeType")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strings_are_masked_and_everything_else_is_kept() {
        let token = format!("{}_{}", "ghp", "k9Qz3VxB7mTr1HjW5nYc".repeat(2));
        let token = &token[..40];
        let given = |token: &str| {
            json!({
                "content": [
                    { "type": "text", "text": format!("export TOKEN={token}\nok") },
                    { "type": "text", "text": format!("{{\"env\":{{\"T\":\"{token}\"}},\"n\":1}}") },
                    { "type": "image", "mimeType": "image/png", "data": "AA==" },
                ],
                "structuredContent": { "tokens": [token], "n": 7, "none": null },
            })
        };
        let mut value = given(token);
        assert!(value_has_secret(&value));
        mask_value(&mut value);
        assert_eq!(value, given("***"));
        assert!(!value_has_secret(&value));
        let image = json!({ "mimeType": "image/png", "data": token });
        assert!(!value_has_secret(&image));
        let mut masked = image.clone();
        mask_value(&mut masked);
        assert_eq!(masked, image);
    }
}
