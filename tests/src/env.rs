//! One `MUX_HOME` in a temporary directory, and the commands run in it with a clean environment.
//!
//! Invariant: when a [`TestEnv`] is dropped, its daemon has exited.

use std::{
    env,
    ffi::OsStr,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use mux_proto::endpoint::Dirs;
use serde_json::Value;

use crate::{Running, process};

/// The folders where `scripts/setup` installs servers from npm and from PyPI.
const NPM: &str = "MUX_TEST_SERVERS_NPM";
const PYPI: &str = "MUX_TEST_SERVERS_PY";
/// The folder of API descriptions and the path of TypeScript's native compiler.
const APIS: &str = "MUX_TEST_APIS";
/// The Python in which published suites of tasks are installed.
const SUITES: &str = "MUX_BENCH_SUITES";
const ATTACKERS: &str = "MUX_TEST_ATTACKERS";
const COMPILER: &str = "MUX_TEST_TSC";
/// A different `mux-worker`, such as one with another engine.
const WORKER: &str = "MUX_TEST_WORKER";

pub struct TestEnv {
    home: tempfile::TempDir,
    pub dirs: Dirs,
    watches_polls: bool,
    has_default_log: bool,
    has_own_path: bool,
}

/// The output and exit code of a command.
#[derive(Debug)]
pub struct Output {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

impl Output {
    /// Standard output as one JSON document.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("no JSON ({e}): {self:#?}"))
    }

    /// Fails unless the command succeeded.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "it asserts")]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }

    /// Fails unless the command exited with this code and its output contains all of these texts.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "it asserts")]
    pub fn fails(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        let all = format!("{}{}", self.stdout, self.stderr);
        for part in parts {
            assert!(all.contains(part), "{part:?} is missing in {self:#?}");
        }
        self
    }
}

impl Default for TestEnv {
    fn default() -> Self {
        Self::new()
    }
}

impl TestEnv {
    /// An empty home without a daemon.
    pub fn new() -> Self {
        // Short, because the path of a socket is limited.
        let home = tempfile::Builder::new()
            .prefix("mux-")
            .tempdir_in("/tmp")
            .unwrap();
        let dirs = Dirs::under(home.path()).unwrap();
        Self {
            home,
            dirs,
            watches_polls: false,
            has_default_log: false,
            has_own_path: false,
        }
    }

    /// A home with this configuration.
    pub fn with_config(config: &str) -> Self {
        let env = Self::new();
        env.write_config(config);
        env
    }

    /// A home with one fixture server for each name, and that server's arguments.
    pub fn with_fixtures(servers: &[(&str, &[&str])]) -> Self {
        let env = Self::new();
        let mut config = String::new();
        for (name, args) in servers {
            config.push_str(&env.fixture(name, args));
        }
        env.write_config(&config);
        env
    }

    /// Makes daemons that are started here measure the values that a [`Canary`](crate::Canary) checks.
    #[must_use]
    pub fn watching_polls(mut self) -> Self {
        self.watches_polls = true;
        self
    }

    /// Makes daemons that are started here log as much as installed ones. By default they log at `debug`, which slows
    /// them down.
    #[must_use]
    pub fn with_default_log(mut self) -> Self {
        self.has_default_log = true;
        self
    }

    /// Makes `bin` in the home the only directory of PATH. Programs of this machine are then not found.
    #[must_use]
    pub fn with_own_path(mut self) -> Self {
        self.has_own_path = true;
        self
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A path in the home.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub fn write_config(&self, config: &str) {
        fs::write(self.dirs.config_file(), config).unwrap();
    }

    /// `[servers.NAME]` for a fixture server, which appends its pid to `NAME.pids` at each start.
    pub fn fixture(&self, name: &str, args: &[&str]) -> String {
        let pids = self.pid_file(name);
        let mut all = vec!["--pid-file", pids.to_str().unwrap()];
        all.extend(args);
        server(name, &binary("mux-fixture-server"), &all)
    }

    pub fn pid_file(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}.pids"))
    }

    /// The pids of a fixture server's processes so far.
    pub fn starts(&self, name: &str) -> Vec<i32> {
        let text = fs::read_to_string(self.pid_file(name)).unwrap_or_default();
        text.lines()
            .map(|line| line.trim().parse().unwrap())
            .collect()
    }

    /// A program of this workspace, in this home and with a clean environment.
    pub fn command(&self, program: &str) -> Command {
        let path = if self.has_own_path {
            self.path("bin").display().to_string()
        } else {
            variable("PATH").unwrap_or_else(|| "/usr/bin:/bin".into())
        };
        let mut command = Command::new(binary(program));
        command
            .env_clear()
            .env("MUX_HOME", self.home.path())
            .env("HOME", self.home.path())
            .env("PATH", path)
            .env("SHELL", "/bin/sh")
            .current_dir(self.home.path())
            .stdin(Stdio::null());
        if let Some(worker) = variable(WORKER) {
            command.env("MUX_WORKER", worker);
        }
        if !self.has_default_log {
            command.env("MUX_LOG", "debug");
        }
        if self.watches_polls {
            command.env("MUX_WATCH_POLLS", "1");
        }
        command
    }

    /// Runs `mux` to its end.
    pub fn mux<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Output {
        output(self.command("mux").args(args))
    }

    /// Runs `mux` with `input` on its standard input.
    pub fn mux_with_input<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Output {
        let mut command = self.command("mux");
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that rejects its arguments does not read its input.
        drop(child.stdin.take().unwrap().write_all(input));
        finish(child.wait_with_output().unwrap())
    }

    /// The engine of the workers. Runs a program first, because the daemon learns it from a worker.
    #[track_caller]
    pub fn engine(&self) -> String {
        self.result("return null");
        let status = self.mux(["--json", "status"]).ok().json();
        status["engine"].as_str().unwrap().to_owned()
    }

    /// `mux run -e CODE`.
    pub fn run(&self, code: &str) -> Output {
        self.mux(["run", "-e", code])
    }

    /// The result of `mux run --json -e CODE`, which must succeed.
    #[track_caller]
    pub fn result(&self, code: &str) -> Value {
        self.mux(["--json", "run", "-e", code]).ok().json()["result"].take()
    }

    /// The error of `mux run --json -e CODE`, which must fail.
    #[track_caller]
    pub fn error(&self, code: &str) -> Value {
        let output = self.mux(["--json", "run", "-e", code]);
        assert_ne!(output.code, 0, "{output:#?}");
        output.json()["error"].take()
    }

    /// Starts `mux` without waiting for its end.
    pub fn begin<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Running {
        Running::start(self.command("mux").args(args))
    }

    /// Starts a daemon as a client does and returns when it is ready. The daemon is a child of the test, which can see
    /// its end.
    pub fn serve(&self) -> Running {
        self.dirs.prepare().unwrap();
        let lock = fs::File::create(self.dirs.startup_lock()).unwrap();
        lock.lock().unwrap();
        let mut command = self.command("muxd");
        command.arg(mux_proto::startup::CHILD).stdin(lock);
        let mut daemon = Running::start_as_is(&mut command);
        let report = daemon.next_line_of_output();
        assert!(report.contains("ready"), "{report}");
        daemon
    }

    /// The pid of the daemon that holds the lock of this home.
    pub fn daemon(&self) -> Option<i32> {
        let text = fs::read_to_string(self.dirs.instance_lock()).ok()?;
        let word: Value = serde_json::from_str(&text).ok()?;
        i32::try_from(word["pid"].as_i64()?)
            .ok()
            .filter(|pid| process::is_alive(*pid))
    }

    /// Waits until a fixture server has logged this many calls of a tool in its `--call-log`. Calls the tool `probe`
    /// between two checks instead of sleeping.
    #[track_caller]
    pub fn until_called(&self, log: &Path, tool: &str, times: usize, probe: &str) {
        let name = format!("\"tool\":\"{tool}\"");
        for _ in 0..2000 {
            let calls = fs::read_to_string(log).unwrap_or_default();
            if calls.matches(&name).count() >= times {
                return;
            }
            self.mux(["call", probe]).ok();
        }
        panic!("{tool} was not called {times} times");
    }

    /// Waits until the daemon's log contains a text.
    #[track_caller]
    pub fn until_logged(&self, text: &str) {
        for _ in 0..2000 {
            if self.log().contains(text) {
                return;
            }
            self.mux(["status"]).ok();
        }
        panic!("{text:?} was not logged");
    }

    /// Stops the daemon and waits until its process has exited. Its log is then complete.
    pub fn stop(&self) {
        if let Some(pid) = self.daemon() {
            self.mux(["stop", "--now"]).ok();
            assert!(process::wait_for_end(pid, Duration::from_secs(20)));
        }
    }

    /// The daemon's log so far.
    pub fn log(&self) -> String {
        let mut log = String::new();
        for entry in fs::read_dir(self.dirs.logs())
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name();
            if name.to_string_lossy().starts_with("muxd.") {
                writeln!(
                    log,
                    "{}",
                    fs::read_to_string(entry.path()).unwrap_or_default()
                )
                .unwrap();
            }
        }
        log
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        if let Some(pid) = self.daemon() {
            drop(self.mux(["stop", "--now"]));
            process::kill(pid);
        }
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let tail = &lines[lines.len().saturating_sub(60)..];
            // Shown with the test's failure.
            drop(writeln!(
                std::io::stderr(),
                "--- the daemon's log ---\n{}",
                tail.join("\n")
            ));
        }
    }
}

