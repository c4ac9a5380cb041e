//! What a hostile case may cost the daemon: how long a thread of its runtime computes at a time, and how much
//! memory the daemon takes.
//!
//! The exception to the rule that no test asserts a time, asked for by who owns the product: what counts is the
//! processor time of the daemon's own threads (`MUX_WATCH_POLLS`), which does not depend on what else the
//! machine does.
//!
//! Invariant: a case costs no more than the limits here, or stands in [`EXCEPTIONS`] with the reason.

use std::{fs, io::Write as _, time::Duration};

use crate::process;

/// A daemon that computes for longer without a pause is noticed by its clients.
const LONGEST_POLL: Duration = Duration::from_millis(250);
/// Above what the daemon had before the first case.
const PEAK_BYTES: u64 = 64 << 20;

/// Cases that may cost more.
struct Exception {
    case: &'static str,
    longest_poll: Duration,
    peak_bytes: u64,
    /// Why that is right.
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

/// What one daemon is measured by.
#[derive(Debug)]
pub struct Canary {
    daemon: i32,
    resident: u64,
}

impl Canary {
    /// For a daemon that is warm and at rest.
    pub fn of(daemon: i32) -> Self {
        Self {
            daemon,
            resident: process::resident_bytes(daemon),
        }
    }

    /// From here on a case counts. `metrics` is the daemon's text, which is read for its side effect: the longest
    /// poll is forgotten.
    pub fn begin(&self, metrics: &str) {
        longest_poll(metrics);
        // A system that does not let us shows the peak since the start.
        drop(fs::write(format!("/proc/{}/clear_refs", self.daemon), "5"));
    }

    /// Whether what the case has cost is within its limits, in words if not.
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

/// As the daemon's metrics tell it.
fn longest_poll(metrics: &str) -> Duration {
    const NAME: &str = "muxd_runtime_longest_poll_seconds ";
    let sample = metrics.lines().find_map(|line| line.strip_prefix(NAME));
    let seconds = sample.expect("the daemon was started by TestEnv::watching_polls");
    Duration::from_secs_f64(seconds.parse().unwrap())
}
