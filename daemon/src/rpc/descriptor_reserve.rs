//! Reserved descriptors, with which a client can be accepted and get an error when no others are free.
//!
//! Invariant: a lent descriptor is reserved again when its connection has ended, as soon as the system provides one. A
//! connection that has used a lent descriptor for [`MIN_LOAN_TIME`] ends when another client may need it.

use std::{fs::File, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::Notify, time::sleep};

/// The number of reserved descriptors, which bounds the connections that can use one.
const RESERVED_DESCRIPTORS: usize = 2;
/// How long a connection may use a lent descriptor at least: enough for an answer to its first request.
const MIN_LOAN_TIME: Duration = Duration::from_secs(1);
/// A file that can always be opened.
const NULL_DEVICE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

#[derive(Clone, Debug, Default)]
pub(super) struct DescriptorReserve {
    state: Arc<Mutex<ReserveState>>,
    /// Notified when a descriptor is needed and none is left.
    exhausted: Arc<Notify>,
}

#[derive(Debug, Default)]
struct ReserveState {
    files: Vec<File>,
    lent: usize,
}

/// The right to one descriptor, until [`Self::recalled`].
#[derive(Debug)]
pub(super) struct DescriptorPermit(DescriptorReserve);

impl DescriptorReserve {
    pub(super) fn new() -> Self {
        let reserve = Self::default();
        reserve.fill();
        reserve
    }

    /// Closes one reserved descriptor, which accept can then use. If none is left, recalls the lent ones and returns
    /// `None`.
    pub(super) fn lend(&self) -> Option<DescriptorPermit> {
        let mut state = self.state();
        let Some(file) = state.files.pop() else {
            self.exhausted.notify_waiters();
            return None;
        };
        drop(file);
        state.lent += 1;
        drop(state);
        Some(DescriptorPermit(self.clone()))
    }

    /// Opens the missing descriptors, as far as the system provides them.
    pub(super) fn fill(&self) {
        let mut state = self.state();
        while state.files.len() + state.lent < RESERVED_DESCRIPTORS
            && let Ok(file) = File::open(NULL_DEVICE)
        {
            state.files.push(file);
        }
    }

    fn state(&self) -> MutexGuard<'_, ReserveState> {
        self.state.lock()
    }
}

impl DescriptorPermit {
    /// Resolves when the connection has to end, because another client needs the descriptor.
    pub(super) async fn recalled(&self) {
        sleep(MIN_LOAN_TIME).await;
        self.0.exhausted.notified().await;
    }
}

impl Drop for DescriptorPermit {
    fn drop(&mut self) {
        self.0.state().lent -= 1;
        self.0.fill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_descriptors_return_to_the_reserve() {
        let reserve = DescriptorReserve::new();
        let lent: Vec<DescriptorPermit> = std::iter::from_fn(|| reserve.lend()).collect();
        assert_eq!(lent.len(), RESERVED_DESCRIPTORS);
        reserve.fill();
        assert!(
            reserve.lend().is_none(),
            "a lent descriptor is not replaced"
        );
        drop(lent);
        assert!(reserve.lend().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn lent_descriptor_is_recalled_after_its_time_when_another_client_needs_one() {
        let reserve = DescriptorReserve::new();
        let first = reserve.lend().unwrap();
        let second = reserve.lend().unwrap();
        let connection = tokio::spawn(async move { first.recalled().await });
        tokio::task::yield_now().await;
        assert!(reserve.lend().is_none());
        tokio::task::yield_now().await;
        assert!(!connection.is_finished(), "it has just been lent");
        sleep(2 * MIN_LOAN_TIME).await;
        assert!(!connection.is_finished(), "no other client waits");
        assert!(reserve.lend().is_none());
        connection.await.unwrap();
        assert!(reserve.lend().is_some());
        drop(second);
    }
}
