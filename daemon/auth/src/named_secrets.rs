//! The secrets that the configuration names, for those who resolve it and for the user who sets them.
//!
//! Invariant: a value goes to an entry that names it and to nobody else; whoever asks what there is learns names.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;

use mux_secrets::Secret;

use super::{Auth, AuthError, credential_store::SecretUnavailable};

/// The longest value, as of what a command tells.
pub const MAX_SECRET_BYTES: usize = 64 << 10;

/// A named secret without its value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StoredSecretInfo {
    pub name: String,
    /// In the keyring, and not in the file.
    pub in_keyring: bool,
    /// When it was set, in seconds since 1970.
    pub since: u64,
}

impl Auth {
    /// The value of each, or what to do about it. With `anew` the keyring is asked for those that it told before.
    pub async fn answers(
        &self,
        wanted: BTreeSet<String>,
        anew: bool,
    ) -> BTreeMap<String, Result<Secret, String>> {
        if anew {
            self.store.ask_again();
        }
        let asked = wanted.into_iter().map(|name| async move {
            let answer = self.store.named(&name).await;
            (name.clone(), answer.map_err(|why| told(&name, why)))
        });
        join_all(asked).await.into_iter().collect()
    }

    /// Those that were set.
    pub fn secrets(&self) -> Vec<StoredSecretInfo> {
        let all = self.store.all_named().into_iter();
        let kept = |named: super::credential_file::SecretEntry| StoredSecretInfo {
            in_keyring: named.value.is_none(),
            name: named.name,
            since: named.since,
        };
        all.map(kept).collect()
    }

    /// It survives from here on; whoever names it is to be resolved again.
    pub async fn set_secret(&self, name: &str, value: Secret) -> Result<(), AuthError> {
        self.store.set(name, value).await
    }

    /// Whether there was one.
    pub async fn remove_secret(&self, name: &str) -> Result<bool, AuthError> {
        self.store.remove(name).await
    }
}

fn told(name: &str, why: SecretUnavailable) -> String {
    match why {
        SecretUnavailable::Unset => {
            format!("the secret {name} is not set; set it with `mux secrets set {name}`")
        }
        SecretUnavailable::Silent(why) => format!(
            "the keyring does not tell the secret {name}: {why}; unlock it and run `mux reload`, or set it again \
             with `mux secrets set {name}`"
        ),
        SecretUnavailable::Unread(problem) => {
            format!("the secret {name} cannot be read: {problem}")
        }
    }
}
