//! Limits on the cost of a hostile case for the daemon: the longest poll of its runtime, and its peak memory.
//!
//! This is the only exception to the rule that no test asserts a time: it measures the CPU time of the daemon's own
//! threads (`MUX_WATCH_POLLS`), which does not depend on the load of the machine.
//!
//! Invariant: a case stays within the limits here, or is listed in [`EXCEPTIONS`] with a reason.

use std::{fs, io::Write as _, time::Duration};

use crate::process;

/// The maximum CPU time of one poll. Clients would notice a longer one.
const LONGEST_POLL: Duration = Duration::from_millis(250);
/// The maximum growth of the daemon's resident memory compared with before the first case.
const PEAK_BYTES: u64 = 64 << 20;

/// A case with its own limits.
struct Exception {
    case: &'static str,
    longest_poll: Duration,
    peak_bytes: u64,
    /// Why the case may cost more.
    _reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        case: "bridge_62_arguments_of_many_values",
        longest_poll: LONGEST_POLL,
        peak_bytes: 256 << 20,
        _reason: "two calls at once may have arguments of a million values each, read and on their way",
    },
    Exception {
        case: "as_many_objects_as_may_be",
        longest_poll: LONGEST_POLL,
        peak_bytes: 192 << 20,
        _reason: "the heaviest result that is let in, a million values, stands once as a value and once as text",
    },
    Exception {
        case: "tools_100_000",
        longest_poll: LONGEST_POLL,
        peak_bytes: 128 << 20,
        _reason: "a server may list 10,000 tools, and only their number says that they are too many",
    },
];

/// Measures one daemon.
#[derive(Debug)]
pub struct Canary {
    daemon: i32,
    resident: u64,
}

impl Canary {
    /// Starts to measure a daemon that is warm and idle.
    pub fn of(daemon: i32) -> Self {
        Self {
            daemon,
            resident: process::resident_bytes(daemon),
        }
    }

    /// Begins a case. Reading the daemon's metrics, whose text is `metrics`, has reset its longest poll.
    pub fn begin(&self, metrics: &str) {
        longest_poll(metrics);
        // Where this is not permitted, the peak counts from the daemon's start.
        drop(fs::write(format!("/proc/{}/clear_refs", self.daemon), "5"));
    }

    /// Ends a case, and returns what exceeds its limits as an error.
    pub fn end(&self, case: &str, metrics: &str) -> Result<(), String> {
        let poll = longest_poll(metrics);
        let peak = process::peak_bytes(self.daemon).saturating_sub(self.resident);
        // Tests print what they measure.
        drop(writeln!(
            std::io::stderr(),
            "canary: {case}: longest poll {} ms, peak {} MiB",
            poll.as_millis(),
            peak >> 20
        ));
        let exception = EXCEPTIONS.iter().find(|exception| exception.case == case);
        let longest_poll = exception.map_or(LONGEST_POLL, |it| it.longest_poll);
        let peak_bytes = exception.map_or(PEAK_BYTES, |it| it.peak_bytes);
        if poll > longest_poll {
            return Err(format!(
                "a thread of the runtime computed for {poll:?} at a time, more than {longest_poll:?}"
            ));
        }
        if peak > peak_bytes {
            return Err(format!(
                "the daemon took {} MiB more, not {} at most",
                peak >> 20,
                peak_bytes >> 20
            ));
        }
        Ok(())
    }
}

/// The daemon's longest poll, as in its metrics.
fn longest_poll(metrics: &str) -> Duration {
    const NAME: &str = "muxd_runtime_longest_poll_seconds ";
    let sample = metrics.lines().find_map(|line| line.strip_prefix(NAME));
    let seconds = sample.expect("the daemon was started by TestEnv::watching_polls");
    Duration::from_secs_f64(seconds.parse().unwrap())
}
