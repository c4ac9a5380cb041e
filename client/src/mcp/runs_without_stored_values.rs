//! Remembers which runs of this agent read no stored value. After `resume`, their results are not marked as
//! containing one.
//!
//! Invariant: a run that is not remembered may have read a stored value, such as a run that another process started.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};

/// The maximum number of runs that are remembered.
const MAX_REMEMBERED_RUNS: usize = 1_000;

/// The ids of runs whose program and input name no stored value.
#[derive(Debug, Default)]
pub(super) struct RunsWithoutStoredValues(Mutex<VecDeque<String>>);

impl RunsWithoutStoredValues {
    pub(super) fn remember(&self, run: &str) {
        let mut runs = self.lock_runs();
        if runs.iter().any(|known| known == run) {
            return;
        }
        if runs.len() == MAX_REMEMBERED_RUNS {
            runs.pop_front();
        }
        runs.push_back(run.to_owned());
    }

    pub(super) fn contains(&self, run: &str) -> bool {
        self.lock_runs().iter().any(|known| known == run)
    }

    fn lock_runs(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_run_is_forgotten_first() {
        let runs = RunsWithoutStoredValues::default();
        runs.remember("first");
        runs.remember("first");
        assert!(runs.contains("first") && !runs.contains("other"));
        for number in 0..MAX_REMEMBERED_RUNS {
            runs.remember(&number.to_string());
        }
        assert!(!runs.contains("first") && runs.contains("0"));
    }
}
