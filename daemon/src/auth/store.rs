//! Where logins are kept over restarts: the keyring for secrets if there is one, the file for the rest.
//!
//! Invariant: whoever was told that something is saved finds it again after the daemon was killed. One task
//! writes, so that no login is lost to another.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwap;
use tokio::{
    sync::{mpsc, oneshot},
    task::spawn_blocking,
};
use tracing::warn;

use super::{
    error::AuthError,
    file::{Entry, TokenFile},
    keyring::{Keyring, Silent},
    record::{Key, Record, Secrets},
};

#[derive(Debug)]
pub(super) struct Store {
    disk: Arc<Disk>,
    jobs: mpsc::UnboundedSender<Job>,
}

#[derive(Debug)]
struct Disk {
    file: TokenFile,
    keyring: Keyring,
    uses_keyring: AtomicBool,
    /// As the file has them.
    logins: ArcSwap<Vec<Entry>>,
    /// Why the file is not used. Guarded for its own sake.
    problem: Mutex<Option<String>>,
}

#[derive(Debug)]
enum Job {
    Save(Box<(Record, Secrets)>, Done),
    Forget(String, Done),
}

type Done = oneshot::Sender<Result<(), AuthError>>;

impl Store {
    /// Reads the file. The keyring is asked when a secret is needed, since it may ask its user.
    pub(super) fn open(path: PathBuf, uses_keyring: bool) -> Self {
        let scope = path.parent().unwrap_or(&path).display().to_string();
        let disk = Arc::new(Disk {
            file: TokenFile::new(path),
            keyring: Keyring::new(&scope),
            uses_keyring: AtomicBool::new(uses_keyring),
            logins: ArcSwap::default(),
            problem: Mutex::default(),
        });
        disk.read();
        let (jobs, waiting) = mpsc::unbounded_channel();
        tokio::spawn(work(Arc::clone(&disk), waiting));
        Self { disk, jobs }
    }

    pub(super) fn use_keyring(&self, uses: bool) {
        self.disk.uses_keyring.store(uses, Ordering::Relaxed);
    }

    /// The latest login for this server.
    pub(super) fn find(&self, key: &Key) -> Option<Record> {
        // Somebody may have mended the file since.
        if self.problem().is_some() {
            self.disk.read();
        }
        let logins = self.disk.logins.load();
        let found = logins.iter().filter(|entry| entry.record.key == *key);
        let latest = found.max_by_key(|entry| entry.record.received_at)?;
        Some(latest.record.clone())
    }

    /// `None` if there are none any more; an error if the keyring that has them does not answer.
    pub(super) async fn secrets(&self, record: &Record) -> Result<Option<Secrets>, Silent> {
        let id = record.id();
        let inline = {
            let logins = self.disk.logins.load();
            let Some(entry) = logins.iter().find(|entry| entry.record.id() == id) else {
                return Ok(None);
            };
            entry.secrets.clone()
        };
        match inline {
            Some(secrets) => Ok(Some(secrets)),
            None => self.disk.keyring.read(&id).await,
        }
    }

    /// Resolves when it will survive. What is saved later stands later, whoever waits for it.
    pub(super) fn save(
        &self,
        record: Record,
        secrets: Secrets,
    ) -> impl Future<Output = Result<(), AuthError>> + use<> {
        let what = Box::new((record, secrets));
        self.ask(|done| Job::Save(what, done))
    }

    pub(super) fn forget(
        &self,
        record: &Record,
    ) -> impl Future<Output = Result<(), AuthError>> + use<> {
        let id = record.id();
        self.ask(|done| Job::Forget(id, done))
    }

    /// Why the file is not used, with the way out.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = self.disk.problem.lock();
        problem.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether secrets go into the keyring, and why not if they were to.
    pub(super) fn keyring(&self) -> (bool, Option<&str>) {
        let wanted = self.disk.uses_keyring.load(Ordering::Relaxed);
        let absence = self.disk.keyring.absence().filter(|_| wanted);
        (wanted && absence.is_none(), absence)
    }

    pub(super) fn path(&self) -> &Path {
        self.disk.file.path()
    }

    fn ask<F: FnOnce(Done) -> Job>(
        &self,
        job: F,
    ) -> impl Future<Output = Result<(), AuthError>> + use<F> {
        let (done, outcome) = oneshot::channel();
        // A task that has ended drops the sender, which the one who waits hears of.
        drop(self.jobs.send(job(done)));
        async {
            let ending = || Err(AuthError::Store("the daemon is ending".into()));
            outcome.await.unwrap_or_else(|_| ending())
        }
    }
}

impl Disk {
    fn read(&self) {
        let read = self.file.read();
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        match read {
            Ok(logins) => {
                self.logins.store(Arc::new(logins));
                *problem = None;
            }
            Err(error) => {
                let error = error.to_string();
                if problem.as_ref() != Some(&error) {
                    warn!(error, "tokens");
                }
                *problem = Some(error);
            }
        }
    }

