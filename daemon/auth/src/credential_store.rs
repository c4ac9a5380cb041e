//! The persistent store of credentials: secrets are in the keyring if there is one, and the rest is in the file. Logins
//! are handled here, and named secrets in `stored_secrets`.
//!
//! Invariant: a saved credential survives a crash of the daemon. A single task writes, so no change is lost to a
//! concurrent one.

mod stored_secrets;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use arc_swap::ArcSwap;
use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, oneshot},
    task::spawn_blocking,
};
use tracing::warn;

use mux_secrets::Secret;

pub(super) use self::stored_secrets::SecretUnavailable;
use super::{
    credential_file::{CredentialContents, CredentialFile, LoginEntry},
    error::AuthError,
    issuer_bindings::is_same_issuer,
    keyring::{Keyring, KeyringUnavailable},
    login_record::{LoginKey, LoginRecord, LoginSecrets},
};

#[derive(Debug)]
pub(super) struct CredentialStore {
    disk: Arc<CredentialBackend>,
    jobs: mpsc::UnboundedSender<StoreJob>,
}

#[derive(Debug)]
struct CredentialBackend {
    file: CredentialFile,
    keyring: Keyring,
    uses_keyring: AtomicBool,
    /// The contents of the file.
    contents: ArcSwap<CredentialContents>,
    /// Named secrets that were read from the keyring.
    remembered: Mutex<HashMap<String, Secret>>,
    /// The reason the file is not used.
    problem: Mutex<Option<String>>,
    /// The version of the file that was read last.
    read: Mutex<Option<FileVersion>>,
}

/// The inode and modification time of the file, which is replaced by every write.
type FileVersion = (u64, SystemTime);

/// A change of the store, which reports its outcome itself.
type StoreJob = BoxFuture<'static, ()>;

impl CredentialStore {
    /// Reads the file. The keyring is read only when a secret is needed, because it may prompt the user.
    pub(super) fn open(path: PathBuf, uses_keyring: bool) -> Self {
        let scope = path.parent().unwrap_or(&path).display().to_string();
        let disk = Arc::new(CredentialBackend {
            file: CredentialFile::new(path),
            keyring: Keyring::new(&scope),
            uses_keyring: AtomicBool::new(uses_keyring),
            contents: ArcSwap::default(),
            remembered: Mutex::default(),
            problem: Mutex::default(),
            read: Mutex::default(),
        });
        disk.read();
        let (jobs, waiting) = mpsc::unbounded_channel();
        tokio::spawn(work(waiting));
        Self { disk, jobs }
    }

    pub(super) fn use_keyring(&self, uses: bool) {
        self.disk.uses_keyring.store(uses, Ordering::Relaxed);
    }

    /// The latest login for this key, and for this issuer if one is given.
    pub(super) fn find(&self, key: &LoginKey, issuer: Option<&str>) -> Option<LoginRecord> {
        let contents = self.current_contents();
        let found = contents
            .logins
            .iter()
            .filter(|entry| entry.record.key == *key)
            .filter(|entry| {
                issuer.is_none_or(|issuer| is_same_issuer(issuer, &entry.record.issuer))
            });
        let latest = found.max_by_key(|entry| entry.record.received_at)?;
        Some(latest.record.clone())
    }

    fn current_contents(&self) -> Arc<CredentialContents> {
        // A user may have fixed the file, or a predecessor may have refreshed a token.
        if self.problem().is_some() || self.disk.has_changed() {
            self.disk.read();
        }
        self.disk.contents.load_full()
    }

    pub(super) fn by_id(&self, id: &str) -> Option<LoginRecord> {
        let mut found = self.records_where(|record| record.id() == id);
        found.pop()
    }

    /// The logins that share this login.
    pub(super) fn borrowers(&self, id: &str) -> Vec<LoginRecord> {
        self.records_where(|record| record.shares.as_deref() == Some(id))
    }

