//! Secrets that the configuration names: `${keyring:NAME}`.
//!
//! Invariant: whether one is kept stands in the file, and its value in the keyring or in the file, never in both.
//! What the keyring has told is not asked for again until somebody wants it.

use std::sync::{Arc, atomic::Ordering};

use mux_secrets::Secret;

use crate::{
    AuthError,
    credential_file::{CredentialContents, SecretEntry},
    keyring::KeyringUnavailable,
    login_record::now,
};

use super::{CredentialBackend, CredentialStore, HashMap, MutexGuard, PoisonError, StoreJob};

/// Why a named secret has no value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum SecretUnavailable {
    /// Nobody has set it.
    Unset,
    /// The keyring that has it does not answer, or has it no more.
    Silent(String),
    /// The file is not used.
    Unread(String),
}

impl CredentialStore {
    pub(crate) async fn named(&self, name: &str) -> Result<Secret, SecretUnavailable> {
        // Another daemon may have set or removed one since.
        if self.problem().is_some() || self.disk.has_changed() {
            self.disk.read();
            self.disk.told().clear();
        }
        let found = {
            let contents = self.disk.contents.load();
            let mut all = contents.secrets.iter();
            all.find(|known| known.name == name).cloned()
        };
        let Some(found) = found else {
            return Err(match self.problem() {
                Some(problem) => SecretUnavailable::Unread(problem),
                None => SecretUnavailable::Unset,
            });
        };
        match found.value {
            Some(value) => Ok(value),
            None => self.disk.told_by_keyring(name).await,
        }
    }

    /// All that were set, without their values.
    pub(crate) fn all_named(&self) -> Vec<SecretEntry> {
        let contents = self.disk.contents.load();
        contents.secrets.clone()
    }

    /// The keyring is asked anew for each of them, whatever it did before.
    pub(crate) fn ask_again(&self) {
        self.disk.keyring.reset_availability();
        self.disk.told().clear();
    }

    pub(crate) fn set(
        &self,
        name: &str,
        value: Secret,
    ) -> impl Future<Output = Result<(), AuthError>> + use<> {
        let name = name.to_owned();
        self.ask(|done| StoreJob::Set(name, value, done))
    }

    /// Whether there was one.
    pub(crate) fn remove(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<bool, AuthError>> + use<> {
        let name = name.to_owned();
        self.ask(|done| StoreJob::Remove(name, done))
    }
}

impl CredentialBackend {
    async fn told_by_keyring(&self, name: &str) -> Result<Secret, SecretUnavailable> {
        if let Some(known) = self.told().get(name) {
            return Ok(known.clone());
        }
        let text = match self.keyring.read_text(&id(name)).await {
            Ok(Some(text)) => text,
            Ok(None) => {
                return Err(SecretUnavailable::Silent(
                    "it has none of that name any more".into(),
                ));
            }
            Err(KeyringUnavailable) => {
                let why = self.keyring.unavailable_reason();
                return Err(SecretUnavailable::Silent(
                    why.unwrap_or_else(|| "it refuses".into()),
                ));
            }
        };
        let text = String::from_utf8(text)
            .map_err(|_| SecretUnavailable::Silent("what it has is no UTF-8 text".into()))?;
        let value = Secret::new(text);
        self.told().insert(name.to_owned(), value.clone());
        Ok(value)
    }

    pub(super) async fn set(
        self: &Arc<Self>,
        name: String,
        value: Secret,
    ) -> Result<(), AuthError> {
        let text = value.expose().as_bytes().to_vec();
        let kept = self.uses_keyring.load(Ordering::Relaxed)
            && self.keyring.write_text(&id(&name), text).await;
        if !kept && self.holds(&name) {
            // An older value must not outlive this one there.
            self.keyring.forget(&id(&name)).await;
        }
        let named = SecretEntry {
            name: name.clone(),
            since: now(),
            value: Some(value.clone()).filter(|_| !kept),
        };
        self.change(move |contents: &mut CredentialContents| {
            contents.secrets.retain(|known| known.name != named.name);
            contents.secrets.push(named);
            contents.secrets.sort_by(|a, b| a.name.cmp(&b.name));
        })
        .await?;
        match kept {
            true => drop(self.told().insert(name, value)),
            false => drop(self.told().remove(&name)),
        }
        Ok(())
    }

    pub(super) async fn remove(self: &Arc<Self>, name: String) -> Result<bool, AuthError> {
        let known = {
            let contents = self.contents.load();
            contents.secrets.iter().any(|known| known.name == name)
        };
        if self.holds(&name) {
            self.keyring.forget(&id(&name)).await;
        }
        self.told().remove(&name);
        self.change(move |contents: &mut CredentialContents| {
            contents.secrets.retain(|known| known.name != name);
        })
        .await?;
        Ok(known)
    }

    /// Whether the keyring has it.
    fn holds(&self, name: &str) -> bool {
        let contents = self.contents.load();
        let mut all = contents.secrets.iter();
        all.any(|known| known.name == name && known.value.is_none())
    }

    fn told(&self) -> MutexGuard<'_, HashMap<String, Secret>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// No login's, which is made of digits and letters.
fn id(name: &str) -> String {
    format!("secret:{name}")
}
