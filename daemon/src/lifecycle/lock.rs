//! The two locks of a start.
//!
//! The startup lock is held by whoever is starting a daemon, from before the attempt until the
//! daemon serves; the instance lock by the daemon, for life. Both are `flock`s, which the kernel
//! releases however their holder ends.

use std::{
    fs::{File, TryLockError},
    io::{self, Seek, Write},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use mux_proto::{endpoint::Signature, lock_file::open};

/// Why a lock was not to be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "cannot lock {path:?}: {source}; it must stand where you can write: make room or make it writable, or set \
         MUX_HOME to another directory"
    )]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "another muxd still holds {path:?} after {waited:?}; see its log, or end it by hand \
         (the file names its pid)"
    )]
    Held { path: PathBuf, waited: Duration },
}

/// The right to serve. There is one for each `MUX_HOME`.
#[derive(Debug)]
pub struct InstanceLock(File);

impl InstanceLock {
    /// The lock if nobody has it.
    pub fn try_take(path: &Path) -> Result<Option<Self>, LockError> {
        let failed = |source| LockError::Io {
            path: path.to_owned(),
            source,
        };
        let file = open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// The lock as soon as its holder, which is ending, lets it go.
    pub fn wait(path: &Path, patience: Duration) -> Result<Self, LockError> {
        let failed = |source| LockError::Io {
            path: path.to_owned(),
            source,
        };
        let file = open(path).map_err(failed)?;
        let (sender, locked) = mpsc::channel();
        // A blocked flock cannot be given up; the thread ends with the process if it is in vain.
        thread::spawn(move || {
            let outcome = file.lock().map(|()| file);
            // The receiver may have lost patience; the file is then closed and the lock free again.
            drop(sender.send(outcome));
        });
        match locked.recv_timeout(patience) {
            Ok(Ok(file)) => Ok(Self(file)),
            Ok(Err(source)) => Err(failed(source)),
            Err(_) => Err(LockError::Held {
                path: path.to_owned(),
                waited: patience,
            }),
        }
    }

    /// That of the daemon before us, which has handed it over.
    pub fn inherited(file: File) -> Self {
        Self(file)
    }

    /// For the next daemon. The lock is free when both have let go of it.
    #[cfg(unix)]
    pub fn share(&self) -> io::Result<std::os::fd::OwnedFd> {
        use std::os::fd::AsFd;
        self.0.as_fd().try_clone_to_owned()
    }

    /// Leaves word for people and clients: who holds it, and where it listens.
    pub fn write_owner(&self, pid: u32, socket: &Path) -> io::Result<()> {
        let socket = socket.to_owned();
        let mut word = serde_json::to_vec(&Signature { pid, socket })?;
        word.push(b'\n');
        // Over what stands there, so that it needs no room on a disk that is full, and so that at every moment the first
        // line is somebody's whole word: a daemon that takes over writes over the one before.
        let mut file = &self.0;
        file.rewind()?;
        file.write_all(&word)?;
        self.0.set_len(word.len() as u64)
    }
}

/// The right to start a daemon.
#[derive(Debug)]
pub struct StartupLock(#[expect(dead_code, reason = "held for its lock")] File);

impl StartupLock {
    /// Waits until nobody else is starting one.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::Io {
            path: path.to_owned(),
            source,
        };
        let file = open(path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(Self(file))
    }

    /// The lock's file, which the client that started us handed over: locked already, or by us now, since
    /// some languages cannot.
    pub fn inherited(file: File) -> io::Result<Self> {
        file.lock()?;
        Ok(Self(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_inherited_as_it_is_or_taken_now() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("startup.lock");
        for locked in [true, false] {
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
    fn there_is_one_instance_and_the_next_waits_for_its_end() {
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
        assert!(
            std::fs::read_to_string(&path)
                .unwrap()
                .contains("\"pid\":7")
        );
    }
}
