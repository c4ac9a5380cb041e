//! The lockdown on other systems: only what the daemon sets up (an empty environment, `/` as the working
//! directory, the standard descriptors alone, a separate process group).
//!
//! Invariant: no layer is reported.

use super::LockdownSteps;
use crate::memory::IsolateMemory;

pub(crate) struct Lockdown;

impl LockdownSteps for Lockdown {
    fn before_engine() -> Self {
        Self
    }

    fn before_programs(self, _memory: IsolateMemory) -> Vec<String> {
        Vec::new()
    }
}
