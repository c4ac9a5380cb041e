//! A pool of workers without a daemon.

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use mux_sandbox::{
    MemoryLimits, Pool, PoolLimits, PoolSettings, ProgramLimits, QueueKey, RunRequest, ToolHost,
};
use mux_wire::{CallTarget, ConsoleLevel, Fault};
use tokio_util::sync::CancellationToken;

use crate::env::worker;

/// A tool host in which every call returns `null`.
pub struct Nothing;

impl ToolHost for Nothing {
    fn run_started(&self) {}

    fn call(&self, _: CallTarget, _: String) -> BoxFuture<'static, Result<String, Fault>> {
        Box::pin(async { Ok("null".into()) })
    }

    fn console(&self, _: ConsoleLevel, _: String) {}

    fn emit(&self, _: String) {}
}

/// Settings for one idle worker and two at most, without snapshots.
pub fn settings() -> PoolSettings {
    settings_of(worker())
}

pub fn settings_of(worker: PathBuf) -> PoolSettings {
    let patience = Duration::from_secs(30);
    PoolSettings {
        worker,
        floor: 1,
        bounds: PoolLimits {
            ceiling: 2,
            queue: 10,
            memory: MemoryLimits::default(),
        },
        runs_per_worker: 10,
        start_timeout: patience,
        queue_timeout: patience,
        check_timeout: patience,
        idle: patience,
        snapshots: None,
    }
}

pub fn request(source: &str, limits: ProgramLimits) -> RunRequest {
    RunRequest {
        source: source.into(),
        input: "null".into(),
        names: "{}".into(),
        limits,
        turn: turn("test", 1),
    }
}

pub fn turn(owner: &str, client: u64) -> QueueKey {
    QueueKey {
        owner: owner.into(),
        client,
    }
}

/// Runs a program without cancellation.
pub async fn run(pool: &Pool, request: RunRequest) -> Result<String, Fault> {
    let never = CancellationToken::new();
    pool.run(request, Arc::new(Nothing), &never).await
}
