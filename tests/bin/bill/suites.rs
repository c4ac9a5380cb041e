//! Published suites: their tasks as `tests/bill/server.py` prints them, and their tools as MCP servers.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, ensure};
use mux_tests::{
    TestEnv,
    env::{output, server, suites_python},
};
use serde::Deserialize;
use serde_json::{Value, json};

const SUITES: &[&str] = &["bfcl", "agentdojo", "tau2"];
const RESET_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Deserialize)]
pub(crate) struct SuiteTask {
    pub(crate) id: String,
    /// Tasks of one group have one row in the tables.
    pub(crate) group: String,
    /// `suite.server`
    pub(crate) servers: Vec<String>,
    /// Tools of these servers that the suite does not show in this task.
    pub(crate) hidden: Vec<ToolName>,
    /// The suite's instructions to the model before the first turn.
    pub(crate) system: String,
    pub(crate) turns: Vec<TaskTurn>,
}

/// The user's message, and the calls that the suite expects.
#[derive(Deserialize)]
pub(crate) struct TaskTurn {
    pub(crate) user: String,
    pub(crate) calls: Vec<SuiteCall>,
}

#[derive(Deserialize)]
pub(crate) struct SuiteCall {
    #[serde(flatten)]
    pub(crate) name: ToolName,
    pub(crate) arguments: Value,
}

#[derive(Deserialize, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ToolName {
    server: String,
    tool: String,
}

impl ToolName {
    /// As `mux mcp --passthrough` names it.
    pub(crate) fn plain(&self) -> String {
        format!("{}__{}", entry_name(&self.server), self.tool)
    }

    /// As programs and `describe` name it.
    pub(crate) fn path(&self) -> String {
        format!("{}.{}", entry_name(&self.server), self.tool)
    }

    /// The words of the name, as a query.
    pub(crate) fn words(&self) -> String {
        self.tool.replace('_', " ")
    }
}

/// The name of a suite's server in the configuration.
fn entry_name(server: &str) -> &str {
    server.split_once('.').map_or(server, |(_, name)| name)
}

#[derive(Deserialize)]
struct SuiteVersion {
    package: String,
    version: String,
    expected: String,
}

/// The tasks of all suites that are there in the expected version, and a line on each suite.
#[derive(Default)]
pub(crate) struct TaskSuites {
    pub(crate) tasks: Vec<SuiteTask>,
    pub(crate) notes: Vec<String>,
}

impl TaskSuites {
    pub(crate) fn load() -> anyhow::Result<Self> {
        let mut suites = Self::default();
        for suite in SUITES {
            let printed = output(
                Command::new(suites_python())
                    .arg(script())
                    .args(["--tasks", suite]),
            );
            if printed.code != 0 {
                let why = printed.stderr.lines().last().unwrap_or("no message");
                let note = format!("{suite}: left out, its tasks cannot be read: {why}");
                suites.notes.push(note);
                continue;
            }
            let mut lines = printed.stdout.lines();
            let version: SuiteVersion = serde_json::from_str(lines.next().unwrap_or_default())?;
            let SuiteVersion {
                package,
                version,
                expected,
            } = version;
            if version != expected {
                suites.notes.push(format!(
                    "{suite}: left out, {package} is {version} and not {expected}: \
                     run `scripts/setup --suites`, or change VERSION in tests/bill/{suite}_suite.py"
                ));
                continue;
            }
            let before = suites.tasks.len();
            for line in lines {
                let task = serde_json::from_str(line).with_context(|| suite.to_string())?;
                suites.tasks.push(task);
            }
            let count = suites.tasks.len() - before;
            let note = format!("{suite}: {count} tasks of {package} {version}");
            suites.notes.push(note);
        }
        Ok(suites)
    }

    /// All servers that tasks use.
    fn servers(&self) -> BTreeSet<&str> {
        let tasks = self.tasks.iter();
        tasks.flat_map(SuiteTask::servers).collect()
    }

    /// All sets of servers that tasks use.
    fn sets(&self) -> BTreeSet<BTreeSet<&str>> {
        let tasks = self.tasks.iter();
        tasks.map(|task| task.servers().collect()).collect()
    }
}

impl SuiteTask {
    fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(String::as_str)
    }

    /// The agent that sees the servers of this task and no others.
    pub(crate) fn agent(&self) -> String {
        agent_name(&self.servers().collect())
    }
}

fn agent_name(set: &BTreeSet<&str>) -> String {
    let names: Vec<&str> = set.iter().map(|server| entry_name(server)).collect();
    names.join("-")
}

/// A home in which all servers are configured, with one agent for each set of servers that a task uses.
pub(crate) struct SuitesHome {
    pub(crate) env: TestEnv,
}

impl SuitesHome {
    pub(crate) fn new(suites: &TaskSuites) -> anyhow::Result<Self> {
        let env = TestEnv::new();
        let all = suites.servers();
        let mut config = String::new();
        for name in &all {
            let control = control(&env, name);
            let script = script();
            let args = [script.as_path(), Path::new(name), control.as_path()];
            let args: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
            config.push_str(&server(entry_name(name), &suites_python(), &args));
        }
        for set in suites.sets() {
            let others: Vec<String> = all
                .difference(&set)
                .map(|server| format!("{}.*", entry_name(server)))
                .collect();
            writeln!(
                config,
                "[agents.{}]\nexclude = {}",
                agent_name(&set),
                json!(others)
            )?;
        }
        env.write_config(&config);
        let listed = env.mux(["--json", "tools"]);
        ensure!(listed.code == 0, "{}", listed.stderr);
        Ok(Self { env })
    }

    /// Puts the servers of a task into its initial state.
    pub(crate) fn reset(&self, task: &SuiteTask) -> anyhow::Result<()> {
        for server in task.servers() {
            self.order(server, &json!({ "reset": task.id }))?;
        }
        Ok(())
    }

    /// The state of the servers of a task.
    pub(crate) fn state(&self, task: &SuiteTask) -> anyhow::Result<Vec<Value>> {
        let order = json!({ "state": true });
        task.servers()
            .map(|server| self.order(server, &order))
            .collect()
    }

    fn order(&self, server: &str, order: &Value) -> anyhow::Result<Value> {
        let mut stream = UnixStream::connect(control(&self.env, server))
            .with_context(|| format!("the server {server} does not run"))?;
        stream.set_read_timeout(Some(RESET_TIMEOUT))?;
        writeln!(stream, "{order}")?;
        let mut reply = String::new();
        BufReader::new(stream).read_line(&mut reply)?;
        serde_json::from_str(&reply).with_context(|| format!("{server} cannot obey {order}"))
    }
}

fn control(env: &TestEnv, server: &str) -> PathBuf {
    env.path(&format!("{}.control", entry_name(server)))
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bill/server.py")
}
