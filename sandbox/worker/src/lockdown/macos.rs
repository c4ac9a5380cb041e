//! macOS: limits of the process, the sandbox of the system, and a thread that watches the memory, for which
//! the system has no limit. This compiles against the system's interfaces; nobody has run it yet.
//!
//! Invariant: what cannot be had is not named, and the worker goes on without it.

mod profile;
mod watch;

use nix::sys::{
    resource::{Resource, setrlimit},
    stat::{Mode, umask},
};

use super::{Walls, time_zone};
use crate::memory::Memory;

/// Processor time of all the runs of one process, as on Linux.
const PROCESSOR_SECONDS: u64 = 3600;
/// Standard input, output and error. What is open already stays open.
const DESCRIPTORS: u64 = 3;

/// What is held between the two steps: the names of what holds.
pub(crate) struct Lockdown(Vec<String>);

impl Walls for Lockdown {
    fn before_engine() -> Self {
        umask(Mode::from_bits_truncate(0o777));
        time_zone::load();
        let core = setrlimit(Resource::RLIMIT_CORE, 0, 0);
        let sizes = setrlimit(Resource::RLIMIT_FSIZE, 0, 0);
        let mut this = Self(Vec::new());
        this.note("no_core", core.is_ok() && sizes.is_ok());
        this
    }

    fn before_programs(mut self, memory: Memory) -> Vec<String> {
        self.note("memory", watch::start(memory.process_bytes()));
        let cpu = setrlimit(
            Resource::RLIMIT_CPU,
            PROCESSOR_SECONDS,
            PROCESSOR_SECONDS + 5,
        );
        self.note("processor", cpu.is_ok());
        let none_more = setrlimit(Resource::RLIMIT_NOFILE, DESCRIPTORS, DESCRIPTORS);
        self.note("descriptors", none_more.is_ok());
        // Last: it refuses what the lines above do.
        self.note("sandbox", profile::apply());
        self.0
    }
}

impl Lockdown {
    fn note(&mut self, layer: &str, holds: bool) {
        if holds {
            self.0.push(layer.into());
        }
    }
}
