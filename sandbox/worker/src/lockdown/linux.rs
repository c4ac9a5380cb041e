//! The lockdown on Linux: the restrictions that a process can apply to itself without privileges, in two steps.
//!
//! Before the engine starts there is one thread, so restrictions of a thread (landlock) are inherited by all.
//! Restrictions that would prevent the engine from starting (the memory limit, the system call filters) are applied
//! after the start. Between them, the engine's own threads get a lower priority.
//!
//! Invariant: from the second step on, no descriptor beyond the three standard ones, pipes to the daemon, is open, and
//! none can be opened.

mod abort_handler;
mod seccomp_filters;

use std::{
    fs::{self, File, ReadDir},
    io::Read as _,
};

use mux_lockdown::landlock_rules::{self, LandlockAllowances};
use nix::{
    libc,
    sys::{
        prctl,
        resource::{Resource, setrlimit},
        signal::Signal,
        stat::{Mode, umask},
    },
};

use rustix::process::setpriority_process;

use super::{LockdownSteps, time_zone};
use crate::memory::IsolateMemory;

/// The CPU time of all runs of one process, in seconds. The daemon limits each run. This is a second line of defense.
const MAX_PROCESSOR_SECONDS: u64 = 3600;

/// The number of descriptors: standard input, output and error.
const MAX_DESCRIPTORS: u32 = 3;

/// The state between the steps.
pub(crate) struct Lockdown {
    layers: Vec<String>,
    /// `/proc/self/status`, opened in the first step because the second can no longer open files.
    status: Option<File>,
    /// `/proc/self/task`, opened in the first step and read when the engine has started its threads.
    threads: Option<ReadDir>,
}

impl LockdownSteps for Lockdown {
    fn before_engine() -> Self {
        let mut this = Self {
            layers: Vec::new(),
            status: File::open("/proc/self/status").ok(),
            threads: fs::read_dir("/proc/self/task").ok(),
        };
        this.record_layer("pdeathsig", prctl::set_pdeathsig(Signal::SIGKILL).is_ok());
        this.record_layer("no_new_privs", prctl::set_no_new_privs().is_ok());
        this.record_layer("not_dumpable", prctl::set_dumpable(false).is_ok());
        umask(Mode::from_bits_truncate(0o777));
        let core = setrlimit(Resource::RLIMIT_CORE, 0, 0);
        let sizes = setrlimit(Resource::RLIMIT_FSIZE, 0, 0);
        this.record_layer("no_core", core.is_ok() && sizes.is_ok());
        time_zone::load_time_zone();
        // No rule allows any access, so a later change cannot widen a path.
        if let Some(layer) = landlock_rules::restrict(&LandlockAllowances::default()) {
            this.layers.push(layer);
        }
        this
    }

    /// Lowers the priority of V8's own threads: they collect garbage beside the program, and would otherwise take the
    /// other CPUs from other runs.
    fn after_engine(&mut self) {
        let main_thread = rustix::process::getpid();
        for thread in self.threads.take().into_iter().flatten().flatten() {
            let id = thread.file_name().to_str().and_then(|id| id.parse().ok());
            let Some(thread) = id.and_then(rustix::process::Pid::from_raw) else {
                continue;
            };
            if thread != main_thread {
                // On Linux this is the priority of one thread. A thread that keeps its priority causes only the harm
                // above.
                _ = setpriority_process(Some(thread), mux_wire::LOW_PRIORITY);
            }
        }
    }

    fn before_programs(mut self, memory: IsolateMemory) -> Vec<String> {
        self.threads = None;
        let budget = memory.process_bytes();
        let data = self.status.take().and_then(private_writable_bytes);
        let limited = data.is_some_and(|bytes| {
            let most = bytes.saturating_add(budget as u64);
            setrlimit(Resource::RLIMIT_DATA, most, most).is_ok()
        });
        // Without the limit, an abort is never caused by a lack of memory.
        self.record_layer(
            "memory",
            limited && abort_handler::install_abort_handlers(budget),
        );
        let cpu = setrlimit(
            Resource::RLIMIT_CPU,
            MAX_PROCESSOR_SECONDS,
            MAX_PROCESSOR_SECONDS + 5,
        );
        self.record_layer("processor", cpu.is_ok());
        let closed = close_all_but_standard();
        let none_more = setrlimit(
            Resource::RLIMIT_NOFILE,
            MAX_DESCRIPTORS.into(),
            MAX_DESCRIPTORS.into(),
        );
        self.record_layer("descriptors", closed && none_more.is_ok());
        // Last, because the filters refuse the calls above.
        for (layer, holds) in seccomp_filters::apply_filters() {
            self.record_layer(layer, holds);
        }
        self.layers
    }
}

impl Lockdown {
    fn record_layer(&mut self, layer: &str, holds: bool) {
        if holds {
            self.layers.push(layer.into());
        }
    }
}

/// `VmData` in bytes: private writable memory, which `RLIMIT_DATA` limits.
fn private_writable_bytes(mut status: File) -> Option<u64> {
    let mut text = String::new();
    status.read_to_string(&mut text).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmData:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Closes all descriptors but the standard ones: the daemon may have inherited descriptors that it does not know of.
#[expect(unsafe_code, reason = "no safe wrapper of close_range is at hand")]
fn close_all_but_standard() -> bool {
    // SAFETY: the call takes three integers. No value of this process owns a descriptor that is closed
    // here: the link is the standard input and output, the tokio runtime has no driver for descriptors, and
    // both files of `/proc` are closed.
    unsafe { libc::syscall(libc::SYS_close_range, MAX_DESCRIPTORS, u32::MAX, 0) == 0 }
}
