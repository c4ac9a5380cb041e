//! The queue of requests that wait for the entry's `rate`.
//!
//! Invariant: in no period of the entry's length are more requests sent than the entry allows. Requests are sent in the
//! order of arrival, and the call's clock is paused while a request waits.

use std::{num::NonZeroU32, time::Duration};

use governor::{
    DefaultDirectRateLimiter, Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
};
use tokio::{sync::Semaphore, time::timeout};

use super::super::call_progress::CallProgress;

/// The longest time that a request waits.
const RATE_QUEUE_TIMEOUT: Duration = Duration::from_mins(5);
/// The number of requests that are sent in a burst after a pause.
const MAX_BURST_REQUESTS: u32 = 100;
/// A period up to this length has a small burst, because the next request waits only briefly.
const MAX_SHORT_RATE_PERIOD: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct SourceRateLimiter {
    limiter: DefaultDirectRateLimiter,
    /// One permit, whose holder is the next request.
    first: Semaphore,
    shown: String,
}

impl SourceRateLimiter {
    pub(super) fn new(settings: mux_settings::RequestRate) -> Self {
        let count = settings.count.get();
        let unit = match settings.per.as_secs() {
            1 => "s",
            60 => "m",
            3_600 => "h",
            _ => "d",
        };
        Self {
            limiter: RateLimiter::direct(quota(settings)),
            first: Semaphore::new(1),
            shown: format!("{count}/{unit}"),
        }
    }

    /// Waits for permission to send a request. An error says that it would take too long.
    pub(super) async fn turn(&self, telling: &CallProgress) -> Result<(), String> {
        // A request that need not wait bypasses the queue.
        if let Ok(_first) = self.first.try_acquire()
            && self.limiter.check().is_ok()
        {
            return Ok(());
        }
        let _stands = telling.hold();
        telling.note(&format!("rate limited: rate = \"{}\"", self.shown));
        match timeout(RATE_QUEUE_TIMEOUT, self.in_line()).await {
            Ok(()) => Ok(()),
            Err(_) => Err(format!(
                "rate = \"{}\" allowed no request within {RATE_QUEUE_TIMEOUT:?}; nothing was sent",
                self.shown
            )),
        }
    }

    async fn in_line(&self) {
        // Never closed, so this cannot fail.
        let _first = self.first.acquire().await;
        while let Err(early) = self.limiter.check() {
            let wait = early.wait_time_from(DefaultClock::default().now());
            tokio::time::sleep(wait).await;
        }
    }
}

/// The burst is subtracted from the steady rate, or the first period would have more requests than `rate` allows.
fn quota(settings: mux_settings::RequestRate) -> Quota {
    let count = settings.count.get();
    let share = if settings.per <= MAX_SHORT_RATE_PERIOD {
        count / 10
    } else {
        count / 2
    };
    let at_once = share.clamp(1, MAX_BURST_REQUESTS);
    let period = (settings.per / (count - at_once + 1)).max(Duration::from_nanos(1));
    let quota = Quota::with_period(period).unwrap_or_else(|| Quota::per_second(NonZeroU32::MIN));
    quota.allow_burst(NonZeroU32::new(at_once).unwrap_or(NonZeroU32::MIN))
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    #[test]
    fn no_period_has_more_requests_than_the_rate() {
        for (count, per, at_once) in [
            (5_000, 3_600, 100),
            (10, 3_600, 5),
            (60, 60, 6),
            (10, 1, 1),
            (1, 86_400, 1),
        ] {
            let per = Duration::from_secs(per);
            let count_of = NonZeroU32::new(count).unwrap();
            let clock = FakeRelativeClock::default();
            let quota = quota(mux_settings::RequestRate {
                count: count_of,
                per,
            });
            let limiter = RateLimiter::direct_with_clock(quota, clock.clone());
            let out = || (0..=count).take_while(|_| limiter.check().is_ok()).count();
            let first = out();
            assert_eq!(first, at_once, "{count} in {per:?}");
            // A caller that always has requests gets nearly the whole rate.
            let step = per / (count * 4);
            let mut all = first;
            for _ in 1..count * 4 {
                clock.advance(step);
                all += out();
            }
            let most = usize::try_from(count).unwrap();
            assert!(
                all <= most && all >= most / 2,
                "{all} of {count} in {per:?}"
            );
        }
    }
}
