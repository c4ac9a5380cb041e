//! Values by chance, given to everything that reads what a stranger wrote: the frames of workers and of
//! clients, programs and what they are given, the configuration, the schemas of servers.
//!
//! Short here, and the same every time; `scripts/fuzz` looks for as long as one likes. A value that
//! failed is kept in `tests/data/proptest-regressions` and tried first from then on.
//!
//! Invariant: a property says what must hold for every value, not only that nothing panics.

mod clients;
mod configs;
mod expressions;
mod frames;
mod json;
mod programs;
mod schemas;
mod speech;
mod values;
mod workers;

use std::time::Duration;

use mux_sandbox::{Limits, Pool, PoolSettings};
use mux_tests::pool;
use mux_wire::Fault;
use tokio::{runtime::Runtime, time::timeout};

/// A program that has not ended by then hangs.
const HANG: Duration = Duration::from_secs(60);

/// A pool whose workers serve many values.
fn pool_in(runtime: &Runtime) -> Pool {
    let settings = PoolSettings {
        runs_per_worker: 1000,
        ..pool::settings()
    };
    runtime.block_on(async { Pool::start(settings).unwrap() })
}

/// How a program ends, if it does.
fn run(
    runtime: &Runtime,
    pool: &Pool,
    source: &str,
    limits: &Limits,
) -> Option<Result<String, Fault>> {
    let request = pool::request(source, limits.clone());
    let run = async { timeout(HANG, pool::run(pool, request)).await };
    runtime.block_on(run).ok()
}
