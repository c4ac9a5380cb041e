//! A part of a tool's result, or a part that a program emitted in addition to its result: an MCP content block.
//!
//! Invariant: no part is lost: a block that is not valid MCP is kept as JSON.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mux_proto::Held;
use serde_json::Value;

/// File name extensions by MIME type, where the subtype is not the extension.
const EXTENSIONS: &[(&str, &str)] = &[
    ("application/gzip", "gz"),
    ("application/javascript", "js"),
    ("application/json", "json"),
    ("application/octet-stream", "bin"),
    ("application/pdf", "pdf"),
    ("application/xml", "xml"),
    ("application/zip", "zip"),
    ("audio/mp4", "m4a"),
    ("audio/mpeg", "mp3"),
    ("audio/vnd.wave", "wav"),
    ("audio/wave", "wav"),
    ("audio/x-wav", "wav"),
    ("image/jpeg", "jpg"),
    ("image/svg+xml", "svg"),
    ("image/tiff", "tif"),
    ("image/vnd.microsoft.icon", "ico"),
    ("image/x-icon", "ico"),
    ("text/javascript", "js"),
    ("text/markdown", "md"),
    ("text/plain", "txt"),
    ("text/x-python", "py"),
    ("video/quicktime", "mov"),
];

/// A parsed content block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ContentPart {
    /// `image`, `audio`, `text`, `resource`, `resource_link`, or another type that the program made up.
    pub(crate) kind: String,
    pub(crate) mime: Option<String>,
    /// The uri of a resource.
    pub(crate) uri: Option<String>,
    pub(crate) content: PartContent,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PartContent {
    Text(String),
    Bytes(Vec<u8>),
    /// A block without own content, such as a link, or an invalid MCP block.
    Block(Value),
}

impl ContentPart {
    pub(crate) fn parse_block(block: &Value) -> Self {
        let kind = string_field(block, "type").unwrap_or_else(|| "part".into());
        let inner = match kind.as_str() {
            "resource" => &block["resource"],
            _ => block,
        };
        let content = match kind.as_str() {
            "text" => string_field(inner, "text").map(PartContent::Text),
            "image" | "audio" => base64_field(inner, "data"),
            "resource" => string_field(inner, "text")
                .map(PartContent::Text)
                .or_else(|| base64_field(inner, "blob")),
            _ => None,
        };
        Self {
            mime: string_field(inner, "mimeType"),
            uri: string_field(inner, "uri"),
            content: content.unwrap_or_else(|| PartContent::Block(block.clone())),
            kind,
        }
    }

    /// The extension of a file with this part, without the dot.
    pub(crate) fn extension(&self) -> String {
        if matches!(self.content, PartContent::Block(_)) {
            return "json".into();
        }
        self.uri
            .as_deref()
            .and_then(uri_extension)
            .or_else(|| self.mime.as_deref().and_then(mime_extension))
            .unwrap_or(match self.content {
                PartContent::Text(_) => "txt",
                _ => "bin",
            })
            .to_ascii_lowercase()
    }

    /// The content of a file with this part.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self.content {
            PartContent::Text(text) => text.into_bytes(),
            PartContent::Bytes(bytes) => bytes,
            PartContent::Block(block) => block.to_string().into_bytes(),
        }
    }

    /// The size of the content in bytes, or `None` for a block without content.
    pub(crate) fn size(&self) -> Option<usize> {
        match &self.content {
            PartContent::Text(text) => Some(text.len()),
            PartContent::Bytes(bytes) => Some(bytes.len()),
            PartContent::Block(_) => None,
        }
    }
}

/// The parts of a tool's result that is one content block or a list of them. None if it is anything else, which is data.
pub(crate) fn result_parts(result: &Value) -> Vec<Held> {
    let blocks = match result {
        Value::Array(blocks) => &blocks[..],
        _ => std::slice::from_ref(result),
    };
    if blocks.iter().all(is_content_block) {
        let parts = blocks.iter().cloned();
        parts.map(|block| Held::Value(block.into())).collect()
    } else {
        Vec::new()
    }
}

