//! The lockdown on macOS: process limits, the system's sandbox, and a thread that watches the memory, which the system
//! does not limit. Type-checked, but never run so far.
//!
//! Invariant: a layer that cannot be applied is not reported, and the worker continues without it.

mod watch;

use nix::sys::{
    resource::{Resource, setrlimit},
    stat::{Mode, umask},
};

use super::{LockdownSteps, seatbelt, time_zone};
use crate::memory::IsolateMemory;

/// CPU time of all runs of one process in seconds, as on Linux.
const MAX_PROCESSOR_SECONDS: u64 = 3600;
/// The number of descriptors: standard input, output and error. Descriptors that are already open stay open.
const MAX_DESCRIPTORS: u64 = 3;

/// The state between the two steps: the names of the active layers.
pub(crate) struct Lockdown(Vec<String>);

impl LockdownSteps for Lockdown {
    fn before_engine() -> Self {
        umask(Mode::from_bits_truncate(0o777));
        time_zone::load_time_zone();
        let core = setrlimit(Resource::RLIMIT_CORE, 0, 0);
        let sizes = setrlimit(Resource::RLIMIT_FSIZE, 0, 0);
        let mut this = Self(Vec::new());
        this.record_layer("no_core", core.is_ok() && sizes.is_ok());
        this
    }

    fn before_programs(mut self, memory: IsolateMemory) -> Vec<String> {
        self.record_layer("memory", watch::start(memory.process_bytes()));
        let cpu = setrlimit(
            Resource::RLIMIT_CPU,
            MAX_PROCESSOR_SECONDS,
            MAX_PROCESSOR_SECONDS + 5,
        );
        self.record_layer("processor", cpu.is_ok());
        let none_more = setrlimit(Resource::RLIMIT_NOFILE, MAX_DESCRIPTORS, MAX_DESCRIPTORS);
        self.record_layer("descriptors", none_more.is_ok());
        // Last, because the sandbox refuses the calls above.
        self.record_layer("sandbox", seatbelt::apply());
        self.0
    }
}

impl Lockdown {
    fn record_layer(&mut self, layer: &str, holds: bool) {
        if holds {
            self.0.push(layer.into());
        }
    }
}
