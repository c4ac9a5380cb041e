//! The system's keyring: the Secret Service, the keychain, or whatever there is.
//!
//! Invariant: nobody waits for it longer than a limit. One that did not answer once, or that cannot be opened,
//! counts as none until somebody wants it tried again (`mux reload`), and its reason is kept for `mux doctor`.
//! Another failure is that of one question.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use keyring::v1::Entry;
use tokio::{task::spawn_blocking, time::timeout};
use tracing::warn;

use super::login_record::LoginSecrets;

/// It may ask its user to unlock it, on a screen where nobody sits.
const KEYRING_TIMEOUT: Duration = Duration::from_secs(5);
const KEYRING_SERVICE: &str = "muxd";

#[derive(Clone, Debug)]
pub(super) struct Keyring {
    /// Keeps the entries of one state directory apart from another's.
    scope: Arc<str>,
    /// Why it counts as none.
    absent: Arc<Mutex<Option<String>>>,
}

/// It did not answer, or not with what was asked for.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct KeyringUnavailable;

impl Keyring {
    pub(super) fn new(scope: &str) -> Self {
        Self {
            scope: scope.into(),
            absent: Arc::default(),
        }
    }

    /// Why it counts as none.
    pub(super) fn unavailable_reason(&self) -> Option<String> {
        self.lock_unavailable_reason().clone()
    }

    /// Somebody may have unlocked it, or started it.
    pub(super) fn reset_availability(&self) {
        *self.lock_unavailable_reason() = None;
    }

    /// `None` if it has none.
    pub(super) async fn read(&self, id: &str) -> Result<Option<LoginSecrets>, KeyringUnavailable> {
        let text = self.read_text(id).await?;
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    /// The same of what is no login.
    pub(super) async fn read_text(&self, id: &str) -> Result<Option<Vec<u8>>, KeyringUnavailable> {
        let text = self.query_keyring(id, |entry| match entry.get_secret() {
            Err(keyring::Error::NoEntry) => Ok(None),
            found => found.map(Some),
        });
        text.await.ok_or(KeyringUnavailable)
    }

    /// Whether it has them now.
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
        // One that does not answer keeps a token that was revoked.
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
                warn!(problem, "the keyring refuses");
                return None;
            }
            Ok(Err(_)) => {
                warn!("the keyring's library failed");
                return None;
            }
            Err(_) => format!("it did not answer within {KEYRING_TIMEOUT:?}"),
        };
        // Whoever said so first is as right.
        self.lock_unavailable_reason().get_or_insert(problem);
        None
    }

    fn lock_unavailable_reason(&self) -> MutexGuard<'_, Option<String>> {
        self.absent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
