//! What the daemon reports of itself: the spans of a call, counters and times, and its log.
//!
//! It knows files, secrets and wire, and no server, tool or run.
//!
//! - `metrics` counts where things happen, on handles that each server keeps, and never by a name that a caller made
//!   up, so that the number of series is bounded: of `server_meters`, of each `call_meter`, of `run_meters`, of a `process_stats`, and of what
//!   is so at a `metrics_snapshot`. `text_format` writes Prometheus' format, `metrics_port` serves it to readers that have the `metrics_token`. `mux
//!   metrics`, `mux top` and the port read one text.
//! - `trace` is W3C's `trace_context` and the `span`s within it: a `tracer` begins spans, a `span_collector` receives them. A
//!   caller carries a `TraceScope`: the context in which its client asked, and what collects spans, if anything. Where
//!   nothing collects, a context passes as it came. Spans go to a queue that never waits.
//! - `logging` writes `muxd.log`.
//!
//! Invariants:
//!
//! - No caller waits for the reader of a trace, a metric or a log line.
//! - No span and no label holds an argument or a result, and no log line a token of a published format.

pub mod logging;
pub mod metrics;
pub mod trace;
