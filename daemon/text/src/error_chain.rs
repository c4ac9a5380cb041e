//! Describes a failed HTTP request: its causes, each once, and a fix.

use std::error::Error;

/// The causes of an error on one line, each once.
pub fn error_causes(error: &dyn Error) -> String {
    let mut text = String::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = match cause.to_string() {
            said if said == "dns error" => "the host name cannot be resolved".to_owned(),
            said => match said.strip_prefix("failed to lookup address information: ") {
                Some(reason) => reason.to_owned(),
                None => said,
            },
        };
        // Generic messages of hyper and its resolver; their sources are specific.
        let empty = ["client error", "connection error", "error resolving DNS"]
            .iter()
            .any(|generic| said.starts_with(generic));
        let says_more = !empty || cause.source().is_none();
        if says_more && !text.contains(&said) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&said);
        }
        next = cause.source();
    }
    if text.is_empty() {
        error.to_string()
    } else {
        text
    }
}

/// A hint for a failed request. `key` is the configuration key of the URL.
pub fn fix_of(why: &str, key: &str) -> String {
    let why = why.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if says(&["corrupt message", "wrong version", "record overflow"]) {
        format!("does it speak https? check the scheme of `{key}`")
    } else if says(&["certificate", "unknownissuer", "tls", "handshake"]) {
        "if its certificate is from a private CA, set SSL_CERT_FILE to the CA file in the `env` file beside config.toml"
            .into()
    } else if says(&["dns", "lookup", "resolve", "name or service"]) {
        format!("check the host of `{key}`, and the network")
    } else if says(&["proxy", "tunnel"]) {
        "check HTTP_PROXY and HTTPS_PROXY, or name the host in NO_PROXY".into()
    } else {
        format!("is the server running? check `{key}`")
    }
}

/// The beginning of a server's response, on one line.
pub fn excerpt(text: &str) -> String {
    const MAX_EXCERPT_CHARS: usize = 200;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let mut short: String = line
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_EXCERPT_CHARS)
        .collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_is_one_short_line() {
        let page = format!("<html>\n  <b>\u{7}No\u{1b}[1m</b>\r\n{}", "x".repeat(500));
        let line = excerpt(&page);
        assert!(
            line.starts_with("<html> <b>No[1m</b> xxx") && line.ends_with('…'),
            "{line}"
        );
        assert!(line.chars().count() <= 201);
    }
}
