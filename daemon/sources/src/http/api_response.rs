//! A response, read completely.
//!
//! Invariant: a response is at most [`MAX_RESPONSE_BYTES`] long, JSON in it has at most [`MAX_RESPONSE_VALUES`] values,
//! and nothing is cut silently.

use std::io::Read as _;

use encoding_rs::{Encoding, UTF_8};
use flate2::read::GzDecoder;
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap},
};
use serde::de::IgnoredAny;

use mux_http::response_body::read_body;
use mux_process::blocking_pool;
use mux_text::json_weight as weight;

/// The size of the largest frame to a program.
pub(crate) const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// In `json_weight` values, for JSON: a few megabytes of JSON can contain so many values that they take a gigabyte.
pub(crate) const MAX_RESPONSE_VALUES: usize = 1_000_000;

/// Longer bodies are decoded, weighed and parsed off the runtime's threads, and so are encoded bodies of any length.
pub(super) const LONG_BODY_BYTES: usize = 64 << 10;

/// Decodes a body that the HTTP client has not decoded because its encoding is written in an unusual way. The client
/// removes the header of a body that it decodes.
fn decoded(body: Vec<u8>, headers: &HeaderMap) -> Result<Vec<u8>, ResponseReadError> {
    let encoding = headers.get(CONTENT_ENCODING);
    let encoding = encoding.and_then(|value| value.to_str().ok()).unwrap_or("");
    let encoding = encoding.trim().to_ascii_lowercase();
    if body.is_empty() || matches!(encoding.as_str(), "" | "identity") {
        return Ok(body);
    }
    let unknown = || ResponseReadError::Encoded(encoding.clone());
    if matches!(encoding.as_str(), "gzip" | "x-gzip") {
        let mut decoded = Vec::new();
        let mut decoder = GzDecoder::new(&*body).take(MAX_RESPONSE_BYTES as u64 + 1);
        decoder.read_to_end(&mut decoded).map_err(|_| unknown())?;
        return if decoded.len() > MAX_RESPONSE_BYTES {
            Err(ResponseReadError::TooLong)
        } else {
            Ok(decoded)
        };
    }
    // Some servers name the character set here.
    match std::str::from_utf8(&body) {
        Ok(_) => Ok(body),
        Err(_) => Err(unknown()),
    }
}

/// The response of an API to a request.
#[derive(Clone, Debug)]
pub(crate) struct ApiResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// The reason a response could not be read.
pub(super) enum ResponseReadError {
    TooLong,
    TooMany,
    Broken(reqwest::Error),
    /// muxd cannot decode this encoding.
    Encoded(String),
}

/// The kind of a body, by its media type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum MediaKind {
    Json,
    Text,
    Image,
    Audio,
    Other,
}

impl ApiResponse {
    pub(super) async fn read(response: Response) -> Result<Self, ResponseReadError> {
        let status = response.status();
        let headers = response.headers().clone();
        let body = read_body(response, MAX_RESPONSE_BYTES).await;
        let body = body
            .map_err(ResponseReadError::Broken)?
            .ok_or(ResponseReadError::TooLong)?;
        let is_long = body.len() > LONG_BODY_BYTES || headers.contains_key(CONTENT_ENCODING);
        blocking_pool::run_if(is_long, move || Self::decode(status, headers, body)).await
    }

    fn decode(
        status: StatusCode,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Self, ResponseReadError> {
        let body = decoded(body, &headers)?;
        let reply = Self {
            status,
            headers,
            body,
        };
        if reply.is_heavy() {
            Err(ResponseReadError::TooMany)
        } else {
            Ok(reply)
        }
    }

    /// True if the body has too many JSON values, regardless of its media type.
    fn is_heavy(&self) -> bool {
        let start = self.body.trim_ascii_start();
        if !start.starts_with(b"[") && !start.starts_with(b"{")
            || weight::of(start, MAX_RESPONSE_VALUES).is_some()
        {
            return false;
        }
        // Newline-delimited JSON is not parsed as one value.
        let mut values = serde_json::Deserializer::from_slice(start).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                weight::of(&start[..values.byte_offset()], MAX_RESPONSE_VALUES).is_none()
            }
            _ => true,
        }
    }

    /// The media type, without parameters, in lowercase.
    pub(crate) fn media(&self) -> String {
        let said = self.headers.get(CONTENT_TYPE);
        let said = said.and_then(|said| said.to_str().ok()).unwrap_or("");
        let media = said.split(';').next().unwrap_or("");
        media.trim().to_ascii_lowercase()
    }

    pub(super) fn kind(&self) -> MediaKind {
        let media = self.media();
        match media.split_once('/').unwrap_or(("", "")) {
            ("application" | "text", "json") => MediaKind::Json,
            (_, sub) if sub.ends_with("+json") => MediaKind::Json,
            (_, sub) if sub.ends_with("+xml") => MediaKind::Text,
            ("text", _) => MediaKind::Text,
            (
                "application",
                "xml"
                | "javascript"
                | "x-yaml"
                | "yaml"
                | "x-ndjson"
                | "jsonl"
                | "graphql"
                | "sql"
                | "x-www-form-urlencoded"
                | "toml",
            ) => MediaKind::Text,
            ("image", _) => MediaKind::Image,
            ("audio", _) => MediaKind::Audio,
            // Without a media type, the content decides.
            ("", _) if serde_json::from_slice::<IgnoredAny>(&self.body).is_ok() => MediaKind::Json,
            ("", _) if std::str::from_utf8(&self.body).is_ok() => MediaKind::Text,
            _ => MediaKind::Other,
        }
    }

    /// The body as a string. The character set is Latin-1 if the header says so, otherwise UTF-8.
    pub(crate) fn text(&self) -> String {
        let content_type = self.headers.get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let mut parameters = content_type.unwrap_or_default().split(';').skip(1);
        let charset = parameters.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then_some(value)
        });
        let charset = charset.map(|label| label.trim().trim_matches('"'));
        let encoding = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
        let (text, _, _) = encoding.unwrap_or(UTF_8).decode(&self.body);
        text.into_owned()
    }
}
