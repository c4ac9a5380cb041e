//! Tells a service manager that this daemon serves, and what it does.
//!
//! Invariant: it is told that we live only after somebody from outside was answered.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::warn;

use super::ServiceManager;

/// Words need not be newer than this.
const MIN_STATUS_INTERVAL: Duration = Duration::from_secs(30);

/// Never ends. `words` say what is done now, `lives` tries whether a client would be answered.
pub async fn run_watchdog(
    service: &ServiceManager,
    words: impl Fn() -> String,
    lives: impl AsyncFn() -> bool,
) -> std::convert::Infallible {
    let patience = service.watchdog();
    // One try may be lost, and one may take its whole time.
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
            Ok(false) => warn!("this daemon does not answer as it should"),
            Err(_) => warn!("this daemon did not answer within {period:?}"),
        }
    }
}