    async fn save(self: &Arc<Self>, record: Record, secrets: Secrets) -> Result<(), AuthError> {
        let id = record.id();
        let kept =
            self.uses_keyring.load(Ordering::Relaxed) && self.keyring.write(&id, &secrets).await;
        let secrets = Some(secrets).filter(|_| !kept);
        self.change(move |logins| {
            logins.retain(|entry| entry.record.id() != id);
            logins.push(Entry { record, secrets });
        })
        .await
    }

    async fn forget(self: &Arc<Self>, id: String) -> Result<(), AuthError> {
        let in_keyring = {
            let logins = self.logins.load();
            let found = logins.iter().find(|entry| entry.record.id() == id);
            found.is_some_and(|entry| entry.secrets.is_none())
        };
        if in_keyring {
            self.keyring.forget(&id).await;
        }
        self.change(move |logins| logins.retain(|entry| entry.record.id() != id))
            .await
    }

    async fn change(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Vec<Entry>) + Send + 'static,
    ) -> Result<(), AuthError> {
        let disk = Arc::clone(self);
        let written = spawn_blocking(move || {
            // What was refused is not written over, unless it was mended since.
            disk.read();
            let problem = disk.problem.lock();
            if let Some(problem) = &*problem.unwrap_or_else(PoisonError::into_inner) {
                return Err(AuthError::Store(problem.clone()));
            }
            let mut logins = Vec::clone(&disk.logins.load());
            change(&mut logins);
            let kept = disk.file.write(logins.clone());
            kept.map_err(|error| AuthError::Store(error.to_string()))?;
            disk.logins.store(Arc::new(logins));
            Ok(())
        });
        written
            .await
            .unwrap_or_else(|_| Err(AuthError::Store("tokens could not be written".into())))
    }
}

async fn work(disk: Arc<Disk>, mut jobs: mpsc::UnboundedReceiver<Job>) {
    while let Some(job) = jobs.recv().await {
        let (outcome, done) = match job {
            Job::Save(what, done) => (disk.save(what.0, what.1).await, done),
            Job::Forget(id, done) => (disk.forget(id).await, done),
        };
        // Whoever asked may have gone.
        drop(done.send(outcome));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{record::tests::record, secret::Secret};

    fn secrets(text: &str) -> Secrets {
        Secrets {
            refresh: Some(Secret::new(text)),
            ..Secrets::default()
        }
    }

    #[tokio::test]
    async fn a_login_is_found_again_by_its_server_and_replaced_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.json");
        let store = Store::open(path.clone(), false);
        let login = record(Some(60), 0);
        assert_eq!(store.find(&login.key), None);
        store.save(login.clone(), secrets("r1")).await.unwrap();
        store.save(login.clone(), secrets("r2")).await.unwrap();
        let again = Store::open(path, false);
        assert_eq!(again.find(&login.key), Some(login.clone()));
        assert_eq!(again.secrets(&login).await, Ok(Some(secrets("r2"))));
        let other = Key {
            client: Some("mine".into()),
            ..login.key.clone()
        };
        assert_eq!(again.find(&other), None);
        again.forget(&login).await.unwrap();
        assert_eq!(again.find(&login.key), None);
    }

    #[tokio::test]
    async fn tokens_of_another_issuer_stand_beside_the_first_ones() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("tokens.json"), false);
        let first = record(Some(60), 100);
        let moved = Record {
            issuer: "https://other.test".into(),
            ..record(Some(60), 0)
        };
        store.save(moved.clone(), secrets("r2")).await.unwrap();
        store.save(first.clone(), secrets("r1")).await.unwrap();
        assert_eq!(store.find(&first.key), Some(moved.clone()));
        assert_eq!(store.secrets(&first).await, Ok(Some(secrets("r1"))));
        assert_eq!(store.secrets(&moved).await, Ok(Some(secrets("r2"))));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_file_that_was_refused_is_not_written_over_and_is_read_once_it_is_mended() {
        use std::{fs, os::unix::fs::PermissionsExt};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.json");
        let login = record(None, 0);
        let saved = Store::open(path.clone(), false).save(login.clone(), secrets("r1"));
        saved.await.unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let store = Store::open(path.clone(), false);
        assert_eq!(store.find(&login.key), None);
        let refused = store.save(login.clone(), secrets("r2")).await.unwrap_err();
        assert!(refused.to_string().contains("chmod 600"), "{refused}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(store.find(&login.key), Some(login.clone()));
        assert_eq!(store.problem(), None);
        assert_eq!(store.secrets(&login).await, Ok(Some(secrets("r1"))));
    }
}
