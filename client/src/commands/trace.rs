//! The trace in which a command is started.
//!
//! Invariant: whether it is one is seen by the daemon, and nothing fails for it.

use mux_proto::variables;

use super::variable;
use crate::args;

/// `traceparent` and `tracestate`: what was asked for, or else what the environment says. The two belong together.
pub(super) fn context(asked: args::Trace) -> (Option<String>, Option<String>) {
    if asked.traceparent.is_some() {
        return (asked.traceparent, asked.tracestate);
    }
    let text = |name| variable(name).and_then(|value| value.into_os_string().into_string().ok());
    let parent = text(variables::TRACEPARENT);
    let state = parent.as_ref().and_then(|_| text(variables::TRACESTATE));
    (parent, state)
}
