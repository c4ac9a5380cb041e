//! Reads of directories that may never return, such as those of a network file system that does not respond.
//!
//! Invariant: a read that does not return holds one thread, however often its directory is requested, and at most
//! [`MAX_STUCK_READS`] threads are held.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, watch},
    task::spawn_blocking,
    time::timeout,
};

/// How long a caller waits for a read.
const READ_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum number of directories that are read at the same time. Further reads wait for one of them.
const MAX_STUCK_READS: usize = 32;

/// The pending directory reads. Callers that ask for the same directory share one read.
#[derive(Debug)]
pub(super) struct SharedReads<T> {
    running: Arc<Mutex<HashMap<PathBuf, watch::Receiver<Option<T>>>>>,
    turns: Arc<Semaphore>,
}

impl<T> Default for SharedReads<T> {
    fn default() -> Self {
        Self {
            running: Arc::default(),
            turns: Arc::new(Semaphore::new(MAX_STUCK_READS)),
        }
    }
}

impl<T: Clone + Send + Sync + 'static> SharedReads<T> {
    /// Returns the result of `read`, or of a read of the same directory that began before. `None` if it does not return in
    /// time, or if too many others do not. Cancel-safe.
    pub(super) async fn read(
        &self,
        dir: &Path,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let reading = async {
            let mut result = self.start(dir, read);
            // The sender is dropped without a value if the read panicked or the runtime is ending.
            result.wait_for(Option::is_some).await.ok()?.clone()
        };
        timeout(READ_TIMEOUT, reading).await.ok()?
    }

    fn start(
        &self,
        dir: &Path,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> watch::Receiver<Option<T>> {
        let mut running = self.running.lock();
        // A read that panicked has dropped its sender.
        running.retain(|_, result| result.has_changed().is_ok());
        if let Some(result) = running.get(dir) {
            return result.clone();
        }
        let (sender, result) = watch::channel(None);
        running.insert(dir.to_owned(), result.clone());
        let all = Arc::clone(&self.running);
        let dir = dir.to_owned();
        let turn = Arc::clone(&self.turns).acquire_owned();
        tokio::spawn(async move {
            let turn = turn.await;
            let read = spawn_blocking(move || {
                let found = read();
                drop(turn);
                found
            });
            let found = read.await;
            // Removed first: a caller that asks from now on reads again.
            all.lock().remove(&dir);
            if let Ok(found) = found {
                sender.send_replace(Some(found));
            }
        });
        result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    };

    use super::*;

    #[tokio::test]
    async fn directory_that_does_not_respond_holds_one_thread() {
        let reads = SharedReads::default();
        let started = Arc::new(AtomicUsize::new(0));
        let (release, blocked) = mpsc::channel::<()>();
        let blocked = Arc::new(Mutex::new(blocked));
        let hung = Path::new("/hung");
        let asked: Vec<_> = (0..5)
            .map(|_| {
                let started = Arc::clone(&started);
                let blocked = Arc::clone(&blocked);
                reads.start(hung, move || {
                    started.fetch_add(1, Ordering::Relaxed);
                    _ = blocked.lock().recv();
                    1
                })
            })
            .collect();
        assert_eq!(reads.read(Path::new("/other"), || 2).await, Some(2));
        drop(release);
        for mut result in asked {
            assert_eq!(*result.wait_for(Option::is_some).await.unwrap(), Some(1));
        }
        assert_eq!(started.load(Ordering::Relaxed), 1);
        assert_eq!(reads.read(hung, || 3).await, Some(3));
    }

    #[tokio::test]
    async fn more_directories_than_threads_are_all_read() {
        let reads = SharedReads::default();
        let (release, blocked) = mpsc::channel::<()>();
        let blocked = Arc::new(Mutex::new(blocked));
        let count = 2 * MAX_STUCK_READS;
        let asked: Vec<_> = (0..count)
            .map(|number| {
                let blocked = Arc::clone(&blocked);
                reads.start(Path::new(&format!("/{number}")), move || {
                    _ = blocked.lock().recv();
                    number
                })
            })
            .collect();
        drop(release);
        for (number, mut result) in asked.into_iter().enumerate() {
            let read = *result.wait_for(Option::is_some).await.unwrap();
            assert_eq!(read, Some(number));
        }
    }
}
