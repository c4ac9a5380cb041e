//! Descriptors that are put by, so that somebody can be told when there are no others.
//!
//! Invariant: one that was lent comes back with the end of the connection that has it, as soon as the system gives it.

use std::{
    fs::File,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Connections that can be told at once.
const RESERVED_DESCRIPTORS: usize = 2;

#[derive(Clone, Debug, Default)]
pub(super) struct DescriptorReserve(Arc<Mutex<ReserveState>>);

#[derive(Debug, Default)]
struct ReserveState {
    files: Vec<File>,
    lent: usize,
}

/// The right to one descriptor.
#[derive(Debug)]
pub(super) struct DescriptorPermit(DescriptorReserve);

impl DescriptorReserve {
    pub(super) fn new() -> Self {
        let reserve = Self::default();
        reserve.fill();
        reserve
    }

    /// Frees one descriptor, if there is one left.
    pub(super) fn lend(&self) -> Option<DescriptorPermit> {
        let mut shelf = self.shelf();
        drop(shelf.files.pop()?);
        shelf.lent += 1;
        drop(shelf);
        Some(DescriptorPermit(self.clone()))
    }

    /// Puts by what is missing, as far as the system gives it.
    pub(super) fn fill(&self) {
        let mut shelf = self.shelf();
        while shelf.files.len() + shelf.lent < RESERVED_DESCRIPTORS
            && let Ok(file) = File::open("/dev/null")
        {
            shelf.files.push(file);
        }
    }

    fn shelf(&self) -> MutexGuard<'_, ReserveState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DescriptorPermit {
    fn drop(&mut self) {
        self.0.shelf().lent -= 1;
        self.0.fill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_comes_back() {
        let reserve = DescriptorReserve::new();
        let lent: Vec<DescriptorPermit> = std::iter::from_fn(|| reserve.lend()).collect();
        assert_eq!(lent.len(), RESERVED_DESCRIPTORS);
        reserve.fill();
        assert!(
            reserve.lend().is_none(),
            "nothing is put by for what is lent"
        );
        drop(lent);
        assert!(reserve.lend().is_some());
    }
}
