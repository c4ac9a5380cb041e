//! Spans on their way to a collector: OTLP over HTTP, as protobuf. Built with the feature `otel` only.
//!
//! OpenTelemetry's own SDK is not used for it. It gives ids itself, where ours were told to servers long before; it has a
//! thread of its own, and reads the environment of this process, which is that of whoever started it.
//!
//! Invariant: nobody waits for a collector. What it does not take in time is lost, and counted.

mod batch_sender;
mod otlp_message;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use mux_telemetry::trace::{
    CollectorEndpoint, CollectorFactory, EndedSpan, SpanCollector, SpanCounts,
};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use self::batch_sender::BatchSender;

/// Spans that wait.
const MAX_QUEUED_SPANS: usize = 2048;
/// How long the last of them may take.
const SPAN_FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn start() -> CollectorFactory {
    CollectorFactory::new(|to| {
        let collector = OtlpCollector::start(to)?;
        Ok(Arc::new(collector) as Arc<dyn SpanCollector>)
    })
}

struct OtlpCollector {
    queue: mpsc::Sender<EndedSpan>,
    counts: Arc<Mutex<SpanCounts>>,
    closing: CancellationToken,
    /// Taken by whoever waits for its end.
    sending: Mutex<Option<JoinHandle<()>>>,
}

impl OtlpCollector {
    fn start(to: CollectorEndpoint) -> Result<Self, String> {
        let (queue, spans) = mpsc::channel(MAX_QUEUED_SPANS);
        let (counts, closing) = (
            Arc::<Mutex<SpanCounts>>::default(),
            CancellationToken::new(),
        );
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
            self.counts
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .lost += 1;
        }
    }

    fn counts(&self) -> SpanCounts {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.clone()
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        self.closing.cancel();
        let sending = self
            .sending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
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
