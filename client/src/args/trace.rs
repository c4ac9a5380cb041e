//! In which trace something is done.

use clap::Args as ClapArgs;

#[derive(Debug, Default, ClapArgs)]
#[group(skip)]
pub(crate) struct Trace {
    /// W3C trace context of the caller, in place of the variable TRACEPARENT; servers are told of it
    #[arg(long, value_name = "TRACEPARENT")]
    pub(crate) traceparent: Option<String>,
    /// What belongs to it, in place of the variable TRACESTATE
    #[arg(long, value_name = "TRACESTATE", requires = "traceparent")]
    pub(crate) tracestate: Option<String>,
}
