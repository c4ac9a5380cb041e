//! Converts a response into an MCP `CallToolResult`.
//!
//! JSON becomes structured content of any type, text becomes text content, images and audio become their content types,
//! other bytes an embedded resource, and an empty body null. A status of 300 or more is an error with `{ status,
//! headers, body }` as structured content. `_meta` holds the status and the headers that matter to a caller.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::{
    StatusCode,
    header::{HeaderMap, LOCATION, WWW_AUTHENTICATE},
};
use serde_json::{Map, Value, json};

use super::{
    api_response::{ApiResponse, MediaKind},
    error_reason::reason,
    secret_mask::SecretMask,
};

/// The limit of an error's body in its details, in bytes.
const MAX_ERROR_BODY_BYTES: usize = 256 << 10;
/// Headers in `_meta`, in addition to the rate limit headers.
const REPORTED_HEADERS: &[&str] = &[
    "content-disposition",
    "content-language",
    "content-location",
    "content-range",
    "content-type",
    "deprecation",
    "etag",
    "last-modified",
    "link",
    "location",
    "request-id",
    "retry-after",
    "sunset",
    "x-next-page",
    "x-request-id",
    "x-total",
    "x-total-count",
    "x-total-pages",
];

/// The request, for display: method and path, and the URL without its query.
pub(super) struct RequestInfo<'a> {
    pub(super) what: String,
    pub(super) url: String,
    pub(super) mask: &'a SecretMask,
}

/// The result of a successful response.
pub(super) fn success(reply: &ApiResponse, asked: &RequestInfo<'_>) -> Value {
    let meta = meta(reply, asked.mask);
    if reply.body.is_empty() {
        // Null, as in the output schema of an empty response.
        return json!({ "content": [], "structuredContent": null, "_meta": meta });
    }
    let media = reply.media();
    let data = |kind: &str| {
        part([
            ("type", kind.into()),
            ("data", STANDARD.encode(&reply.body).into()),
            ("mimeType", media.as_str().into()),
        ])
    };
    let content = match reply.kind() {
        MediaKind::Json => {
            let text = asked.mask.content(&reply.text());
            match serde_json::from_str::<Value>(&text) {
                Ok(value) => return json_result(text, value, meta),
                Err(_) => text_part(text),
            }
        }
        MediaKind::Text => text_part(asked.mask.content(&reply.text())),
        MediaKind::Image => data("image"),
        MediaKind::Audio => data("audio"),
        MediaKind::Other => {
            let blob = STANDARD.encode(&reply.body);
            let media = if media.is_empty() {
                "application/octet-stream"
            } else {
                &media
            };
            let resource = part([
                ("uri", asked.url.as_str().into()),
                ("mimeType", media.into()),
                ("blob", blob.into()),
            ]);
            part([("type", "resource".into()), ("resource", resource)])
        }
    };
    part([("content", vec![content].into()), ("_meta", meta)])
}

/// The result of a JSON response. Text content is added for clients that do not read structured content, except for a
/// scalar, which would be a string there.
pub(super) fn json_result(text: String, value: Value, meta: Value) -> Value {
    let content = if value.is_object() || value.is_array() {
        vec![text_part(text)]
    } else {
        Vec::new()
    };
    part([
        ("content", content.into()),
        ("structuredContent", value),
        ("_meta", meta),
    ])
}

/// The result of an error response. `hint` is a remedy.
pub(super) fn failure(reply: &ApiResponse, asked: &RequestInfo<'_>, hint: Option<&str>) -> Value {
    let cut = reply.body.len() > MAX_ERROR_BODY_BYTES;
    let text = match reply.kind() {
        MediaKind::Image | MediaKind::Audio | MediaKind::Other => String::new(),
        MediaKind::Json => asked.mask.json_words(&reply.text()),
        MediaKind::Text => asked.mask.words(&reply.text()),
    };
    let body = if cut {
        None
    } else {
        serde_json::from_str::<Value>(&text).ok()
    };
    let is_page = reply.media() == "text/html";
    let why = if reply.status.is_redirection() {
        redirected(&reply.headers, asked.mask)
    } else {
        reason(body.as_ref(), &text, is_page)
    };
    let status = reply.status;
    let mut message = format!("{} answered HTTP {}", asked.what, named(status));
    for (place, more) in why.iter().map(String::as_str).chain(hint).enumerate() {
        message.push_str(if place == 0 { ": " } else { "; " });
        message.push_str(more);
    }
    let mut details = json!({
        "status": status.as_u16(),
        "headers": headers(&reply.headers, asked.mask),
        "body": match body {
            Some(body) => body,
            None if text.is_empty() => Value::Null,
            None => text[..text.floor_char_boundary(MAX_ERROR_BODY_BYTES)].into(),
        },
    });
    if cut {
        let length = reply.body.len();
        details["note"] =
            format!("`body` is cut to {MAX_ERROR_BODY_BYTES} of {length} bytes").into();
    }
    json!({
        "isError": true,
        "content": [text_part(message)],
        "structuredContent": details,
        "_meta": meta(reply, asked.mask),
    })
}

/// The `_meta` of a result.
pub(super) fn meta(reply: &ApiResponse, mask: &SecretMask) -> Value {
    json!({ "status": reply.status.as_u16(), "headers": headers(&reply.headers, mask) })
}

fn headers(all: &HeaderMap, mask: &SecretMask) -> Value {
    let mut members: Map<String, Value> = Map::new();
    for (name, value) in all {
        let name = name.as_str();
        if !REPORTED_HEADERS.contains(&name)
            && !name.contains("ratelimit")
            && !name.contains("rate-limit")
        {
            continue;
        }
        let value = mask.words(&String::from_utf8_lossy(value.as_bytes()));
        match members.get_mut(name) {
            Some(Value::String(before)) => *before = format!("{before}, {value}"),
            _ => drop(members.insert(name.to_owned(), value.into())),
        }
    }
    if let Some(wanted) = all.get(WWW_AUTHENTICATE).and_then(|it| it.to_str().ok()) {
        members.insert("www-authenticate".into(), mask.words(wanted).into());
    }
    Value::Object(members)
}

fn redirected(headers: &HeaderMap, mask: &SecretMask) -> Option<String> {
    let to = headers.get(LOCATION)?.to_str().ok()?;
    // The query may contain a secret. The masked header has the whole query.
    let to = mask.words(to.split(['?', '#']).next().unwrap_or(to));
    Some(format!(
        "it redirects to {to}, which is not followed: credentials go to one origin only"
    ))
}

fn text_part(text: String) -> Value {
    part([("type", "text".into()), ("text", text.into())])
}

/// An object of moved values. `json!` would copy them, and a response may be long.
fn part<const N: usize>(members: [(&str, Value); N]) -> Value {
    let owned = members.map(|(name, value)| (name.to_owned(), value));
    Value::Object(owned.into_iter().collect())
}

fn named(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(name) => format!("{} {name}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}
