//! The system's keyring: the Secret Service, the macOS keychain, or another keyring.
//!
//! Invariant: every request has a timeout. A keyring that did not respond once, or that cannot be opened, counts as
//! unavailable until `mux reload`, with a reason for `mux doctor`. Other failures concern one request.

use std::{sync::Arc, time::Duration};

use keyring::v1::Entry;
use parking_lot::Mutex;
use tokio::{task::spawn_blocking, time::timeout};
use tracing::warn;

use super::login_record::LoginSecrets;

/// The timeout of a request. The keyring may wait for a user to unlock it.
const KEYRING_TIMEOUT: Duration = Duration::from_secs(5);
const KEYRING_SERVICE: &str = "muxd";

/// Finds the entry of a name, whether or not it has a secret. May block.
type FindEntry = dyn Fn(&str) -> Result<Entry, RequestFailure> + Send + Sync;

#[derive(Clone)]
pub(super) struct Keyring {
    /// The state directory, which distinguishes the entries of different daemons.
    scope: Arc<str>,
    find_entry: Arc<FindEntry>,
    /// The reason the keyring counts as unavailable.
    absent: Arc<Mutex<Option<String>>>,
}

/// The reason a request to the keyring failed.
struct RequestFailure {
    /// Set if the keyring cannot be opened, as opposed to a failure of only this request.
    is_unavailable: bool,
    message: String,
}

impl From<keyring::Error> for RequestFailure {
    fn from(error: keyring::Error) -> Self {
        Self {
            is_unavailable: matches!(error, keyring::Error::NoStorageAccess(_)),
            message: error.to_string(),
        }
    }
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyring")
            .field("scope", &self.scope)
            .field("absent", &self.absent)
            .finish_non_exhaustive()
    }
}

/// The error of a failed request to the keyring.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct KeyringUnavailable;

impl Keyring {
    pub(super) fn new(scope: &str) -> Self {
        Self::with(scope, find_system_entry)
    }

    fn with(
        scope: &str,
        find_entry: impl Fn(&str) -> Result<Entry, RequestFailure> + Send + Sync + 'static,
    ) -> Self {
        Self {
            scope: scope.into(),
            find_entry: Arc::new(find_entry),
            absent: Arc::default(),
        }
    }

    /// The reason the keyring counts as unavailable.
    pub(super) fn unavailable_reason(&self) -> Option<String> {
        self.absent.lock().clone()
    }

    /// Makes the next request try the keyring again: the keyring may have been unlocked or started.
    pub(super) fn reset_availability(&self) {
        *self.absent.lock() = None;
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

    /// Writes the secrets of a login. Returns true if that succeeded.
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
        let find_entry = Arc::clone(&self.find_entry);
        let asked = spawn_blocking(move || Ok(question(find_entry(&name)?)?));
        let problem = match timeout(KEYRING_TIMEOUT, asked).await {
            Ok(Ok(Ok(answer))) => return Some(answer),
            Ok(Ok(Err(RequestFailure {
                is_unavailable: true,
                message,
            }))) => message,
            Ok(Ok(Err(RequestFailure { message, .. }))) => {
                warn!(problem = message, "keyring request failed");
                return None;
            }
            Ok(Err(_)) => {
                warn!("the keyring library panicked");
                return None;
            }
            Err(_) => format!("it did not respond within {KEYRING_TIMEOUT:?}"),
        };
        // Keep the first reason.
        self.absent.lock().get_or_insert(problem);
        None
    }
}

fn find_system_entry(name: &str) -> Result<Entry, RequestFailure> {
    match Entry::store_status() {
        Ok(()) => Ok(Entry::new(KEYRING_SERVICE, name)?),
        Err(error) => Err(RequestFailure {
            is_unavailable: true,
            message: error.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use keyring::Error::{NoStorageAccess, PlatformFailure};
    use keyring_core::{
        api::CredentialStoreApi as _,
        mock::{Cred, Store},
    };

    use super::*;

    /// A keyring in the test's memory, which behaves as every system's keyring has to.
    fn fake(scope: &str, store: &Arc<Store>) -> Keyring {
        let store = Arc::clone(store);
        Keyring::with(scope, move |name| {
            let inner = store.build(KEYRING_SERVICE, name, None)?;
            Ok(Entry { inner })
        })
    }

    /// Makes the next request for an entry fail.
    fn fail_next(store: &Store, name: &str, error: keyring::Error) {
        let entry = store.build(KEYRING_SERVICE, name, None).unwrap();
        entry
            .as_any()
            .downcast_ref::<Cred>()
            .unwrap()
            .set_error(error);
    }

    #[tokio::test]
    async fn entry_is_read_until_it_is_removed_and_only_by_its_own_daemon() {
        let store = Store::new().unwrap();
        let ours = fake("/a", &store);
        let others = fake("/b", &store);
        assert_eq!(ours.read_text("login").await, Ok(None));
        assert!(ours.write_text("login", b"\xff\0secret".into()).await);
        assert!(ours.write_text("login", b"\xff\0newer".into()).await);
        assert_eq!(
            ours.read_text("login").await,
            Ok(Some(b"\xff\0newer".into()))
        );
        assert_eq!(others.read_text("login").await, Ok(None));
        ours.forget("login").await;
        assert_eq!(ours.read_text("login").await, Ok(None));
        ours.forget("login").await;
        assert_eq!(ours.unavailable_reason(), None);
    }

    #[tokio::test]
    async fn locked_keyring_is_not_asked_again_before_a_reset() {
        let store = Store::new().unwrap();
        let keyring = fake("/a", &store);
        fail_next(&store, "login@/a", PlatformFailure("busy".into()));
        assert_eq!(keyring.read_text("login").await, Err(KeyringUnavailable));
        assert_eq!(keyring.unavailable_reason(), None, "one request failed");
        fail_next(&store, "login@/a", NoStorageAccess("locked".into()));
        assert!(!keyring.write_text("login", b"secret".into()).await);
        assert!(keyring.unavailable_reason().unwrap().contains("locked"));
        assert!(!keyring.write_text("login", b"secret".into()).await);
        keyring.reset_availability();
        assert_eq!(keyring.read_text("login").await, Ok(None));
        assert!(keyring.write_text("login", b"secret".into()).await);
    }
}
