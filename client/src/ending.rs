//! Waits for the end of a daemon that was asked to go.

use std::{
    fs::{File, TryLockError},
    io,
};

use mux_proto::endpoint::Dirs;

use crate::spawn;

/// The daemon that holds the instance lock. If it does not answer any more, it is on its way out.
pub fn holder(dirs: &Dirs) -> io::Result<Option<u32>> {
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

/// While this lives, no client starts a daemon.
#[derive(Debug)]
pub struct StartsHeld(#[expect(dead_code, reason = "held for its lock")] File);

/// Waits until nobody is starting a daemon, and has everybody wait who would.
pub async fn hold_starts(dirs: &Dirs) -> io::Result<StartsHeld> {
    let path = dirs.startup_lock();
    Ok(StartsHeld(
        spawn::blocking(move || spawn::take(&path)).await?,
    ))
}

impl StartsHeld {
    /// Resolves when no daemon holds the instance lock.
    pub async fn until_nobody_serves(&self, dirs: &Dirs) -> io::Result<()> {
        let path = dirs.instance_lock();
        spawn::blocking(move || match File::open(path) {
            Ok(lock) => lock.lock_shared(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        })
        .await
    }
}

/// Resolves when the daemon `pid` holds the instance lock no more, whoever does then.
///
/// Others may start the next daemon at the same time, and that one keeps the lock for life. Whoever
/// starts one holds the startup lock until it serves: with that lock in our hand, the instance lock
/// is free, or held by whom its file names.
pub async fn ended(dirs: &Dirs, pid: u32) -> io::Result<()> {
    let dirs = dirs.clone();
    spawn::blocking(move || {
        let _nobody_starts = spawn::take(&dirs.startup_lock())?;
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
