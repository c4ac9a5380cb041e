//! The daemon's telemetry: metrics, traces and the log.
//!
//! Depends on `mux-files`, `mux-secrets` and `mux-wire`, and on no server, tool or run.
//!
//! - `metrics` counts in `server_meters`, `call_meter` and `run_meters`, never by a name that a caller made up, which
//!   bounds the number of labels. `metrics_port` serves a text of them to clients with the `metrics_token`.
//! - `trace` has W3C's `trace_context` and its `span`s: a `tracer` begins spans, a `span_collector` receives them.
//!   A caller carries a `TraceScope`: its client's context, and the collector, if any. Without a collector a context is
//!   passed on unchanged. Spans go to a queue that never blocks.
//! - `logging` writes `muxd.log`.
//!
//! Invariants:
//!
//! - No caller waits for the reader of a trace, a metric or a log line.
//! - No span and no label contains an argument or a result, and no log line a token in a published format.

pub mod logging;
pub mod metrics;
pub mod trace;
