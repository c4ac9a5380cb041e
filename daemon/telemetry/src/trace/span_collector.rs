//! Where spans go, seen from here. What speaks to a collector is another crate, which need not be built in.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;

use super::EndedSpan;

/// Takes spans that have ended.
pub trait SpanCollector: Send + Sync {
    /// Never waits: what there is no room for is lost, and counted.
    fn take(&self, span: EndedSpan);
    fn counts(&self) -> SpanCounts;
    /// Sends what is left, and resolves when it was sent or given up, within a time of its own.
    fn close(&self) -> BoxFuture<'static, ()>;
}

/// Spans so far.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SpanCounts {
    pub sent: u64,
    /// There was no room for them, or the collector did not take them.
    pub lost: u64,
    /// Why the last ones were lost, until some are sent again.
    pub problem: Option<String>,
}

/// To whom, and in whose name.
#[derive(Clone)]
pub struct CollectorEndpoint {
    /// Takes `ExportTraceServiceRequest`s.
    pub url: String,
    /// The same without a user, a password or a query.
    pub shown: String,
    pub headers: Vec<(String, String)>,
    /// `service.name` among them.
    pub resource: Vec<(String, String)>,
    pub client: reqwest::Client,
}

/// Makes what speaks to a collector. Called within the runtime.
#[derive(Clone)]
pub struct CollectorFactory(Arc<CollectorConstructor>);

type CollectorConstructor =
    dyn Fn(CollectorEndpoint) -> Result<Arc<dyn SpanCollector>, String> + Send + Sync;

impl CollectorFactory {
    pub fn new(
        make: impl Fn(CollectorEndpoint) -> Result<Arc<dyn SpanCollector>, String>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }

    pub(super) fn with(&self, to: CollectorEndpoint) -> Result<Arc<dyn SpanCollector>, String> {
        (self.0)(to)
    }
}

impl fmt::Debug for CollectorFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollectorFactory").finish_non_exhaustive()
    }
}
