//! The JSON Schema Test Suite, from the source package of Python's `jsonschema`.
//!
//! Invariant: all documents of the two drafts that MCP servers use are included.

use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Draft;
use mux_typegen::normal_form::normalize;
use serde_json::Value;

use crate::compiler::{Case, variable};
use crate::readings::{as_read, validator};

/// The environment variable with the path of the suite. `scripts/setup` writes it to `build/env`.
const SUITE: &str = "MUX_TEST_SCHEMAS";

const DRAFTS: [(&str, Draft, &str); 2] = [
    (
        "draft7",
        Draft::Draft7,
        "http://json-schema.org/draft-07/schema#",
    ),
    (
        "draft2020-12",
        Draft::Draft202012,
        "https://json-schema.org/draft/2020-12/schema",
    ),
];

/// One schema of the suite with its values.
pub(crate) struct Document {
    name: String,
    draft: Draft,
    schema: Value,
    /// Values that are valid according to the suite.
    valid: Vec<Value>,
    invalid: Vec<Value>,
}

pub(crate) fn documents() -> Vec<Document> {
    let suite = variable(SUITE).unwrap_or_else(|| {
        panic!("{SUITE} does not say where the JSON Schema Test Suite is: run scripts/test, or `scripts/setup --servers && . build/env`")
    });
    let mut documents = Vec::new();
    for (folder, draft, url) in DRAFTS {
        let mut files = Vec::new();
        find(&suite.join("tests").join(folder), &mut files);
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file).expect("a readable document");
            let groups: Vec<Value> = serde_json::from_str(&text).expect("a list of groups");
            let file = file.strip_prefix(&suite).unwrap_or(&file);
            let group = |group: &Value| Document::of(group, file, draft, url);
            documents.extend(groups.iter().map(group));
        }
    }
    documents
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the suite") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            find(&path, files);
        } else {
            files.push(path);
        }
    }
}

impl Document {
    fn of(group: &Value, file: &Path, draft: Draft, url: &str) -> Self {
        let mut schema = group["schema"].clone();
        // Documents of older drafts are not marked.
        if let Value::Object(members) = &mut schema {
            members.entry("$schema").or_insert_with(|| url.into());
        }
        let tests = group["tests"].as_array().expect("tests");
        let values = |is_valid: bool| -> Vec<Value> {
            let tests = tests.iter().filter(|test| test["valid"] == is_valid);
            tests.map(|test| test["data"].clone()).collect()
        };
        Self {
            name: format!("{}: {}", file.display(), group["description"]),
            draft,
            schema,
            valid: values(true),
            invalid: values(false),
        }
    }

    /// The case, with only the valid values that the stricter reading of the schema also accepts.
    pub(crate) fn case(&self) -> Case {
        // No validator can be built for a schema that refers to another document.
        let read = validator(&as_read(&self.schema), self.draft);
        let is_meant = |value: &&Value| read.as_ref().is_none_or(|read| read.is_valid(value));
        Case {
            name: self.name.clone(),
            schema: self.schema.clone(),
            values: self.valid.iter().filter(is_meant).cloned().collect(),
            ..Case::default()
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The verdicts of the normal form that differ from the suite's: valid values that it refuses, and invalid ones
    /// that it accepts.
    pub(crate) fn normal_form_differences(&self) -> (Vec<&Value>, Vec<&Value>) {
        let normal = normalize(&self.schema).schema;
        let validator = validator(&normal, Draft::Draft202012)
            .unwrap_or_else(|| panic!("{}: {normal}", self.name));
        let refused = self.valid.iter().filter(|value| !validator.is_valid(value));
        let accepted = self
            .invalid
            .iter()
            .filter(|value| validator.is_valid(value));
        (refused.collect(), accepted.collect())
    }
}
