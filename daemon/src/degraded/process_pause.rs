//! Times when this process was suspended: stopped by a signal, frozen with its container, or starved.
//!
//! Deadlines expire meanwhile, and this condition tells the user why.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tracing::warn;

use mux_messages::Degraded;

/// The interval at which the process checks that it is running.
const PAUSE_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// A shorter pause is attributed to load.
const MIN_PAUSE: Duration = Duration::from_secs(8);
/// How long a pause is reported.
const PAUSE_REPORT_DURATION: Duration = Duration::from_mins(10);

/// The last pause.
#[derive(Debug, Default)]
pub(super) struct PauseWatch(Mutex<Option<ProcessPause>>);

#[derive(Clone, Copy, Debug)]
struct ProcessPause {
    lasted: Duration,
    over: Instant,
}

impl PauseWatch {
    pub(super) async fn follow(&self) -> std::convert::Infallible {
        let mut ticks = interval(PAUSE_CHECK_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = Instant::now();
        loop {
            ticks.tick().await;
            let now = Instant::now();
            let lasted = (now - last).saturating_sub(PAUSE_CHECK_INTERVAL);
            if lasted >= MIN_PAUSE {
                warn!(?lasted, "process was suspended");
                let over = now;
                *self.0.lock() = Some(ProcessPause { lasted, over });
            }
            last = now;
        }
    }

    pub(super) fn look(&self) -> Option<Degraded> {
        let pause = (*self.0.lock())?;
        let ago = pause.over.elapsed();
        if ago > PAUSE_REPORT_DURATION {
            return None;
        }
        let seconds =
            |time: Duration| humantime::format_duration(Duration::from_secs(time.as_secs()));
        Some(Degraded::new(
            "paused",
            format!(
                "muxd was suspended for about {}, until {} ago: it was stopped, frozen, or the machine was; deadlines \
                 expired meanwhile",
                seconds(pause.lasted),
                seconds(ago)
            ),
            "repeat what ended with `timeout`",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pause_is_reported_for_a_while() {
        let pauses = std::sync::Arc::new(PauseWatch::default());
        let followed = std::sync::Arc::clone(&pauses);
        let _following = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(async move {
            followed.follow().await
        }));
        let pass = async |times: u32| {
            for _ in 0..times {
                tokio::time::advance(PAUSE_CHECK_INTERVAL).await;
                tokio::task::yield_now().await;
            }
        };
        pass(10).await;
        assert_eq!(pauses.look(), None);
        tokio::time::advance(Duration::from_mins(1)).await;
        pass(1).await;
        let condition = pauses.look().unwrap();
        assert_eq!(condition.mode, "paused");
        assert!(
            condition.message.contains("suspended for about "),
            "{condition:?}"
        );
        pass(121).await;
        assert_eq!(pauses.look(), None);
    }
}
