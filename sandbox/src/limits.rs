//! The limits of a run. The error of a limit names the limit.

use std::time::Duration;

use mux_wire::{Fault, FaultKind};

const DEFAULT_WALL_TIME: Duration = Duration::from_secs(30);

/// The maximum length of the answer to a call, in bytes of JSON: a frame to the worker, less some room for its other
/// fields.
pub const MAX_ANSWER_BYTES: usize = mux_wire::MAX_FRAME_BYTES - 4096;

/// The resources that one run may use. Sizes are in bytes.
#[derive(Clone, Debug)]
pub struct ProgramLimits {
    /// Wall time, from the start of the program to its result.
    pub wall: Duration,
    /// CPU time of a run with the default wall time. See [`Limits::processor`].
    pub cpu: Duration,
    /// The number of tool calls.
    pub calls: u32,
    /// Concurrent tool calls. Further calls are queued.
    pub calls_at_once: usize,
    /// JSON of one call's arguments.
    pub argument: u32,
    /// JSON of the result.
    pub result: u32,
    /// All console output.
    pub console: u32,
    /// Source of the program.
    pub source: usize,
    /// The number of timers.
    pub timers: u32,
    /// JSON of all emitted parts together.
    pub emitted: u32,
}

impl ProgramLimits {
    /// The minimum and the maximum `wall` that a client may request.
    pub const WALL_TIME_RANGE: (Duration, Duration) =
        (Duration::from_secs(1), Duration::from_mins(5));

    /// The CPU time of this run: `cpu`, scaled up for a run that requested more than the default wall time. Clients
    /// therefore need to request only one of them.
    pub fn processor_time_limit(&self) -> Duration {
        let more = self.wall.as_secs_f64() / DEFAULT_WALL_TIME.as_secs_f64();
        self.cpu.mul_f64(more.max(1.0))
    }
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self {
            wall: DEFAULT_WALL_TIME,
            cpu: Duration::from_secs(10),
            calls: 1_000,
            calls_at_once: 32,
            argument: 4 << 20,
            result: 15 << 20,
            console: 256 << 10,
            source: 1 << 20,
            timers: 10_000,
            emitted: 16 << 20,
        }
    }
}

/// Memory of one isolate, in MiB.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MemoryLimits {
    pub heap: u32,
    /// All array buffers together, which the heap does not count.
    pub buffers: u32,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self {
            heap: 64,
            buffers: 64,
        }
    }
}

/// The error for a limit that was reached.
pub(crate) fn limit_fault(message: String, hint: &str) -> Fault {
    Fault::new(FaultKind::Limit, message).hint(hint)
}

/// Refuses a program that is too long.
pub fn check_source_length(source: &str, limits: &ProgramLimits) -> Result<(), Fault> {
    let length = source.len();
    let most = limits.source;
    if length <= most {
        return Ok(());
    }
    let message = format!("the program is {length} bytes, over the limit of {most}");
    Err(Fault::new(FaultKind::Limit, message).hints(
        "pass data as input (--input, input) or read it with a tool; [limits] source in config.toml allows \
         more",
        "pass data as `input` or read it with a tool; [limits] source in config.toml allows more",
    ))
}

/// The error for a call that exceeds a limit and is therefore not made. `call` counts from 0.
pub(crate) fn check_call_limits(
    limits: &ProgramLimits,
    call: u32,
    argument: usize,
) -> Option<Fault> {
    if call >= limits.calls {
        return Some(limit_fault(
            format!("the program made more than {} tool calls", limits.calls),
            "look for a tool that accepts or returns many items at a time; [limits] calls in config.toml allows \
             more",
        ));
    }
    let most = limits.argument as usize;
    (argument > most).then(|| {
        limit_fault(
            format!("the arguments are {argument} bytes, over the limit of {most}"),
            "send less at once; [limits] argument in config.toml allows more, up to 15 MiB",
        )
    })
}

/// Returns the result of a call if it fits into a frame.
pub(crate) fn check_answer_length(text: String, name: &str) -> Result<String, Fault> {
    if text.len() <= MAX_ANSWER_BYTES {
        return Ok(text);
    }
    let message = format!(
        "the result of {name} is {} bytes, over the limit of {MAX_ANSWER_BYTES}",
        text.len()
    );
    Err(limit_fault(message, "ask the tool for less: a range, a page, a filter").path(name))
}

/// The error for a program that ran too long. `waiting` has the names of its unanswered calls.
pub fn timeout_fault(wall: Duration, waiting: &[String]) -> Fault {
    let seconds = wall.as_secs_f64();
    let hint = match waiting {
        [] => "no call was pending: look for a loop that does not end".to_owned(),
        calls => format!("it was waiting for {}", format_call_names(calls)),
    };
    let most = ProgramLimits::WALL_TIME_RANGE.1.as_secs();
    Fault::new(
        FaultKind::Timeout,
        format!("the program ran longer than its {seconds} s"),
    )
    .hints(
        format!("{hint}; up to {most} s can be requested (--timeout, timeout)"),
        format!("{hint}; `timeout_seconds` allows up to {most} s"),
    )
}

/// The error for a program that used up its CPU time.
pub(crate) fn processor_time_fault(used: Duration, limits: &ProgramLimits) -> Fault {
    let used = used.as_secs_f64();
    let most = limits.processor_time_limit().as_secs_f64();
    let longest = ProgramLimits::WALL_TIME_RANGE.1.as_secs();
    Fault::new(
        FaultKind::Limit,
        format!("the program computed for {used:.1} s, over its limit of {most:.1} s of processor time"),
    )
    .hints(
        format!(
            "look for a loop that does not end; a longer wall time (--timeout, timeout; up to {longest} s) allows \
             more processor time in proportion, and so does [limits] cpu in config.toml"
        ),
        format!(
            "look for a loop that does not end; a longer `timeout_seconds` (up to {longest}) allows more processor \
             time in proportion"
        ),
    )
}

/// The first few of these calls, and the number of the others.
pub(crate) fn format_call_names(calls: &[String]) -> String {
    const MAX_SHOWN_CALLS: usize = 3;
    let named = calls
        .iter()
        .take(MAX_SHOWN_CALLS)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match calls.len().saturating_sub(MAX_SHOWN_CALLS) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
