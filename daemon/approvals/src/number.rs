//! The numbers of approvals: whoever types one that he saw yesterday never means another call of today.
//!
//! Invariant: a number is given once, whatever happens to the daemon: it is reserved on the disk before it is given.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use mux_files::atomic_file;

/// Reserved at once.
const BLOCK: u64 = 100;
const LONGEST: u64 = 64;

#[derive(Debug)]
pub(super) struct Numbers {
    file: PathBuf,
    given: Mutex<Given>,
}

/// Guarded by `Numbers::given`.
#[derive(Debug, Default)]
struct Given {
    last: u64,
    reserved: u64,
}

impl Numbers {
    /// `known` is the highest one that is in use.
    pub(super) fn open(file: PathBuf, known: u64) -> Self {
        let last = known.max(reserved(&file));
        let given = Given {
            last,
            reserved: last,
        };
        Self {
            file,
            given: Mutex::new(given),
        }
    }

    /// It waits for the disk if none is reserved.
    pub(super) fn next(&self) -> io::Result<u64> {
        let mut given = self.with_some()?;
        given.last += 1;
        Ok(given.last)
    }

    /// Waits for the disk where [`Numbers::next`] would.
    pub(super) fn reserve(&self) -> io::Result<()> {
        self.with_some().map(drop)
    }

    fn with_some(&self) -> io::Result<MutexGuard<'_, Given>> {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        if given.last == given.reserved {
            let mut first = given.reserved;
            atomic_file::write_with(&self.file, |file| {
                // While it is written by us nobody else writes it: a daemon that takes over may have done so before.
                first = first.max(reserved(&self.file));
                write!(file, "{}", first + BLOCK)
            })?;
            (given.last, given.reserved) = (first, first + BLOCK);
        }
        Ok(given)
    }
}

/// The highest one, of whichever daemon.
fn reserved(file: &Path) -> u64 {
    let text = atomic_file::read(file, LONGEST).ok().flatten();
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_comes_twice_whatever_becomes_of_the_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("approvals").join("numbers");
        let mut last = 0;
        for life in 0..3 {
            let numbers = Numbers::open(file.clone(), 0);
            for _ in 0..=BLOCK {
                let next = numbers.next().unwrap();
                assert!(next > last, "{next} in life {life}");
                last = next;
            }
        }
        let (old, new) = (
            Numbers::open(file.clone(), 0),
            Numbers::open(file.clone(), 0),
        );
        let mut both = std::collections::BTreeSet::new();
        for _ in 0..=BLOCK {
            assert!(both.insert(old.next().unwrap()) && both.insert(new.next().unwrap()));
        }
        assert_eq!(Numbers::open(file, 5_000).next().unwrap(), 5_001);
        std::fs::write(dir.path().join("other"), "rubbish").unwrap();
        let numbers = Numbers::open(dir.path().join("other"), 7);
        assert_eq!(numbers.next().unwrap(), 8);
    }
}
