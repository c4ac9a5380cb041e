//! Correct programs have no errors, and succeed.

use std::{fs, path::Path};

use mux_sandbox::{Pool, ProgramLimits};
use mux_tests::{TestEnv, pool};
use serde_json::{Value, json};

use super::{data, errors, home, name, none, programs};
use crate::real::history::make_repository;

/// The number of tests that share the programs, each with its own home.
const PARTS: usize = 3;

#[test]
fn check_right_programs_have_no_errors() {
    let env = home();
    let programs = programs("right");
    let failures: Vec<String> = programs
        .iter()
        .filter_map(|program| {
            let errors = errors(&env, program);
            let texts: Vec<String> = errors.iter().map(error_text).collect();
            (!texts.is_empty()).then(|| format!("{}\n{}", name(program), texts.join("\n")))
        })
        .collect();
    none(&failures, programs.len());
}

/// The worker reports what needs no types.
#[tokio::test]
async fn check_right_programs_have_no_warnings() {
    let pool = Pool::start(pool::settings()).unwrap();
    let turn = pool::turn("test", 1);
    let limits = ProgramLimits::default();
    let programs = programs("right");
    let mut failures = Vec::new();
    for program in &programs {
        let source = fs::read_to_string(program).unwrap();
        let checked = pool.check(source, &turn, &limits).await.unwrap();
        for fault in checked.errors.iter().chain(&checked.warnings) {
            failures.push(format!("{}: {fault:?}", name(program)));
        }
    }
    none(&failures, programs.len());
}

#[test]
fn check_right_programs_run_first_part() {
    run_part(0);
}

#[test]
fn check_right_programs_run_second_part() {
    run_part(1);
}

#[test]
fn check_right_programs_run_third_part() {
    run_part(2);
}

fn run_part(part: usize) {
    let env = home();
    let repo = env.path("repo");
    make_repository(&repo);
    let handle = long_text(&env);
    let programs: Vec<_> = programs("right")
        .into_iter()
        .skip(part)
        .step_by(PARTS)
        .collect();
    let failures: Vec<String> = programs
        .iter()
        .filter_map(|program| {
            let dir = env.path("files").join(name(program));
            copy(&data().join("files"), &dir);
            let input = json!({ "dir": dir, "repo": repo, "handle": handle }).to_string();
            let file = program.to_str().unwrap();
            let output = env.mux(["--json", "run", file, "--input", &input]);
            let error = || error_text(&output.json()["error"]);
            (output.code != 0).then(|| format!("{}\n{}", name(program), error()))
        })
        .collect();
    none(&failures, programs.len());
}

fn error_text(error: &Value) -> String {
    let kind = &error["kind"];
    let line = &error["line"];
    let column = &error["column"];
    format!("  {line}:{column} {kind}: {}", error["message"])
}

/// The handle of a result that was too long to be returned.
fn long_text(env: &TestEnv) -> String {
    let run = env.mux(["--json", "run", "-e", "return 'long '.repeat(100_000)"]);
    let stored = run.ok().json()["stored"].take();
    stored["handle"].as_str().unwrap().to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}
