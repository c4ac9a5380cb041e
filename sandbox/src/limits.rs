//! Every limit of a run, by name. A limit that is reached names itself in the error.

use std::time::Duration;

use crate::{Fault, Kind};

/// What one run may use. Sizes are in bytes.
#[derive(Clone, Debug)]
pub struct Limits {
    /// From the start of the program to its result.
    pub wall: Duration,
    /// Tool calls in all.
    pub calls: u32,
    /// Tool calls at once; more wait in line.
    pub calls_at_once: usize,
    /// JSON of one call's arguments.
    pub argument: u32,
    /// JSON of the result.
    pub result: u32,
    /// Console output in all.
    pub console: u32,
    /// Source of the program.
    pub source: usize,
    /// Timers in all.
    pub timers: u32,
}

impl Limits {
    /// The shortest and the longest `wall` that a client may ask for.
    pub const WALL_RANGE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(30),
            calls: 1_000,
            calls_at_once: 32,
            argument: 4 << 20,
            result: 8 << 20,
            console: 256 << 10,
            source: 1 << 20,
            timers: 10_000,
        }
    }
}

/// The error of a limit that was reached.
pub(crate) fn reached(message: String, hint: &str) -> Fault {
    Fault::new(Kind::Limit, message).hint(hint)
}

/// The error of a program whose time is over. `waiting` names the calls that had not been answered.
pub(crate) fn timed_out(wall: Duration, waiting: &[String]) -> Fault {
    let seconds = wall.as_secs_f64();
    let hint = match waiting {
        [] => "no call was pending: look for a loop that does not end".to_owned(),
        calls => format!("it was waiting for {}", shortened(calls)),
    };
    let most = Limits::WALL_RANGE.1.as_secs();
    Fault::new(
        Kind::Timeout,
        format!("the program ran longer than its {seconds} s"),
    )
    .hint(format!(
        "{hint}; up to {most} s can be asked for (--timeout, timeout)"
    ))
}

fn shortened(calls: &[String]) -> String {
    const SHOWN: usize = 3;
    let named = calls
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match calls.len().saturating_sub(SHOWN) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
