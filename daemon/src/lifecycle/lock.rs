//! The two locks of a start.
//!
//! The process that starts a daemon holds the startup lock from before the attempt until the daemon serves. The daemon
//! holds the instance lock as long as it serves. Both are `flock`s, which the kernel releases however their holder
//! ends.

use std::{
    fs::{File, TryLockError},
    io::{self, Seek, Write},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use mux_proto::{
    endpoint::Signature,
    lock_file::{open, separate_record},
};

/// The reason a lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "cannot lock {path:?}: {source}; it must be in a writable directory: make room or make it writable, or set \
         MUX_HOME to another directory"
    )]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "another muxd still holds {path:?} after {waited:?}; see its log, or kill it \
         (the file contains its pid)"
    )]
    Held { path: PathBuf, waited: Duration },
}

impl LockError {
    fn of(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

/// The right to serve. There is one for each `MUX_HOME`, held for the daemon's life.
#[derive(Debug)]
pub struct InstanceLock {
    file: File,
    /// The file in which the holder describes itself, if not the lock's file.
    record: Option<PathBuf>,
}

impl InstanceLock {
    /// Takes the lock; `None` if another process holds it.
    pub fn try_take(path: &Path) -> Result<Option<Self>, LockError> {
        let failed = LockError::of(path);
        let file = open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self::locked(file, path))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Takes the lock as soon as its holder, which is ending, releases it.
    pub fn wait(path: &Path, patience: Duration) -> Result<Self, LockError> {
        let failed = LockError::of(path);
        let file = open(path).map_err(failed)?;
        let (sender, locked) = mpsc::channel();
        // A blocking flock cannot be cancelled: at a timeout, the thread ends with the process.
        thread::spawn(move || {
            let outcome = file.lock().map(|()| file);
            // At a timeout there is no receiver. The file is then closed, which frees the lock.
            drop(sender.send(outcome));
        });
        match locked.recv_timeout(patience) {
            Ok(Ok(file)) => Ok(Self::locked(file, path)),
            Ok(Err(source)) => Err(failed(source)),
            Err(_) => Err(LockError::Held {
                path: path.to_owned(),
                waited: patience,
            }),
        }
    }

    fn locked(file: File, path: &Path) -> Self {
        let record = separate_record(path);
        Self { file, record }
    }

    /// The lock that the predecessor has handed over.
    #[cfg(unix)]
    pub fn inherited(file: File) -> Self {
        Self { file, record: None }
    }

    /// A descriptor of the lock for the successor. The lock is free when both daemons have closed theirs.
    #[cfg(unix)]
    pub fn share(&self) -> io::Result<std::os::fd::OwnedFd> {
        use std::os::fd::AsFd;
        self.file.as_fd().try_clone_to_owned()
    }

    /// Writes the holder's pid and socket into the file, or beside it on Windows, for clients and users.
    pub fn write_owner(&self, pid: u32, socket: &Path) -> io::Result<()> {
        let socket = socket.to_owned();
        let mut word = serde_json::to_vec(&Signature { pid, socket })?;
        word.push(b'\n');
        if let Some(record) = &self.record {
            return std::fs::write(record, word);
        }
        // Overwrites in place, which needs no space on a full disk, and keeps the first line complete at all times: a
        // daemon that takes over overwrites its predecessor's line.
        let mut file = &self.file;
        file.rewind()?;
        file.write_all(&word)?;
        self.file.set_len(word.len() as u64)
    }
}

/// The right to start a daemon. Only one process holds it.
#[derive(Debug)]
pub struct StartupLock(#[expect(dead_code, reason = "held for its lock")] File);

impl StartupLock {
    /// Takes the lock, after waiting for any other process that starts a daemon.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let failed = LockError::of(path);
        let file = open(path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(Self(file))
    }

    /// The lock's file from the client that started this process. If the client has not locked the file, this locks it,
    /// because some languages cannot lock files.
    pub fn inherited(file: File) -> io::Result<Self> {
        file.lock()?;
        Ok(Self(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inherited_startup_lock_is_held_whether_or_not_it_was_locked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("startup.lock");
        // On Windows, where a lock is not inherited, a second lock on the same file would wait for the first.
        let cases: &[bool] = if cfg!(windows) {
            &[false]
        } else {
            &[true, false]
        };
        for &locked in cases {
            let file = open(&path).unwrap();
            if locked {
                file.lock().unwrap();
            }
            let lock = StartupLock::inherited(file).unwrap();
            let other = open(&path).unwrap();
            assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
            drop(lock);
            other.try_lock().unwrap();
        }
    }

    #[test]
    fn instance_lock_is_exclusive_and_wait_takes_it_once_released() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("muxd.lock");
        let first = InstanceLock::try_take(&path).unwrap().unwrap();
        first.write_owner(7, Path::new("/run/x.sock")).unwrap();
        assert!(InstanceLock::try_take(&path).unwrap().is_none());
        let patience = Duration::from_millis(20);
        assert!(matches!(
            InstanceLock::wait(&path, patience),
            Err(LockError::Held { .. })
        ));
        let (waiting, began) = mpsc::channel();
        let next = thread::spawn({
            let path = path.clone();
            move || {
                waiting.send(()).unwrap();
                InstanceLock::wait(&path, Duration::from_secs(10))
            }
        });
        began.recv().unwrap();
        drop(first);
        assert!(next.join().unwrap().is_ok());
        let record = separate_record(&path).unwrap_or(path);
        assert!(
            std::fs::read_to_string(record)
                .unwrap()
                .contains("\"pid\":7")
        );
    }
}
