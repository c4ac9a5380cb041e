//! `sandbox = { … }` of a server, and `[sandbox]`: the access of a server that runs as a process.
//!
//! Invariant: a sandbox with an error never means "no sandbox": its server does not start until the error is fixed.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    path::{Path, PathBuf},
    str::FromStr,
};

use bytesize::ByteSize;
use mux_config::{
    ConfigProblem, EntryError, NetworkEntry, SandboxChoice, SandboxDefaultsEntry, SandboxEntry,
    SizeEntry,
    environment::{Environment, WORKSPACE_PLACEHOLDER},
};

use super::{server::parse_choice, workspace::resolve_path};

const MIB: u64 = 1 << 20;
const DEFAULT_SANDBOX_PROCESSES: u32 = 256;

/// The sandbox mode of servers whose entry has no `sandbox`.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Eq,
    PartialEq,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum SandboxMode {
    /// These servers run in a sandbox that grants no access to the user's files.
    Enforce,
    /// These servers run without a sandbox, and are reported.
    #[default]
    Warn,
    /// These servers run without a sandbox.
    Off,
}

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

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum SandboxNetwork {
    #[default]
    None,
    Any,
    Hosts(Vec<HostPattern>),
}

/// `host`, `host:port`, or `*.domain` with or without a port.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostPattern {
    /// In lower case, without brackets and the trailing dot.
    host: String,
    /// The pattern is for every host below `host`.
    below: bool,
    port: Option<u16>,
}

impl SandboxMode {
    pub(super) fn word(self) -> &'static str {
        self.into()
    }

    /// An unknown word selects the strictest mode, because its user most likely meant to have a sandbox.
    pub(super) fn resolve(entry: &SandboxDefaultsEntry, problems: &mut Vec<ConfigProblem>) -> Self {
        match parse_choice(entry.mode.as_deref(), "mode") {
            Ok(mode) => mode.unwrap_or_default(),
            Err(problem) => {
                let message = format!("[sandbox] {problem}; enforce applies until it is");
                problems.push(ConfigProblem::at(&["sandbox", "mode"], message));
                Self::Enforce
            }
        }
    }
}

impl SandboxSetting {
    pub(super) fn resolve(
        written: Option<&toml::Value>,
        mode: SandboxMode,
        environment: &Environment,
        home: &Path,
    ) -> Result<Self, EntryError> {
        match (written.map(SandboxChoice::read).transpose()?, mode) {
            (Some(SandboxChoice::Off), _) | (None, SandboxMode::Off) => {
                Ok(Self::Off { chosen: true })
            }
            (None, SandboxMode::Warn) => Ok(Self::Off { chosen: false }),
            (None, SandboxMode::Enforce) => {
                ServerSandbox::resolve(SandboxEntry::default(), environment, home).map(Self::On)
            }
            (Some(SandboxChoice::On(entry)), _) => {
                ServerSandbox::resolve(entry, environment, home).map(Self::On)
            }
        }
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
        let processes = entry.processes;
        if processes.is_some_and(|processes| !(8..=65_536).contains(&processes)) {
            return Err("sandbox.processes must be a number from 8 to 65536".into());
        }
        Ok(Self {
            read: paths("read", &entry.read)?,
            write: paths("write", &entry.write)?,
            network: SandboxNetwork::resolve(entry.network.as_ref())?,
            memory: entry.memory.as_ref().map(memory).transpose()?,
            processes,
        })
    }

