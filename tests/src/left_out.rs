//! Tests, or parts of tests, that are skipped because a tool or a permission is missing.
//!
//! Invariant: with `MUX_TEST_COMPLETE=1`, which `.ci/run` sets, no test is skipped: it fails instead.

use crate::env::variable;

/// Set to `1` where no test may be skipped.
const COMPLETE: &str = "MUX_TEST_COMPLETE";

/// Prints that `what` is skipped, and why. The caller returns then.
///
/// # Panics
/// If `MUX_TEST_COMPLETE=1`.
#[track_caller]
#[expect(
    clippy::print_stderr,
    reason = "a test that is left out must say so where people look"
)]
pub fn left_out(what: &str, why: &str) {
    let is_complete = variable(COMPLETE).is_some_and(|value| value == "1");
    assert!(
        !is_complete,
        "{COMPLETE}=1, and this cannot be tested: {what}: {why}"
    );
    eprintln!("LEFT OUT: {what}: {why}");
}
