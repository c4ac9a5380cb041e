//! Reserved descriptors, with which a client can be accepted and get an error when no others are free.
//!
//! Invariant: a lent descriptor is reserved again when its connection has ended, as soon as the system provides one.

use std::{fs::File, sync::Arc};

use parking_lot::{Mutex, MutexGuard};

/// The number of reserved descriptors, and so of connections that can use one.
const RESERVED_DESCRIPTORS: usize = 2;
/// A file that can always be opened.
const NULL_DEVICE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

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

    /// Closes one reserved descriptor, so that accept can use it; `None` if none is left.
    pub(super) fn lend(&self) -> Option<DescriptorPermit> {
        let mut shelf = self.shelf();
        drop(shelf.files.pop()?);
        shelf.lent += 1;
        drop(shelf);
        Some(DescriptorPermit(self.clone()))
    }

    /// Opens the missing descriptors, as far as the system provides them.
    pub(super) fn fill(&self) {
        let mut shelf = self.shelf();
        while shelf.files.len() + shelf.lent < RESERVED_DESCRIPTORS
            && let Ok(file) = File::open(NULL_DEVICE)
        {
            shelf.files.push(file);
        }
    }

    fn shelf(&self) -> MutexGuard<'_, ReserveState> {
        self.0.lock()
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
}
