//! `sandbox = { … }` of a server, and `[sandbox]`: the access of a server that runs as a process.
//!
//! Invariant: a sandbox with an error never means "no sandbox": its server does not start until the error is fixed.

use std::path::{Path, PathBuf};

use mux_config::{
    ConfigProblem, EntryError, ProcessCount, SandboxEntry, SandboxMode, SandboxNetwork,
    SwitchOrTable,
    environment::{Environment, WORKSPACE_PLACEHOLDER},
};

use super::workspace::resolve_path;

/// The sandbox of a server, if it has one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SandboxSetting {
    On(ServerSandbox),
    /// The server has all of the user's rights. `chosen` is true if its entry or `mode = "off"` says so; it is then
    /// not reported.
    Off {
        chosen: bool,
    },
}

/// The grants of a sandbox, in addition to what every program needs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ServerSandbox {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub network: SandboxNetwork,
    /// In bytes, of all processes together.
    pub memory: Option<u64>,
    /// As the entry says. The limit is [`Self::max_processes`].
    pub processes: Option<u32>,
}

impl SandboxSetting {
    pub(super) fn resolve(
        written: Option<SwitchOrTable<SandboxEntry>>,
        mode: SandboxMode,
        environment: &Environment,
        home: &Path,
    ) -> Result<Self, EntryError> {
        let entry = match (written, mode) {
            (Some(SwitchOrTable::Switch(false)), _) | (None, SandboxMode::Off) => {
                return Ok(Self::Off { chosen: true });
            }
            (None, SandboxMode::Warn) => return Ok(Self::Off { chosen: false }),
            (Some(SwitchOrTable::Switch(true)), _) | (None, SandboxMode::Enforce) => {
                SandboxEntry::default()
            }
            (Some(SwitchOrTable::Table(entry)), _) => entry,
        };
        ServerSandbox::resolve(entry, environment, home).map(Self::On)
    }

    pub fn sandbox(&self) -> Option<&ServerSandbox> {
        match self {
            Self::On(sandbox) => Some(sandbox),
            Self::Off { .. } => None,
        }
    }

    pub(super) fn sandbox_mut(&mut self) -> Option<&mut ServerSandbox> {
        match self {
            Self::On(sandbox) => Some(sandbox),
            Self::Off { .. } => None,
        }
    }
}

impl ServerSandbox {
    fn resolve(
        entry: SandboxEntry,
        environment: &Environment,
        home: &Path,
    ) -> Result<Self, EntryError> {
        let paths = |key: &str, texts: &[String]| {
            let paths = texts.iter();
            paths
                .map(|text| path(key, text, environment, home))
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            read: paths("read", &entry.read)?,
            write: paths("write", &entry.write)?,
            network: entry.network,
            memory: entry.memory.map(|memory| memory.0.0),
            processes: entry.processes.map(ProcessCount::as_u32),
        })
    }

    /// The processes and threads that the server may have at the same time.
    pub fn max_processes(&self) -> u32 {
        self.processes.unwrap_or(ProcessCount::default().as_u32())
    }

    /// The granted paths, each with its key. Paths in a workspace are not known yet.
    fn known_paths(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let read = self.read.iter().map(|path| ("read", path));
        let write = self.write.iter().map(|path| ("write", path));
        read.chain(write)
            .filter(|(_, path)| !path.to_string_lossy().contains(WORKSPACE_PLACEHOLDER))
            .map(|(key, path)| (key, path.as_path()))
    }

    /// The granted paths that do not exist, each with its key. Blocks while a file system does not answer.
    pub fn missing_paths(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.known_paths().filter(|(_, path)| !path.exists())
    }
}

/// A path that the `sandbox` of a server grants.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EntryPath {
    pub server: String,
    /// `read` or `write`.
    key: &'static str,
    pub path: PathBuf,
}

impl EntryPath {
    pub(super) fn all_of<'a>(
        server: &'a str,
        sandbox: &'a ServerSandbox,
    ) -> impl Iterator<Item = Self> {
        sandbox.known_paths().map(|(key, path)| Self {
            server: server.to_owned(),
            key,
            path: path.to_owned(),
        })
    }

    pub fn is_write(&self) -> bool {
        self.key == "write"
    }

    /// The path leads to `real` by a link that another server may change.
    pub fn led_elsewhere(&self, link: &Path, by: &str, real: &Path) -> ConfigProblem {
        let key = self.key;
        let link = link.display();
        let shown = real.to_string_lossy();
        self.problem(&format!(
            "leads to {} by the link {link}, which the server `{by}` may change: the server does not start; write {shown:?} in sandbox.{key} if you want that",
            real.display()
        ))
    }

    /// The path does not exist.
    pub fn missing(&self) -> ConfigProblem {
        let key = self.key;
        self.problem(&format!(
            "does not exist; create it or remove it from sandbox.{key}: the server does not start"
        ))
    }

    /// The file system of the path does not answer.
    pub fn unanswered(&self) -> ConfigProblem {
        let key = self.key;
        self.problem(&format!(
            "does not answer; mount its file system again or remove it from sandbox.{key}: the server may not start"
        ))
    }

    fn problem(&self, what: &str) -> ConfigProblem {
        let Self { server, key, path } = self;
        let message = format!("[servers.{server}]: {} {what}", path.display());
        ConfigProblem::at(&["servers", server, "sandbox", key], message)
    }
}

