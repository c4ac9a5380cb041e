//! The trace context in which a command is started.
//!
//! Invariant: the daemon validates the context, and an invalid context does not cause a failure.

use mux_proto::variables;

use super::env_path;
use crate::args;

/// `traceparent` and `tracestate`, both from the options or both from the environment.
pub(super) fn read_trace_context(asked: args::TraceArgs) -> (Option<String>, Option<String>) {
    if asked.traceparent.is_some() {
        return (asked.traceparent, asked.tracestate);
    }
    let text = |name| env_path(name).and_then(|value| value.into_os_string().into_string().ok());
    let parent = text(variables::TRACEPARENT);
    let state = parent.as_ref().and_then(|_| text(variables::TRACESTATE));
    (parent, state)
}
