//! Hostile programs: `tests/data/hostile/<group>_<number>_<name>.ts`, where the number identifies the attack. The
//! head of a file says how it must end. The checks around it are the same for all.
//!
//! Numbers that are tested elsewhere: 2 in [`realm`]; 20 in the tests of type generation; 26 in [`strace`]; 27 in
//! `canaries`; 29 and 31 in [`rogue`]; 32 in [`process`]; 53 in `lifecycle/clients` and `runs/cancel`; 64, 77, 81 and
//! 82 in [`crowd`]; 71 to 75 in `faults`; 83 in [`killed`], in [`rogue`] and in `faults/workers`; 85 in the tests of
//! the daemon's `rpc`. 61 and 63 are `mux.emit` and `mux.read` here. 4, 69 and 70 are about features that do not exist
//! yet.
//!
//! After each case, six things must be true: the daemon is the same process and answered all the time (1), the servers
//! are the same processes (2), a concurrent innocent program succeeded (3), the case ended as its head says (4), the
//! daemon uses no more resources than before ([`vitals`], 5), and the next program finds no trace of it (6).
//!
//! Invariant: a new case is one file and no Rust.

mod case;
mod crowd;
mod killed;
mod limits;
mod link;
#[cfg(target_os = "linux")]
mod process;
mod realm;
mod rogue;
#[cfg(target_os = "linux")]
mod strace;
mod vitals;

use std::{ffi::OsStr, fs, path::PathBuf};

use mux_tests::{Canary, TestEnv};
use serde_json::{Value, json};

use self::{
    case::Case,
    vitals::{Pulse, Vitals},
};

/// The innocent program that runs at the same time as a hostile one.
const INNOCENT: &str = "const sums = await Promise.all([1, 2, 3].map((n) => mux.fix.add({ a: n, b: n })));\n\
                        return sums.map((s) => s.sum);";

/// Returns the traces that an earlier program could leave: every global and built-in prototype with all its properties,
/// and state that the engine itself keeps.
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
fn programs_that_try_to_escape() {
    check_all("escape");
}

#[test]
fn programs_that_do_not_end() {
    check_all("cpu_3");
    check_all("cpu_4");
}

#[test]
fn programs_that_nest_deeply() {
    check_all("cpu_5");
}

#[test]
fn programs_that_exhaust_memory() {
    check_all("memory");
}

#[test]
fn programs_that_misuse_the_bridge() {
    check_all("bridge");
}

#[test]
fn programs_that_try_to_leave_state_behind() {
    check_all("state");
}

/// Runs every case whose name begins with `group` on one daemon.
fn check_all(group: &str) {
    let arena = Arena::new();
    let mut failures = Vec::new();
    for file in files(group) {
        let case = Case::read(&file);
        failures.extend(arena.check(&case).err());
        // A daemon that does not become idle would fail and delay all following cases.
        if let Err(problem) = arena.vitals.again(arena.daemon, &arena.pulse) {
            failures.push(format!("after {}: {problem}", case.name));
            break;
        }
    }
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
            name.starts_with(group)
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no cases of {group:?} in {folder:?}");
    files
}

/// One daemon, and the state that no attack may change.
struct Arena {
    engine: String,
    pulse: Pulse,
    vitals: Vitals,
    canary: Canary,
    daemon: i32,
    server: Vec<i32>,
    traces: Value,
    /// Dropped last, because the other fields are connected to its daemon.
    env: TestEnv,
}

impl Arena {
    fn new() -> Self {
        let env = TestEnv::new().watching_polls();
        env.write_config(&format!(
            "{}{}[[policy]]\nmatch = \"fix.side_effect\"\naction = \"deny\"\n",
            env.fixture("fix", &[]),
            env.fixture("my-server", &["--collide"]),
        ));
        env.restart_with_snapshot();
        let traces = env.result(TRACES);
        assert_eq!(env.result(INNOCENT), json!([2, 4, 6]));
        let daemon = env.daemon().unwrap();
        let pulse = Pulse::of(&env);
        Self {
            engine: env.engine(),
            vitals: Vitals::at_rest(daemon, &pulse),
            canary: Canary::of(daemon),
            pulse,
            daemon,
            server: env.starts("fix"),
            traces,
            env,
        }
    }

    fn metrics(&self) -> String {
        self.env.mux(["metrics"]).ok().stdout
    }

    /// Runs the case and an innocent program at the same time, then checks both, the daemon and the servers.
    fn check(&self, case: &Case) -> Result<(), String> {
        if !case.is_for(&self.engine) {
            return Ok(());
        }
        let source = self.env.path("hostile.ts");
        fs::write(&source, &case.program).unwrap();
        let mut args: Vec<&OsStr> = vec!["--json".as_ref(), "run".as_ref(), source.as_os_str()];
        args.extend(case.args.iter().map(OsStr::new));
        // Exhausting the memory can take long on a slow machine.
        if !case.may_time_out() && case.args.is_empty() {
            args.extend(["--timeout", "120s"].map(OsStr::new));
        }
        self.canary.begin(&self.metrics());
        self.pulse.begin();
        let innocent = self.env.begin(["--json", "run", "-e", INNOCENT]);
        let output = self.env.mux(args);
        let innocent = innocent.wait();
        let answered = self.pulse.end();
        let cost = self.canary.end(&case.name, &self.metrics());
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
            answered.clone().map(drop),
            cost,
        ];
        let problems: Vec<String> = problems.into_iter().filter_map(Result::err).collect();
        if problems.is_empty() {
            return Ok(());
        }
        let slowest = answered.unwrap_or_default();
        Err(format!(
            "{} (the slowest answer took {slowest:?}): {}",
            case.name,
            problems.join("\n  ")
        ))
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, actual: T, expected: T) -> Result<(), String> {
    if actual == expected {
        return Ok(());
    }
    Err(format!("{what}: {actual:?}, not {expected:?}"))
}
