//! The interface to span collectors. The exporter is in another crate, which is optional.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::EndedSpan;

/// Receives spans that have ended.
pub trait SpanCollector: Send + Sync {
    /// Takes a span without blocking. If the queue is full the span is dropped and counted.
    fn take(&self, span: EndedSpan);
    fn counts(&self) -> SpanCounts;
    /// Sends the remaining spans. Resolves when they are sent, or after the collector's own
    /// timeout.
    fn close(&self) -> BoxFuture<'static, ()>;
}

/// Counts of spans so far.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SpanCounts {
    pub sent: u64,
    /// Spans that did not fit into the queue, or that the collector rejected.
    pub lost: u64,
    /// Why spans were last lost. Cleared when spans are sent again.
    pub problem: Option<String>,
}

/// The endpoint of a collector, and the resource attributes that are sent to it.
#[derive(Clone)]
pub struct CollectorEndpoint {
    /// The URL that `ExportTraceServiceRequest`s are sent to.
    pub url: String,
    /// The endpoint for display, with secrets masked.
    pub shown: String,
    pub headers: Vec<(String, String)>,
    /// Resource attributes, including `service.name`.
    pub resource: Vec<(String, String)>,
    pub client: reqwest::Client,
}

/// Creates a collector for an endpoint. Called within the runtime.
pub type CollectorFactory = fn(CollectorEndpoint) -> Result<Arc<dyn SpanCollector>, String>;
