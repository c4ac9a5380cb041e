//! The trace context arguments of commands that call tools.

use clap::Args as ClapArgs;

#[derive(Debug, Default, ClapArgs)]
#[group(skip)]
pub(crate) struct TraceArgs {
    /// The caller's W3C trace context, forwarded to servers [default: $TRACEPARENT]
    #[arg(long, value_name = "TRACEPARENT")]
    pub(crate) traceparent: Option<String>,
    /// The W3C trace state for --traceparent [default: $TRACESTATE]
    #[arg(long, value_name = "TRACESTATE", requires = "traceparent")]
    pub(crate) tracestate: Option<String>,
}
