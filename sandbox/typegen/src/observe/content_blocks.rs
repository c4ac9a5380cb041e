//! Recognizes MCP content blocks in results.
//!
//! Invariant: a block has all members that MCP requires and only members that MCP defines. A server's own object with a
//! `type` is therefore not mistaken for a block.

use serde_json::{Map, Value};

/// Members that any content block may have besides its own.
const COMMON_MEMBERS: &[&str] = &["type", "annotations", "_meta"];

pub(super) fn is_content_block(object: &Map<String, Value>) -> bool {
    let text = |name: &str| object.get(name).is_some_and(Value::is_string);
    let only = |own: &[&str]| {
        let known = |name: &String| [COMMON_MEMBERS, own].concat().contains(&name.as_str());
        object.keys().all(known)
    };
    match object.get("type").and_then(Value::as_str) {
        Some("text") => text("text") && only(&["text"]),
        Some("image" | "audio") => text("data") && text("mimeType") && only(&["data", "mimeType"]),
        Some("resource") => {
            let resource = object.get("resource").and_then(Value::as_object);
            only(&["resource"]) && resource.is_some_and(is_resource_contents)
        }
        Some("resource_link") => {
            let own = [
                "uri",
                "name",
                "title",
                "description",
                "mimeType",
                "size",
                "icons",
            ];
            text("uri") && text("name") && only(&own)
        }
        _ => false,
    }
}

fn is_resource_contents(object: &Map<String, Value>) -> bool {
    let text = |name: &str| object.get(name).is_some_and(Value::is_string);
    text("uri") && (text("text") || text("blob"))
}
