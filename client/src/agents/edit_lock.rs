//! The lock under which commands replace the files that they edit.
//!
//! Invariant: the system releases the lock when its holder ends, however it ends.

use std::{
    fs::File,
    io,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use mux_proto::{endpoint::Dirs, lock_file};

use super::AgentFileError;

/// A command holds the lock for a few milliseconds, unless it is stopped.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// The lock, until it is dropped.
#[derive(Debug)]
pub(crate) struct EditLock {
    _file: File,
}

impl EditLock {
    /// Waits until no other command holds the lock. Creates the directories if they do not exist.
    pub(crate) fn take(dirs: &Dirs) -> Result<Self, AgentFileError> {
        dirs.prepare()?;
        let path = dirs.edit_lock();
        let failed = |error| AgentFileError::Lock(path.clone(), error);
        let file = lock_file::open(&path).map_err(failed)?;
        let (locked, answer) = mpsc::channel();
        let lock = move || {
            let done = file.lock().map(|()| Self { _file: file });
            // The receiver may have timed out.
            drop(locked.send(done));
        };
        thread::Builder::new().spawn(lock).map_err(failed)?;
        match answer.recv_timeout(LOCK_TIMEOUT) {
            Ok(done) => done.map_err(failed),
            Err(RecvTimeoutError::Timeout) => Err(AgentFileError::Locked(path)),
            Err(RecvTimeoutError::Disconnected) => Err(failed(io::ErrorKind::Other.into())),
        }
    }
}
