//! The line in which requests wait that the entry's `rate` does not let out yet.
//!
//! Invariant: who comes first goes first, and time in the line is nobody's: the call's clock stands still.

use std::{num::NonZeroU32, time::Duration};

use governor::{
    DefaultDirectRateLimiter, Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
};
use tokio::{sync::Semaphore, time::timeout};

use super::super::telling::Telling;
use crate::settings;

/// The longest that a request stands in line.
const LONGEST_LINE: Duration = Duration::from_secs(5 * 60);

#[derive(Debug)]
pub(super) struct Rate {
    limiter: DefaultDirectRateLimiter,
    /// Of one place: whoever has it is the next.
    first: Semaphore,
    shown: String,
}

impl Rate {
    pub(super) fn new(settings: settings::Rate) -> Self {
        let count = settings.count.get();
        let period = (settings.per / count).max(Duration::from_nanos(1));
        let quota =
            Quota::with_period(period).unwrap_or_else(|| Quota::per_second(NonZeroU32::MIN));
        let unit = match settings.per.as_secs() {
            1 => "s",
            60 => "m",
            3_600 => "h",
            _ => "d",
        };
        Self {
            limiter: RateLimiter::direct(quota.allow_burst(settings.count)),
            first: Semaphore::new(1),
            shown: format!("{count}/{unit}"),
        }
    }

    /// Waits for a turn. An error says that it would take too long.
    pub(super) async fn turn(&self, telling: &Telling) -> Result<(), String> {
        // Nobody waits who need not.
        if let Ok(_first) = self.first.try_acquire()
            && self.limiter.check().is_ok()
        {
            return Ok(());
        }
        let _stands = telling.hold();
        telling.note(&format!("waits for its turn: rate = \"{}\"", self.shown));
        match timeout(LONGEST_LINE, self.in_line()).await {
            Ok(()) => Ok(()),
            Err(_) => Err(format!(
                "rate = \"{}\" left no turn within {LONGEST_LINE:?}; nothing was sent",
                self.shown
            )),
        }
    }

    async fn in_line(&self) {
        // Never closed: it cannot fail.
        let _first = self.first.acquire().await;
        while let Err(early) = self.limiter.check() {
            let wait = early.wait_time_from(DefaultClock::default().now());
            tokio::time::sleep(wait).await;
        }
    }
}
