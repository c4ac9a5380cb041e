//! Credentials struck out of what is told or handed on.
//!
//! Invariant: what went through [`Mask::words`] holds nothing that the entry keeps secret; what went through
//! [`Mask::content`] holds no credential, and is otherwise as it was.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;
use url::{Url, form_urlencoded};

use crate::settings::{Credential, Source};

/// A shorter one is none, and stands in many a word.
const SHORTEST: usize = 6;
/// Tokens that were fetched; an API may speak of the last one while the next is in use.
const MOST_TOKENS: usize = 4;
const STRUCK: &str = "***";
/// In a header's name.
const SECRET_NAMES: &[&str] = &[
    "authorization",
    "cookie",
    "token",
    "key",
    "secret",
    "password",
    "session",
    "auth",
    "signature",
];

/// What must not be seen, the longest first.
pub(in crate::sources) struct Mask {
    /// Nobody else says these by chance.
    credentials: Vec<String>,
    /// What else the entry holds; an API may say the same for reasons of its own.
    others: Vec<String>,
    tokens: Mutex<Vec<String>>,
}

impl Mask {
    /// Of an entry, and of the address at which it is called.
    pub(in crate::sources) fn of(source: &Source, address: &str) -> Self {
        let (mut credentials, mut others) = (Vec::new(), Vec::new());
        for credential in source.credentials.values() {
            match credential {
                Credential::Text(text) => {
                    // It may be a user and a password.
                    credentials.extend(text.split_once(':').map(|(_, it)| it.to_owned()));
                    credentials.push(STANDARD.encode(text));
                    credentials.push(text.clone());
                }
                Credential::Basic { username, password } => {
                    credentials.push(STANDARD.encode(format!("{username}:{password}")));
                    // As it goes out for a token.
                    let [id, secret] = [username, password].map(|it| form_encoded(it));
                    credentials.push(STANDARD.encode(format!("{id}:{secret}")));
                    credentials.push(password.clone());
                }
            }
        }
        for (name, value) in &source.headers {
            let name = name.to_ascii_lowercase();
            let is_secret = SECRET_NAMES.iter().any(|word| name.contains(word))
                || source.secret_headers.contains(value);
            let these = match is_secret {
                true => &mut credentials,
                false => &mut others,
            };
            these.push(value.clone());
            // `Bearer x` is said as `x`, too.
            these.extend(value.split_whitespace().map(str::to_owned));
            // What is readable of `Basic x`.
            let pairs = value
                .split_whitespace()
                .filter_map(|word| String::from_utf8(STANDARD.decode(word).ok()?).ok());
            let pairs: Vec<String> = pairs.filter(|pair| pair.contains(':')).collect();
            these.extend(
                pairs
                    .iter()
                    .filter_map(|pair| Some(pair.split_once(':')?.1.to_owned())),
            );
            these.extend(pairs);
        }
        if let Ok(url) = Url::parse(address) {
            if let Some(password) = url.password() {
                let [username, plain] = [url.username(), password]
                    .map(|text| percent_decode_str(text).decode_utf8_lossy().into_owned());
                credentials.push(STANDARD.encode(format!("{username}:{plain}")));
                credentials.extend([plain, password.to_owned()]);
            }
            others.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
        }
        others.extend(source.network.passwords());
        others.extend(source.variables.values().cloned());
        Self {
            credentials: spelled(credentials),
            others: spelled(others),
            tokens: Mutex::default(),
        }
    }

    /// What no other than its owner may read.
    pub(super) fn into_credentials(self) -> Vec<String> {
        self.credentials
    }

    /// One that came later.
    pub(super) fn remember(&self, token: &str) {
        let mut tokens = self.tokens();
        if token.len() >= SHORTEST && !tokens.iter().any(|known| known == token) {
            tokens.truncate(MOST_TOKENS - 1);
            tokens.insert(0, token.to_owned());
        }
    }

    /// For an error, a log, a status.
    pub(in crate::sources) fn words(&self, text: &str) -> String {
        struck(self.content(text), &self.others)
    }

    /// For a result.
    pub(in crate::sources) fn content(&self, text: &str) -> String {
        let text = struck(text.to_owned(), &self.credentials);
        struck(text, &self.tokens())
    }

    fn tokens(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mask").finish_non_exhaustive()
    }
}

fn struck(mut text: String, secrets: &[String]) -> String {
    for secret in secrets {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), STRUCK);
        }
    }
    text
}

fn form_encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// In every spelling in which they go over the wire, or come back.
fn spelled(secrets: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for secret in secrets {
        let encoded = form_encoded(&secret);
        let quoted = serde_json::Value::from(secret.as_str()).to_string();
        all.push(encoded.replace('+', "%20"));
        all.push(encoded);
        let quoted = &quoted[1..quoted.len() - 1];
        // Some escape more than they must.
        all.push(quoted.replace('/', "\\/"));
        all.push(quoted.to_owned());
        all.push(secret);
    }
    all.retain(|secret| {
        let is_word = ["bearer", "basic"].contains(&secret.to_ascii_lowercase().as_str());
        secret.len() >= SHORTEST && !is_word
    });
    all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    all.dedup();
    all
}
