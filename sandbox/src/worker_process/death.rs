//! How a worker process ended, and what that tells about the reason.
//!
//! Invariant: this decides what is said of a run that is lost already, and nothing else: a worker that was
//! taken over may end and say what it likes.

use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

use mux_wire::EXIT_OUT_OF_MEMORY;
use nix::sys::signal::Signal;

use crate::limits::Memory;

/// How a worker process ended.
#[derive(Clone, Debug)]
pub(crate) struct Death {
    status: String,
    last_words: String,
    pub(crate) cause: Cause,
    /// What its program was allowed.
    pub(crate) memory: Memory,
}

/// What the kernel's word and the process's last words tell about the reason.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Cause {
    /// The engine, the allocator or the kernel had no memory to give.
    Memory,
    /// Native code recursed too deep: a parser in a program that nests without brackets.
    Depth,
    /// Processor time of the whole process, the kernel's count.
    Processor,
    /// A system call that no engine makes.
    Forbidden,
    /// Somebody outside the process ended it: a person, or a system that is short of memory.
    Killed,
    Unknown,
}

impl std::fmt::Display for Death {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.status)?;
        if self.last_words.is_empty() {
            Ok(())
        } else {
            write!(f, ", saying: {}", self.last_words)
        }
    }
}

impl Death {
    /// `status` is unknown of a process that has not been reaped.
    pub(super) fn of(status: Option<ExitStatus>, last_words: String, memory: Memory) -> Self {
        Self {
            status: status.map_or_else(|| "unknown status".into(), |s| s.to_string()),
            cause: cause(status, &last_words),
            last_words,
            memory,
        }
    }
}

fn cause(status: Option<ExitStatus>, last_words: &str) -> Cause {
    const MEMORY: [&str; 4] = [
        "out of memory",
        "Allocation failed",
        "heap limit",
        "memory allocation of",
    ];
    let said = |sign: &&str| last_words.contains(*sign);
    let signal = status
        .and_then(|status| status.signal())
        .and_then(|number| Signal::try_from(number).ok());
    if status.and_then(|s| s.code()) == Some(EXIT_OUT_OF_MEMORY) || MEMORY.iter().any(said) {
        Cause::Memory
    } else if said(&"has overflowed its stack") {
        Cause::Depth
    } else {
        match signal {
            Some(Signal::SIGXCPU) => Cause::Processor,
            Some(Signal::SIGSYS) => Cause::Forbidden,
            Some(Signal::SIGKILL | Signal::SIGTERM) => Cause::Killed,
            _ => Cause::Unknown,
        }
    }
}
