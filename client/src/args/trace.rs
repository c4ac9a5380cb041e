//! The trace context arguments of commands that call tools.

use clap::Args as ClapArgs;

#[derive(Debug, Default, ClapArgs)]
#[group(skip)]
pub(crate) struct TraceArgs {
    /// The W3C trace context of the caller, sent on to servers [default: the variable TRACEPARENT]
    #[arg(long, value_name = "TRACEPARENT")]
    pub(crate) traceparent: Option<String>,
    /// The W3C trace state that belongs to --traceparent [default: the variable TRACESTATE]
    #[arg(long, value_name = "TRACESTATE", requires = "traceparent")]
    pub(crate) tracestate: Option<String>,
}
