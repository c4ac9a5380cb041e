//! An installed agent, and the sessions that it has in its own homes.
//!
//! Invariant: the processes that an agent has started have exited when its command has ended or was ended.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::model_api::{ModelApi, Step, ToolSearch, Transcript};
use crate::{Output, TestEnv, clients, editors::source, env::variable, process};

/// The folders where `scripts/setup --agents` installs agents, separated by colons.
const FOLDERS: &str = "MUX_TEST_AGENTS";
/// After this time a command is ended.
const HANG: Duration = Duration::from_mins(1);
/// Where nobody listens: an agent that wants to reach the internet fails immediately.
const NO_PROXY_HERE: &str = "http://127.0.0.1:9";

/// An agent, as `tests/agents/agents.toml` describes it.
#[derive(Clone, Debug, Deserialize)]
pub struct RealAgent {
    /// The name of its profile.
    pub name: String,
    package: String,
    program: String,
    #[serde(default)]
    node: bool,
    /// True if `scripts/test` installs the agent.
    #[serde(default)]
    pub ci: bool,
    /// True if an image of a result reaches the model.
    #[serde(default = "yes")]
    pub images: bool,
    args: Vec<String>,
    list: Option<Vec<String>>,
    file: String,
    content: String,
    server: String,
    #[serde(default = "comma")]
    between: String,
    search: Option<ToolSearch>,
    variables: BTreeMap<String, String>,
}

fn yes() -> bool {
    true
}

fn comma() -> String {
    ",\n".to_owned()
}

/// An MCP server in an agent's configuration.
#[derive(Clone, Debug)]
pub struct McpServer {
    name: String,
    command: Vec<String>,
}

/// A session that has ended.
#[derive(Debug)]
pub struct Session {
    pub transcript: Transcript,
    pub output: Output,
}

/// An agent's own list of its servers.
#[derive(Debug)]
pub struct ServerList(pub Output);

impl ServerList {
    /// Returns true if a server is connected and its tools have arrived.
    pub fn is_connected(&self, server: &str) -> bool {
        self.0.stdout.lines().any(|line| {
            let line = line.to_lowercase();
            line.contains(server) && line.contains("connected") && !line.contains("fail")
        })
    }
}

impl McpServer {
    pub fn new(name: &str, command: &Command) -> Self {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        // An agent passes on a part of its environment, or all of it.
        let mut all = vec!["/usr/bin/env".to_owned(), "-i".to_owned()];
        for (name, value) in command.get_envs() {
            let text = |text: &std::ffi::OsStr| text.to_str().unwrap().to_owned();
            all.extend(value.map(|value| format!("{}={}", text(name), text(value))));
        }
        all.extend(words.map(|word| word.to_str().unwrap().to_owned()));
        Self {
            name: name.to_owned(),
            command: all,
        }
    }

    /// `mux mcp` in a home, under the name `mux`.
    pub fn mux(env: &TestEnv) -> Self {
        Self::new("mux", env.command("mux").arg("mcp"))
    }
}

impl RealAgent {
    pub fn all() -> Vec<Self> {
        #[derive(Deserialize)]
        struct File {
            agent: Vec<RealAgent>,
        }
        let text = fs::read_to_string(source("tests/agents/agents.toml")).unwrap();
        let file: File = toml::from_str(&text).unwrap();
        file.agent
    }

    #[track_caller]
    pub fn named(name: &str) -> Self {
        let found = Self::all().into_iter().find(|agent| agent.name == name);
        found.unwrap_or_else(|| panic!("there is no agent {name}"))
    }

    /// The version that is installed.
    pub fn version(&self) -> Option<String> {
        let package = self.folder()?.join(&self.package).join("package.json");
        let package: Value = serde_json::from_slice(&fs::read(package).ok()?).ok()?;
        Some(package["version"].as_str()?.to_owned())
    }

