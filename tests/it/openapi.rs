//! OpenAPI descriptions as functions: small ones as test data, large ones as published.

mod calls;
mod every_function;
mod fastapi;
mod large;
mod shop;

use std::{collections::BTreeMap, fs, path::Path};

use mux_sources::openapi::{FunctionSelection, OpenApiDescription, ServerOverrides};
use mux_tests::golden;
use serde_json::{Value, json};

/// `tests/data/openapi/NAME.yaml` gives `NAME.tools.json`. The first lines of the YAML file are the source's entry.
#[test]
fn descriptions_become_the_recorded_functions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/openapi");
    let mut failures = Vec::new();
    let mut cases = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "yaml") {
            continue;
        }
        cases += 1;
        let text = fs::read_to_string(&path).unwrap();
        let everything = FunctionSelection::new(&[], 20_000);
        let shown = match OpenApiDescription::read(&text, &entry_of(&text), &everything) {
            Ok(description) => shown(&description),
            Err(problem) => json!({ "error": problem }),
        };
        let shown = serde_json::to_string_pretty(&shown).unwrap() + "\n";
        failures.extend(golden::compare(&path.with_extension("tools.json"), &shown).err());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(cases > 5, "{cases}");
}

/// Reads the entry from comment lines such as `# base_url: https://h`.
fn entry_of(text: &str) -> ServerOverrides {
    let mut entry = ServerOverrides::default();
    let comments = text.lines().map_while(|line| line.strip_prefix("# "));
    for (key, value) in comments.filter_map(|line| line.split_once(": ")) {
        match key.split_once('.') {
            None if key == "base_url" => entry.base_url = Some(value.to_owned()),
            None if key == "at" => entry.at = value.parse().ok(),
            Some(("variables", name)) => {
                entry.variables.insert(name.to_owned(), value.to_owned());
            }
            _ => {}
        }
    }
    entry
}

fn shown(description: &OpenApiDescription) -> Value {
    let left_out = description.left_out().iter();
    let left_out: BTreeMap<&str, &str> = left_out
        .map(|it| (it.operation.as_str(), it.why.as_str()))
        .collect();
    let (title, version) = description.identity();
    json!({
        "identity": [title, version],
        "base": description.base(),
        "tools": description.tools(),
        "notes": description.notes(),
        "left out": left_out,
    })
}
