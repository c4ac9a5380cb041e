//! Checks the type generator with the TypeScript compiler: values that a JSON Schema validator accepts have the
//! declared type.
//!
//! Invariant: every test writes all of its cases into one program and compiles it once.

mod compiler;
mod random;
mod readings;
mod suite;
mod tools;
mod uses;
mod values;

use std::fs;
use std::path::Path;

use compiler::{Case, check, compiled};
use jsonschema::Draft;
use mux_typegen::{
    GLOBALS,
    normal_form::{Deviation, SchemaNote, normalize},
};
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

/// The groups of the suite in which the normal form allows more than the standard, and why.
const WIDER_THAN_THE_STANDARD: &[(&str, &str)] = &[
    (
        "additionalProperties.json",
        "sees the members of all parts of an object",
    ),
    (
        "ref.json",
        "the same, and references to other documents are not fetched",
    ),
    ("refRemote.json", "other documents are not fetched"),
    ("anchor.json", "other documents are not fetched"),
    ("definitions.json", "drafts of JSON Schema are not fetched"),
    ("defs.json", "drafts of JSON Schema are not fetched"),
    (
        "dynamicRef.json",
        "a target that depends on the path is not followed",
    ),
    (
        "unevaluatedItems.json",
        "a target that depends on the path is not followed",
    ),
    (
        "unevaluatedProperties.json",
        "a target that depends on the path is not followed",
    ),
    ("allOf.json", "sees the members of all parts of an object"),
    ("format", "a format alone refuses nothing"),
    ("content.json", "the content of a string is not checked"),
    ("optional/", "behaviour that the standard leaves open"),
];

#[test]
fn normal_form_means_what_the_json_schema_test_suite_says() {
    let mut differences = Vec::new();
    for document in suite::documents() {
        let name = document.name();
        let (refused, accepted) = document.normal_form_differences();
        let is_wider = WIDER_THAN_THE_STANDARD
            .iter()
            .any(|(file, _)| name.contains(file));
        // A schema's own metaschema may switch the validation off, but metaschemas are not read.
        if !refused.is_empty() && !name.contains("vocabulary.json") {
            differences.push(format!("{name}: refuses {refused:?}"));
        }
        if !accepted.is_empty() && !is_wider {
            differences.push(format!("{name}: accepts {accepted:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn normal_form_of_random_schemas_forbids_nothing_and_is_stable() {
    for (schema, seeds) in by_chance(600, (random::schema(), random::seeds())) {
        let normal = normalize(&schema);
        let is_of_cycle =
            |note: &SchemaNote| matches!(note.deviation, Deviation::UnsettledReference { .. });
        assert!(
            normal.notes.iter().all(is_of_cycle),
            "{schema}: {:?}",
            normal.notes
        );
        if normal.notes.is_empty() {
            assert_eq!(normalize(&normal.schema).schema, normal.schema, "{schema}");
        }
        for value in values::accepted(&schema, &seeds) {
            let validator = readings::validator(&normal.schema, Draft::Draft202012);
            let validator = validator.expect("a normal form is a schema");
            assert!(
                validator.is_valid(&value),
                "{schema}\n{}\n{value}",
                normal.schema
            );
        }
    }
}

#[test]
fn types_of_tools_in_the_test_data_agree_with_the_validator() {
    let cases: Vec<Case> = tools::schemas()
        .into_iter()
        .map(|(name, schema)| {
            let normal = normalize(&schema).schema;
            // Of most tools only the names of their parameters are known.
            let is_pool = name.starts_with("discovery");
            let seeds: &[u64] = if is_pool { &[1] } else { &[1, 2, 3, 4] };
            let values = values::accepted(&normal, seeds);
            // Types that are too long are unknown.
            let is_typed = !name.starts_with("types/limits.json");
            let refused = values
                .iter()
                .filter(|_| is_typed)
                .flat_map(|value| values::broken(&normal, value))
                .take(if is_pool { 1 } else { usize::MAX })
                .collect();
            Case {
                name,
                schema,
                values,
                refused,
                ..Case::default()
            }
        })
        .collect();
    let values: usize = cases.iter().map(|case| case.values.len()).sum();
    let refused: usize = cases.iter().map(|case| case.refused.len()).sum();
    assert!(
        cases.len() > 10_000 && values > 9_000 && refused > 1_000,
        "{} schemas, {values} values, {refused} wrong ones",
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
        ..Case::default()
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
        ..Case::default()
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
