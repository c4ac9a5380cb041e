//! Named secrets: their values for the configuration, and their management by the user.
//!
//! Invariant: a value is given only to entries that name it, and a list of secrets contains no values.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;

use mux_messages::{SecretInfo, SecretPlace};
use mux_secrets::Secret;
use mux_settings::EntryError;

use super::{Auth, AuthError, credential_store::SecretUnavailable};

/// The maximum length of a value, the same as for the output of `${cmd:…}`.
pub const MAX_SECRET_BYTES: usize = 64 << 10;

impl Auth {
    /// The value of each wanted secret, or an error with a remedy. With `anew`, cached values are read from the keyring
    /// again.
    pub async fn answers(
        &self,
        wanted: BTreeSet<String>,
        anew: bool,
    ) -> BTreeMap<String, Result<Secret, EntryError>> {
        if anew {
            self.store.ask_again();
        }
        let asked = wanted.into_iter().map(|name| async move {
            let answer = self.store.named(&name).await;
            (
                name.clone(),
                answer.map_err(|why| unavailable_error(&name, why)),
            )
        });
        join_all(asked).await.into_iter().collect()
    }

    /// All named secrets, without values. The caller adds the entries that use them.
    pub fn secrets(&self) -> Vec<SecretInfo> {
        let all = self.store.all_named().into_iter();
        let kept = |named: super::credential_file::SecretEntry| SecretInfo {
            name: named.name,
            place: Some(match named.value {
                Some(_) => SecretPlace::File,
                None => SecretPlace::Keyring,
            }),
            since_ms: Some(named.since.saturating_mul(1000)),
            used_by: Vec::new(),
        };
        all.map(kept).collect()
    }

    /// Saves a secret. The caller must then resolve again the entries that name it.
    pub async fn set_secret(&self, name: &str, value: Secret) -> Result<(), AuthError> {
        self.store.set(name, value).await
    }

    /// Removes a secret. Returns false if there was none.
    pub async fn remove_secret(&self, name: &str) -> Result<bool, AuthError> {
        self.store.remove(name).await
    }
}

fn unavailable_error(name: &str, why: SecretUnavailable) -> EntryError {
    let problem = match why {
        SecretUnavailable::Unset => return EntryError::UnsetSecret(name.to_owned()),
        SecretUnavailable::Silent(why) => format!(
            "the keyring did not return the secret {name}: {why}; unlock it and run `mux reload`, or set it again \
             with `mux secrets set {name}`"
        ),
        SecretUnavailable::Unread(problem) => {
            format!("the secret {name} cannot be read: {problem}")
        }
    };
    EntryError::UnreadableSecret {
        name: name.to_owned(),
        problem,
    }
}
