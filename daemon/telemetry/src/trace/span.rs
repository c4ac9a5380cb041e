//! One span, from its beginning to its end.
//!
//! Invariant: one that is dropped before anybody said how it ended was given up, and says so.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use super::{Collect, Context, SpanId, Trace};

/// What is said of a span that nobody saw to its end.
const GIVEN_UP: &str = "cancelled";

/// Of a span, as OpenTelemetry has it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Somebody else asked for it.
    Server,
    /// Somebody else is asked.
    Client,
    Internal,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Number(i64),
}

/// A span that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub context: Context,
    pub parent: Option<SpanId>,
    pub name: String,
    pub kind: Kind,
    pub began: SystemTime,
    pub took: Duration,
    pub attributes: Vec<(&'static str, Value)>,
    pub failed: bool,
}

/// Something that is under way.
#[must_use]
#[derive(Debug, Default)]
pub struct Span {
    /// For what happens within it.
    trace: Trace,
    kept: Option<Box<Kept>>,
}

struct Kept {
    span: Ended,
    began: Instant,
    collector: Arc<dyn Collect>,
}

impl Kept {
    fn end(mut self, failed: Option<String>) {
        self.span.took = self.began.elapsed();
        self.span.failed = failed.is_some();
        if let Some(how) = failed {
            self.span.attributes.push(("error.type", how.into()));
        }
        self.collector.take(self.span);
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.span.fmt(f)
    }
}

impl Span {
    /// Nobody is told of it.
    pub(super) fn silent(trace: Trace) -> Self {
        Self { trace, kept: None }
    }

    pub(super) fn kept(
        trace: Trace,
        (context, parent): (Context, Option<SpanId>),
        (kind, name): (Kind, String),
        collector: Arc<dyn Collect>,
    ) -> Self {
        let span = Ended {
            context,
            parent,
            name,
            kind,
            began: SystemTime::now(),
            took: Duration::ZERO,
            attributes: Vec::new(),
            failed: false,
        };
        let kept = Kept {
            span,
            began: Instant::now(),
            collector,
        };
        Self {
            trace,
            kept: Some(Box::new(kept)),
        }
    }

    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// `value` is asked for only if somebody is told.
    pub fn set<V: Into<Value>>(&mut self, key: &'static str, value: impl FnOnce() -> Option<V>) {
        if let Some(kept) = &mut self.kept
            && let Some(value) = value()
        {
            kept.span.attributes.push((key, value.into()));
        }
    }

    /// Well, or in which way it went wrong, in one of a small number of words.
    pub fn ended(mut self, failed: impl FnOnce() -> Option<String>) {
        if let Some(kept) = self.kept.take() {
            kept.end(failed());
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(kept) = self.kept.take() {
            kept.end(Some(GIVEN_UP.to_owned()));
        }
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}
