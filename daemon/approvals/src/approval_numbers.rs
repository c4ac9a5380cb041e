//! Allocation of approval numbers. A number is never reused, so an old number never names a newer call.
//!
//! Invariant: a number is handed out once, even across crashes, because it is first reserved on disk.

use std::{
    io,
    path::{Path, PathBuf},
};

use parking_lot::{Mutex, MutexGuard};

use mux_files::atomic_file;

/// The number of approval numbers that one write reserves.
const RESERVED_NUMBER_COUNT: u64 = 100;
const MAX_NUMBER_FILE_BYTES: u64 = 64;

#[derive(Debug)]
pub(super) struct ApprovalNumbers {
    file: PathBuf,
    given: Mutex<NumberReservation>,
}

/// The state that `ApprovalNumbers::given` guards.
#[derive(Debug, Default)]
struct NumberReservation {
    last: u64,
    reserved: u64,
}

impl ApprovalNumbers {
    /// `known` is the highest number in use.
    pub(super) fn open(file: PathBuf, known: u64) -> Self {
        let last = known.max(read_reserved(&file));
        let given = NumberReservation {
            last,
            reserved: last,
        };
        Self {
            file,
            given: Mutex::new(given),
        }
    }

    /// Blocks on the disk if no reserved number is left.
    pub(super) fn next_number(&self) -> io::Result<u64> {
        let mut given = self.lock_with_reserved()?;
        given.last += 1;
        Ok(given.last)
    }

    /// Blocks on the disk if [`ApprovalNumbers::next_number`] would.
    pub(super) fn ensure_reserved(&self) -> io::Result<()> {
        self.lock_with_reserved().map(drop)
    }

    fn lock_with_reserved(&self) -> io::Result<MutexGuard<'_, NumberReservation>> {
        let mut given = self.given.lock();
        if given.last == given.reserved {
            let mut first = given.reserved;
            atomic_file::write_with(&self.file, |file| {
                // This runs under the file's lock. A successor may have written the file before.
                first = first.max(read_reserved(&self.file));
                write!(file, "{}", first + RESERVED_NUMBER_COUNT)
            })?;
            (given.last, given.reserved) = (first, first + RESERVED_NUMBER_COUNT);
        }
        Ok(given)
    }
}

/// The highest number that any daemon has reserved.
fn read_reserved(file: &Path) -> u64 {
    let text = atomic_file::read(file, MAX_NUMBER_FILE_BYTES)
        .ok()
        .flatten();
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_across_restarts_and_concurrent_daemons() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("approvals").join("numbers");
        let mut last = 0;
        for life in 0..3 {
            let numbers = ApprovalNumbers::open(file.clone(), 0);
            for _ in 0..=RESERVED_NUMBER_COUNT {
                let next = numbers.next_number().unwrap();
                assert!(next > last, "{next} in life {life}");
                last = next;
            }
        }
        let old = ApprovalNumbers::open(file.clone(), 0);
        let new = ApprovalNumbers::open(file.clone(), 0);
        let mut both = std::collections::BTreeSet::new();
        for _ in 0..=RESERVED_NUMBER_COUNT {
            assert!(
                both.insert(old.next_number().unwrap()) && both.insert(new.next_number().unwrap())
            );
        }
        assert_eq!(
            ApprovalNumbers::open(file, 5_000).next_number().unwrap(),
            5_001
        );
        std::fs::write(dir.path().join("other"), "rubbish").unwrap();
        let numbers = ApprovalNumbers::open(dir.path().join("other"), 7);
        assert_eq!(numbers.next_number().unwrap(), 8);
    }
}
