//! Limits that cannot be reached through a client in a test's time, asked of the pool itself.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use mux_sandbox::{
    Fault, Kind, Level, Limits, Memory, Pool, PoolSettings, RunRequest, Target, ToolHost,
};
use mux_tests::env::binary;
use tokio_util::sync::CancellationToken;

/// A world without tools.
struct Nothing;

impl ToolHost for Nothing {
    fn begun(&self) {}

    fn emit(&self, _part: String) {}

    fn call(
        &self,
        _target: Target,
        _arguments: String,
    ) -> BoxFuture<'static, Result<String, Fault>> {
        Box::pin(async { Ok("null".into()) })
    }

    fn console(&self, _level: Level, _text: String) {}
}

/// Workers without a daemon.
pub(super) fn pool() -> Pool {
    Pool::start(PoolSettings {
        worker: binary("mux-worker"),
        floor: 1,
        ceiling: 2,
        runs_per_worker: 10,
        start_timeout: Duration::from_secs(30),
        queue_timeout: Duration::from_secs(30),
        queue: 10,
        check_timeout: Duration::from_secs(30),
        memory: Memory::default(),
        snapshots: None,
    })
    .unwrap()
}

pub(super) async fn run(pool: &Pool, source: &str, limits: Limits) -> Result<String, Fault> {
    let request = RunRequest {
        source: source.into(),
        input: "null".into(),
        names: "{}".into(),
        limits,
        owner: "test".into(),
        client: 1,
    };
    pool.run(request, Arc::new(Nothing), &CancellationToken::new())
        .await
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
