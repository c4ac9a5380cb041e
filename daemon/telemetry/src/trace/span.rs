//! One span, from its beginning to its end.
//!
//! Invariant: a span that is dropped without an outcome ends as cancelled.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use super::{SpanCollector, SpanId, TraceContext, TraceScope};

/// The `error.type` of a span that is dropped without an outcome.
const CANCELLED_OUTCOME: &str = "cancelled";

/// OpenTelemetry's span kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SpanKind {
    /// Handles a request of a client.
    Server,
    /// Sends a request to a server.
    Client,
    Internal,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    Text(String),
    Number(i64),
}

/// A span that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedSpan {
    pub context: TraceContext,
    pub parent: Option<SpanId>,
    pub name: String,
    pub kind: SpanKind,
    pub began: SystemTime,
    pub took: Duration,
    pub attributes: Vec<(&'static str, AttributeValue)>,
    pub failed: bool,
}

/// A span in progress.
#[must_use]
#[derive(Debug, Default)]
pub struct Span {
    /// The scope for spans within this one.
    trace: TraceScope,
    kept: Option<Box<RecordedSpan>>,
}

struct RecordedSpan {
    span: EndedSpan,
    began: Instant,
    collector: Arc<dyn SpanCollector>,
}

impl RecordedSpan {
    fn end(mut self, failed: Option<String>) {
        self.span.took = self.began.elapsed();
        self.span.failed = failed.is_some();
        if let Some(how) = failed {
            self.span.attributes.push(("error.type", how.into()));
        }
        self.collector.take(self.span);
    }
}

impl std::fmt::Debug for RecordedSpan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.span.fmt(f)
    }
}

impl Span {
    /// A span that is not recorded.
    pub(super) fn unrecorded(trace: TraceScope) -> Self {
        Self { trace, kept: None }
    }

    pub(super) fn recorded(
        trace: TraceScope,
        context: TraceContext,
        parent: Option<SpanId>,
        kind: SpanKind,
        name: String,
        collector: Arc<dyn SpanCollector>,
    ) -> Self {
        let span = EndedSpan {
            context,
            parent,
            name,
            kind,
            began: SystemTime::now(),
            took: Duration::ZERO,
            attributes: Vec::new(),
            failed: false,
        };
        let kept = RecordedSpan {
            span,
            began: Instant::now(),
            collector,
        };
        Self {
            trace,
            kept: Some(Box::new(kept)),
        }
    }

    pub fn trace(&self) -> &TraceScope {
        &self.trace
    }

    /// Sets an attribute. `value` is called only if the span is recorded.
    pub fn set<V: Into<AttributeValue>>(
        &mut self,
        key: &'static str,
        value: impl FnOnce() -> Option<V>,
    ) {
        if let Some(kept) = &mut self.kept
            && let Some(value) = value()
        {
            kept.span.attributes.push((key, value.into()));
        }
    }

    /// Ends the span. `failed` returns the `error.type` of a failure, which has few distinct values.
    pub fn end_with(mut self, failed: impl FnOnce() -> Option<String>) {
        if let Some(kept) = self.kept.take() {
            kept.end(failed());
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(kept) = self.kept.take() {
            kept.end(Some(CANCELLED_OUTCOME.to_owned()));
        }
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<i64> for AttributeValue {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}
