//! Traces: in which one a run or a call is asked for, and the spans that are told of it.
//!
//! The form of a context is W3C's. Where nobody collects spans, a context that somebody brought is handed on as it is,
//! and nobody is given one who brought none.
//!
//! Invariant: no argument and no result of a call stands in a span, nor the words of an error, which may repeat them.

mod span;
mod span_collector;
mod trace_context;
mod tracer;

pub use self::{
    span::{AttributeValue, EndedSpan, Span, SpanKind},
    span_collector::{CollectorEndpoint, CollectorFactory, SpanCollector, SpanCounts},
    trace_context::{SpanId, TRACEPARENT, TraceContext, TraceId},
    tracer::{TraceScope, Tracer, TracerReport},
};
