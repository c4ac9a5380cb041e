//! Runs third-party programs with Node or Python, in a home with the conformance server.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use mux_tests::{
    TestEnv,
    clients::{client, node},
    env::{binary, may_sample, server},
};
use serde_json::{Map, Value, json};

/// The file in which the conformance server records the calls of its tool `wait`.
pub(super) fn journal(env: &TestEnv) -> PathBuf {
    env.path("journal")
}

/// A home where the conformance server is `conf`.
pub(super) fn home() -> TestEnv {
    home_with("")
}

/// The same, with more lines of its entry.
pub(super) fn home_with(entry: &str) -> TestEnv {
    let env = TestEnv::new();
    let journal = journal(&env);
    let args = ["--journal", journal.to_str().unwrap()];
    let conf = server("conf", &binary("mux-conformance-server"), &args);
    // The suites compare texts with those of the server.
    let exact = "[results]\nfence = false\n";
    let sampling = may_sample("conf");
    env.write_config(&format!("{conf}{entry}{sampling}{exact}"));
    env
}

/// `node FILE` in this home. Imports are resolved from the folder of the file.
pub(super) fn node_program(env: &TestEnv, file: &Path) -> Command {
    let mut command = env.command("mux");
    let environment = variables(&command);
    command = Command::new(node());
    command
        .env_clear()
        .envs(environment)
        .current_dir(env.home())
        .stdin(Stdio::null())
        .arg(file);
    command
}

/// A program of `tests/clients`, copied to a folder in which its imports resolve to the installed packages.
pub(crate) fn program(env: &TestEnv, name: &str) -> PathBuf {
    let copy = env.path("clients");
    if !copy.exists() {
        std::fs::create_dir(&copy).unwrap();
        std::os::unix::fs::symlink(client(""), copy.join("node_modules")).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
        for entry in std::fs::read_dir(source).unwrap().flatten() {
            if entry
                .path()
                .extension()
                .is_some_and(|e| e == "mjs" || e == "py")
            {
                std::fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
            }
        }
    }
    copy.join(name)
}

/// The file with the standard output of `mux mcp`, if an SDK started it.
pub(super) fn spoken(env: &TestEnv) -> PathBuf {
    env.path("spoken")
}

/// The instructions for an SDK to start `mux mcp`, whose output is copied to the file [`spoken`].
pub(super) fn launch(env: &TestEnv, era: &str) -> Value {
    let command = env.command("mux");
    let copied = r#""$0" mcp --structured | tee -a "$1""#;
    let variables: Map<String, Value> = variables(&command)
        .into_iter()
        .map(|(name, value)| (name, value.into()))
        .collect();
    json!({
        "command": "/bin/sh",
        "args": ["-c", copied, command.get_program().to_str(), spoken(env)],
        "env": variables,
        "era": era,
        "journal": journal(env),
    })
}

fn variables(command: &Command) -> Vec<(String, String)> {
    let text = |text: &std::ffi::OsStr| text.to_str().unwrap().to_owned();
    command
        .get_envs()
        .filter_map(|(name, value)| Some((text(name), text(value?))))
        .collect()
}

/// Streamable HTTP in front of a stdio server. Killed on drop.
pub(super) struct Bridge {
    process: Child,
    pub(super) url: String,
    log: PathBuf,
}

impl Bridge {
    pub(super) fn to(env: &TestEnv, server: &Command) -> Self {
        let log = env.path("bridge.log");
        let mut process = node_program(env, &program(env, "bridge.mjs"))
            .arg(server.get_program())
            .args(server.get_args())
            // The bridge ends with its input, in case the test is killed.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.as_mut().unwrap())
            .read_line(&mut url)
            .unwrap();
        let url = url.trim().to_owned();
        Self { process, url, log }
    }

    /// The standard error of the bridge and of the server behind it.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
