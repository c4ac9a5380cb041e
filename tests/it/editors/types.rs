//! The TypeScript client's message types match the recorded frames: each frame is compiled as a typed constant. A
//! missing, misspelled or unknown field on either side is therefore an error.

use std::{collections::BTreeSet, fmt::Write as _, fs};

use mux_proto::version;
use mux_tests::{Editors, editors::source};
use serde_json::Value;

/// Converts `StartRun` to `start_run`.
fn method(name: &str) -> String {
    let mut method = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !method.is_empty() {
            method.push('_');
        }
        method.extend(letter.to_lowercase());
    }
    method
}

/// TypeScript with one constant for each frame, and the methods of the frames.
fn constants(change: impl Fn(&str, &mut Value)) -> (String, BTreeSet<String>) {
    let mut text = "import type { Fault, Methods } from \"@muxd/client\";\n".to_owned();
    let mut methods = BTreeSet::new();
    for entry in fs::read_dir(source("tests/data/frames")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let frame: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let (message, part) = match frame.get("Request") {
            Some(request) => (&request["message"], "params"),
            None => (&frame["message"]["Ok"], "answer"),
        };
        let (wire, value) = message.as_object().unwrap().iter().next().unwrap();
        let method = method(wire);
        let (mut value, what) = match (part, value.get("Err")) {
            ("params", _) => (value.clone(), format!("Methods[\"{method}\"][\"params\"]")),
            (_, Some(error)) => (error.clone(), "Fault".to_owned()),
            _ => (
                value["Ok"].clone(),
                format!("Methods[\"{method}\"][\"answer\"]"),
            ),
        };
        change(&name, &mut value);
        let constant = name.replace('.', "_");
        writeln!(text, "export const {constant}: {what} = {value};").unwrap();
        methods.insert(method);
    }
    (text, methods)
}

#[test]
fn recorded_messages_match_their_types_and_cover_all_methods() {
    let editors = Editors::compiled();
    let (text, methods) = constants(|_, _| {});
    editors.compile("fits.ts", &text).ok();
    // The package declares exactly the recorded methods.
    let declared = fs::read_to_string(source("client/typescript/src/messages.ts")).unwrap();
    let declared: BTreeSet<String> = declared
        .lines()
        .filter_map(|line| {
            Some(
                line.strip_prefix("  ")?
                    .split_once(": { params:")?
                    .0
                    .to_owned(),
            )
        })
        .collect();
    assert_eq!(declared, methods);
    // The check itself must be able to fail.
    let (unknown, _) = constants(|name, value| {
        if name == "status.response" {
            value["colour"] = "blue".into();
        }
    });
    let said = editors.compile("unknown.ts", &unknown);
    said.fails(1, &["colour", "does not exist in type 'Status'"]);
    let (missing, _) = constants(|name, value| {
        if name == "start_run.response" {
            value.as_object_mut().unwrap().remove("run");
        }
    });
    let said = editors.compile("missing.ts", &missing);
    said.fails(1, &["'run' is missing"]);
}

#[test]
fn versions_and_contract_numbers_are_consistent() {
    let read = |path: &str| fs::read_to_string(source(path)).unwrap();
    let own = read("client/typescript/src/version.ts");
    let contract = format!("export const CONTRACT = {};", version::CONTRACT);
    assert!(own.contains(&contract), "{contract}");
    let client: Value = serde_json::from_str(&read("client/typescript/package.json")).unwrap();
    let extension: Value = serde_json::from_str(&read("client/vscode/package.json")).unwrap();
    assert!(own.contains(&format!("export const VERSION = {};", client["version"])));
    assert_eq!(client["version"], version::BUILD);
    assert_eq!(extension["version"], version::BUILD);
    assert_eq!(extension["dependencies"]["@muxd/client"], client["version"]);
}
