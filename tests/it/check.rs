//! Sets of programs that measure the type checker. With real servers: the programs in `tests/data/check/right` succeed
//! and must have no errors. The programs in `wrong` and `doubtful` have one error each, which must be reported on its
//! line. `corpus` has more programs, with servers made of data.
//!
//! Invariant: the programs are as agents write them, never changed to suit the checker. `mux.input` of a right one has
//! its own copy of `tests/data/check/files` (`dir`), a repository (`repo`) and the handle of a long text (`handle`).

mod corpus;
mod right;
mod wrong;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use mux_tests::{TestEnv, env::compiler};
use serde_json::Value;

use crate::real;

/// A home with the compiler and all real servers, whose tools are known.
fn home() -> TestEnv {
    let env = TestEnv::new();
    let servers = [
        real::everything(),
        real::files(&env),
        real::git(),
        real::memory(&env),
        real::thinking(),
        real::time(),
    ];
    let checker = format!("[check]\ntsc = {:?}\n", compiler());
    env.write_config(&(servers.concat() + &checker));
    let types = env.mux(["types"]).ok().stdout;
    for server in ["Everything", "Files", "Git", "Memory", "Thinking", "Time"] {
        assert!(types.contains(&format!("interface {server} ")), "{types}");
    }
    env
}

/// The programs of one set, sorted.
fn programs(set: &str) -> Vec<PathBuf> {
    let programs = files_of(set);
    assert!(programs.len() >= 40, "{} programs", programs.len());
    programs
}

/// The program files of one set, sorted.
fn files_of(set: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(data().join(set))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension() == Some(OsStr::new("ts")))
        .collect();
    files.sort();
    files
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/check")
}

fn name(program: &Path) -> &str {
    program.file_stem().unwrap().to_str().unwrap()
}

/// The errors that `mux check` reports for a program.
fn errors(env: &TestEnv, program: &Path) -> Vec<Value> {
    findings(env, program).0
}

/// The errors and the warnings that `mux check` reports for a program.
fn findings(env: &TestEnv, program: &Path) -> (Vec<Value>, Vec<Value>) {
    let output = env.mux([OsStr::new("--json"), OsStr::new("check"), program.as_ref()]);
    let document = output.json();
    let list = |name: &str| document[name].as_array().unwrap().clone();
    let errors = list("errors");
    assert_eq!(errors.is_empty(), output.code == 0, "{output:#?}");
    (errors, list("warnings"))
}

/// Fails with one paragraph for each program with a wrong verdict, if there are any.
#[track_caller]
fn none(failures: &[String], of: usize) {
    let number = failures.len();
    assert!(
        failures.is_empty(),
        "{number} of {of} programs:\n{}",
        failures.join("\n")
    );
}