/// `[servers.NAME]` for any program.
pub fn server(name: &str, program: &Path, args: &[&str]) -> String {
    format!(
        "[servers.{name}]\ncommand = {:?}\nargs = {}\n",
        program.to_str().unwrap(),
        // JSON, whose escapes are also valid in TOML.
        serde_json::json!(args)
    )
}

/// A rule that allows a server to sample from the model of its caller.
pub fn may_sample(name: &str) -> String {
    format!("[[policy]]\nmatch = \"{name}.sampling/createMessage\"\naction = \"allow\"\n")
}

/// A server from npm that `scripts/setup` installed.
pub fn npm(program: &str) -> PathBuf {
    installed(NPM, program)
}

/// A server from PyPI that `scripts/setup` installed.
pub fn pypi(program: &str) -> PathBuf {
    installed(PYPI, program)
}

/// TypeScript's native compiler, which `scripts/setup` installed.
pub fn compiler() -> PathBuf {
    let path = PathBuf::from(setup_variable(COMPILER, "--types"));
    assert!(
        path.exists(),
        "{path:?} does not exist: run `scripts/setup --types`"
    );
    path
}

/// The published descriptions of large APIs, which `scripts/setup` downloaded.
pub fn apis() -> PathBuf {
    let folder = PathBuf::from(setup_variable(APIS, "--apis"));
    assert!(
        folder.exists(),
        "{folder:?} does not exist: run `scripts/setup --apis`"
    );
    folder
}

