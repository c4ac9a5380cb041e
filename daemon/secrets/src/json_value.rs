//! Secrets in the strings of a JSON value, such as a tool's result. The strings are prose.
//!
//! Base64 of images, audio and files is not text, and is not searched. Neither are member names, nor the pages of MCP
//! Apps, which consist of scripts and fonts and are not shown to models.

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::{masker::Masker, scan};

/// Members that may be Base64 where `mimeType` is beside them.
const BINARY_MEMBERS: &[&str] = &["data", "blob"];

/// The media type of MCP Apps.
const APP_MEDIA_TYPE: &str = "text/html;profile=mcp-app";

/// Returns true if a string of the value contains a secret.
pub fn value_has_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => scan::finds(text),
        Value::Array(items) => items.iter().any(value_has_secret),
        Value::Object(members) => members
            .iter()
            .any(|(name, member)| !is_unsearched(members, name) && value_has_secret(member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Masks the secrets in the strings of the value. A string that is JSON stays valid JSON, unless a secret spans several
/// of its strings.
pub fn mask_value(value: &mut Value) {
    match value {
        Value::String(text) if scan::finds(text) => *text = masked_string(text),
        Value::Array(items) => items.iter_mut().for_each(mask_value),
        Value::Object(members) => {
            let names = members.keys().filter(|name| !is_unsearched(members, name));
            let names: Vec<String> = names.cloned().collect();
            for name in names {
                members.get_mut(&name).into_iter().for_each(mask_value);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns true if the value has at most `max_values` values and, without Base64, `max_bytes` bytes of text. Stops
/// counting at the limits.
pub fn is_searchable_within(value: &Value, max_values: usize, max_bytes: usize) -> bool {
    fn left_of(value: &Value, left: (usize, usize)) -> Option<(usize, usize)> {
        let left = (left.0.checked_sub(1)?, left.1);
        match value {
            Value::String(text) => Some((left.0, left.1.checked_sub(text.len())?)),
            Value::Array(items) => items
                .iter()
                .try_fold(left, |left, item| left_of(item, left)),
            Value::Object(members) => members.iter().try_fold(left, |left, (name, member)| {
                let left = (left.0, left.1.checked_sub(name.len())?);
                if is_unsearched(members, name) {
                    Some((left.0.checked_sub(1)?, left.1))
                } else {
                    left_of(member, left)
                }
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => Some(left),
        }
    }
    left_of(value, (max_values, max_bytes)).is_some()
}

/// A string, which may be JSON, with its secrets masked.
fn masked_string(text: &str) -> String {
    let masker = Masker::default();
    let is_json = text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<IgnoredAny>(text).is_ok();
    if is_json {
        masker.text(&masker.json(text))
    } else {
        masker.text(text)
    }
}

/// Returns true if the member of this name is not text that a model reads.
fn is_unsearched(members: &Map<String, Value>, name: &str) -> bool {
    is_base64(members, name) || is_app_page(members, name)
}

/// Returns true if the member of this name is the page of an MCP App: HTML of a resource whose URI or type says so.
fn is_app_page(members: &Map<String, Value>, name: &str) -> bool {
    let text_of = |name: &str| members.get(name).and_then(Value::as_str);
    let media_type = text_of("mimeType").map(|it| it.replace(' ', "").to_ascii_lowercase());
    let media_type = media_type.as_deref().unwrap_or("text/html");
    let is_ui = text_of("uri").is_some_and(|uri| uri.starts_with("ui://"));
    ["text", "blob"].contains(&name)
        && (is_ui && media_type.starts_with("text/html") || media_type == APP_MEDIA_TYPE)
}

/// Returns true if the member of this name is a Base64 file: in MCP it is beside `mimeType`, in the standard alphabet.
/// Published token formats have a character outside of this alphabet, or are too short for a file.
fn is_base64(members: &Map<String, Value>, name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(&byte);
    BINARY_MEMBERS.contains(&name)
        && members.contains_key("mimeType")
        && matches!(&members[name], Value::String(text) if text.bytes().all(fits))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Concatenated, because secret scanners would report this file otherwise.
    fn token() -> String {
        let token = format!("{}_{}", "ghp", "k9Qz3VxB7mTr1HjW5nYc".repeat(2));
        token[..40].to_owned()
    }

    #[test]
    fn strings_are_masked_and_everything_else_is_kept() {
        let token = &*token();
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
    }

    #[test]
    fn members_beside_a_mime_type_are_searched_unless_they_are_base64() {
        let token = token();
        for given in [
            json!({ "mimeType": "text/plain", "data": format!("TOKEN={token}") }),
            json!({ "mimeType": "text/plain", "blob": token }),
            json!({ "mimeType": "x", "data": { "env": { "T": token } } }),
            json!({ "mimeType": "x", "data": [token] }),
        ] {
            assert!(value_has_secret(&given), "{given}");
            let mut masked = given.clone();
            mask_value(&mut masked);
            assert_eq!(
                masked.to_string(),
                given.to_string().replace(&token, "***"),
                "{given}"
            );
        }
        // The key of a cloud in the middle of an image.
        let base64 = format!("iVBORw0KGgo+\n{}IOSFODNN7EXAMPLE+AA==", "AKIA");
        assert!(value_has_secret(&json!(base64)));
        for name in BINARY_MEMBERS {
            let image = json!({ "mimeType": "image/png", *name: base64 });
            assert!(!value_has_secret(&image));
            let mut masked = image.clone();
            mask_value(&mut masked);
            assert_eq!(masked, image);
        }
    }

    #[test]
    fn pages_of_apps_are_not_searched_and_other_resources_are() {
        let token = token();
        let script = format!("<script>var t = '{token}'</script>");
        for page in [
            json!({ "uri": "ui://n8n/page", "mimeType": "text/html", "text": script }),
            json!({ "uri": "ui://n8n/page", "text": script }),
            json!({ "uri": "x://page", "mimeType": "text/html; profile=mcp-app", "text": script }),
        ] {
            assert!(!value_has_secret(&page), "{page}");
            let mut masked = page.clone();
            mask_value(&mut masked);
            assert_eq!(masked, page);
        }
        for searched in [
            json!({ "uri": "ui://n8n/data", "mimeType": "application/json", "text": script }),
            json!({ "uri": "file:///page", "mimeType": "text/html", "text": script }),
            json!({ "uri": "file:///page", "text": script }),
            json!({ "uri": format!("ui://{token}"), "mimeType": "text/html", "text": "" }),
            json!({ "uri": "ui://n8n/page", "description": script }),
        ] {
            assert!(value_has_secret(&searched), "{searched}");
        }
    }

    #[test]
    fn secret_across_strings_of_json_text_is_masked() {
        let token = token();
        let begin = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
        let end = ["-----END ", "PRIVATE KEY-----"].concat();
        let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
        for text in [
            json!([begin, key, end]).to_string(),
            json!([token, begin, key, end]).to_string(),
            format!("[note] \"{begin}\", \"{key}\", \"{end}\""),
        ] {
            let mut value = json!(text);
            assert!(value_has_secret(&value), "{text}");
            mask_value(&mut value);
            let masked = value.as_str().unwrap();
            assert!(
                !masked.contains(key) && !masked.contains(&token),
                "{masked}"
            );
        }
    }

    #[test]
    fn base64_does_not_count_as_searched_text() {
        let text = "A".repeat(100);
        let image = json!({ "mimeType": "image/png", "data": text });
        // 3 values: the object, the type and the data. 21 bytes: both names and the type.
        assert!(is_searchable_within(&image, 3, 21));
        assert!(!is_searchable_within(&image, 2, 21) && !is_searchable_within(&image, 3, 20));
        let prose = json!({ "mimeType": "text/plain", "data": format!("{text}.") });
        assert!(is_searchable_within(&prose, 3, 123) && !is_searchable_within(&prose, 3, 122));
    }
}
