//! One span, from its beginning to its end.
//!
//! Invariant: one that is dropped before anybody said how it ended was given up, and says so.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use super::{SpanCollector, SpanId, TraceContext, TraceScope};

/// What is said of a span that nobody saw to its end.
const CANCELLED_OUTCOME: &str = "cancelled";

/// Of a span, as OpenTelemetry has it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SpanKind {
    /// Somebody else asked for it.
    Server,
    /// Somebody else is asked.
    Client,
    Internal,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    Text(String),
    Number(i64),
}

/// A span that is over.
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

/// Something that is under way.
#[must_use]
#[derive(Debug, Default)]
pub struct Span {
    /// For what happens within it.
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
    /// Nobody is told of it.
    pub(super) fn unrecorded(trace: TraceScope) -> Self {
        Self { trace, kept: None }
    }

    pub(super) fn recorded(
        trace: TraceScope,
        (context, parent): (TraceContext, Option<SpanId>),
        (kind, name): (SpanKind, String),
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

    /// `value` is asked for only if somebody is told.
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

    /// Well, or in which way it went wrong, in one of a small number of words.
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
