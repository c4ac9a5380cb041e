//! Checks single values of a source's entry.
//!
//! Invariant: an error never repeats a value that may be a secret.

use std::collections::BTreeMap;

use mux_secrets::{Secret, may_be_generated};

use mux_config::{EntryError, environment::Environment};

/// Words in header names whose values look generated but are not secrets.
const PLAIN_HEADER_WORDS: [&str; 5] = ["accept", "agent", "content", "version", "trace"];

/// The values of headers that refer to a secret or look like one.
pub(super) fn secret_headers(
    headers: &BTreeMap<String, String>,
    environment: &Environment,
) -> Result<Vec<Secret>, EntryError> {
    let mut secret = Vec::new();
    for (name, written) in headers {
        let name = name.to_ascii_lowercase();
        let value = environment.expand_without_workspace(written)?;
        let is_word = PLAIN_HEADER_WORDS.iter().any(|word| name.contains(word));
        if !environment.secrets_of_text(written).is_empty()
            || (!is_word && may_be_generated(&value))
        {
            secret.push(value.into());
        }
    }
    Ok(secret)
}

/// Normalizes origins as a browser does: `https://Host:443/` becomes `https://host`.
pub(super) fn origins(
    written: &[String],
    environment: &Environment,
) -> Result<Vec<String>, EntryError> {
    let origin = |written: &String| {
        let text = environment.expand_without_workspace(written)?;
        let url = url::Url::parse(&text).ok().filter(|_| is_http(&text));
        let url = url.ok_or(
            "`origins` must be http:// or https:// and a host, such as \"https://uploads.example.com\"",
        )?;
        let bare =
            matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        if bare && url.username().is_empty() && url.password().is_none() {
            Ok(url.origin().ascii_serialization())
        } else {
            Err(EntryError::Invalid(format!(
                "`origins` must have neither a path nor a user: credentials go to all of {}",
                url.host_str().unwrap_or_default()
            )))
        }
    };
    written.iter().map(origin).collect()
}

pub(super) fn is_http(url: &str) -> bool {
    url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}