    /// The folder `node_modules` in which it is installed.
    fn folder(&self) -> Option<PathBuf> {
        let folders = variable(FOLDERS)?;
        let mut folders = folders
            .split(':')
            .map(|it| Path::new(it).join("node_modules"));
        folders.find(|folder| folder.join(self.program()).exists())
    }

    fn program(&self) -> String {
        let system = match std::env::consts::OS {
            "macos" => "darwin",
            other => other,
        };
        let processor = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        self.program
            .replace("{platform}", &format!("{system}-{processor}"))
    }

    /// Has a session in a new home, with these servers and a model that plays the script.
    pub fn session(&self, servers: &[McpServer], script: Vec<Step>) -> Session {
        let model = ModelApi::start(self.search.as_ref(), script);
        let output = self.run(&self.args, servers, model.url());
        Session {
            transcript: model.end(),
            output,
        }
    }

    /// The agent's own list of its servers, if it can show one.
    pub fn list(&self, servers: &[McpServer]) -> Option<ServerList> {
        let args = self.list.as_ref()?;
        Some(ServerList(self.run(args, servers, NO_PROXY_HERE)))
    }

    fn run(&self, args: &[String], servers: &[McpServer], model: &str) -> Output {
        let home = tempfile::Builder::new().prefix("agent-").tempdir().unwrap();
        let path = home.path().to_str().unwrap();
        let file = home.path().join(&self.file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let content = self.content.replace("{servers}", &self.servers(servers));
        fs::write(file, content.replace("{model}", model)).unwrap();
        let work = home.path().join("work");
        fs::create_dir(&work).unwrap();

        let program = self.folder().unwrap().join(self.program());
        let mut command = if self.node {
            Command::new(clients::node())
        } else {
            Command::new(&program)
        };
        if self.node {
            command.arg(&program);
        }
        let variables = self.variables.iter().map(|(name, value)| {
            let value = value.replace("{home}", path);
            (name, value.replace("{model}", model))
        });
        command
            .args(args)
            .env_clear()
            .env("HOME", path)
            .env("TMPDIR", path)
            .env("PATH", variable("PATH").unwrap_or_default())
            .env("SHELL", "/bin/sh")
            .env("HTTP_PROXY", NO_PROXY_HERE)
            .env("HTTPS_PROXY", NO_PROXY_HERE)
            .env("NO_PROXY", "127.0.0.1,localhost")
            .envs(variables)
            .current_dir(&work);
        run_in_group(&mut command, home.path())
    }

    fn servers(&self, servers: &[McpServer]) -> String {
        let entries = servers.iter().map(|server| {
            self.server
                .replace("{name}", &server.name)
                .replace("{command}", &json!(server.command[0]).to_string())
                .replace("{args}", &json!(server.command[1..]).to_string())
                .replace("{words}", &json!(server.command).to_string())
        });
        entries.collect::<Vec<_>>().join(&self.between)
    }
}

/// Runs a command to its end, or for as long as it may run, and then ends the remaining processes. The output goes to
/// files in the home, because a remaining process could keep a pipe open.
fn run_in_group(command: &mut Command, home: &Path) -> Output {
    let stdout = home.join("stdout");
    let stderr = home.join("stderr");
    let mut child = command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(File::create(&stdout).unwrap())
        .stderr(File::create(&stderr).unwrap())
        .spawn()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let pid = i32::try_from(child.id()).unwrap();
    let has_ended = process::wait_for_end(pid, HANG);
    // The processes may have ended already.
    _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    let status = child.wait().unwrap();
    // Processes in other groups: each has the home in its environment or its arguments.
    for left in process::mentioning(home.to_str().unwrap()) {
        process::kill(left);
    }
    let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let mut output = Output {
        stdout: read(&stdout),
        stderr: read(&stderr),
        code: status.code().unwrap_or(-1),
    };
    if !has_ended {
        _ = write!(output.stderr, "\nended after {HANG:?}");
    }
    output
}
