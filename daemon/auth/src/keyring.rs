//! The system's keyring: the Secret Service, the macOS keychain, or another one.
//!
//! Invariant: every request has a timeout. A keyring that did not respond once, or that cannot be opened, counts as
//! unavailable until `mux reload`, with a reason for `mux doctor`. Other failures concern one request.

use std::{sync::Arc, time::Duration};

use keyring::v1::Entry;
use parking_lot::{Mutex, MutexGuard};
use tokio::{task::spawn_blocking, time::timeout};
use tracing::warn;

use super::login_record::LoginSecrets;

/// The timeout of a request. The keyring may wait for a user to unlock it.
const KEYRING_TIMEOUT: Duration = Duration::from_secs(5);
const KEYRING_SERVICE: &str = "muxd";

#[derive(Clone, Debug)]
pub(super) struct Keyring {
    /// The state directory, which distinguishes the entries of different daemons.
    scope: Arc<str>,
    /// Why it counts as unavailable.
    absent: Arc<Mutex<Option<String>>>,
}

/// The error of a failed request to the keyring.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct KeyringUnavailable;

impl Keyring {
    pub(super) fn new(scope: &str) -> Self {
        Self {
            scope: scope.into(),
            absent: Arc::default(),
        }
    }

    /// Why it counts as unavailable.
    pub(super) fn unavailable_reason(&self) -> Option<String> {
        self.lock_unavailable_reason().clone()
    }

    /// Makes the next request try the keyring again: it may have been unlocked or started.
    pub(super) fn reset_availability(&self) {
        *self.lock_unavailable_reason() = None;
    }

    /// Reads the secrets of a login. `None` if there are none.
    pub(super) async fn read(&self, id: &str) -> Result<Option<LoginSecrets>, KeyringUnavailable> {
        let text = self.read_text(id).await?;
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    /// Reads the bytes of an entry. `None` if there is none.
    pub(super) async fn read_text(&self, id: &str) -> Result<Option<Vec<u8>>, KeyringUnavailable> {
        let text = self.query_keyring(id, |entry| match entry.get_secret() {
            Err(keyring::Error::NoEntry) => Ok(None),
            found => found.map(Some),
        });
        text.await.ok_or(KeyringUnavailable)
    }

    /// Writes the secrets of a login. Returns whether that succeeded.
    pub(super) async fn write(&self, id: &str, secrets: &LoginSecrets) -> bool {
        let Ok(text) = serde_json::to_vec(secrets) else {
            return false;
        };
        self.write_text(id, text).await
    }

    pub(super) async fn write_text(&self, id: &str, text: Vec<u8>) -> bool {
        let written = self.query_keyring(id, move |entry| entry.set_secret(&text));
        written.await.is_some()
    }

    pub(super) async fn forget(&self, id: &str) {
        let forgotten = self.query_keyring(id, |entry| match entry.delete_credential() {
            Err(keyring::Error::NoEntry) => Ok(()),
            outcome => outcome,
        });
        // If this fails, the keyring keeps a token that was revoked.
        _ = forgotten.await;
    }

    async fn query_keyring<T: Send + 'static>(
        &self,
        id: &str,
        question: impl FnOnce(Entry) -> keyring::Result<T> + Send + 'static,
    ) -> Option<T> {
        if self.unavailable_reason().is_some() {
            return None;
        }
        let name = format!("{id}@{}", self.scope);
        let asked = spawn_blocking(move || match Entry::store_status() {
            Ok(()) => Entry::new(KEYRING_SERVICE, &name)
                .and_then(question)
                .map_err(|error| {
                    let absent = matches!(error, keyring::Error::NoStorageAccess(_));
                    (absent, error.to_string())
                }),
            Err(error) => Err((true, error.to_string())),
        });
        let problem = match timeout(KEYRING_TIMEOUT, asked).await {
            Ok(Ok(Ok(answer))) => return Some(answer),
            Ok(Ok(Err((true, problem)))) => problem,
            Ok(Ok(Err((false, problem)))) => {
                warn!(problem, "keyring request failed");
                return None;
            }
            Ok(Err(_)) => {
                warn!("the keyring library panicked");
                return None;
            }
            Err(_) => format!("it did not respond within {KEYRING_TIMEOUT:?}"),
        };
        // Keep the first reason.
        self.lock_unavailable_reason().get_or_insert(problem);
        None
    }

    fn lock_unavailable_reason(&self) -> MutexGuard<'_, Option<String>> {
        self.absent.lock()
    }
}
