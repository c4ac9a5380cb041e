//! Programs as models write them, against servers whose tools and answers are data (`tests/data/check/servers`).
//!
//! Each file of `works`, `fails` and `may_fail` holds several programs, each after a line `// ---- name`. The file with
//! the extension `out` has the outcome of each: its result, or its error. `UPDATE_GOLDEN=1` writes it.
//!
//! Invariant: programs of `works` have the same result with and without the check. Programs of `fails` fail without it,
//! and are rejected with it. Programs of `may_fail` fail, and are not rejected: a comment says why they are not certain to.

use std::{fmt::Write as _, fs, path::PathBuf, thread};

use mux_tests::{Output, TestEnv, env::compiler, golden};
use serde_json::Value;

use super::{data, files_of, name, none};

const SEPARATOR: &str = "// ---- ";
/// How many programs run at the same time.
const PARALLEL_RUNS: usize = 4;

/// One program of a file.
struct Program<'a> {
    name: &'a str,
    source: &'a str,
}

/// The outcomes of a program, without the check and with it.
struct Outcomes {
    unchecked: Value,
    checked: Value,
}

#[test]
fn check_working_programs_have_the_same_result_as_unchecked() {
    compare_all("works", 300, |outcomes| {
        let result = result_text(&outcomes.unchecked);
        if outcomes.unchecked["ok"] != true {
            return Err(format!("fails unchecked: {result}"));
        }
        let checked = result_text(&outcomes.checked);
        if checked != result {
            return Err(format!("checked: {checked}\nunchecked: {result}"));
        }
        Ok(result)
    });
}

#[test]
fn check_failing_programs_are_rejected_with_the_fix() {
    compare_all("fails", 150, |outcomes| {
        let unchecked = result_text(&outcomes.unchecked);
        let error = &outcomes.checked["error"];
        if outcomes.unchecked["ok"] == true {
            return Err(format!("works unchecked: {unchecked}"));
        }
        let is_rejected = error["kind"] == "type" || error["kind"] == "syntax";
        if !is_rejected || error["line"].is_null() {
            let warnings = warning_lines(&outcomes.checked);
            return Err(format!("not rejected: {error}\n{warnings}"));
        }
        Ok(format!("{}\nunchecked: {unchecked}", finding_text(error)))
    });
}

#[test]
fn check_programs_that_may_fail_are_not_rejected() {
    compare_all("may_fail", 15, |outcomes| {
        let checked = &outcomes.checked;
        let error = &checked["error"];
        if outcomes.unchecked["ok"] == true {
            return Err("works unchecked".into());
        }
        let warnings = warning_lines(checked);
        if error["kind"] == "type" {
            return Err(format!("{error}\n{warnings}"));
        }
        Ok(format!("{warnings}{}", result_text(checked)))
    });
}

/// Runs every program of a set, and compares what `judge` says with the recorded outcomes.
fn compare_all(set: &str, least: usize, judge: fn(&Outcomes) -> Result<String, String>) {
    let env = home();
    let mut number = 0;
    let mut failures = Vec::new();
    for file in files_of(set) {
        let text = fs::read_to_string(&file).unwrap();
        let programs = programs_in(&text);
        number += programs.len();
        let mut recorded = String::new();
        for (program, outcomes) in programs.iter().zip(run_all(&env, &programs)) {
            match judge(&outcomes) {
                Ok(outcome) => {
                    _ = write!(recorded, "{SEPARATOR}{}\n{outcome}\n", program.name);
                }
                Err(why) => {
                    failures.push(format!("{} {}: {why}", name(&file), program.name));
                }
            }
        }
        failures.extend(golden::compare(&file.with_extension("out"), &recorded).err());
    }
    none(&failures, number);
    assert!(number >= least, "{number} programs");
}

/// A home with the compiler and the servers of the corpus, whose tools are known.
fn home() -> TestEnv {
    let env = TestEnv::new();
    let mut config = format!("[check]\ntsc = {:?}\n", compiler());
    let mut servers: Vec<PathBuf> = fs::read_dir(data().join("servers"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    servers.sort();
    for file in &servers {
        let changes = ["--only-changes", "--changes", file.to_str().unwrap()];
        config.push_str(&env.fixture(name(file), &changes));
    }
    env.write_config(&config);
    let types = env.mux(["types"]).ok().stdout;
    assert!(types.contains("interface Github "), "{types}");
    env
}

fn programs_in(text: &str) -> Vec<Program<'_>> {
    let programs = text.split(SEPARATOR).skip(1).map(|part| {
        let (name, source) = part.split_once('\n').unwrap();
        Program { name, source }
    });
    programs.collect()
}

fn run_all(env: &TestEnv, programs: &[Program<'_>]) -> Vec<Outcomes> {
    let run = |program: &Program<'_>| Outcomes {
        unchecked: run(env, program, &["--no-check"]),
        checked: run(env, program, &[]),
    };
    let size = programs.len().div_ceil(PARALLEL_RUNS).max(1);
    thread::scope(|scope| {
        let parts = programs.chunks(size);
        let running: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().map(run).collect::<Vec<_>>()))
            .collect();
        running
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect()
    })
}

fn run(env: &TestEnv, program: &Program<'_>, options: &[&str]) -> Value {
    let args = ["--json", "run", "-"].iter().chain(options);
    let output: Output = env.mux_with_input(args, program.source.as_bytes());
    output.json()
}

/// The result as JSON, or the error.
fn result_text(document: &Value) -> String {
    if document["ok"] == true {
        return document["result"].to_string();
    }
    let error = &document["error"];
    let message = error["message"].as_str().unwrap_or_default();
    let kind = error["kind"].as_str().unwrap_or_default();
    format!("{kind}: {}", message.lines().next().unwrap_or_default())
}

fn warning_lines(document: &Value) -> String {
    let warnings = document["warnings"].as_array().into_iter().flatten();
    warnings
        .map(|warning| format!("warning, {}\n", finding_text(warning)))
        .collect()
}

/// The line of a finding, the first line of its message, and that of its hint.
fn finding_text(finding: &Value) -> String {
    let first = |part: &str| {
        let text = finding[part].as_str().unwrap_or_default();
        text.lines().next().unwrap_or_default().to_owned()
    };
    let mut text = format!("line {}: {}", finding["line"], first("message"));
    let hint = first("hint");
    if !hint.is_empty() {
        _ = write!(text, "\n  hint: {hint}");
    }
    text
}
