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

use super::record::Secrets;

/// It may ask its user to unlock it, on a screen where nobody sits.
const PATIENCE: Duration = Duration::from_secs(5);
const SERVICE: &str = "muxd";

#[derive(Clone, Debug)]
pub(super) struct Keyring {
    /// Keeps the entries of one state directory apart from another's.
    scope: Arc<str>,
    /// Why it counts as none.
    absent: Arc<Mutex<Option<String>>>,
}

/// It did not answer, or not with what was asked for.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Silent;

impl Keyring {
    pub(super) fn new(scope: &str) -> Self {
        Self {
            scope: scope.into(),
            absent: Arc::default(),
        }
    }

    /// Why it counts as none.
    pub(super) fn absence(&self) -> Option<String> {
        self.absent().clone()
    }

    /// Somebody may have unlocked it, or started it.
    pub(super) fn try_again(&self) {
        *self.absent() = None;
    }

    /// `None` if it has none.
    pub(super) async fn read(&self, id: &str) -> Result<Option<Secrets>, Silent> {
        let text = self.read_text(id).await?;
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    /// The same of what is no login.
    pub(super) async fn read_text(&self, id: &str) -> Result<Option<Vec<u8>>, Silent> {
        let text = self.ask(id, |entry| match entry.get_secret() {
            Err(keyring::Error::NoEntry) => Ok(None),
            found => found.map(Some),
        });
        text.await.ok_or(Silent)
    }

    /// Whether it has them now.
    pub(super) async fn write(&self, id: &str, secrets: &Secrets) -> bool {
        let Ok(text) = serde_json::to_vec(secrets) else {
            return false;
        };
        self.write_text(id, text).await
    }

    pub(super) async fn write_text(&self, id: &str, text: Vec<u8>) -> bool {
        let written = self.ask(id, move |entry| entry.set_secret(&text));
        written.await.is_some()
    }

    pub(super) async fn forget(&self, id: &str) {
        let forgotten = self.ask(id, |entry| match entry.delete_credential() {
            Err(keyring::Error::NoEntry) => Ok(()),
            outcome => outcome,
        });
        // One that does not answer keeps a token that was revoked.
        _ = forgotten.await;
    }

    async fn ask<T: Send + 'static>(
        &self,
        id: &str,
        question: impl FnOnce(Entry) -> keyring::Result<T> + Send + 'static,
    ) -> Option<T> {
        if self.absence().is_some() {
            return None;
        }
        let name = format!("{id}@{}", self.scope);
        let asked = spawn_blocking(move || match Entry::store_status() {
            Ok(()) => Entry::new(SERVICE, &name)
                .and_then(question)
                .map_err(|error| {
                    let absent = matches!(error, keyring::Error::NoStorageAccess(_));
                    (absent, error.to_string())
                }),
            Err(error) => Err((true, error.to_string())),
        });
        let problem = match timeout(PATIENCE, asked).await {
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
            Err(_) => format!("it did not answer within {PATIENCE:?}"),
        };
        // Whoever said so first is as right.
        self.absent().get_or_insert(problem);
        None
    }

    fn absent(&self) -> MutexGuard<'_, Option<String>> {
        self.absent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
