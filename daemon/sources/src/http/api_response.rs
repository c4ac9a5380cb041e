//! An answer, read to its end.
//!
//! Invariant: no more of one is kept than [`LONGEST_ANSWER`], none that is JSON holds more than [`MOST_VALUES`], and
//! nothing of one is left out silently.

use encoding_rs::{Encoding, UTF_8};
use futures::StreamExt as _;
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_TYPE, HeaderMap},
};
use serde::de::IgnoredAny;

use crate::weight;

/// As long as what a frame carries to a program.
pub(crate) const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// In an answer that is JSON, by their weight: a few megabytes can be as many values as take a gigabyte.
pub(crate) const MAX_RESPONSE_VALUES: usize = 1_000_000;

/// What an API says to a request.
#[derive(Clone, Debug)]
pub(crate) struct ApiResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Why there is none, though the API began to say it.
pub(super) enum ResponseReadError {
    TooLong,
    TooMany,
    Broken(reqwest::Error),
}

/// What a body is, by its media type.
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
        let (status, headers) = (response.status(), response.headers().clone());
        let announced = response.content_length().unwrap_or(0);
        if announced > MAX_RESPONSE_BYTES as u64 {
            return Err(ResponseReadError::TooLong);
        }
        let mut body = Vec::with_capacity(usize::try_from(announced).unwrap_or(0));
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(ResponseReadError::Broken)?;
            if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
                return Err(ResponseReadError::TooLong);
            }
            body.extend_from_slice(&chunk);
        }
        let reply = Self {
            status,
            headers,
            body,
        };
        match reply.is_heavy() {
            true => Err(ResponseReadError::TooMany),
            false => Ok(reply),
        }
    }

    /// Of values, if anybody reads it as JSON, whatever it calls itself.
    fn is_heavy(&self) -> bool {
        let start = self.body.trim_ascii_start();
        if !start.starts_with(b"[") && !start.starts_with(b"{")
            || weight::of(start, MAX_RESPONSE_VALUES).is_some()
        {
            return false;
        }
        // Lines of JSON are not read as one value.
        let mut values = serde_json::Deserializer::from_slice(start).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                weight::of(&start[..values.byte_offset()], MAX_RESPONSE_VALUES).is_none()
            }
            _ => true,
        }
    }

    /// Without its parameters, in small letters.
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
            // Nothing was said: it is what it looks like.
            ("", _) if serde_json::from_slice::<IgnoredAny>(&self.body).is_ok() => MediaKind::Json,
            ("", _) if std::str::from_utf8(&self.body).is_ok() => MediaKind::Text,
            _ => MediaKind::Other,
        }
    }

    /// The body as text in the encoding that its byte order mark or its `charset` names, otherwise UTF-8. Bytes that
    /// are no characters are replaced.
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
