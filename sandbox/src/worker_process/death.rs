//! How a worker process ended, and the probable cause.
//!
//! Invariant: this decides only which error a lost run reports: a worker that was taken over can choose its exit status
//! and its output.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::process::ExitStatus;

use mux_wire::EXIT_OUT_OF_MEMORY;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use crate::limits::MemoryLimits;

/// How a worker process ended.
#[derive(Clone, Debug)]
pub(crate) struct WorkerDeath {
    status: String,
    last_words: String,
    pub(crate) cause: DeathCause,
    /// The memory limits of its program.
    pub(crate) memory: MemoryLimits,
}

/// The probable cause of the end, derived from the exit status and the last lines of standard error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum DeathCause {
    /// The engine, the allocator or the kernel had no memory left.
    Memory,
    /// Native code overflowed the stack: the parser, in a program that nests without brackets.
    Depth,
    /// The whole process used up its CPU time (`RLIMIT_CPU`).
    #[cfg_attr(windows, expect(dead_code, reason = "Windows has no such limit"))]
    Processor,
    /// A system call that no engine makes.
    #[cfg_attr(windows, expect(dead_code, reason = "Windows has no such filter"))]
    Forbidden,
    /// Killed from outside: by a user, or by a system that is short of memory.
    Killed,
    Unknown,
}

impl std::fmt::Display for WorkerDeath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.status)?;
        if self.last_words.is_empty() {
            Ok(())
        } else {
            write!(f, ", standard error: {}", self.last_words)
        }
    }
}

impl WorkerDeath {
    /// `status` is `None` for a process that has not been reaped.
    pub(super) fn of(status: Option<ExitStatus>, last_words: String, memory: MemoryLimits) -> Self {
        Self {
            status: status.map_or_else(|| "unknown status".into(), |s| s.to_string()),
            cause: death_cause(status, &last_words),
            last_words,
            memory,
        }
    }
}

fn death_cause(status: Option<ExitStatus>, last_words: &str) -> DeathCause {
    const OUT_OF_MEMORY_MESSAGES: [&str; 4] = [
        "out of memory",
        "Allocation failed",
        "heap limit",
        "memory allocation of",
    ];
    let said = |sign: &&str| last_words.contains(*sign);
    if status.and_then(|s| s.code()) == Some(EXIT_OUT_OF_MEMORY)
        || OUT_OF_MEMORY_MESSAGES.iter().any(said)
    {
        DeathCause::Memory
    } else if said(&"has overflowed its stack") {
        DeathCause::Depth
    } else {
        status.map_or(DeathCause::Unknown, system::cause_of_status)
    }
}
