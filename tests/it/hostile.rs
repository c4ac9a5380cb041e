//! Programs that mean harm, as data: `tests/data/hostile/<group>_<number>_<name>.ts`, where the number
//! is the case's in the list of attacks (`reliability.md` §1.3). The head of a file says what must
//! happen to it, and around every one the same is asked of everybody else.
//!
//! Invariant: a new case is one file and no Rust.

mod case;
mod limits;
mod process;
mod realm;

use std::{ffi::OsStr, fs, path::PathBuf};

use mux_tests::TestEnv;
use serde_json::{Value, json};

use self::case::Case;

/// What an innocent program computes while a hostile one runs.
const INNOCENT: &str = "const sums = await Promise.all([1, 2, 3].map((n) => mux.fix.add({ a: n, b: n })));\n\
                        return sums.map((s) => s.sum);";

/// What a program can see of the one before it: every global and built-in prototype with all its
/// properties, and what the engine remembers by itself.
const TRACES: &str = "const seen = {};\n\
    const native = (f) => { try { return String(f).includes('[native code]'); } catch { return 'unknown'; } };\n\
    const note = (name, value) => { seen[name] = Reflect.ownKeys(value).map(String).sort().join(); };\n\
    note('globalThis', globalThis);\n\
    for (const name of Object.getOwnPropertyNames(globalThis)) {\n\
      const value = globalThis[name];\n\
      if (typeof value !== 'function' && (typeof value !== 'object' || value === null)) continue;\n\
      if (name === 'mux') continue;\n\
      note(name, value);\n\
      if (typeof value === 'function') {\n\
        seen[name + '()'] = native(value);\n\
        if (value.prototype) note(name + '.prototype', value.prototype);\n\
      }\n\
    }\n\
    seen.match = [RegExp.lastMatch, RegExp.$1].join();\n\
    seen.native = [Promise.prototype.then, JSON.stringify, Array.prototype[Symbol.iterator], Map.prototype.get]\n\
      .every(native);\n\
    return seen;";

#[test]
fn programs_that_want_out() {
    check_all("escape");
}

#[test]
fn programs_that_do_not_end() {
    check_all("cpu");
}

#[test]
fn programs_that_take_all_memory() {
    check_all("memory");
}

#[test]
fn programs_that_misuse_the_bridge() {
    check_all("bridge");
}

#[test]
fn programs_that_leave_something_behind() {
    check_all("state");
}

/// Runs every case of a group on one daemon.
fn check_all(group: &str) {
    let arena = Arena::new();
    let failures: Vec<String> = files(group)
        .iter()
        .filter_map(|file| arena.check(&Case::read(file)).err())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn files(group: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/hostile");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension() == Some(OsStr::new("ts")))
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.split('_').next() == Some(group)
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no cases of {group:?} in {folder:?}");
    files
}

/// One daemon and what must stay as it is, whoever attacks.
struct Arena {
    env: TestEnv,
    engine: String,
    daemon: i32,
    server: Vec<i32>,
    traces: Value,
}

impl Arena {
    fn new() -> Self {
        let env = TestEnv::new();
        env.write_config(&format!(
            "{}{}[[policy]]\nmatch = \"fix.side_effect\"\naction = \"deny\"\n",
            env.fixture("fix", &[]),
            env.fixture("my-server", &["--collide"]),
        ));
        env.restart_with_snapshot();
        let traces = env.result(TRACES);
        assert_eq!(env.result(INNOCENT), json!([2, 4, 6]));
        let engine = env.mux(["--json", "status"]).ok().json()["engine"].take();
        Self {
            engine: engine.as_str().unwrap().to_owned(),
            daemon: env.daemon().unwrap(),
            server: env.starts("fix"),
            traces,
            env,
        }
    }

    /// Runs the case beside an innocent program, then asks how everybody is.
    fn check(&self, case: &Case) -> Result<(), String> {
        if !case.is_for(&self.engine) {
            return Ok(());
        }
        let source = self.env.path("hostile.ts");
        fs::write(&source, &case.program).unwrap();
        let mut args: Vec<&OsStr> = vec!["--json".as_ref(), "run".as_ref(), source.as_os_str()];
        args.extend(case.args.iter().map(OsStr::new));
        let innocent = self.env.begin(["--json", "run", "-e", INNOCENT]);
        let output = self.env.mux(args);
        let innocent = innocent.wait();
        let problems = [
            case.judge(&output, &self.engine),
            same(
                "a parallel program",
                innocent.json()["result"].clone(),
                json!([2, 4, 6]),
            ),
            same("the daemon", self.env.daemon(), Some(self.daemon)),
            same(
                "the server's processes",
                self.env.starts("fix"),
                self.server.clone(),
            ),
            same(
                "what the next program sees",
                self.env.result(TRACES),
                self.traces.clone(),
            ),
        ];
        let problems: Vec<String> = problems.into_iter().filter_map(Result::err).collect();
        if problems.is_empty() {
            return Ok(());
        }
        Err(format!("{}: {}", case.name, problems.join("\n  ")))
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, actual: T, expected: T) -> Result<(), String> {
    if actual == expected {
        return Ok(());
    }
    Err(format!("{what}: {actual:?}, not {expected:?}"))
}
