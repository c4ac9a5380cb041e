//! The configuration, resolved: defaults filled in, variables expanded, every value checked.
//!
//! Invariant: what is passed down from here has no `Option` that means "default". Library code below
//! reads neither the environment nor the working directory.

mod agents;
mod checks;
mod limits;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use mux_sandbox::typegen::names::{RESERVED_SERVERS, is_server_name, spell};

pub use self::{
    agents::{Agents, View},
    checks::{Checks, Strictness},
    limits::Allowed,
};

use crate::{
    config::{Config, ServerEntry},
    environment::Environment,
    policy::Policy,
};

const START_TIMEOUT: Duration = Duration::from_secs(60);
const CALL_TIMEOUT: Duration = Duration::from_secs(300);
const IDLE_EXIT: Duration = Duration::from_secs(3 * 60 * 60);

/// What the daemon works with.
#[derive(Clone, Debug)]
pub struct Settings {
    pub servers: BTreeMap<String, ServerSettings>,
    pub policy: Policy,
    pub limits: Allowed,
    pub checks: Checks,
    pub agents: Agents,
    /// `None`: never.
    pub idle_exit: Option<Duration>,
    /// What was ignored, and why.
    pub problems: Vec<String>,
}

/// One server of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSettings {
    pub name: String,
    /// How to start it, or why it cannot be used.
    pub definition: Result<ServerDefinition, String>,
}

/// Everything that decides what a session of a server is. Two equal definitions share one.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerDefinition {
    pub command: String,
    pub args: Vec<String>,
    /// Command and arguments as they were written: an expanded variable may be a secret.
    pub written: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub cwd: PathBuf,
    /// Globs of tool names that are not offered.
    pub exclude: Vec<String>,
    pub start_timeout: Duration,
    pub call_timeout: Duration,
    /// Calls on their way at once; more wait in line.
    pub calls_at_once: usize,
    /// How long a client may take to answer what the server asks.
    pub ask: Duration,
}

