//! Schemas and the functions that they become, recorded: `tests/data/graphql/NAME.graphql` and `NAME.tools.json`.

use std::{fs, path::Path};

use apollo_compiler::{ExecutableDocument, Schema, validation::Valid};
use mux_sources::{graphql_queries, graphql_tools};
use mux_tests::golden;

/// Each case with the text of its schema.
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
fn what_is_selected_by_default_is_valid() {
    for (path, text) in cases() {
        for depth in 1..=6 {
            valid(&text, depth, path.to_str().unwrap());
        }
    }
}

/// Holds the query of every function against the schema. Gives how many there are.
pub(super) fn valid(text: &str, depth: u32, place: &str) -> usize {
    // Published schemas repeat a field here and there, and use directives that they do not define.
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
