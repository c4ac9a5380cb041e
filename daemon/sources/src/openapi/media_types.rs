//! Chooses the media type of a body: the default, or a type that the caller requests.
//!
//! Many operations accept one schema as several media types with different meanings: a Kubernetes patch is a merge
//! patch, a strategic merge patch or a JSON Patch.
//!
//! Invariant: a caller can choose only media types that the description offers with the same schema, and as which JSON
//! can be sent.

use serde_json::{Map, Value, json};

use super::{
    openapi_document::{OpenApiDocument, UnresolvedReference, items, members, text},
    operation_body::{BodyArguments, OperationBody, holds_files, is_file},
};
use crate::http;

/// The argument that chooses one of several media types.
pub(super) const CONTENT_TYPE_ARGUMENT: &str = "$contentType";
/// RFC 6902: always a list of operations, regardless of the description.
const JSON_PATCH_MEDIA_TYPE: &str = "application/json-patch+json";
/// The number of media types to choose from.
const MAX_BODY_MEDIA_TYPES: usize = 16;

/// The preferred media type of a body and its content: JSON before forms, forms before files, files before the rest.
pub(super) fn chosen<'a>(
    document: &'a OpenApiDocument,
    body: &'a Value,
) -> Result<Option<(&'a str, &'a Value)>, UnresolvedReference> {
    let mut best: Option<(u8, &str, &Value)> = None;
    for (media, content) in members(body, "content") {
        let content = document.resolve(content)?;
        let schema = content.get("schema").unwrap_or(&Value::Null);
        let rank = match essence(media).as_str() {
            "application/json" => 0,
            "*/*" | "application/*" if is_file(document, schema) => 7,
            // A JSON Patch is a list, so an object is not one.
            JSON_PATCH_MEDIA_TYPE if !is_list(document, schema) => 2,
            media if is_json(media) => 1,
            "multipart/form-data" if holds_files(document, schema) => 3,
            "application/x-www-form-urlencoded" => 4,
            media if media.starts_with("multipart/") => 5,
            media if is_text(media) => 6,
            _ => 8,
        };
        if best.is_none_or(|(before, ..)| rank < before) {
            best = Some((rank, media, content));
        }
    }
    Ok(best.map(|(_, media, content)| (media, content)))
}

/// The media types among which a caller can choose.
#[derive(Clone, Debug, Default)]
pub(super) struct MediaChoice {
    /// The default first. Empty if there is only one.
    media: Vec<String>,
    /// Set if a list is sent as a JSON Patch, while other bodies are objects.
    patch: bool,
}

impl MediaChoice {
    /// `whole` means that the body is one argument, which can also be a list.
    pub(super) fn of(
        document: &OpenApiDocument,
        body: &Value,
        (usual, schema): (&str, &Value),
        whole: bool,
    ) -> Self {
        let is_object = document
            .resolve(schema)
            .is_ok_and(|schema| text(schema, "type") == Some("object"));
        let mut known = vec![essence(usual)];
        let mut all = vec![usual.to_owned()];
        for (media, content) in members(body, "content") {
            let plain = essence(media);
            let same = || {
                let content = document.resolve(content);
                content.is_ok_and(|it| it.get("schema").unwrap_or(&Value::Null) == schema)
            };
            let fits = (is_json(&plain) || is_yaml(&plain))
                && !plain.contains('*')
                && plain.bytes().all(|byte| byte.is_ascii_graphic())
                && (plain != JSON_PATCH_MEDIA_TYPE || whole || !is_object);
            if fits && all.len() < MAX_BODY_MEDIA_TYPES && !known.contains(&plain) && same() {
                known.push(plain);
                all.push(media.clone());
            }
        }
        let patch = whole && is_object && known.iter().any(|known| known == JSON_PATCH_MEDIA_TYPE);
        Self {
            media: if all.len() > 1 { all } else { Vec::new() },
            patch,
        }
    }

    pub(super) fn argument(&self) -> Option<(String, Value)> {
        let usual = self.media.first()?;
        let argument = json!({
            "type": "string",
            "enum": self.media,
            "default": usual,
            "description": if self.patch { "The media type that the body is sent as. A list is sent as a JSON Patch." } else { "The media type that the body is sent as." },
        });
        Some((CONTENT_TYPE_ARGUMENT.to_owned(), argument))
    }

    pub(super) fn takes_patch(&self) -> bool {
        self.patch
    }
}

/// The schema of a JSON Patch.
pub(super) fn json_patch() -> Value {
    json!({
        "type": "array",
        "description": "A JSON Patch (RFC 6902).",
        "items": {
            "type": "object",
            "properties": {
                "op": { "type": "string", "enum": ["add", "remove", "replace", "move", "copy", "test"] },
                "path": { "type": "string" },
                "from": { "type": "string" },
                "value": {},
            },
            "required": ["op", "path"],
        },
    })
}

/// Takes the requested media type out of a call's arguments. `None` for the default.
pub(super) fn asked(body: &OperationBody, arguments: &mut Map<String, Value>) -> Option<String> {
    let choice = &body.choice;
    if !choice.media.is_empty()
        && let Some(Value::String(asked)) = arguments.shift_remove(CONTENT_TYPE_ARGUMENT)
    {
        return choice.media.contains(&asked).then_some(asked);
    }
    let BodyArguments::Whole(name) = &body.given else {
        return None;
    };
    let is_patch = choice.patch && arguments.get(name).is_some_and(Value::is_array);
    is_patch.then(|| JSON_PATCH_MEDIA_TYPE.to_owned())
}

pub(super) fn sent_as(body: http::RequestBody, media: String) -> http::RequestBody {
    match body {
        http::RequestBody::Json(value) => http::RequestBody::Bytes {
            bytes: value.to_string().into_bytes(),
            media,
        },
        http::RequestBody::Bytes { bytes, .. } => http::RequestBody::Bytes { media, bytes },
        form @ (http::RequestBody::Form(_) | http::RequestBody::Multipart(_)) => form,
    }
}

fn is_list(document: &OpenApiDocument, schema: &Value) -> bool {
    let Ok(schema) = document.resolve(schema) else {
        return false;
    };
    text(schema, "type") == Some("array")
        || schema.get("items").is_some()
        || ["anyOf", "oneOf"]
            .iter()
            .flat_map(|keyword| items(schema, keyword))
            .any(|it| text(it, "type") == Some("array"))
}

/// The media type, without parameters, in lowercase.
pub(super) fn essence(media: &str) -> String {
    let plain = media.split(';').next().unwrap_or_default();
    plain.trim().to_ascii_lowercase()
}

pub(super) fn is_json(media: &str) -> bool {
    let media = essence(media);
    matches!(media.as_str(), "*/*" | "application/*" | "text/json")
        || media.ends_with("/json")
        || media.ends_with("+json")
}

/// True for a YAML type, as which JSON can be sent.
fn is_yaml(plain: &str) -> bool {
    plain.ends_with("/yaml") || plain.ends_with("+yaml")
}

pub(super) fn is_text(media: &str) -> bool {
    media.starts_with("text/")
        || [
            "xml",
            "yaml",
            "yml",
            "ndjson",
            "jsonl",
            "javascript",
            "graphql",
        ]
        .iter()
        .any(|word| media.ends_with(word))
}
