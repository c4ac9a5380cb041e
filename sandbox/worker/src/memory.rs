//! The memory limits of one program, set on the command line.
//!
//! Invariant: every error of kind `memory` names the limit that was reached and its setting.

use std::ops::RangeInclusive;

/// The default of both budgets, in MiB.
const DEFAULT_MIB: u32 = 64;
const MIB: usize = 1 << 20;

/// Budgets of one isolate, in MiB.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct IsolateMemory {
    pub(crate) heap: u32,
    /// All array buffers together, which the heap does not count.
    pub(crate) buffers: u32,
}

impl Default for IsolateMemory {
    fn default() -> Self {
        Self {
            heap: DEFAULT_MIB,
            buffers: DEFAULT_MIB,
        }
    }
}

impl IsolateMemory {
    /// The allowed heap sizes: the engine does not start with less, and no machine has more.
    pub(crate) const HEAP_MIB_RANGE: RangeInclusive<u32> = 8..=65_536;
    pub(crate) const BUFFERS_MIB_RANGE: RangeInclusive<u32> = 1..=65_536;

    pub(crate) fn heap_bytes(self) -> usize {
        self.heap as usize * MIB
    }

    /// The limit of array buffers in bytes. Only V8 supports it.
    #[cfg(feature = "v8")]
    pub(crate) fn buffer_bytes(self) -> usize {
        self.buffers as usize * MIB
    }

    /// Writable memory that the process may use beyond what it had when its first isolate was ready: the heap and the
    /// buffers, the heap once more while a script over its limit is unwound, and a reserve for the frames of calls (16
    /// MiB each, twice in memory), the parser and the compiler.
    #[cfg(any(target_os = "linux", target_os = "macos", windows))]
    pub(crate) fn process_bytes(self) -> usize {
        const PROCESS_RESERVE_BYTES: usize = 64 * MIB;
        2 * self.heap_bytes() + self.buffers as usize * MIB + PROCESS_RESERVE_BYTES
    }

    pub(crate) fn heap_hint(self) -> String {
        format!(
            "work on one part of the data at a time and keep only what you need; [limits] heap in config.toml \
             allows more than {} MiB",
            self.heap
        )
    }

    pub(crate) fn buffers_hint(self) -> String {
        format!(
            "all buffers of a program together may hold {} MiB: work on one part at a time; \
             [limits] buffers in config.toml allows more",
            self.buffers
        )
    }
}
