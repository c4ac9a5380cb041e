//! Programs of steps, as data: `tests/data/program/<case>.json` has a program and its input, and
//! `<case>.out.json` the output of `mux program --json`.
//!
//! Invariant: a new case is two files and no Rust. `UPDATE_GOLDEN=1` writes the second. A program that succeeds
//! has the same result as its TypeScript translation.

mod runs;
mod told;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use mux_tests::{TestEnv, env::compiler, golden};
use regex::Regex;
use serde_json::{Value, json};

fn home(more: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}{}[[policy]]\nmatch = \"fix.side_effect\"\naction = \"deny\"\n{more}",
        env.fixture("fix", &[]),
        env.fixture("my-server", &[]),
    ));
    env
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/program");
    let mut cases: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.to_str().unwrap().ends_with(".out.json"))
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no cases in {}", folder.display());
    cases
}

fn input(case: &Path) -> String {
    let text = fs::read_to_string(case).unwrap();
    let case: Value = serde_json::from_str(&text).unwrap();
    case["input"].to_string()
}

/// The output of `mux program --json` for a case.
fn document(env: &TestEnv, case: &Path) -> Value {
    let input = input(case);
    let args = [
        "--json",
        "program",
        "--input",
        &input,
        case.to_str().unwrap(),
    ];
    env.mux(args).json()
}

#[test]
fn programs_end_as_recorded() {
    let env = home("");
    let handle = Regex::new("h_[0-9a-f]{32}").unwrap();
    let failed: Vec<String> = cases()
        .iter()
        .filter_map(|case| {
            // The texts of the former case decide how those of this one are read.
            env.mux(["types", "--forget", "fix"]);
            let mut document = document(&env, case);
            settle(&mut document);
            // The names of stored values depend on the key of the home.
            let text = handle
                .replace_all(&format!("{document:#}\n"), "h_…")
                .into_owned();
            golden::compare(&case.with_extension("out.json"), &text).err()
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(env.starts("fix").len(), 1, "one session serves every case");
}

/// Removes values that differ between runs.
fn settle(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.shift_remove("run");
            for (name, member) in members.iter_mut() {
                match name.as_str() {
                    "took_ms" | "ms" | "expires_ms" => *member = json!(0),
                    // Calls are in the order in which they ended.
                    "calls" => *member = paths(member),
                    _ => settle(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        _ => {}
    }
}

fn paths(calls: &Value) -> Value {
    let calls = calls.as_array().unwrap().iter();
    let mut paths: Vec<&str> = calls.map(|call| call["path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    json!(paths)
}

#[test]
fn program_has_the_same_result_as_its_typescript_translation() {
    let env = home(&format!("[check]\ntsc = {:?}\n", compiler()));
    env.mux(["types"]).ok();
    let mut ended_well = 0;
    for case in cases() {
        let document = document(&env, &case);
        if document["ok"] != true {
            continue;
        }
        ended_well += 1;
        let name = case.file_stem().unwrap().to_str().unwrap();
        let source = env.mux([
            OsStr::new("program"),
            OsStr::new("--explain"),
            case.as_ref(),
        ]);
        let file = env.path(&format!("{name}.ts"));
        fs::write(&file, &source.ok().stdout).unwrap();
        let file = file.to_str().unwrap();
        let checked = env.mux(["--json", "check", file]).json();
        assert_eq!(checked["errors"], json!([]), "{name}: {checked:#}");
        let ran = env.mux(["--json", "run", "--input", &input(&case), file]);
        let ran = ran.json();
        assert!(same(&ran, &document), "{name}: {ran:#}\n{document:#}");
    }
    assert!(ended_well >= 9, "{ended_well}");
}

/// Returns true if two documents have the same result, where `1` and `1.0` are one number.
fn same(one: &Value, other: &Value) -> bool {
    fn equal(one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(a, b)| equal(a, b))
            }
            (Value::Object(one), Value::Object(other)) => {
                let member =
                    |(name, value)| other.get(name).is_some_and(|other| equal(value, other));
                one.len() == other.len() && one.iter().all(member)
            }
            _ => one == other,
        }
    }
    equal(&one["ok"], &other["ok"])
        && equal(&one["result"], &other["result"])
        && one["stored"]["handle"] == other["stored"]["handle"]
}