    /// The logins of other servers that a server without a login may share: the logins with the same client and
    /// account, and of this issuer if one is given. Empty if the user has signed out of the server.
    pub(super) fn lenders(&self, key: &LoginKey, issuer: Option<&str>) -> Vec<LoginRecord> {
        if self.current_contents().signed_out.contains(key) {
            return Vec::new();
        }
        self.records_where(|record| {
            let of_server = LoginKey {
                resource: key.resource.clone(),
                ..record.key.clone()
            };
            of_server == *key
                && record.key != *key
                && record.shares.is_none()
                && record.refreshable
                && issuer.is_none_or(|issuer| is_same_issuer(issuer, &record.issuer))
        })
    }

    pub(super) fn all_records(&self) -> Vec<LoginRecord> {
        self.records_where(|_| true)
    }

    fn records_where(&self, is_wanted: impl Fn(&LoginRecord) -> bool) -> Vec<LoginRecord> {
        let contents = self.current_contents();
        let records = contents.logins.iter().map(|entry| &entry.record);
        records
            .filter(|record| is_wanted(record))
            .cloned()
            .collect()
    }

    /// The secrets of a login. `None` if they are gone. An error if the keyring that has them fails.
    pub(super) async fn secrets(
        &self,
        record: &LoginRecord,
    ) -> Result<Option<LoginSecrets>, KeyringUnavailable> {
        let id = record.id();
        let inline = {
            let contents = self.disk.contents.load();
            let Some(entry) = contents.logins.iter().find(|entry| entry.record.id() == id) else {
                return Ok(None);
            };
            entry.secrets.clone()
        };
        match inline {
            Some(secrets) => Ok(Some(secrets)),
            None => self.disk.keyring.read(&id).await,
        }
    }

    /// Saves a login that the user has made, which ends an earlier sign-out of its server. Resolves when the login is
    /// on disk. Calls take effect in order, even if their futures are dropped.
    pub(super) fn save(
        &self,
        record: LoginRecord,
        secrets: LoginSecrets,
    ) -> impl Future<Output = Result<(), AuthError>> + use<> {
        self.run(move |disk| async move { disk.save(record, secrets).await })
    }

    /// Saves a change that the user did not make: a refreshed token, or a login that shares another. Fails if the user
    /// has signed out of the server meanwhile.
    pub(super) fn update(
        &self,
        record: LoginRecord,
        secrets: LoginSecrets,
    ) -> impl Future<Output = Result<(), AuthError>> + use<> {
        self.run(move |disk| async move {
            if disk.contents.load().signed_out.contains(&record.key) {
                return Err(AuthError::Required("the user has signed out of it".into()));
            }
            disk.save(record, secrets).await
        })
    }

    pub(super) fn forget(
        &self,
        record: &LoginRecord,
    ) -> impl Future<Output = Result<(), AuthError>> + use<> {
        let id = record.id();
        self.run(move |disk| async move {
            let in_keyring = {
                let contents = disk.contents.load();
                let found = contents.logins.iter().find(|entry| entry.record.id() == id);
                found.is_some_and(|entry| entry.secrets.is_none())
            };
            if in_keyring {
                disk.keyring.forget(&id).await;
            }
            disk.change(move |contents| contents.logins.retain(|entry| entry.record.id() != id))
                .await
        })
    }

    /// Keeps this server from sharing a sign-in until it has its own login.
    pub(super) fn sign_out(
        &self,
        key: &LoginKey,
    ) -> impl Future<Output = Result<(), AuthError>> + use<> {
        let key = key.clone();
        self.run(move |disk| async move {
            disk.change(move |contents| {
                contents.signed_out.retain(|known| *known != key);
                contents.signed_out.push(key);
            })
            .await
        })
    }

