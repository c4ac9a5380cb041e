//! Masks the secrets of an entry in texts and results.
//!
//! Invariant: a text from [`SecretMask::words`] contains none of the entry's secrets. A text from
//! [`SecretMask::content`] contains no credential, and is otherwise unchanged.

use mux_secrets::{KnownSecrets, RecentTokens, Suspicion, suspicion};

use mux_settings::{SourceCredential, SourceDefinition};

/// The secrets of an entry, with the tokens that were fetched.
#[derive(Debug)]
pub(crate) struct SecretMask {
    /// Values that occur nowhere else by chance.
    credentials: RecentTokens,
    /// The credentials and the other values of the entry, which may also occur in responses.
    all: RecentTokens,
}

impl SecretMask {
    /// The mask for an entry whose API is called at `address`.
    pub(crate) fn of(source: &SourceDefinition, address: &str) -> Self {
        let credentials = credentials(source, address);
        let mut all = credentials.clone();
        for value in source.headers.values() {
            all.add_header(value.expose());
        }
        all.add_query_of(address);
        all.extend(&source.network.known_secrets());
        all.add_all(source.variables.values().map(String::as_str));
        Self {
            credentials: RecentTokens::beside(credentials),
            all: RecentTokens::beside(all),
        }
    }

    /// Adds a fetched token.
    pub(super) fn remember(&self, token: &str) {
        self.credentials.remember(token);
        self.all.remember(token);
    }

    /// Masks an error, a log message or a status.
    pub(crate) fn words(&self, text: &str) -> String {
        self.all.masker().text(text)
    }

    /// Masks a JSON text, which stays valid JSON.
    pub(super) fn json_words(&self, text: &str) -> String {
        self.all.masker().json(text)
    }

    /// Masks a result.
    pub(crate) fn content(&self, text: &str) -> String {
        self.credentials.masker().known_values(text)
    }
}

/// The credentials of an entry, which must not be in any result.
pub(super) fn credentials(source: &SourceDefinition, address: &str) -> KnownSecrets {
    let mut known = KnownSecrets::new();
    for credential in source.credentials.values() {
        match credential {
            SourceCredential::Text(text) => known.add_credential(text.expose()),
            SourceCredential::Basic { username, password } => {
                known.add_login(username, password.expose());
            }
        }
    }
    for (name, value) in &source.headers {
        if suspicion(name) > Suspicion::None || source.secret_headers.contains(value) {
            known.add_header(value.expose());
        }
    }
    known.add_password_of(address);
    known
}
