//! muxd and the official SDKs with the same servers, handwritten ones and mutations.
//!
//! `scripts/differential` tries other mutations. Failures are written as cases to `target/tmp/differential`: copy the
//! smallest of each kind to `tests/data/differential`.

use std::path::Path;

use mux_tests::differential::{Comparison, Subject, handwritten, mutations};

/// The seed of a normal test run, in which only a change of the code makes a difference.
const SEED: u64 = 0x6d75_7864;
const COUNT: u64 = 400;

#[test]
fn muxd_reads_what_the_cases_and_the_sdks_require() {
    is_at_least_as_good("cases", &handwritten());
}

#[test]
fn muxd_reads_every_mutation_that_an_sdk_reads() {
    is_at_least_as_good("mutations", &mutations(SEED, 0..COUNT));
}

#[expect(clippy::print_stderr, reason = "the figures are a result of the test")]
fn is_at_least_as_good(what: &str, subjects: &[Subject]) {
    let comparison = Comparison::of(subjects);
    eprintln!("{what}: {}", comparison.figures);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("differential")
        .join(what);
    comparison.write_failures(&folder);
    let failures = &comparison.failures;
    for failure in failures {
        eprintln!("WORSE {failure}");
    }
    assert!(
        failures.is_empty(),
        "{} of {}, written as cases to {}",
        failures.len(),
        comparison.figures,
        folder.display()
    );
}
