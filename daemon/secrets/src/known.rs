//! Secrets that are known by their value, in every encoding in which they may appear.

use std::{collections::BTreeSet, fmt};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::{Url, form_urlencoded};

use crate::{
    names::{Suspicion, suspicion},
    secret::Secret,
    shape::may_be_generated,
};

/// Shorter values are not masked: they occur in ordinary words.
pub const MIN_KNOWN_LEN: usize = 6;
/// Authentication schemes, which precede a value in a header and are not secret.
const SCHEMES: &[&str] = &["bearer", "basic", "digest", "token", "apikey"];

/// Values to mask. Values shorter than [`MIN_KNOWN_LEN`] are left out.
#[derive(Clone, Default, Eq, PartialEq)]
pub struct KnownSecrets(BTreeSet<Secret>);

impl KnownSecrets {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value in its encodings: form-encoded, percent-encoded and as a JSON string. Each line of a multi-line
    /// value is also added.
    pub fn add(&mut self, value: &str) {
        self.add_spelled(value);
        if value.contains('\n') {
            for line in value.lines() {
                self.add_spelled(line.trim());
            }
        }
    }

    fn add_spelled(&mut self, value: &str) {
        let is_scheme = SCHEMES
            .iter()
            .any(|scheme| value.eq_ignore_ascii_case(scheme));
        if value.len() < MIN_KNOWN_LEN || is_scheme {
            return;
        }
        let form: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
        let quoted = Value::from(value).to_string();
        let quoted = &quoted[1..quoted.len() - 1];
        for spelling in [
            value,
            form.replace('+', "%20").as_str(),
            form.as_str(),
            quoted,
            // Some JSON writers escape slashes.
            quoted.replace('/', "\\/").as_str(),
        ] {
            if !self.0.contains(&Secret::new(spelling)) {
                self.0.insert(Secret::new(spelling));
            }
        }
    }

    pub fn add_all<'a>(&mut self, values: impl IntoIterator<Item = &'a str>) {
        values.into_iter().for_each(|value| self.add(value));
    }

    /// Adds a user name and password as they are sent, and the password alone.
    pub fn add_login(&mut self, username: &str, password: &str) {
        self.add(&STANDARD.encode(format!("{username}:{password}")));
        // The encoding of token requests (RFC 6749, 2.3.1).
        let encoded =
            |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        self.add(&STANDARD.encode(format!("{}:{}", encoded(username), encoded(password))));
        self.add(password);
    }

    /// Adds a credential that is a token or `user:password`.
    pub fn add_credential(&mut self, text: &str) {
        self.add(text);
        self.add(&STANDARD.encode(text));
        if let Some((_, password)) = text.split_once(':') {
            self.add(password);
        }
    }

    /// Adds the value of a header: the whole, each word except the scheme, and the decoded `Basic` value.
    pub fn add_header(&mut self, value: &str) {
        self.add(value);
        for word in value.split_whitespace() {
            self.add(word);
            let pair = STANDARD
                .decode(word)
                .ok()
                .and_then(|pair| String::from_utf8(pair).ok());
            if let Some(pair) = pair
                && let Some((_, password)) = pair.split_once(':')
            {
                self.add(&pair);
                self.add(password);
            }
        }
    }

    /// Adds the password of a URL: as written, decoded, and as it is sent.
    pub fn add_password_of(&mut self, address: &str) {
        if let Ok(url) = Url::parse(address)
            && let Some(password) = url.password()
        {
            let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
            self.add(password);
            self.add_login(&plain(url.username()), &plain(password));
        }
    }

    /// Adds the query values of a URL, as written and decoded.
    pub fn add_query_of(&mut self, address: &str) {
        if let Ok(url) = Url::parse(address) {
            for (_, value) in url.query_pairs() {
                self.add(&value);
            }
            let written = url.query().into_iter().flat_map(|query| query.split('&'));
            self.add_all(written.filter_map(|pair| Some(pair.split_once('=')?.1)));
        }
    }

    /// Adds the values of JSON members whose names announce a secret. `key` and `session` also occur in ordinary names:
    /// there, the value must also look generated.
    pub fn add_members_of(&mut self, value: &Value) {
        self.add_members(value, Suspicion::None);
    }

    fn add_members(&mut self, value: &Value, announced: Suspicion) {
        match value {
            Value::String(text) => match announced {
                Suspicion::Certain => self.add(text),
                Suspicion::Likely if may_be_generated(text) => self.add(text),
                Suspicion::Likely | Suspicion::None => {}
            },
            Value::Array(items) => {
                for item in items {
                    self.add_members(item, announced);
                }
            }
            Value::Object(members) => {
                for (name, value) in members {
                    self.add_members(value, suspicion(name));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub fn extend(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    pub fn iter(&self) -> impl Iterator<Item = &Secret> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownSecrets").finish_non_exhaustive()
    }
}
