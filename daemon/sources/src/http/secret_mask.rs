//! What an entry keeps secret, masked in what is told or handed on.
//!
//! Invariant: what went through [`SecretMask::words`] holds nothing that the entry keeps secret; what went through
//! [`SecretMask::content`] holds no credential, and is otherwise as it was.

use mux_secrets::{KnownSecrets, RecentTokens, Suspicion, suspicion};

use mux_settings::{SourceCredential, SourceDefinition};

/// What must not be seen, tokens that were fetched among it.
#[derive(Debug)]
pub(crate) struct SecretMask {
    /// Nobody else says these by chance.
    credentials: RecentTokens,
    /// They, and what else the entry holds; an API may say the same for reasons of its own.
    all: RecentTokens,
}

impl SecretMask {
    /// Of an entry, and of the address at which it is called.
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

    /// One that came later.
    pub(super) fn remember(&self, token: &str) {
        self.credentials.remember(token);
        self.all.remember(token);
    }

    /// For an error, a log, a status.
    pub(crate) fn words(&self, text: &str) -> String {
        self.all.masker().text(text)
    }

    /// The same of a JSON text, which stays one.
    pub(super) fn json_words(&self, text: &str) -> String {
        self.all.masker().json(text)
    }

    /// For a result.
    pub(crate) fn content(&self, text: &str) -> String {
        self.credentials.masker().known_values(text)
    }
}

/// What no other than its owner may read.
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