fn is_content_block(block: &Value) -> bool {
    match block["type"].as_str() {
        Some("text") => block["text"].is_string(),
        Some("image" | "audio") => block["data"].is_string() && block["mimeType"].is_string(),
        Some("resource") => block["resource"]["uri"].is_string(),
        Some("resource_link") => block["uri"].is_string(),
        _ => false,
    }
}

fn string_field(object: &Value, key: &str) -> Option<String> {
    object[key].as_str().map(str::to_owned)
}

fn base64_field(object: &Value, key: &str) -> Option<PartContent> {
    STANDARD
        .decode(object[key].as_str()?)
        .ok()
        .map(PartContent::Bytes)
}

fn mime_extension(mime: &str) -> Option<&str> {
    let mime = mime.split(';').next()?.trim();
    let known = EXTENSIONS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(mime))
        .map(|(_, extension)| *extension);
    known.or_else(|| {
        mime.rsplit_once('/')
            .map(|(_, subtype)| subtype)
            .filter(is_plausible_extension)
    })
}

/// The extension of a uri's last segment, if it is a plausible one.
fn uri_extension(uri: &str) -> Option<&str> {
    let path = uri.split(['?', '#']).next()?;
    let (_, name) = path.rsplit_once('/')?;
    let (stem, extension) = name.rsplit_once('.')?;
    Some(extension).filter(|extension| !stem.is_empty() && is_plausible_extension(extension))
}

/// Returns true if a string is safe as a file name's extension.
fn is_plausible_extension(extension: &&str) -> bool {
    (1..=8).contains(&extension.len()) && extension.bytes().all(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_and_extension_follow_the_block() {
        let resource = |uri: &str| json!({ "uri": uri, "mimeType": "text/plain", "text": "x" });
        for (block, content, extension) in [
            (
                json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" }),
                PartContent::Bytes(b"hi".to_vec()),
                "png",
            ),
            (
                json!({ "type": "audio", "data": "", "mimeType": "Audio/MPEG; rate=1" }),
                PartContent::Bytes(Vec::new()),
                "mp3",
            ),
            (
                json!({ "type": "image", "data": "aGk=", "mimeType": "image/../../x" }),
                PartContent::Bytes(b"hi".to_vec()),
                "x",
            ),
            (
                json!({ "type": "text", "text": "a" }),
                PartContent::Text("a".into()),
                "txt",
            ),
            (
                json!({ "type": "resource", "resource": resource("file:///a/b.CSV?x=/y.z") }),
                PartContent::Text("x".into()),
                "csv",
            ),
            (
                json!({ "type": "resource", "resource": resource("file:///a/b.tar/.hidden") }),
                PartContent::Text("x".into()),
                "txt",
            ),
            (
                json!({ "type": "resource", "resource": { "uri": "x:1", "blob": "aGk=" } }),
                PartContent::Bytes(b"hi".to_vec()),
                "bin",
            ),
        ] {
            let part = ContentPart::parse_block(&block);
            assert_eq!(part.content, content, "{block}");
            assert_eq!(part.extension(), extension, "{block}");
        }
    }

    #[test]
    fn invalid_content_block_is_kept_as_json() {
        for block in [
            json!({ "type": "image", "data": "not base64!", "mimeType": "image/png" }),
            json!({ "type": "resource_link", "uri": "file:///a.png", "name": "a" }),
            json!({ "type": "resource" }),
            json!({ "type": 1 }),
            json!(null),
        ] {
            let part = ContentPart::parse_block(&block);
            assert_eq!(part.content, PartContent::Block(block.clone()));
            assert_eq!(part.extension(), "json");
            let kept: Value = serde_json::from_slice(&part.into_bytes()).unwrap();
            assert_eq!(kept, block);
        }
    }

    #[test]
    fn result_has_parts_only_if_it_consists_of_content_blocks() {
        let text = json!({ "type": "text", "text": "a" });
        let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
        for (result, count) in [
            (image.clone(), 1),
            (json!([text, image]), 2),
            (json!([text, { "type": "image" }]), 0),
            (json!([text, 7]), 0),
            (json!({ "type": "text", "data": "a" }), 0),
            (json!({ "content": [image] }), 0),
            (json!([]), 0),
            (json!("a"), 0),
        ] {
            assert_eq!(result_parts(&result).len(), count, "{result}");
        }
    }
}