impl ServerDefinition {
    /// The command line as one would type it, with the names of variables and without their values.
    pub fn command_line(&self) -> String {
        self.written
            .iter()
            .map(|word| {
                if word.contains([' ', '"', '\'']) {
                    format!("{word:?}")
                } else {
                    word.clone()
                }
            })
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl Settings {
    /// `home` is the directory in which servers start unless they say otherwise.
    pub fn resolve(config: Config, environment: &Environment, home: &Path) -> Self {
        let mut problems = config.problems;
        let limits = Allowed::resolve(&config.limits, &mut problems);
        let idle_exit = match config.daemon.idle_exit.as_deref() {
            None => Some(IDLE_EXIT),
            Some("never") => None,
            Some(text) => Some(
                duration(text, "daemon.idle_exit").unwrap_or_else(|problem| {
                    problems.push(problem);
                    IDLE_EXIT
                }),
            ),
        };
        let path = |text: &str| {
            let path = environment.expand(text)?;
            Ok(home.join(path).to_string_lossy().into_owned())
        };
        let checks = Checks::resolve(&config.check, &config.agents, path, &mut problems);
        let agents = Agents::resolve(&config.agents, &config.servers);
        let policy = Policy::new(&config.policy, &mut problems);
        let names: Vec<String> = config.servers.keys().cloned().collect();
        let terms = (limits.calls_per_server, limits.ask);
        let servers: BTreeMap<_, _> = config
            .servers
            .into_iter()
            .filter(|(_, entry)| !matches!(entry, Ok(e) if e.enabled == Some(false)))
            .map(|(name, entry)| {
                let definition = check_name(&name, &names)
                    .and(entry)
                    .and_then(|entry| define(entry, environment, home, terms));
                (name.clone(), ServerSettings { name, definition })
            })
            .collect();
        Self {
            servers,
            policy,
            limits,
            checks,
            agents,
            idle_exit,
            problems,
        }
    }
}

fn check_name(name: &str, all: &[String]) -> Result<(), String> {
    if !is_server_name(name) {
        return Err(format!(
            "the name {name:?} must match [A-Za-z][A-Za-z0-9_-]*; rename it"
        ));
    }
    if RESERVED_SERVERS.contains(&name) {
        return Err(format!(
            "the name `{name}` is reserved for `mux.{name}`; rename the server"
        ));
    }
    match all
        .iter()
        .find(|other| *other != name && spell(other) == spell(name))
    {
        Some(other) => Err(format!(
            "`{name}` and `{other}` would both be `mux.{}`; rename one of them",
            spell(name)
        )),
        None => Ok(()),
    }
}

fn define(
    entry: ServerEntry,
    environment: &Environment,
    home: &Path,
    (calls_at_once, ask): (usize, Duration),
) -> Result<ServerDefinition, String> {
    if entry.url.is_some() {
        return Err(
            "servers with a `url` are not supported by this version yet; use `command`".into(),
        );
    }
    if !entry.headers.is_empty() {
        return Err("`headers` go with `url`, which this version does not support yet".into());
    }
    match entry.share.as_deref() {
        None | Some("user") => {}
        Some(other @ ("workspace" | "client" | "run")) => {
            return Err(format!(
                "share = \"{other}\" is not supported by this version yet, and sharing the session \
                 more widely than you asked would be wrong; use share = \"user\" or leave it out"
            ));
        }
        Some(other) => {
            return Err(format!(
                "share = {other:?} is none of user, workspace, client, run"
            ));
        }
    }
    let expand = |text: &String| environment.expand(text);
    let command = entry.command.ok_or("`command` is missing")?;
    let written = std::iter::once(&command)
        .chain(&entry.args)
        .cloned()
        .collect();
    let command = expand(&command)?;
    if command.trim().is_empty() {
        return Err("`command` is empty".into());
    }
    let cwd = match &entry.cwd {
        Some(cwd) => home.join(expand(cwd)?),
        None => home.to_owned(),
    };
    let timeout = |text: &Option<String>, what, default| match text {
        Some(text) => duration(text, what),
        None => Ok(default),
    };
    Ok(ServerDefinition {
        command,
        written,
        args: entry.args.iter().map(expand).collect::<Result<_, _>>()?,
        env: entry
            .env
            .iter()
            .map(|(name, value)| Ok((name.clone(), expand(value)?)))
            .collect::<Result<_, String>>()?,
        cwd,
        exclude: entry.tools.exclude,
        start_timeout: timeout(&entry.start_timeout, "start_timeout", START_TIMEOUT)?,
        call_timeout: timeout(&entry.call_timeout, "call_timeout", CALL_TIMEOUT)?,
        calls_at_once,
        ask,
    })
}

fn duration(text: &str, what: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|e| format!("{what} = {text:?} is not a duration such as \"30s\" ({e})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(server: &str) -> String {
        let config = Config::parse(server, "config.toml").unwrap();
        let environment = Environment::of([("HOME".into(), "/home/me".into())]);
        let settings = Settings::resolve(config, &environment, Path::new("/home/me"));
        settings
            .servers
            .into_values()
            .find_map(|s| s.definition.err())
            .unwrap_or_default()
    }

    #[test]
    fn mistakes_name_the_way_out() {
        for (server, part) in [
            ("[servers.call]\ncommand = \"x\"", "reserved"),
            ("[servers.\"a.b\"]\ncommand = \"x\"", "must match"),
            (
                "[servers.a-b]\ncommand = \"x\"\n[servers.a_b]\ncommand = \"x\"",
                "mux.a_b",
            ),
            ("[servers.a]\n", "`command` is missing"),
            ("[servers.a]\ncommand = \"x\"\nargs = [\"${NOPE}\"]", "NOPE"),
            ("[servers.a]\nurl = \"https://x\"", "not supported"),
            (
                "[servers.a]\ncommand = \"x\"\nshare = \"run\"",
                "share = \"user\"",
            ),
            (
                "[servers.a]\ncommand = \"x\"\ncall_timeout = \"soon\"",
                "not a duration",
            ),
        ] {
            let text = problem(server);
            assert!(text.contains(part), "{server}: {text}");
        }
    }

    #[test]
    fn a_good_entry_is_resolved() {
        let config = Config::parse(
            "[servers.a]\ncommand = \"${HOME}/bin/x\"\nargs = [\"a b\"]\ncwd = \"notes\"\n[servers.b]\ncommand = \"y\"\nenabled = false\n[limits]\ncalls_per_server = 3",
            "c",
        )
        .unwrap();
        let environment = Environment::of([("HOME".into(), "/home/me".into())]);
        let settings = Settings::resolve(config, &environment, Path::new("/home/me"));
        let a = settings.servers["a"].definition.as_ref().unwrap();
        assert_eq!(a.command, "/home/me/bin/x");
        assert_eq!(a.cwd, Path::new("/home/me/notes"));
        assert_eq!(a.command_line(), "${HOME}/bin/x \"a b\"");
        assert_eq!(a.calls_at_once, 3);
        assert_eq!(settings.servers.len(), 1);
    }
}
