//! Sends spans in batches, and retries if the collector may accept them later.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;

use mux_http::response_body::read_body;
use mux_telemetry::trace::{CollectorEndpoint, EndedSpan, SpanCounts};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceResponse, resource::v1::Resource,
};
use prost::Message as _;
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::otlp_message;

/// The maximum number of spans in one request.
const MAX_BATCH_SPANS: usize = 512;
/// How long the first span of a batch waits for others.
const BATCH_WINDOW: Duration = Duration::from_secs(1);
/// The maximum number of attempts to send one batch.
const MAX_SEND_ATTEMPTS: u32 = 5;
const INITIAL_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);
/// The maximum length of the collector's response.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

pub(super) struct BatchSender {
    to: CollectorEndpoint,
    headers: HeaderMap,
    resource: Resource,
    counts: Arc<Mutex<SpanCounts>>,
    closing: CancellationToken,
}

/// The reason the collector did not accept a batch.
struct ExportRefusal {
    why: String,
    /// `Some` if the batch may be retried, with the delay that the collector requests, if any.
    #[expect(clippy::option_option, reason = "never, at any time, or after a delay")]
    later: Option<Option<Duration>>,
}

impl BatchSender {
    pub(super) fn new(
        to: CollectorEndpoint,
        counts: Arc<Mutex<SpanCounts>>,
        closing: CancellationToken,
    ) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &to.headers {
            let key = HeaderName::try_from(name)
                .map_err(|_| format!("headers: {name:?} is not a valid header name"))?;
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| format!("headers: the value of {name} cannot be sent"))?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        let protobuf = HeaderValue::from_static("application/x-protobuf");
        headers.insert(CONTENT_TYPE, protobuf);
        Ok(Self {
            resource: otlp_message::resource(&to.resource),
            to,
            headers,
            counts,
            closing,
        })
    }

    /// Sends batches until the queue is closed, or until `closing` is cancelled and the queue is empty.
    pub(super) async fn run(self, mut spans: mpsc::Receiver<EndedSpan>) {
        let mut batch = Vec::new();
        loop {
            let first = tokio::select! {
                biased;
                span = spans.recv() => span,
                () = self.closing.cancelled() => {
                    spans.close();
                    spans.recv().await
                }
            };
            let Some(first) = first else { return };
            batch.push(first);
            self.gather(&mut spans, &mut batch).await;
            self.send(&batch).await;
            batch.clear();
        }
    }

    async fn gather(&self, spans: &mut mpsc::Receiver<EndedSpan>, batch: &mut Vec<EndedSpan>) {
        let over = Instant::now() + BATCH_WINDOW;
        while batch.len() < MAX_BATCH_SPANS {
            tokio::select! {
                biased;
                span = spans.recv() => match span {
                    Some(span) => batch.push(span),
                    None => return,
                },
                () = self.closing.cancelled() => return,
                () = sleep_until(over) => return,
            }
        }
    }

    async fn send(&self, batch: &[EndedSpan]) {
        let body = otlp_message::request(&self.resource, batch).encode_to_vec();
        let mut pause = INITIAL_RETRY_DELAY;
        for attempt in 1.. {
            let refusal = match self.post(body.clone()).await {
                Ok(rejected) => {
                    let rejected = rejected.min(batch.len() as u64);
                    let mut counts = self.counts.lock();
                    counts.sent += batch.len() as u64 - rejected;
                    counts.lost += rejected;
                    counts.problem = (rejected > 0)
                        .then(|| format!("the collector has rejected {rejected} spans"));
                    return;
                }
                Err(refusal) => refusal,
            };
            let given_up = attempt >= MAX_SEND_ATTEMPTS || self.closing.is_cancelled();
            let wait = refusal.later.filter(|_| !given_up);
            self.refused(refusal.why, wait.map_or(batch.len(), |_| 0));
            let Some(retry_after) = wait else { return };
            tokio::select! {
                () = sleep(retry_after.unwrap_or(pause).min(MAX_RETRY_DELAY)) => {}
                // There is time for one more attempt.
                () = self.closing.cancelled() => {}
            }
            pause = (pause * 2).min(MAX_RETRY_DELAY);
        }
    }

    /// Sends one request. Returns the number of spans that the collector rejected.
    async fn post(&self, body: Vec<u8>) -> Result<u64, ExportRefusal> {
        let sending = self
            .to
            .client
            .post(&self.to.url)
            .headers(self.headers.clone());
        let response = sending
            .body(body)
            .send()
            .await
            .map_err(|error| ExportRefusal {
                // The address may contain a password.
                why: format!("{:#}", anyhow::Error::new(error.without_url())),
                later: Some(None),
            })?;
        let status = response.status();
        if !status.is_success() {
            let again = matches!(
                status,
                StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::BAD_GATEWAY
                    | StatusCode::SERVICE_UNAVAILABLE
                    | StatusCode::GATEWAY_TIMEOUT
            );
            return Err(ExportRefusal {
                why: format!("it answers HTTP {status}"),
                later: again.then(|| seconds(&response)),
            });
        }
        let answer = read_body(response, MAX_RESPONSE_BYTES).await;
        let answer = answer.ok().flatten().unwrap_or_default();
        let answer = ExportTraceServiceResponse::decode(answer.as_slice()).unwrap_or_default();
        let rejected = answer.partial_success.map_or(0, |part| part.rejected_spans);
        Ok(u64::try_from(rejected).unwrap_or_default())
    }

    fn refused(&self, why: String, lost: usize) {
        let mut counts = self.counts.lock();
        counts.problem = Some(why);
        counts.lost += lost as u64;
    }
}

fn seconds(response: &Response) -> Option<Duration> {
    let retry_after = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    retry_after.parse().ok().map(Duration::from_secs)
}
