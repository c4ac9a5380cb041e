//! The words of an authorization server in an error response: OAuth's members, other JSON, a form, or the text of a page.
//!
//! Issuers write errors in more ways than RFC 6749 has: with status 200, as a form, as an object within `error`, or as a
//! page for people. Each is read here.

use mux_secrets::Secret;
use serde_json::{Map, Value};
use url::form_urlencoded;

/// The members that describe an error, the best first.
const DESCRIBING_MEMBERS: [&str; 6] = [
    "error_description",
    "message",
    "detail",
    "description",
    "title",
    "error_uri",
];
/// Pages are searched for text up to this length.
const MAX_PAGE_CHARS: usize = 20_000;

/// An error of OAuth.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct IssuerError {
    /// The `error` code. Empty if there is only a description.
    pub code: String,
    pub words: String,
}

/// Replaces these secrets with `***` in all strings. In the body they may be escaped.
pub fn hide_in(value: &mut Value, secrets: &[&Secret]) {
    match value {
        Value::String(text) => {
            for secret in secrets {
                *text = secret.hidden_in(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide_in(item, secrets)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| hide_in(member, secrets)),
        _ => {}
    }
}

/// The members of a JSON object, which may begin with a byte order mark.
pub fn json_members(body: &[u8]) -> Option<Map<String, Value>> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    match serde_json::from_slice(body).ok()? {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

/// The members of a JSON object, or the fields of a form.
pub fn members_or_fields(body: &[u8]) -> Option<Map<String, Value>> {
    json_members(body).or_else(|| {
        let fields = form_urlencoded::parse(body.trim_ascii());
        let fields: Map<String, Value> = fields
            .map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())))
            .collect();
        let is_answer = ["access_token", "error"]
            .iter()
            .any(|name| fields.contains_key(*name));
        is_answer.then_some(fields)
    })
}

/// The error in these members, if any.
pub fn error_in(members: &Map<String, Value>) -> Option<IssuerError> {
    let string = |members: &Map<String, Value>, name: &str| {
        let text = members.get(name)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let (code, described) = match members.get("error") {
        Some(Value::Object(inner)) => {
            let code = ["error", "code", "type", "status"];
            let code = code.iter().find_map(|name| string(inner, name));
            (code.unwrap_or_default(), inner)
        }
        Some(Value::String(code)) if !code.trim().is_empty() => (code.trim().to_owned(), members),
        _ => return None,
    };
    let description = DESCRIBING_MEMBERS
        .iter()
        .find_map(|name| string(described, name));
    Some(error(&code, description.as_deref()))
}

/// An error code with its description.
pub fn error(code: &str, description: Option<&str>) -> IssuerError {
    let words = match description {
        Some(description) if code.is_empty() => description.to_owned(),
        Some(description) => format!("{code}, {description}"),
        None => code.to_owned(),
    };
    IssuerError {
        code: code.to_owned(),
        words: one_line_excerpt(&words),
    }
}

/// The words of any error response. `None` if it says nothing.
pub fn words_of(body: &[u8]) -> Option<String> {
    let words = match members_or_fields(body) {
        Some(members) => match error_in(&members) {
            Some(error) => error.words,
            None => DESCRIBING_MEMBERS
                .iter()
                .find_map(|name| members.get(*name)?.as_str().map(one_line_excerpt))?,
        },
        None => one_line_excerpt(&page_text(&String::from_utf8_lossy(body))),
    };
    (!words.is_empty()).then_some(words)
}

/// The beginning of a text from a remote server, on one line.
pub fn one_line_excerpt(text: &str) -> String {
    const MAX_EXCERPT_CHARS: usize = 300;
    let words: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_EXCERPT_CHARS)
        .collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The visible text of an HTML page, or a plain text.
fn page_text(page: &str) -> String {
    let page: String = page.chars().take(MAX_PAGE_CHARS).collect();
    let mut text = String::new();
    let mut rest = page.as_str();
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        let name = tag.trim_start_matches('/');
        let is_hidden = ["script", "style", "svg"].iter().any(|hidden| {
            name.len() >= hidden.len()
                && name.as_bytes()[..hidden.len()].eq_ignore_ascii_case(hidden.as_bytes())
        });
        let end = if is_hidden && !tag.starts_with('/') {
            tag.find("</")
        } else {
            None
        };
        rest = match end {
            Some(end) => &tag[end..],
            None => tag.split_once('>').map_or("", |(_, after)| after),
        };
    }
    text.push_str(rest);
    for (entity, character) in [
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ] {
        text = text.replace(entity, character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_in_every_way_that_issuers_write_them() {
        for (body, words) in [
            (r#"{"error":"invalid_grant"}"#, Some("invalid_grant")),
            (
                r#"{"error":"invalid_grant","error_description":"it\nis over"}"#,
                Some("invalid_grant, it is over"),
            ),
            (
                "\u{feff}{\"error\":\"x\",\"error_description\":null,\"message\":\"why\"}",
                Some("x, why"),
            ),
            (
                r#"{"error":{"code":"unknown_client","message":"who?"}}"#,
                Some("unknown_client, who?"),
            ),
            (
                r#"{"message":"Unrecognized client_id"}"#,
                Some("Unrecognized client_id"),
            ),
            (r#"{"detail":"Not Found"}"#, Some("Not Found")),
            (
                "error=bad_verification_code&error_description=The+code+is+old.",
                Some("bad_verification_code, The code is old."),
            ),
            (
                "<!doctype html><html><head><title>Oops</title><style>p { color: red }</style>\
                 <script>let a = '<b>';</script></head><body><h1>unknown&nbsp;client</h1></body></html>",
                Some("Oops unknown client"),
            ),
            ("unknown client", Some("unknown client")),
            ("{}", None),
            ("", None),
        ] {
            assert_eq!(words_of(body.as_bytes()).as_deref(), words, "{body}");
        }
        assert_eq!(error_in(&json_members(b"{\"error\":null}").unwrap()), None);
        assert_eq!(members_or_fields(b"<p>error=no</p>"), None);
    }
}
