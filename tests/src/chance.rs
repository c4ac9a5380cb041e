//! Property tests with random values.
//!
//! Invariant: without `MUX_FUZZ_SECONDS` every run tries the same values, past failures first, so that a test only
//! begins to fail because of a change of the code.

use std::{
    env,
    time::{Duration, Instant},
};

use proptest::{
    strategy::Strategy,
    test_runner::{
        Config, FileFailurePersistence, RngSeed, TestCaseError, TestCaseResult, TestError,
        TestRunner,
    },
};

/// For how many seconds `scripts/fuzz` tries one target, with different values each time.
const SECONDS: &str = "MUX_FUZZ_SECONDS";
/// Where the seeds of failures are kept; they are checked in.
const FAILURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/proptest-regressions");
const SEED: u64 = 0x6d75_7864;

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
        match runner.run(&values, &property) {
            Ok(()) => {}
            Err(TestError::Fail(why, value)) => {
                let shown = format!("{value:#?}");
                let end = shown.floor_char_boundary(4000);
                panic!("{target}: {why}\nfor {}", &shown[..end]);
            }
            Err(TestError::Abort(why)) => panic!("{target}: {why}"),
        }
        if limit.is_none_or(|limit| began.elapsed() >= limit) {
            return;
        }
    }
}

/// The failure of a property.
pub fn broken(why: impl Into<String>) -> TestCaseError {
    TestCaseError::fail(why.into())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a switch for the developer who looks for longer, not a setting"
)]
fn seconds() -> Option<Duration> {
    let text = env::var(SECONDS).ok()?;
    text.parse().ok().map(Duration::from_secs)
}
