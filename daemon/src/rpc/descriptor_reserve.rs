//! Reserved descriptors, with which a client can be accepted and get an error when no others are free.
//!
//! Invariant: a lent descriptor is reserved again when its connection has ended, as soon as the system provides one. A
//! connection that has had one for [`MIN_LOAN_TIME`] ends when another client may need it.

use std::{fs::File, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The number of reserved descriptors, and so of connections that can use one.
const RESERVED_DESCRIPTORS: usize = 2;
/// How long a connection can at least use a descriptor: enough for an answer to its first request.
const MIN_LOAN_TIME: Duration = Duration::from_secs(1);
/// A file that can always be opened.
const NULL_DEVICE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

#[derive(Clone, Debug, Default)]
pub(super) struct DescriptorReserve(Arc<Mutex<ReserveState>>);

#[derive(Debug, Default)]
struct ReserveState {
    files: Vec<File>,
    /// The oldest is first.
    loans: Vec<Loan>,
    last_loan: u64,
}

#[derive(Debug)]
struct Loan {
    number: u64,
    since: Instant,
    recalled: CancellationToken,
}

/// The right to one descriptor, until [`Self::recalled`].
#[derive(Debug)]
pub(super) struct DescriptorPermit {
    reserve: DescriptorReserve,
    number: u64,
    recalled: CancellationToken,
}

impl DescriptorReserve {
    pub(super) fn new() -> Self {
        let reserve = Self::default();
        reserve.fill();
        reserve
    }

    /// Closes one reserved descriptor, so that accept can use it. If none is left, recalls the oldest one and returns
    /// `None`: one is left soon.
    pub(super) fn lend(&self) -> Option<DescriptorPermit> {
        let mut state = self.state();
        let Some(file) = state.files.pop() else {
            state.recall_oldest();
            return None;
        };
        drop(file);
        state.last_loan += 1;
        let (number, recalled) = (state.last_loan, CancellationToken::new());
        state.loans.push(Loan {
            number,
            since: Instant::now(),
            recalled: recalled.clone(),
        });
        Some(DescriptorPermit {
            reserve: self.clone(),
            number,
            recalled,
        })
    }

    /// Opens the missing descriptors, as far as the system provides them.
    pub(super) fn fill(&self) {
        let mut state = self.state();
        while state.files.len() + state.loans.len() < RESERVED_DESCRIPTORS
            && let Ok(file) = File::open(NULL_DEVICE)
        {
            state.files.push(file);
        }
    }

    fn state(&self) -> MutexGuard<'_, ReserveState> {
        self.0.lock()
    }
}

impl ReserveState {
    fn recall_oldest(&self) {
        let oldest = self.loans.first();
        if let Some(loan) = oldest.filter(|loan| loan.since.elapsed() >= MIN_LOAN_TIME) {
            loan.recalled.cancel();
        }
    }
}

impl DescriptorPermit {
    /// Resolves when the connection has to end, because another client needs the descriptor.
    pub(super) async fn recalled(&self) {
        self.recalled.cancelled().await;
    }
}

impl Drop for DescriptorPermit {
    fn drop(&mut self) {
        let is_other = |loan: &Loan| loan.number != self.number;
        self.reserve.state().loans.retain(is_other);
        self.reserve.fill();
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
    async fn oldest_descriptor_is_recalled_after_its_time_when_another_is_needed() {
        let reserve = DescriptorReserve::new();
        let first = reserve.lend().unwrap();
        let second = reserve.lend().unwrap();
        let is_recalled = |permit: &DescriptorPermit| permit.recalled.is_cancelled();
        assert!(reserve.lend().is_none());
        assert!(!is_recalled(&first), "it has just been lent");
        tokio::time::advance(MIN_LOAN_TIME).await;
        assert!(!is_recalled(&first), "nobody needs it");
        assert!(reserve.lend().is_none());
        assert!(is_recalled(&first) && !is_recalled(&second));
        drop(first);
        let third = reserve.lend().unwrap();
        assert!(reserve.lend().is_none());
        assert!(is_recalled(&second) && !is_recalled(&third));
    }
}
