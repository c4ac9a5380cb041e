//! Spans on their way to a collector: OTLP over HTTP, as protobuf. Built with the feature `otel` only.
//!
//! OpenTelemetry's own SDK is not used for it. It gives ids itself, where ours were told to servers long before; it has a
//! thread of its own, and reads the environment of this process, which is that of whoever started it.
//!
//! Invariant: nobody waits for a collector. What it does not take in time is lost, and counted.

mod batch;
mod message;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use mux_telemetry::trace::{Collect, Counts, Destination, Ended, Start};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use self::batch::Sender;

/// Spans that wait.
const QUEUE: usize = 2048;
/// How long the last of them may take.
const FAREWELL: Duration = Duration::from_secs(2);

pub(crate) fn start() -> Start {
    Start::new(|to| {
        let collector = Collector::start(to)?;
        Ok(Arc::new(collector) as Arc<dyn Collect>)
    })
}

struct Collector {
    queue: mpsc::Sender<Ended>,
    counts: Arc<Mutex<Counts>>,
    closing: CancellationToken,
    /// Taken by whoever waits for its end.
    sending: Mutex<Option<JoinHandle<()>>>,
}

impl Collector {
    fn start(to: Destination) -> Result<Self, String> {
        let (queue, spans) = mpsc::channel(QUEUE);
        let (counts, closing) = (Arc::<Mutex<Counts>>::default(), CancellationToken::new());
        let sender = Sender::new(to, Arc::clone(&counts), closing.clone())?;
        Ok(Self {
            queue,
            counts,
            closing,
            sending: Mutex::new(Some(tokio::spawn(sender.run(spans)))),
        })
    }
}

impl Collect for Collector {
    fn take(&self, span: Ended) {
        if self.queue.try_send(span).is_err() {
            self.counts
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .lost += 1;
        }
    }

    fn counts(&self) -> Counts {
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
            if timeout(FAREWELL, &mut sending).await.is_err() {
                sending.abort();
            }
        })
    }
}

#[cfg(test)]
mod tests;