    /// The processes and threads that the server may have at the same time.
    pub fn max_processes(&self) -> u32 {
        self.processes.unwrap_or(DEFAULT_SANDBOX_PROCESSES)
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

/// A path in the `sandbox` of a server, and its problem, if any.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SandboxGrant {
    pub server: String,
    /// `read` or `write`.
    key: &'static str,
    pub path: PathBuf,
}

impl SandboxGrant {
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
        self.problem(&format!(
            "leads to {} by the link {link}, which the server `{by}` may change: the server does not start; write {real:?} in sandbox.{key} if you want that",
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

fn memory(written: &SizeEntry) -> Result<u64, String> {
    let bytes = match written {
        SizeEntry::Bytes(bytes) => *bytes,
        SizeEntry::Text(text) => ByteSize::from_str(text)
            .map_err(|_| format!("sandbox.memory = {text:?} is not a size such as \"512MiB\""))?
            .as_u64(),
    };
    if (16 * MIB..=MIB << 20).contains(&bytes) {
        Ok(bytes)
    } else {
        Err("sandbox.memory must be between 16MiB and 1TiB".into())
    }
}

impl SandboxNetwork {
    /// The listed hosts that must be resolved: no patterns and no addresses.
    pub(super) fn host_names(&self) -> impl Iterator<Item = &str> {
        let hosts = match self {
            Self::Hosts(hosts) => hosts.as_slice(),
            Self::None | Self::Any => &[],
        };
        let names = hosts.iter().filter(|pattern| !pattern.below);
        names
            .map(|pattern| pattern.host.as_str())
            .filter(|host| host.parse::<IpAddr>().is_err())
    }

    fn resolve(written: Option<&NetworkEntry>) -> Result<Self, String> {
        match written {
            None => Ok(Self::None),
            Some(NetworkEntry::Word(word)) => match word.as_str() {
                "none" => Ok(Self::None),
                "any" => Ok(Self::Any),
                _ => Err(format!(
                    "sandbox.network = {word:?} must be none, any, or a list of hosts such as [\"api.example.com:443\"]"
                )),
            },
            Some(NetworkEntry::Hosts(hosts)) if hosts.is_empty() => Ok(Self::None),
            Some(NetworkEntry::Hosts(hosts)) => {
                let hosts = hosts.iter().map(|host| host.parse());
                hosts.collect::<Result<_, _>>().map(Self::Hosts)
            }
        }
    }
}

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |why: &str| Err(format!("sandbox.network has {text:?}, {why}"));
        if text.contains("://") || text.contains('/') {
            return refused("which is a URL: write its host, as in \"api.example.com:443\"");
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((host, "")) => (host, None),
                Some((host, port)) if port.starts_with(':') => (host, Some(&port[1..])),
                Some(_) => return refused("which has something else than a port after the `]`"),
                None => return refused("which lacks a `]`"),
            },
            // An IPv6 address without brackets has no port.
            None if text.parse::<Ipv6Addr>().is_ok() => (text, None),
            None => text
                .split_once(':')
                .map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) if port > 0 => Some(port),
            Some(_) => return refused("whose port is not a number from 1 to 65535"),
        };
        let (host, below) = match host.strip_prefix("*.") {
            Some(domain) => (domain, true),
            None => (host, false),
        };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if host == "*" {
            return refused("which is every host: write network = \"any\"");
        }
        let is_name = host.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && label
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        });
        if !(is_name || !below && host.parse::<IpAddr>().is_ok()) {
            return refused(
                "which is not a host: write a name such as \"api.example.com\" or \"*.example.com\"",
            );
        }
        Ok(Self { host, below, port })
    }
}

impl HostPattern {
    pub fn matches(&self, host: &str, port: u16) -> bool {
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .trim_end_matches('.')
            .to_ascii_lowercase();
        let is_host = if self.below {
            host.strip_suffix(&self.host)
                .is_some_and(|rest| rest.ends_with('.') && rest.len() > 1)
        } else {
            host == self.host
        };
        is_host && self.port.is_none_or(|own| own == port)
    }
}

impl HostPattern {
    /// Returns true if the pattern is an address, or the name of this machine: its user also means the machine itself.
    pub fn is_address_or_local(&self) -> bool {
        self.host.parse::<IpAddr>().is_ok() || self.host == "localhost"
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = if self.below { "*." } else { "" };
        match (self.host.contains(':'), self.port) {
            (true, Some(port)) => write!(f, "[{}]:{port}", self.host),
            (false, Some(port)) => write!(f, "{below}{}:{port}", self.host),
            (_, None) => write!(f, "{below}{}", self.host),
        }
    }
}

impl fmt::Display for SandboxNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Any => f.write_str("any"),
            Self::Hosts(hosts) => {
                let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
                f.write_str(&hosts.join(", "))
            }
        }
    }
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
        let setting = definition.map(|definition| match definition.link {
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
            ("{ processes = 1 }", "from 8 to 65536"),
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

    #[test]
    fn host_patterns_match_hosts_in_every_spelling() {
        for (pattern, host, port, expected) in [
            ("api.example.com:443", "api.example.com", 443, true),
            ("api.example.com:443", "API.example.com.", 443, true),
            ("api.example.com:443", "api.example.com", 80, false),
            ("api.example.com", "api.example.com", 80, true),
            ("api.example.com", "evil-api.example.com", 443, false),
            ("*.example.com", "a.b.example.com", 443, true),
            ("*.example.com", "example.com", 443, false),
            ("*.example.com", "badexample.com", 443, false),
            ("*.example.com", ".example.com", 443, false),
            ("[::1]:80", "[::1]", 80, true),
            ("::1", "::1", 9, true),
            ("127.0.0.1", "127.0.0.1", 9, true),
        ] {
            let pattern: HostPattern = pattern.parse().unwrap();
            assert_eq!(pattern.matches(host, port), expected, "{pattern} {host}");
        }
    }
}