fn path(
    key: &str,
    text: &str,
    environment: &Environment,
    home: &Path,
) -> Result<PathBuf, EntryError> {
    if text.is_empty() {
        return Err(format!("sandbox.{key} has an empty path").into());
    }
    let expanded = environment
        .expand_path(text)
        .map_err(|error| error.in_key(&format!("sandbox.{key}")))?;
    // Such a path is not checked for existence, because its file system may not answer.
    if expanded.contains(['*', '?']) {
        return Err(format!(
            "sandbox.{key} = {text:?} is not a path: patterns are not supported, name the directory"
        )
        .into());
    }
    Ok(resolve_path(home, &expanded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ServerEndpoint, Settings};
    use mux_config::Config;

    fn resolved(text: &str) -> (Result<SandboxSetting, String>, Vec<String>) {
        let config = Config::parse(text, "c").unwrap();
        let environment = Environment::of([("HOME".into(), "/home/me".into())]);
        let settings = Settings::resolve(config, &environment, Path::new("/home/me"));
        let problems = settings.problems.iter().map(ToString::to_string).collect();
        let definition = settings.servers["a"].definition.clone();
        let setting = definition.map(|definition| match definition.endpoint {
            ServerEndpoint::Process(process) => process.sandbox,
            _ => panic!("{text}"),
        });
        (setting.map_err(|error| error.to_string()), problems)
    }

    fn entry(sandbox: &str) -> Result<SandboxSetting, String> {
        resolved(&format!(
            "[servers.a]\ncommand = \"x\"\nsandbox = {sandbox}\n"
        ))
        .0
    }

    #[test]
    fn entry_is_read_with_its_paths_hosts_and_limits() {
        let Ok(SandboxSetting::On(sandbox)) = entry(
            "{ read = [\"~/notes\", \"${workspace}/docs\"], write = [\"out\"], network = [\"api.example.com:443\", \"*.B.org\"], memory = \"512MiB\", processes = 64 }",
        ) else {
            panic!()
        };
        assert_eq!(sandbox.read[0], Path::new("/home/me/notes"));
        assert!(
            sandbox.read[1]
                .to_str()
                .unwrap()
                .starts_with(WORKSPACE_PLACEHOLDER)
        );
        assert_eq!(sandbox.write, [Path::new("/home/me/out")]);
        assert_eq!(sandbox.network.to_string(), "api.example.com:443, *.b.org");
        assert_eq!(
            (sandbox.memory, sandbox.processes),
            (Some(512 << 20), Some(64))
        );
    }

    #[test]
    fn mode_is_for_entries_that_say_nothing() {
        let off = |chosen| Ok(SandboxSetting::Off { chosen });
        let server = "[servers.a]\ncommand = \"x\"\n";
        assert_eq!(resolved(server).0, off(false));
        assert_eq!(entry("false"), off(true));
        assert!(matches!(entry("true"), Ok(SandboxSetting::On(_))));
        for (mode, expected, problems) in [
            ("warn", Some(off(false)), 0),
            ("off", Some(off(true)), 0),
            ("enforce", None, 0),
            ("enforced", None, 1),
        ] {
            let (setting, found) = resolved(&format!("[sandbox]\nmode = \"{mode}\"\n{server}"));
            match expected {
                Some(expected) => assert_eq!(setting, expected, "{mode}"),
                None => assert!(matches!(setting, Ok(SandboxSetting::On(_))), "{mode}"),
            }
            assert_eq!(found.len(), problems, "{mode}: {found:?}");
        }
    }

    #[test]
    fn mistakes_disable_the_entry_and_name_the_fix() {
        for (sandbox, part) in [
            ("1", "must be true, false or a table"),
            ("{ raed = [] }", "did you mean `sandbox.read`"),
            ("{ read = \"x\" }", "sandbox"),
            ("{ read = [\"\"] }", "empty path"),
            ("{ read = [\"~root/x\"] }", "~/ and a path"),
            ("{ write = [\"/srv/*.txt\"] }", "name the directory"),
            ("{ network = 1 }", "list of hosts"),
            ("{ network = \"some\" }", "must be none, any"),
            ("{ network = [\"https://a.example\"] }", "write its host"),
            ("{ network = [\"a b\"] }", "not a host"),
            ("{ network = [\"a:0\"] }", "from 1 to 65535"),
            ("{ network = [\"*\"] }", "network = \"any\""),
            ("{ network = [\"[::1\"] }", "lacks a `]`"),
            ("{ network = [\"[::1]80\"] }", "after the `]`"),
            ("{ memory = \"lots\" }", "not a size"),
            ("{ memory = \"1KiB\" }", "between 16MiB"),
            ("{ processes = 1 }", "between 8 and 65536"),
        ] {
            let error = entry(sandbox).unwrap_err();
            assert!(error.contains(part), "{sandbox}: {error}");
        }
        let (remote, _) = resolved("[servers.a]\ncommand = \"\"\nurl = \"x\"\n");
        assert!(remote.is_err());
    }

    #[test]
    fn granted_paths_are_listed_for_a_check_and_not_looked_at() {
        let config = "[servers.a]\ncommand = \"x\"\nsandbox = { read = [\"/nonexistent/notes\", \"${workspace}\"], write = [\"/\"] }\n";
        let config = Config::parse(config, "c").unwrap();
        let settings = Settings::resolve(config, &Environment::default(), Path::new("/"));
        assert_eq!(settings.problems, []);
        let grants = settings.sandbox_grants();
        let paths: Vec<_> = grants.iter().map(|grant| grant.path.as_path()).collect();
        assert_eq!(paths, [Path::new("/nonexistent/notes"), Path::new("/")]);
        let problem = grants[0].missing();
        assert_eq!(problem.keys, ["servers", "a", "sandbox", "read"]);
        assert!(
            problem
                .message
                .contains("/nonexistent/notes does not exist"),
            "{problem:?}"
        );
    }
}
