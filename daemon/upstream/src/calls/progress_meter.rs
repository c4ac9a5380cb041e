//! The progress of one request, forwarded at a limited rate.
//!
//! Invariant: only the latest notification is kept, and the caller gets the last notification before the answer.

use std::{convert::Infallible, time::Duration};

use parking_lot::Mutex;
use rmcp::model::ProgressNotificationParam;
use tokio::{sync::Notify, time::sleep};

use mux_caller::{ClockMark, ProgressUpdate};

/// The number of notifications of a request that are forwarded immediately. Most requests send fewer.
const MAX_PROGRESS_BURST: usize = 10;
/// The interval between notifications after the burst.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);
/// The maximum number of bytes kept of a progress message.
const MAX_PROGRESS_MESSAGE_BYTES: usize = 2_000;

#[derive(Debug, Default)]
pub(crate) struct ProgressMeter {
    latest: Mutex<Option<ProgressUpdate>>,
    updated: Notify,
    /// The time of the last progress.
    last_activity: Mutex<Option<ClockMark>>,
}

impl ProgressMeter {
    pub(super) fn record_notification(&self, notification: &ProgressNotificationParam) {
        self.record_progress(
            notification.progress,
            notification.total,
            notification.message.as_deref(),
        );
    }

    pub(crate) fn record_progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let truncate =
            |text: &str| text[..text.floor_char_boundary(MAX_PROGRESS_MESSAGE_BYTES)].to_owned();
        *self.latest.lock() = Some(ProgressUpdate {
            progress,
            total,
            message: message.map(truncate),
        });
        self.updated.notify_one();
    }

    pub(super) fn record_activity(&self, mark: ClockMark) {
        *self.last_activity.lock() = Some(mark);
    }

    pub(crate) fn last_activity(&self) -> Option<ClockMark> {
        *self.last_activity.lock()
    }

    /// Takes the latest notification that has not been forwarded yet.
    pub(crate) fn take_latest(&self) -> Option<ProgressUpdate> {
        self.latest.lock().take()
    }

    /// Forwards progress to `report` until the future is dropped.
    pub(crate) async fn forward_progress(
        &self,
        report: &(dyn Fn(ProgressUpdate) + Send + Sync),
    ) -> Infallible {
        let mut at_once = MAX_PROGRESS_BURST;
        loop {
            self.updated.notified().await;
            if let Some(progress) = self.take_latest() {
                report(progress);
                match at_once {
                    0 => sleep(PROGRESS_INTERVAL).await,
                    _ => at_once -= 1,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{NumberOrString, ProgressToken};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn forwarding_is_rate_limited_and_keeps_the_last_notification() {
        let meter = ProgressMeter::default();
        let heard = Mutex::new(Vec::new());
        let report = |progress: ProgressUpdate| heard.lock().push(progress.progress);
        let token = ProgressToken(NumberOrString::Number(1));
        let telling = async {
            for n in 0..1000 {
                sleep(Duration::from_millis(1)).await;
                meter.record_notification(&ProgressNotificationParam::new(
                    token.clone(),
                    f64::from(n),
                ));
            }
        };
        tokio::select! {
            biased;
            () = telling => {}
            never = meter.forward_progress(&report) => match never {},
        }
        let count = heard.lock().len();
        assert!((25..=31).contains(&count), "{count}");
        let latest = meter.take_latest();
        assert_eq!(latest.map(|latest| latest.progress), Some(999.0));
    }
}
