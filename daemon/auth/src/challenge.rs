//! The `WWW-Authenticate` header of a server that requires a login (RFC 9110, 11.6.1; RFC 6750; RFC 9728).

use mux_http::issuer_words::one_line_excerpt;
use url::Url;

/// The parameters of a bearer challenge that muxd uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BearerChallenge {
    pub(super) resource_metadata: Option<Url>,
    pub(super) scopes: Vec<String>,
    pub(super) error: Option<String>,
    pub(super) error_description: Option<String>,
}

impl BearerChallenge {
    /// Reads the header, which may have several challenges. A relative URL is resolved against `server`.
    pub(super) fn parse(header: &str, server: &Url) -> Self {
        let mut challenge = Self::default();
        for (name, value) in parameters(header) {
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => {
                    let url = server.join(&value).ok();
                    challenge.resource_metadata = challenge.resource_metadata.or(url);
                }
                "scope" if challenge.scopes.is_empty() => {
                    challenge.scopes = value.split_whitespace().map(one_line_excerpt).collect();
                }
                "error" => challenge.error = challenge.error.or(Some(one_line_excerpt(&value))),
                "error_description" => {
                    let description = one_line_excerpt(&value);
                    challenge.error_description = challenge
                        .error_description
                        .or(Some(description).filter(|text| !text.is_empty()));
                }
                _ => {}
            }
        }
        challenge
    }
}

/// The parameters of all challenges in a header. Values may be quoted, also with commas and escapes within.
fn parameters(header: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once('=') {
        let name = before.trim_end();
        let name = name
            .rsplit(|c: char| c == ',' || c.is_whitespace())
            .next()
            .unwrap_or_default();
        let after = after.trim_start();
        let (value, remaining) = if let Some(quoted) = after.strip_prefix('"') {
            quoted_string(quoted)
        } else {
            let end = after
                .find(|c: char| c == ',' || c.is_whitespace())
                .unwrap_or(after.len());
            (after[..end].to_owned(), &after[end..])
        };
        if !name.is_empty() {
            found.push((name.to_owned(), value));
        }
        rest = remaining;
    }
    found
}

/// The text up to the closing quote, and the rest.
fn quoted_string(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => value.push(character),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_in_every_spelling() {
        let server = Url::parse("https://x.test/mcp").unwrap();
        let at = "https://x.test/.well-known/oauth-protected-resource/mcp";
        for (header, metadata, scopes, error) in [
            ("", None, "", None),
            ("Bearer", None, "", None),
            ("Bearer realm=\"OAuth\"", None, "", None),
            (
                "Bearer error=\"invalid_token\", resource_metadata=\"/.well-known/oauth-protected-resource/mcp\", scope=\"a b\"",
                Some(at),
                "a b",
                Some("invalid_token"),
            ),
            (
                "bearer scope=a, Resource_Metadata=https://x.test/.well-known/oauth-protected-resource/mcp",
                Some(at),
                "a",
                None,
            ),
            (
                "Basic realm=\"a, scope=\\\"x\\\"\", Bearer scope = \"tools:read\",error=insufficient_scope",
                None,
                "tools:read",
                Some("insufficient_scope"),
            ),
            ("Bearer scope=\"a", None, "a", None),
        ] {
            let challenge = BearerChallenge::parse(header, &server);
            let url = challenge.resource_metadata.as_ref().map(Url::as_str);
            assert_eq!(url, metadata, "{header}");
            assert_eq!(challenge.scopes.join(" "), scopes, "{header}");
            assert_eq!(challenge.error.as_deref(), error, "{header}");
        }
    }
}
