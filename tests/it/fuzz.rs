//! Random input for what several crates read together: frames of workers and of clients, programs and their values, the
//! configuration, schemas of servers. The other targets are in the tests of the crates that have the readers.
//!
//! Here the tests are short and deterministic. `scripts/fuzz` runs them longer with new values (`mux_chance`).
//!
//! Invariant: a property checks what must be true for every value, not only the absence of panics.

mod clients;
mod configs;
mod expressions;
mod frames;
mod programs;
mod schemas;
mod values;
mod workers;

use std::time::Duration;

use mux_sandbox::{Pool, PoolSettings, ProgramLimits};
use mux_tests::pool;
use mux_wire::Fault;
use tokio::{runtime::Runtime, time::timeout};

/// A program that runs longer hangs.
const HANG: Duration = Duration::from_mins(1);

/// A pool whose workers run many programs.
fn pool_in(runtime: &Runtime) -> Pool {
    let settings = PoolSettings {
        runs_per_worker: 1000,
        ..pool::settings()
    };
    runtime.block_on(async { Pool::start(settings).unwrap() })
}

/// Runs a program. `None` if it does not end in time.
fn run(
    runtime: &Runtime,
    pool: &Pool,
    source: &str,
    limits: &ProgramLimits,
) -> Option<Result<String, Fault>> {
    let request = pool::request(source, limits.clone());
    let run = async { timeout(HANG, pool::run(pool, request)).await };
    runtime.block_on(run).ok()
}
