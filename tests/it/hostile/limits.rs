//! Limits that a client cannot reach in the time of a test, tested with a pool.

use std::time::Duration;

use mux_sandbox::{Limits, Pool, PoolSettings};
use mux_tests::pool;
use mux_wire::{Fault, Kind};

/// A pool of workers without a daemon.
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
async fn cpu_time_is_limited() {
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
    // CPU time is counted per run: waiting uses none, and that of earlier runs does not count.
    let waits = "await new Promise((resolve) => setTimeout(resolve, 500)); return 1";
    assert_eq!(run(&pool, waits, limits.clone()).await.unwrap(), "1");
    assert_eq!(run(&pool, "return 2", limits).await.unwrap(), "2");
}

#[test]
fn cpu_limit_grows_with_the_wall_limit() {
    let limits = |wall| Limits {
        wall: Duration::from_secs(wall),
        ..Limits::default()
    };
    assert_eq!(limits(1).processor(), Duration::from_secs(10));
    assert_eq!(limits(30).processor(), Duration::from_secs(10));
    assert_eq!(limits(300).processor(), Duration::from_secs(100));
}
