//! Times at which this process stood still: stopped by a signal, frozen with its container, or starved.
//!
//! What had a deadline then has run out, and whoever wonders why finds the reason here.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, MissedTickBehavior, interval};
use tracing::warn;

use super::HostCondition;

/// How often we look whether we go.
const PAUSE_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Less than this is a busy machine.
const MIN_PAUSE: Duration = Duration::from_secs(8);
/// So long is told of one.
const PAUSE_REPORT_DURATION: Duration = Duration::from_secs(10 * 60);

/// The last one.
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
                warn!(?lasted, "muxd stood still");
                let over = now;
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(ProcessPause { lasted, over });
            }
            last = now;
        }
    }

    pub(super) fn look(&self) -> Option<HostCondition> {
        let pause = (*self.0.lock().unwrap_or_else(PoisonError::into_inner))?;
        let ago = pause.over.elapsed();
        if ago > PAUSE_REPORT_DURATION {
            return None;
        }
        let seconds =
            |time: Duration| humantime::format_duration(Duration::from_secs(time.as_secs()));
        Some(HostCondition::new(
            "paused",
            format!(
                "muxd stood still for about {}, until {} ago: it was stopped, frozen, or the machine was; what had a \
                 deadline then ran out",
                seconds(pause.lasted),
                seconds(ago)
            ),
            "run again what ended with `timeout`",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_told_of_for_a_while() {
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
        tokio::time::advance(Duration::from_secs(60)).await;
        pass(1).await;
        let told = pauses.look().unwrap();
        assert_eq!(told.mode, "paused");
        assert!(told.message.contains("stood still for about "), "{told:?}");
        pass(121).await;
        assert_eq!(pauses.look(), None);
    }
}
