//! Waits for the exit of a daemon that was asked to stop.

use std::{
    fs::{File, TryLockError},
    io,
};

use mux_proto::endpoint::Dirs;

use crate::spawn;

/// The process id of the daemon that holds the instance lock. A holder that does not respond is shutting down.
pub fn lock_holder(dirs: &Dirs) -> io::Result<Option<u32>> {
    let lock = match File::open(dirs.instance_lock()) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(dirs.signature().map(|signature| signature.pid)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// A guard: while it lives, no client starts a daemon.
#[derive(Debug)]
pub struct StartGuard(#[expect(dead_code, reason = "held for its lock")] File);

/// Waits until no client is starting a daemon, and blocks clients from starting one while the result lives.
pub async fn block_starts(dirs: &Dirs) -> io::Result<StartGuard> {
    let path = dirs.startup_lock();
    Ok(StartGuard(
        spawn::run_blocking(move || spawn::lock_startup(&path)).await?,
    ))
}

impl StartGuard {
    /// Resolves when no daemon holds the instance lock.
    pub async fn wait_until_unlocked(&self, dirs: &Dirs) -> io::Result<()> {
        let path = dirs.instance_lock();
        spawn::run_blocking(move || match File::open(path) {
            Ok(lock) => lock.lock_shared(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        })
        .await
    }
}

/// Resolves when the daemon `pid` no longer holds the instance lock.
///
/// Another client may start the next daemon at the same time, and that daemon keeps the instance lock. The startup
/// lock is held until a new daemon serves: while this function holds it, either the instance lock is free, or its
/// file names the holder.
pub async fn wait_for_exit(dirs: &Dirs, pid: u32) -> io::Result<()> {
    let dirs = dirs.clone();
    spawn::run_blocking(move || {
        let _nobody_starts = spawn::lock_startup(&dirs.startup_lock())?;
        let lock = match File::open(dirs.instance_lock()) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        match lock.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => {
                let holder = dirs.signature().map(|signature| signature.pid);
                if holder == Some(pid) {
                    lock.lock()
                } else {
                    Ok(())
                }
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    })
    .await
}
