//! Property tests with random values: the fuzz targets of all crates run through here.
//!
//! A target is a file `fuzz/NAME.rs` in the tests of the crate whose reader it tries. The tests are short and
//! deterministic. `scripts/fuzz` runs them longer with new values. Values that failed are stored in
//! `tests/data/proptest-regressions` and tried first.
//!
//! - `json` has random JSON, and changes of JSON that is given. `damage` has changes of bytes and text.
//!
//! Invariant: without `MUX_FUZZ_SECONDS` every run tries the same values, past failures first, so a test only
//! begins to fail because the code has changed.

pub mod damage;
pub mod json;

use std::{
    cell::Cell,
    env,
    io::Write as _,
    time::{Duration, Instant},
};

use proptest::{
    strategy::Strategy,
    test_runner::{
        Config, FileFailurePersistence, RngSeed, TestCaseError, TestCaseResult, TestError,
        TestRunner,
    },
};

/// For how many seconds `scripts/fuzz` tries one property, with different values each time.
const SECONDS: &str = "MUX_FUZZ_SECONDS";
/// Where the seeds of failures are kept. They are checked in.
const FAILURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/proptest-regressions");
const SEED: u64 = 0x6d75_7864;
/// A value that takes longer hangs: the time is that of a slow machine with other work, and no measure of speed.
const HANG: Duration = Duration::from_mins(1);

/// Tries `cases` values, or new ones until the time of `scripts/fuzz` is up. Fails with the smallest value found.
#[track_caller]
pub fn holds<S: Strategy>(
    target: &str,
    cases: u32,
    values: S,
    property: impl Fn(S::Value) -> TestCaseResult,
) {
    let limit = seconds();
    let began = Instant::now();
    let executed = Cell::new(0_u64);
    let in_time = |value| {
        executed.set(executed.get() + 1);
        let began = Instant::now();
        property(value)?;
        match began.elapsed() {
            elapsed if elapsed > HANG => Err(broken(format!("it takes {elapsed:?}"))),
            _ => Ok(()),
        }
    };
    loop {
        let file: &'static str = format!("{FAILURES}/{target}.txt").leak();
        let mut runner = TestRunner::new(Config {
            cases,
            failure_persistence: Some(Box::new(FileFailurePersistence::Direct(file))),
            rng_seed: match limit {
                Some(_) => RngSeed::Random,
                None => RngSeed::Fixed(SEED),
            },
            // Some targets start a process for each value.
            max_shrink_iters: 400,
            ..Config::default()
        });
        match runner.run(&values, in_time) {
            Ok(()) => {}
            Err(TestError::Fail(why, value)) => {
                let shown = format!("{value:#?}");
                let end = shown.floor_char_boundary(4000);
                panic!("{target}: {why}\nfor {}", &shown[..end]);
            }
            Err(TestError::Abort(why)) => panic!("{target}: {why}"),
        }
        let Some(limit) = limit else {
            return;
        };
        if began.elapsed() >= limit {
            report(target, executed.get(), began.elapsed());
            return;
        }
    }
}

/// The failure of a property.
pub fn broken(why: impl Into<String>) -> TestCaseError {
    TestCaseError::fail(why.into())
}

/// Tells the developer how much was tried. The test harness would swallow printed output.
fn report(target: &str, executed: u64, elapsed: Duration) {
    let line = format!(
        "fuzz {target}: {executed} values in {} s\n",
        elapsed.as_secs()
    );
    drop(std::io::stderr().write_all(line.as_bytes()));
}

#[expect(
    clippy::disallowed_methods,
    reason = "a switch for the developer who looks for longer, not a setting"
)]
fn seconds() -> Option<Duration> {
    let text = env::var(SECONDS).ok()?;
    text.parse().ok().map(Duration::from_secs)
}
