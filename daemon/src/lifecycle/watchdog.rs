//! Tells a service manager that this daemon serves, and what it does.
//!
//! Invariant: it is told that we live only after somebody from outside was answered.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::warn;

use super::Service;

/// Words need not be newer than this.
const NEWS: Duration = Duration::from_secs(30);

/// Never ends. `words` say what is done now, `lives` tries whether a client would be answered.
pub async fn report(
    service: &Service,
    words: impl Fn() -> String,
    lives: impl AsyncFn() -> bool,
) -> std::convert::Infallible {
    let patience = service.watchdog();
    // One try may be lost, and one may take its whole time.
    let period = patience.map_or(NEWS, |patience| (patience / 4).min(NEWS));
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
