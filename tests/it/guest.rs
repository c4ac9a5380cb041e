//! Recorded guest programs: `tests/data/guest/<case>.ts` is run, and `<case>.out` is its console and its outcome.
//!
//! Invariant: a new case is two files and no Rust. `UPDATE_GOLDEN=1` writes the second one. A case with the line
//! `// engine: v8` runs only there.

use std::{
    ffi::{OsStr, OsString},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use mux_tests::{Output, TestEnv, golden};
use serde_json::Value;

/// The prefix of the line of a case with its input as JSON.
const INPUT: &str = "// input: ";

/// The prefix of the line of a case that only one engine runs.
const ENGINE: &str = "// engine: ";

#[test]
fn guest_programs_end_as_recorded() {
    check_all(TestEnv::prevent_snapshots);
}

#[test]
fn guest_programs_end_as_recorded_with_a_snapshot() {
    check_all(TestEnv::restart_with_snapshot);
}

#[test]
fn guest_programs_replay_with_the_same_outcome() {
    let env = home();
    let other = TestEnv::new();
    let engine = env.engine();
    let file = env.path("case.muxrec");
    let failed: Vec<String> = cases(&engine)
        .iter()
        .filter_map(|case| {
            let mut args = args(case);
            args.extend(["--record".into(), file.clone().into_os_string()]);
            outcome_of(&env, env.mux(args));
            let again = ["--json".as_ref(), "replay".as_ref(), file.as_os_str()];
            let outcome = outcome_of(&env, other.mux(again));
            let expected = fs::read_to_string(recording(case, &outcome, &engine)).unwrap();
            (outcome != expected).then(|| format!("{}:\n{outcome}\n", case.display()))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn home() -> TestEnv {
    let env = TestEnv::new();
    // Little enough to be used up within the wall time on a busy machine.
    env.write_config(&format!(
        "[limits]\ncpu = \"5s\"\n{}{}{}{}[[policy]]\nmatch = \"fix.side_effect\"\naction = \"deny\"\n",
        env.fixture("fix", &[]),
        env.fixture("my-server", &[]),
        env.fixture("zoo", &["--dotted"]),
        env.fixture("props", &["--property-names"]),
    ));
    env
}

fn check_all(prepare: impl FnOnce(&TestEnv)) {
    let env = home();
    prepare(&env);
    let engine = env.engine();
    let cases = cases(&engine);
    let failed: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let outcome = outcome_of(&env, env.mux(args(case)));
            golden::compare(&recording(case, &outcome, &engine), &outcome).err()
        })
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {} cases differ (UPDATE_GOLDEN=1 records what is there now)\n{}",
        failed.len(),
        cases.len(),
        failed.join("\n")
    );
    assert_eq!(env.starts("fix").len(), 1, "one session serves every case");
}

fn cases(engine: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/guest");
    let mut cases: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension() == Some(OsStr::new("ts")))
        .filter(|path| line(path, ENGINE).is_none_or(|only| only == engine))
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no cases in {}", folder.display());
    cases
}

/// The recording of a case: `<case>.out` for V8, and `<case>.quickjs.out` where the other engine differs.
fn recording(case: &Path, outcome: &str, engine: &str) -> PathBuf {
    let common = case.with_extension("out");
    let special = case.with_extension("quickjs.out");
    let same = fs::read_to_string(&common).is_ok_and(|recorded| recorded == outcome);
    if engine == "quickjs" && !same {
        special
    } else {
        common
    }
}

fn args(case: &Path) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec!["--json".into(), "run".into(), case.into()];
    if let Some(input) = line(case, INPUT) {
        args.extend(["--input".into(), input.into()]);
    }
    args
}

/// The rest of the first line of a case with this prefix.
fn line(case: &Path, prefix: &str) -> Option<String> {
    let source = fs::read_to_string(case).unwrap();
    let mut lines = source.lines();
    lines
        .find_map(|line| line.strip_prefix(prefix))
        .map(str::to_owned)
}

/// The outcome of a case as text: console lines, then the result or the error.
fn outcome_of(env: &TestEnv, output: Output) -> String {
    let document = output.json();
    let mut text = String::new();
    for line in document["console"].as_array().unwrap() {
        let level = string(&line["level"]);
        let said = string(&line["text"]);
        let rest = format!("\n{}", " ".repeat(level.len() + 3));
        writeln!(text, "[{level}] {}", said.replace('\n', &rest)).unwrap();
    }
    match document.get("error") {
        None => writeln!(text, "result {:#}", document["result"]).unwrap(),
        Some(error) => describe(error, &mut text),
    }
    let text = text.replace(env.home().to_str().unwrap(), "[HOME]");
    // Trimmed, because editors that trim lines must not break a recording.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

/// Appends `error KIND LINE:COLUMN MESSAGE` and the other fields of an error.
fn describe(error: &Value, text: &mut String) {
    let place = match (error["line"].as_u64(), error["column"].as_u64()) {
        (Some(line), Some(column)) => format!(" {line}:{column}"),
        _ => String::new(),
    };
    let kind = string(&error["kind"]);
    let message = string(&error["message"]);
    writeln!(text, "error {kind}{place} {message}").unwrap();
    for field in ["path", "hint", "details"] {
        match &error[field] {
            Value::Null => {}
            Value::String(said) => {
                writeln!(text, "  {field}: {}", said.replace('\n', "\n    ")).unwrap();
            }
            other => writeln!(text, "  {field}: {other}").unwrap(),
        }
    }
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}
