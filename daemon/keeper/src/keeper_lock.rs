//! Waits for the lock of the previous keeper.
//!
//! Invariant: the lock is held until the process ends, so its holder knows that every tree of the previous keeper
//! has ended.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    time::{Duration, Instant},
};

/// How long to wait for an old keeper, which promises to exit within 2 s after its daemon.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// The interval between attempts: flock has no descriptor to poll, and a blocking call could not be cancelled.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(20);

pub(super) enum KeeperLock {
    Waiting {
        file: File,
        until: Instant,
    },
    /// Kept open: closing it would release the lock.
    Held(#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only kept open"))] File),
    /// The wait failed. The keeper continues without the lock: a duplicate server for a moment is better than none.
    Missed,
}

impl KeeperLock {
    pub(super) fn open(path: &Path, now: Instant, warn: impl Fn(&str, &io::Error)) -> Self {
        // Not truncated and never removed: the file only carries the lock.
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let opened = options.open(path);
        // A read-only file can also be locked.
        match opened.or_else(|error| File::open(path).map_err(|_| error)) {
            Ok(file) => KeeperLock::Waiting {
                file,
                until: now + LOCK_TIMEOUT,
            },
            Err(error) => {
                warn("open the lock file", &error);
                KeeperLock::Missed
            }
        }
    }

    /// Tries once. Returns when to try again, or `None` once the wait is over.
    pub(super) fn wait(
        &mut self,
        now: Instant,
        warn: impl Fn(&str, &io::Error),
    ) -> Option<Instant> {
        let KeeperLock::Waiting { file, until } = &self else {
            return None;
        };
        let error = match file.try_lock() {
            Ok(()) => {
                if let KeeperLock::Waiting { file, .. } =
                    std::mem::replace(self, KeeperLock::Missed)
                {
                    *self = KeeperLock::Held(file);
                }
                return None;
            }
            Err(TryLockError::WouldBlock) if now < *until => {
                return Some(now + LOCK_RETRY_INTERVAL);
            }
            Err(TryLockError::WouldBlock) => io::ErrorKind::TimedOut.into(),
            Err(TryLockError::Error(error)) => error,
        };
        warn("get the lock of an earlier keeper", &error);
        *self = KeeperLock::Missed;
        None
    }

    #[cfg(target_os = "linux")]
    pub(super) fn is_held(&self) -> bool {
        matches!(self, KeeperLock::Held(_))
    }

    /// Identifies the lock file by device and inode: the same for all keepers of one home.
    #[cfg(target_os = "linux")]
    pub(super) fn home(&self) -> String {
        use std::os::unix::fs::MetadataExt as _;

        let (KeeperLock::Waiting { file, .. } | KeeperLock::Held(file)) = self else {
            return "none".to_owned();
        };
        file.metadata().map_or_else(
            |_| "none".to_owned(),
            |file| format!("{:x}-{:x}", file.dev(), file.ino()),
        )
    }

    #[cfg(target_os = "linux")]
    pub(super) fn is_settled(&self) -> bool {
        !matches!(self, KeeperLock::Waiting { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_waits_for_its_holder_until_the_timeout() {
        let path = std::env::temp_dir().join(format!("mux-keeper-lock-{}", std::process::id()));
        let silent = |_: &str, _: &io::Error| {};
        let start = Instant::now();

        let mut first = KeeperLock::open(&path, start, silent);
        assert_eq!(first.wait(start, silent), None);
        assert!(matches!(first, KeeperLock::Held(_)));

        let mut second = KeeperLock::open(&path, start, silent);
        assert_eq!(
            second.wait(start, silent),
            Some(start + LOCK_RETRY_INTERVAL)
        );
        assert!(matches!(second, KeeperLock::Waiting { .. }));
        drop(first);
        assert_eq!(second.wait(start, silent), None);
        assert!(matches!(second, KeeperLock::Held(_)));

        let mut third = KeeperLock::open(&path, start, silent);
        assert!(third.wait(start, silent).is_some());
        assert_eq!(third.wait(start + LOCK_TIMEOUT, silent), None);
        assert!(matches!(third, KeeperLock::Missed));
        std::fs::remove_file(&path).unwrap();
    }
}