    /// The reason the file is not used, with a remedy.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = self.disk.problem.lock();
        problem.clone()
    }

    /// Whether secrets are stored in the keyring, and the reason if they are not although it is enabled.
    pub(super) fn keyring(&self) -> (bool, Option<String>) {
        let wanted = self.disk.uses_keyring.load(Ordering::Relaxed);
        let absence = self.disk.keyring.unavailable_reason().filter(|_| wanted);
        (wanted && absence.is_none(), absence)
    }

    pub(super) fn path(&self) -> &Path {
        self.disk.file.path()
    }

    /// Runs a job after all earlier ones, even if the returned future is dropped.
    fn run<T, F, J>(&self, job: F) -> impl Future<Output = Result<T, AuthError>> + use<T, F, J>
    where
        T: Send + 'static,
        F: FnOnce(Arc<CredentialBackend>) -> J,
        J: Future<Output = Result<T, AuthError>> + Send + 'static,
    {
        let (done, outcome) = oneshot::channel();
        let job = job(Arc::clone(&self.disk));
        // The receiver may be gone.
        let job = async move { drop(done.send(job.await)) };
        // If the task has ended, `done` is dropped, which `outcome` reports.
        drop(self.jobs.send(job.boxed()));
        async {
            let ending = || Err(AuthError::Store("the daemon is ending".into()));
            outcome.await.unwrap_or_else(|_| ending())
        }
    }
}

impl CredentialBackend {
    fn has_changed(&self) -> bool {
        let read = self.read.lock();
        *read != self.version()
    }

    fn version(&self) -> Option<FileVersion> {
        let found = self.file.path().symlink_metadata().ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&found);
        #[cfg(not(unix))]
        let number = 0;
        Some((number, found.modified().ok()?))
    }

    fn read(&self) {
        // Taken before the content, because a concurrent write must be read again.
        let version = self.version();
        *self.read.lock() = version;
        let read = self.file.read();
        let mut problem = self.problem.lock();
        match read {
            Ok(contents) => {
                self.contents.store(Arc::new(contents));
                *problem = None;
            }
            Err(error) => {
                let error = format!("{:?} {error}", self.file.path().to_string_lossy());
                if problem.as_ref() != Some(&error) {
                    warn!(error, "the credential file is not used");
                }
                *problem = Some(error);
            }
        }
    }

    async fn save(
        self: &Arc<Self>,
        record: LoginRecord,
        secrets: LoginSecrets,
    ) -> Result<(), AuthError> {
        let id = record.id();
        let kept =
            self.uses_keyring.load(Ordering::Relaxed) && self.keyring.write(&id, &secrets).await;
        let secrets = Some(secrets).filter(|_| !kept);
        self.change(move |contents| {
            let logins = &mut contents.logins;
            logins.retain(|entry| entry.record.id() != id);
            contents.signed_out.retain(|key| *key != record.key);
            logins.push(LoginEntry { record, secrets });
        })
        .await
    }

    async fn change(
        self: &Arc<Self>,
        change: impl FnOnce(&mut CredentialContents) + Send + 'static,
    ) -> Result<(), AuthError> {
        let disk = Arc::clone(self);
        let written = spawn_blocking(move || {
            // A refused file is not overwritten, unless it has been fixed since.
            disk.read();
            let problem = disk.problem.lock();
            if let Some(problem) = &*problem {
                return Err(AuthError::Store(problem.clone()));
            }
            let mut contents = CredentialContents::clone(&disk.contents.load());
            change(&mut contents);
            let kept = disk.file.write(contents.clone());
            let path = disk.file.path().to_string_lossy();
            kept.map_err(|error| AuthError::Store(format!("{path:?} {error}")))?;
            disk.contents.store(Arc::new(contents));
            Ok(())
        });
        written
            .await
            .unwrap_or_else(|_| Err(AuthError::Store("credentials could not be written".into())))
    }
}

async fn work(mut jobs: mpsc::UnboundedReceiver<StoreJob>) {
    while let Some(job) = jobs.recv().await {
        job.await;
    }
}

#[cfg(test)]
mod tests;
