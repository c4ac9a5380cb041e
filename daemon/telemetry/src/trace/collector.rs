//! Where spans go, seen from here. What speaks to a collector is another crate, which need not be built in.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;

use super::Ended;

/// Takes spans that have ended.
pub trait Collect: Send + Sync {
    /// Never waits: what there is no room for is lost, and counted.
    fn take(&self, span: Ended);
    fn counts(&self) -> Counts;
    /// Sends what is left, and resolves when it was sent or given up, within a time of its own.
    fn close(&self) -> BoxFuture<'static, ()>;
}

/// Spans so far.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    pub sent: u64,
    /// There was no room for them, or the collector did not take them.
    pub lost: u64,
    /// Why the last ones were lost, until some are sent again.
    pub problem: Option<String>,
}

/// To whom, and in whose name.
#[derive(Clone)]
pub struct Destination {
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
pub struct Start(Arc<Make>);

type Make = dyn Fn(Destination) -> Result<Arc<dyn Collect>, String> + Send + Sync;

impl Start {
    pub fn new(
        make: impl Fn(Destination) -> Result<Arc<dyn Collect>, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }

    pub(super) fn with(&self, to: Destination) -> Result<Arc<dyn Collect>, String> {
        (self.0)(to)
    }
}

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Start").finish_non_exhaustive()
    }
}
