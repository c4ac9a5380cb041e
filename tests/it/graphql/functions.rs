//! Schemas and the recorded functions that they become: `tests/data/graphql/NAME.graphql` and `NAME.tools.json`.

use std::{fs, path::Path};

use apollo_compiler::{ExecutableDocument, Schema, validation::Valid};
use mux_sources::{graphql_queries, graphql_tools};
use mux_tests::golden;

/// The path and the schema of each case.
fn cases() -> Vec<(std::path::PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/graphql");
    let mut cases: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "graphql"))
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect();
    cases.sort();
    cases
}

#[test]
fn schemas_become_functions() {
    let mut failures = Vec::new();
    for (path, text) in cases() {
        let tools = graphql_tools(&text, "schema", 2).unwrap();
        let recorded = serde_json::to_string_pretty(&tools).unwrap() + "\n";
        let compared = golden::compare(&path.with_extension("tools.json"), &recorded);
        failures.extend(compared.err());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn default_selections_are_valid() {
    for (path, text) in cases() {
        for depth in 1..=6 {
            valid(&text, depth, path.to_str().unwrap());
        }
    }
}

/// Validates the query of every function against the schema. Returns the number of functions.
pub(super) fn valid(text: &str, depth: u32, place: &str) -> usize {
    // Published schemas can repeat fields, and use undefined directives.
    let schema = Schema::parse(text, place).unwrap_or_else(|error| error.partial);
    let schema = Valid::assume_valid(schema);
    let queries = graphql_queries(text, place, depth).unwrap();
    for (name, query) in &queries {
        let checked = ExecutableDocument::parse_and_validate(&schema, query, name);
        assert!(
            checked.is_ok(),
            "{name} at depth {depth}: {query}\n{:?}",
            checked.err()
        );
    }
    queries.len()
}
