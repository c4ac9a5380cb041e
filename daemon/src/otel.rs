//! Exports spans to a collector: OTLP over HTTP, as protobuf. Built with the feature `otel` only.
//!
//! OpenTelemetry's own SDK is not used: it assigns ids itself, while muxd's are sent to servers long before the export.
//! The SDK also has its own thread, and reads the environment of this process, which comes from the client that started
//! it.
//!
//! Invariant: nothing waits for a collector. Spans that the collector does not take in time are dropped and counted.

mod batch_sender;
mod otlp_message;

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use mux_telemetry::trace::{
    CollectorEndpoint, CollectorFactory, EndedSpan, SpanCollector, SpanCounts,
};
use parking_lot::Mutex;
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use self::batch_sender::BatchSender;

/// The maximum number of spans that wait for the next request.
const MAX_QUEUED_SPANS: usize = 2048;
/// How long the last spans may take to be sent.
const SPAN_FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) const START: CollectorFactory = |to| Ok(Arc::new(OtlpCollector::start(to)?));

struct OtlpCollector {
    queue: mpsc::Sender<EndedSpan>,
    counts: Arc<Mutex<SpanCounts>>,
    closing: CancellationToken,
    /// The sender's task. The first `close` takes it.
    sending: Mutex<Option<JoinHandle<()>>>,
}

impl OtlpCollector {
    fn start(to: CollectorEndpoint) -> Result<Self, String> {
        let (queue, spans) = mpsc::channel(MAX_QUEUED_SPANS);
        let counts = Arc::<Mutex<SpanCounts>>::default();
        let closing = CancellationToken::new();
        let sender = BatchSender::new(to, Arc::clone(&counts), closing.clone())?;
        Ok(Self {
            queue,
            counts,
            closing,
            sending: Mutex::new(Some(tokio::spawn(sender.run(spans)))),
        })
    }
}

impl SpanCollector for OtlpCollector {
    fn take(&self, span: EndedSpan) {
        if self.queue.try_send(span).is_err() {
            self.counts.lock().lost += 1;
        }
    }

    fn counts(&self) -> SpanCounts {
        let counts = self.counts.lock();
        counts.clone()
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        self.closing.cancel();
        let sending = self.sending.lock().take();
        Box::pin(async move {
            let Some(mut sending) = sending else { return };
            if timeout(SPAN_FLUSH_TIMEOUT, &mut sending).await.is_err() {
                sending.abort();
            }
        })
    }
}

#[cfg(test)]
mod tests;
