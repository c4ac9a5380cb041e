//! Reports to a service manager that this daemon serves, with a status text.
//!
//! Invariant: the watchdog is notified only after a client's request was answered.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::warn;

use super::ServiceManager;

/// The minimum interval between status texts.
const MIN_STATUS_INTERVAL: Duration = Duration::from_secs(30);

/// Sends status texts and watchdog notifications. Never returns. `words` is the status text, and `lives` checks that a
/// client would be answered.
pub async fn run_watchdog(
    service: &ServiceManager,
    words: impl Fn() -> String,
    lives: impl AsyncFn() -> bool,
) -> std::convert::Infallible {
    let patience = service.watchdog();
    // Leaves time for a lost probe and a probe that takes its full timeout.
    let period = patience.map_or(MIN_STATUS_INTERVAL, |patience| {
        (patience / 4).min(MIN_STATUS_INTERVAL)
    });
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        service.says(&words());
        if patience.is_none() {
            continue;
        }
        match timeout(period, lives()).await {
            Ok(true) => service.alive(),
            Ok(false) => warn!("watchdog probe failed"),
            Err(_) => warn!("watchdog probe was not answered within {period:?}"),
        }
    }
}
