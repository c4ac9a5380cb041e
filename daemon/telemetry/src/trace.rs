//! Traces of runs and calls.
//!
//! Contexts are W3C trace contexts. Without a collector, a client's context is passed on unchanged, and no new trace is
//! started.
//!
//! Invariant: no span contains an argument or a result of a call, or the message of an error, which may repeat them.

mod span;
mod span_collector;
mod trace_context;
mod tracer;

pub use self::{
    span::{AttributeValue, EndedSpan, Span, SpanKind},
    span_collector::{CollectorEndpoint, CollectorFactory, SpanCollector, SpanCounts},
    trace_context::{SpanId, TRACEPARENT, TraceContext, TraceId},
    tracer::{TraceScope, Tracer},
};