/// The Python in which `scripts/setup` installed published suites of tasks.
pub fn suites_python() -> PathBuf {
    PathBuf::from(setup_variable(SUITES, "--suites"))
}

/// A program of the folder in which `scripts/setup` installed programs that attack MCP servers and clients.
pub fn attacker(program: &str) -> PathBuf {
    let path = Path::new(&setup_variable(ATTACKERS, "--attackers"))
        .join("bin")
        .join(program);
    assert!(
        path.exists(),
        "{path:?} does not exist: run `scripts/setup --attackers`"
    );
    path
}

pub(crate) fn setup_variable(name: &str, option: &str) -> String {
    variable(name).unwrap_or_else(|| {
        panic!("{name} is not set: run scripts/test, or `scripts/setup {option} && . build/env`")
    })
}

fn installed(folder: &str, program: &str) -> PathBuf {
    let folder = setup_variable(folder, "--servers");
    installed_at(Path::new(&folder).join(program))
}

pub(crate) fn installed_at(path: impl Into<PathBuf>) -> PathBuf {
    let path = path.into();
    assert!(
        path.exists(),
        "{path:?} does not exist: run `scripts/setup --servers`"
    );
    path
}

/// The path of a program of this workspace, built in the same target folder as the tests.
pub fn binary(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test
        .ancestors()
        .find(|p| p.join(".cargo-lock").exists())
        .unwrap();
    let path = folder.join(name);
    assert!(
        path.exists(),
        "{path:?} does not exist: run `cargo build --workspace --bins` first"
    );
    path
}

/// The `mux-worker` that tests run: this workspace's, or the path that the environment sets.
pub fn worker() -> PathBuf {
    variable(WORKER).map_or_else(|| binary("mux-worker"), PathBuf::from)
}

/// Runs a program to its end, with an empty standard input.
pub fn output(command: &mut Command) -> Output {
    Running::start(command).wait()
}

/// The note about programs that run without a compiler, which most homes do not have. The note is left out of the
/// output.
const NO_COMPILER_NOTE: &str = "note: the types were not checked: no TypeScript 7 compiler was found: run `mux setup`, or set [check] tsc in config.toml\n";

pub(crate) fn finish(output: std::process::Output) -> Output {
    let stderr = String::from_utf8_lossy(&output.stderr);
    Output {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: stderr.replace(NO_COMPILER_NOTE, ""),
        code: output.status.code().unwrap_or(-1),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by their script where things stand"
)]
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
