//! Limits that cannot be reached through a client in a test's time, asked of the pool itself.

use std::time::Duration;

use mux_sandbox::{Limits, Pool, PoolSettings};
use mux_tests::pool;
use mux_wire::{Fault, Kind};

/// Workers without a daemon.
pub(super) fn pool() -> Pool {
    started(settings())
}

pub(super) fn started(settings: PoolSettings) -> Pool {
    Pool::start(settings).unwrap()
}

pub(super) fn settings() -> PoolSettings {
    pool::settings()
}

pub(super) async fn run(pool: &Pool, source: &str, limits: Limits) -> Result<String, Fault> {
    pool::run(pool, pool::request(source, limits)).await
}

#[tokio::test]
async fn processor_time_has_an_end_of_its_own() {
    let pool = pool();
    let limits = Limits {
        cpu: Duration::from_millis(200),
        wall: Duration::from_secs(30),
        ..Limits::default()
    };
    let fault = run(&pool, "for (;;);", limits.clone()).await.unwrap_err();
    assert_eq!(fault.kind, Kind::Limit, "{fault:?}");
    assert!(
        fault
            .message
            .contains("over its limit of 0.2 s of processor time"),
        "{fault:?}"
    );
    assert!(fault.hint.unwrap().contains("--timeout"));
    // It is counted for each run: what waits uses none, and what was used before is forgotten.
    let waits = "await new Promise((resolve) => setTimeout(resolve, 500)); return 1";
    assert_eq!(run(&pool, waits, limits.clone()).await.unwrap(), "1");
    assert_eq!(run(&pool, "return 2", limits).await.unwrap(), "2");
}

#[test]
fn more_wall_time_comes_with_more_processor_time() {
    let limits = |wall| Limits {
        wall: Duration::from_secs(wall),
        ..Limits::default()
    };
    assert_eq!(limits(1).processor(), Duration::from_secs(10));
    assert_eq!(limits(30).processor(), Duration::from_secs(10));
    assert_eq!(limits(300).processor(), Duration::from_secs(100));
}
