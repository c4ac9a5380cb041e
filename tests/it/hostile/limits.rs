//! Limits that a client cannot reach in the time of a test, tested with a pool.

use std::time::Duration;

use mux_sandbox::{Pool, PoolSettings, ProgramLimits};
use mux_tests::pool;
use mux_wire::{Fault, FaultKind};

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

pub(super) async fn run(pool: &Pool, source: &str, limits: ProgramLimits) -> Result<String, Fault> {
    pool::run(pool, pool::request(source, limits)).await
}

#[tokio::test]
async fn cpu_time_is_limited() {
    let pool = pool();
    let limits = ProgramLimits {
        cpu: Duration::from_millis(200),
        wall: Duration::from_secs(30),
        ..ProgramLimits::default()
    };
    let fault = run(&pool, "for (;;);", limits.clone()).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Limit, "{fault:?}");
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
    let limits = |wall| ProgramLimits {
        wall: Duration::from_secs(wall),
        ..ProgramLimits::default()
    };
    assert_eq!(limits(1).processor_time_limit(), Duration::from_secs(10));
    assert_eq!(limits(30).processor_time_limit(), Duration::from_secs(10));
    assert_eq!(limits(300).processor_time_limit(), Duration::from_secs(100));
}
