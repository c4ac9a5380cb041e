//! What a person is told of a failure: its causes, the fix, and no secret.
//!
//! Invariant: nothing is shown that went through [`Secrets::clean`] and holds a header's value, a
//! password or the value of a query.

use std::{error::Error, fmt};

use url::Url;

use super::client::proxy_secrets;
use crate::settings::Remote;

/// A shorter one is none, and stands in many a word.
const SHORTEST: usize = 6;

/// What must not stand in an error, though a server may say it. The longest come first.
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn of(remote: &Remote) -> Self {
        let mut secrets: Vec<String> = Vec::new();
        for value in remote.headers.values() {
            secrets.push(value.clone());
            // `Bearer x` is said as `x`, too.
            secrets.extend(value.split_whitespace().map(str::to_owned));
        }
        if let Ok(url) = Url::parse(&remote.url) {
            secrets.extend(url.password().map(str::to_owned));
            for (_, value) in url.query_pairs() {
                secrets.push(value.into_owned());
            }
            secrets.extend(
                url.query()
                    .into_iter()
                    .flat_map(|query| query.split('&'))
                    .filter_map(|pair| Some(pair.split_once('=')?.1.to_owned())),
            );
        }
        secrets.extend(proxy_secrets(&remote.network));
        secrets.retain(|secret| secret.len() >= SHORTEST && !secret.eq_ignore_ascii_case("bearer"));
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self(secrets)
    }

    pub(super) fn clean(&self, text: &str) -> String {
        let secrets = self.0.iter();
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// An error with its sources, each said once.
pub(super) fn causes(error: &dyn Error) -> String {
    let mut text = String::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        // Of hyper, whose own sources say more.
        let empty = said.starts_with("client error") || said.starts_with("connection error");
        let says_more = !empty || cause.source().is_none();
        if says_more && !text.contains(&said) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&said);
        }
        next = cause.source();
    }
    match text.is_empty() {
        true => error.to_string(),
        false => text,
    }
}

pub(super) fn fix_of(why: &str) -> &'static str {
    let why = why.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if says(&["corrupt message", "wrong version", "record overflow"]) {
        "does it speak https? check the scheme of `url`"
    } else if says(&["certificate", "unknownissuer", "tls", "handshake"]) {
        "if its certificate is one of your own, name the file in SSL_CERT_FILE in the `env` file beside config.toml"
    } else if says(&["dns", "lookup", "resolve", "name or service"]) {
        "check the host of `url`, and the network"
    } else if says(&["proxy", "tunnel"]) {
        "check HTTP_PROXY and HTTPS_PROXY, or name the host in NO_PROXY"
    } else {
        "is the server running? check `url`"
    }
}

/// The beginning of what a server says, in one line.
pub(super) fn excerpt(text: &str) -> String {
    const LENGTH: usize = 200;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let mut short: String = line
        .chars()
        .filter(|c| !c.is_control())
        .take(LENGTH)
        .collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Oauth;

    #[test]
    fn the_secrets_of_an_entry_are_struck_out_and_short_words_are_not() {
        let headers = [("Authorization", "Bearer t0ken-123"), ("X-Short", "on")];
        let remote = Remote {
            url: "https://me:p4ssw0rd@h/mcp?key=a%20secret&n=1".into(),
            written: String::new(),
            headers: headers.map(|(n, v)| (n.into(), v.into())).into(),
            transport: None,
            socket: None,
            network: Default::default(),
            oauth: Oauth::Off,
        };
        let secrets = Secrets::of(&remote);
        let said = "bearer Bearer t0ken-123 or t0ken-123, p4ssw0rd, a%20secret, a secret; 1 is on";
        assert_eq!(
            secrets.clean(said),
            "bearer *** or ***, ***, ***, ***; 1 is on"
        );
        assert!(!format!("{secrets:?}").contains("p4ss"));
    }

    #[test]
    fn a_page_becomes_one_short_line() {
        let page = format!("<html>\n  <b>\u{7}No\u{1b}[1m</b>\r\n{}", "x".repeat(500));
        let line = excerpt(&page);
        assert!(
            line.starts_with("<html> <b>No[1m</b> xxx") && line.ends_with('…'),
            "{line}"
        );
        assert!(line.chars().count() <= 201);
    }
}
