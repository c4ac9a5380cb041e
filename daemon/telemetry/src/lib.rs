//! What the daemon tells of itself: the spans of a call, counters and times, and its log.
//!
//! It knows no server, tool or run. Invariant: no caller waits for whoever reads a trace, a metric or a log line.

pub mod logging;
pub mod metrics;
pub mod trace;
