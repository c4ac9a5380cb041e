//! The store of named secrets: `${keyring:NAME}`.
//!
//! Invariant: every named secret has an entry in the file, and its value is either in the keyring or in the file.
//! Values from the keyring are cached until [`CredentialStore::ask_again`].

use std::sync::atomic::Ordering;

use mux_secrets::Secret;

use crate::{
    AuthError, credential_file::SecretEntry, keyring::KeyringUnavailable, login_record::now,
};

use super::{CredentialBackend, CredentialStore};

/// The reason a named secret has no value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum SecretUnavailable {
    /// The secret was never set.
    Unset,
    /// The keyring that has it failed, or no longer has it.
    Silent(String),
    /// The file is not used.
    Unread(String),
}

impl CredentialStore {
    pub(crate) async fn named(&self, name: &str) -> Result<Secret, SecretUnavailable> {
        // Another daemon may have set or removed a secret since.
        if self.problem().is_some() || self.disk.has_changed() {
            self.disk.read();
            self.disk.remembered.lock().clear();
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
            None => self.disk.read_from_keyring(name).await,
        }
    }

    /// All named secrets in the file. Secrets in the keyring have no value.
    pub(crate) fn all_named(&self) -> Vec<SecretEntry> {
        let contents = self.disk.contents.load();
        contents.secrets.clone()
    }

    /// Drops the cached values and makes the next request try the keyring again.
    pub(crate) fn ask_again(&self) {
        self.disk.keyring.reset_availability();
        self.disk.remembered.lock().clear();
    }

    pub(crate) fn set(
        &self,
        name: &str,
        value: Secret,
    ) -> impl Future<Output = Result<(), AuthError>> + use<> {
        let name = name.to_owned();
        self.run(move |disk| async move {
            let text = value.expose().as_bytes().to_vec();
            let kept = disk.uses_keyring.load(Ordering::Relaxed)
                && disk.keyring.write_text(&id(&name), text).await;
            if !kept && disk.holds(&name) {
                // An older value must not stay in the keyring.
                disk.keyring.forget(&id(&name)).await;
            }
            let entry = SecretEntry {
                name: name.clone(),
                since: now(),
                value: Some(value.clone()).filter(|_| !kept),
            };
            disk.change(move |contents| {
                contents.secrets.retain(|known| known.name != entry.name);
                contents.secrets.push(entry);
                contents.secrets.sort_by(|a, b| a.name.cmp(&b.name));
            })
            .await?;
            if kept {
                drop(disk.remembered.lock().insert(name, value));
            } else {
                drop(disk.remembered.lock().remove(&name));
            }
            Ok(())
        })
    }

    /// Removes a secret. Resolves to false if there was none.
    pub(crate) fn remove(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<bool, AuthError>> + use<> {
        let name = name.to_owned();
        self.run(move |disk| async move {
            let is_known = {
                let contents = disk.contents.load();
                contents.secrets.iter().any(|known| known.name == name)
            };
            if disk.holds(&name) {
                disk.keyring.forget(&id(&name)).await;
            }
            disk.remembered.lock().remove(&name);
            disk.change(move |contents| contents.secrets.retain(|known| known.name != name))
                .await?;
            Ok(is_known)
        })
    }
}

impl CredentialBackend {
    async fn read_from_keyring(&self, name: &str) -> Result<Secret, SecretUnavailable> {
        if let Some(known) = self.remembered.lock().get(name) {
            return Ok(known.clone());
        }
        let text = match self.keyring.read_text(&id(name)).await {
            Ok(Some(text)) => text,
            Ok(None) => {
                return Err(SecretUnavailable::Silent(
                    "it no longer has this secret".into(),
                ));
            }
            Err(KeyringUnavailable) => {
                let why = self.keyring.unavailable_reason();
                return Err(SecretUnavailable::Silent(
                    why.unwrap_or_else(|| "the request failed".into()),
                ));
            }
        };
        let text = String::from_utf8(text)
            .map_err(|_| SecretUnavailable::Silent("its value is not UTF-8 text".into()))?;
        let value = Secret::new(text);
        self.remembered
            .lock()
            .insert(name.to_owned(), value.clone());
        Ok(value)
    }

    /// True if the value of a secret is in the keyring.
    fn holds(&self, name: &str) -> bool {
        let contents = self.contents.load();
        let mut all = contents.secrets.iter();
        all.any(|known| known.name == name && known.value.is_none())
    }
}

/// The ID of a named secret in the keyring. IDs of logins have no colon.
fn id(name: &str) -> String {
    format!("secret:{name}")
}
