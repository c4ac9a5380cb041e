//! Checks the type generator with the TypeScript compiler: values that a JSON Schema validator accepts have the
//! declared type.
//!
//! Invariant: every test writes all of its cases into one program and compiles it once.

mod compiler;
mod random;
mod readings;
mod suite;
mod uses;
mod values;

use std::fs;
use std::path::Path;

use compiler::{Case, check, compiled};
use mux_typegen::GLOBALS;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::Value;

/// Random values, the same ones in every run.
fn by_chance<S: Strategy>(count: usize, values: S) -> Vec<S::Value> {
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x6d75_7864),
        ..Config::default()
    });
    let value = |_| {
        let tree = values.new_tree(&mut runner).expect("a value");
        tree.current()
    };
    (0..count).map(value).collect()
}

/// Fails with the first few errors of the compiler, if there are any.
#[track_caller]
fn proved(cases: &[Case]) {
    let failures = check(cases);
    let shown = failures.iter().take(10).cloned().collect::<Vec<_>>();
    assert!(
        failures.is_empty(),
        "{} of {} cases:\n\n{}",
        failures.len(),
        cases.len(),
        shown.join("\n\n")
    );
}

#[test]
fn values_of_the_json_schema_test_suite_have_the_declared_types() {
    let documents = suite::documents();
    let cases: Vec<Case> = documents.iter().map(suite::Document::case).collect();
    let values: usize = cases.iter().map(|case| case.values.len()).sum();
    assert!(
        cases.len() > 700 && values > 1000,
        "only {} schemas with {values} values",
        cases.len()
    );
    proved(&cases);
}

#[test]
fn values_of_random_schemas_have_the_declared_types() {
    let pairs = by_chance(600, (random::schema(), random::seeds()));
    let case = |(at, (schema, seeds)): (usize, &(Value, Vec<u64>))| Case {
        name: format!("random schema {at}"),
        values: values::accepted(schema, seeds),
        schema: schema.clone(),
        results: Vec::new(),
    };
    let cases: Vec<Case> = pairs.iter().enumerate().map(case).collect();
    let values: usize = cases.iter().map(|case| case.values.len()).sum();
    assert!(values > 1000, "only {values} values were accepted");
    proved(&cases);
}

#[test]
fn results_have_the_type_learned_from_them() {
    let results = by_chance(400, proptest::collection::vec(random::value(), 1..5));
    let case = |(at, results): (usize, &Vec<Value>)| Case {
        name: format!("results {at}"),
        schema: Value::Null,
        values: results.clone(),
        results: results.clone(),
    };
    let cases: Vec<Case> = results.iter().enumerate().map(case).collect();
    proved(&cases);
}

#[test]
fn golden_declarations_compile() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/types");
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("tests/data/types is there") {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".d.ts") {
            let text = fs::read_to_string(&path).expect("a readable file");
            // As modules, the files do not share declarations.
            files.push((name.into_owned(), format!("{text}{GLOBALS}export {{}};\n")));
        }
    }
    assert!(files.len() > 10, "{} files", files.len());
    assert_eq!(compiled(&files), Vec::<String>::new());
}
