//! Resolves the configuration: expands variables, combines entries with the defaults of their section, and checks what
//! depends on several values. The types of `mux-config` check the other values, and have the defaults.
//!
//! Depends on `mux-config` (the file as read), `mux-policy`, `mux-secrets` and the sandbox's limits, and on no
//! server, session or client.
//!
//! - `server`, `sandbox`, `source`, `agents`, `approvals`, `check_mode`, `setting_limits`, `audit`, `results` and
//!   `telemetry` resolve one section each, `tool_overrides` those of a server's tools, `account` the name of a login.
//!   `source_values` checks a source's values. `remote` has the proxies and secrets of a server behind a URL. `roots`
//!   and `workspace` resolve settings that depend on the client's directory. `split_command` recognizes a command line
//!   in `command`.
//! - `settings_report` lists each value with its origin, `settings_text` writes them as a `config.toml`. `differences`
//!   compares two configurations. `entry_fingerprint` identifies an entry by its strings in the file.
//! - `projects` are servers that a project's files define: read (`project_files`, `mcp_json`), parsed
//!   (`project_content`), approved by digest (`project_approvals`), resolved (`project_servers`). Approved servers join
//!   the user's under the key `name@root`. `sources` in a project's file are ignored and reported.
//!
//! Denials of projects have precedence: the denials of every approved version in or above the caller's directory, which
//! `projects.json` keeps, and those of the current version.
//!
//! Invariants:
//!
//! - Resolved settings have no `Option` that means "default". Library code below reads neither the environment nor the
//!   working directory.
//! - Messages never repeat a value that may be a secret.
//! - A project's files start and run nothing unless the user has approved their current content at their current path.

mod account;
mod agents;
mod approvals;
mod audit;
mod check_mode;
mod differences;
mod entry_fingerprint;
mod excluded_tools;
mod history;
pub mod projects;
mod remote;
mod results;
mod roots;
mod sandbox;
mod server;
mod setting_limits;
mod settings_report;
mod settings_text;
mod source;
mod split_command;
mod telemetry;
mod tool_overrides;
mod workspace;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::Path,
    sync::Arc,
    time::Duration,
};

use mux_typegen::names::{is_reserved, is_server_name, spell};

pub use self::{
    agents::{AgentView, AgentViews},
    approvals::ApprovalSettings,
    audit::AuditRetention,
    check_mode::CheckModes,
    differences::{ConfigChanges, LoadedConfig},
    entry_fingerprint::EntryFingerprint,
    excluded_tools::ExcludedTools,
    history::HistorySettings,
    remote::{NetworkSettings, NetworkVariable},
    results::ResultSettings,
    roots::RootsSetting,
    sandbox::{EntryPath, SandboxSetting, ServerSandbox},
    server::{OauthSettings, ProcessServer, RemoteServer, ServerDefinition, ServerEndpoint},
    setting_limits::{AskLimits, LimitSettings, RunLimits, StoredValueLimits},
    settings_report::{HostDefaults, SettingRow},
    source::{DescriptionLocation, SourceCredential, SourceDefinition, SourceKind},
    telemetry::{TelemetrySettings, UnusableEndpoint},
    tool_overrides::ToolOverrides,
};

pub use mux_config::{
    AgentProfile, CheckMode, ClientAuthentication, EntryError, HostPattern, OnChange, ProtocolEra,
    RemoteTransport, RequestRate, ResultCheck, RetryPolicy, SandboxMode, SandboxNetwork,
    SecretSearch, ShareMode, StartMode, ToolOverrideEntry as ToolOverride,
};
use mux_config::{
    Config, ConfigProblem, Count, KeyringUse, LineIndex, ServerEntry, WrittenConfig,
    environment::Environment,
};
use mux_policy::PolicySet;

/// The resolved configuration of the daemon.
#[derive(Clone, Debug)]
pub struct Settings {
    pub servers: BTreeMap<String, ServerSettings>,
    /// Disabled servers and sources, each with its command line or URL, without secrets.
    pub disabled: BTreeMap<String, String>,
    /// The names that belong to sources, disabled or not.
    pub sources: BTreeSet<String>,
    pub policy: PolicySet,
    pub limits: LimitSettings,
    pub approvals: ApprovalSettings,
    /// Which runs are kept.
    pub history: HistorySettings,
    /// The run limits of each agent.
    pub runs: RunLimits,
    pub checks: CheckModes,
    pub agents: AgentViews,
    /// The profiles of the agents that have one in their entry.
    pub profiles: BTreeMap<String, AgentProfile>,
    /// The agents that have an entry.
    pub agent_names: BTreeSet<String>,
    pub server_defaults: ServerDefaults,
    /// Whether the audit log is on, and how much of it is kept.
    pub audit: (bool, AuditRetention),
    /// The address of the metrics port, or `None` if it is off.
    pub metrics: Option<SocketAddr>,
    /// The idle time after which the daemon exits. `None` means never.
    pub idle_exit: Option<Duration>,
    /// Servers that were called within this time are started with the daemon. `None` starts no server.
    pub prestart: Option<Duration>,
    /// Whether tokens are stored in the system's keyring. `None` lets the daemon's environment decide.
    pub keyring: Option<bool>,
    /// Where spans are exported, or `None` if they are not exported.
    pub telemetry: Option<Result<TelemetrySettings, UnusableEndpoint>>,
    /// The ignored values, with reasons.
    pub problems: Vec<ConfigProblem>,
    /// The lines of all keys in the configuration.
    pub lines: Arc<LineIndex>,
    pub written: Arc<WrittenConfig>,
}

/// One server of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSettings {
    pub name: String,
    /// The directory whose file defines it, for a server from a project.
    pub project: Option<Arc<Path>>,
    /// How to start it, or why it cannot be used.
    pub definition: Result<ServerDefinition, EntryError>,
}

impl ServerSettings {
    /// Resolves an entry. `names` are the names of all entries that are offered with it.
    fn new<T>(
        name: String,
        project: Option<Arc<Path>>,
        names: &[String],
        entry: Result<T, String>,
        resolve: impl FnOnce(T) -> Result<ServerDefinition, EntryError>,
    ) -> Self {
        let entry = check_name(&name, names).and(entry);
        let definition = entry.map_err(EntryError::from).and_then(resolve);
        Self {
            name,
            project,
            definition,
        }
    }

    pub fn key(&self) -> String {
        key(&self.name, self.project.as_deref())
    }

    /// The problem of a `command` that is a whole command line. A path may have spaces.
    fn command_problem(&self) -> Option<ConfigProblem> {
        let ServerEndpoint::Process(process) = &self.definition.as_ref().ok()?.endpoint else {
            return None;
        };
        let program = process.written.first()?.split_whitespace().next()?;
        if program.contains(std::path::is_separator) {
            return None;
        }
        let corrected = process.corrected_command()?;
        let name = &self.name;
        let message =
            format!("[servers.{name}]: `command` is the program alone; write {corrected}");
        Some(ConfigProblem::at(&["servers", name, "command"], message))
    }

    /// The problems of its tools' overrides. `section` is the section that has its entry.
    fn override_problems(&self, section: &str) -> Vec<ConfigProblem> {
        let Ok(definition) = &self.definition else {
            return Vec::new();
        };
        let name = &self.name;
        let mistakes = definition.overrides.mistakes();
        let problems = mistakes.map(|(tool, mistake)| {
            let message =
                format!("[{section}.{name}.override.{tool}]: {mistake}; the tool is not offered");
            ConfigProblem::at(&[section, name, "override", tool], message)
        });
        problems.collect()
    }

    /// The key in a form for file names, such as those of its log and its pins.
    pub fn identity(&self) -> String {
        let Some(root) = &self.project else {
            return self.name.clone();
        };
        let root = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        format!("{}@{}", self.name, &root[..16])
    }
}

/// A key that distinguishes servers of the same name in different projects. Server names have no `@`.
pub fn key(name: &str, project: Option<&Path>) -> String {
    match project {
        Some(root) => format!("{name}@{}", root.display()),
        None => name.to_owned(),
    }
}

/// The defaults for servers and sources, which their entries can override.
#[derive(Clone, Copy, Debug)]
pub struct ServerDefaults {
    pub calls_at_once: usize,
    pub ask: AskLimits,
    /// The reaction to a changed tool definition.
    pub on_change: OnChange,
    pub results: ResultSettings,
    /// The sandbox mode of servers whose entry has no `sandbox`.
    pub sandbox_mode: SandboxMode,
}

impl ServerDefaults {
    fn calls_at_once(&self, entry: Option<Count<1, 256>>) -> usize {
        entry.map_or(self.calls_at_once, Count::as_usize)
    }
}

impl Settings {
    /// Resolves a configuration. `home` is the default working directory of servers.
    pub fn resolve(config: Config, environment: &Environment, home: &Path) -> Self {
        let mut problems = config.problems;
        let limits = LimitSettings::of(&config.limits);
        let runs = RunLimits::of_agents(&limits.run, &config.agents);
        let path = |text: &str| {
            let path = environment.expand_path_without_workspace(text)?;
            Ok(home.join(path).to_string_lossy().into_owned())
        };
        let checks = CheckModes::resolve(&config.check, &config.agents, path, &mut problems);
        let agents = AgentViews::resolve(&config.agents, &config.servers, &config.sources);
        let profiles = config.agents.iter();
        let profiles = profiles.filter_map(|(name, agent)| Some((name.clone(), agent.profile?)));
        let policy = PolicySet::resolve(&config.policy, &config.agents, home, &mut problems);
        let names = config.servers.keys().chain(config.sources.keys());
        let names: Vec<String> = names.cloned().collect();
        let server_defaults = ServerDefaults {
            calls_at_once: limits.calls_per_server,
            ask: limits.ask,
            on_change: config.pins.on_change,
            results: ResultSettings::of(&config.results),
            sandbox_mode: config.sandbox.mode,
        };
        let history = HistorySettings::of(&config.history, &config.agents);
        let agent_names = config.agents.keys().cloned().collect();
        let telemetry = telemetry::resolve(&config.telemetry, environment);
        let mut disabled = BTreeMap::new();
        let mut servers = BTreeMap::new();
        for (name, entry) in config.servers {
            if let Ok(off) = &entry
                && off.enabled == Some(false)
            {
                let address = off.url.as_deref().map(mux_secrets::url::shown);
                disabled.insert(name, address.unwrap_or_else(|| masked_command_line(off)));
                continue;
            }
            let server = ServerSettings::new(name.clone(), None, &names, entry, |entry| {
                ServerDefinition::resolve(&entry, environment, home, server_defaults)
            });
            problems.extend(server.override_problems("servers"));
            problems.extend(server.command_problem());
            servers.insert(name, server);
        }
        account::refuse_contradictions(&mut servers, &config.lines);
        let mut sources = BTreeSet::new();
        for (name, entry) in config.sources {
            if servers.contains_key(&name) || disabled.contains_key(&name) {
                let message = format!(
                    "[sources.{name}] is ignored: [servers.{name}] has the same name; rename one of them"
                );
                problems.push(ConfigProblem::at(&["sources", &name], message));
                continue;
            }
            sources.insert(name.clone());
            if let Ok(off) = &entry
                && off.enabled == Some(false)
            {
                disabled.insert(name, source::shown(off.address().unwrap_or_default()));
                continue;
            }
            let source = ServerSettings::new(name.clone(), None, &names, entry, |entry| {
                ServerDefinition::of_source(entry, environment, home, server_defaults)
            });
            problems.extend(source.override_problems("sources"));
            servers.insert(name, source);
        }
        Self {
            servers,
            disabled,
            sources,
            policy,
            limits,
            approvals: ApprovalSettings::of(&config.approvals),
            history,
            runs,
            checks,
            agents,
            profiles: profiles.collect(),
            agent_names,
            server_defaults,
            audit: (
                config.audit.enabled.unwrap_or(true),
                AuditRetention::of(&config.audit),
            ),
            metrics: config.metrics.listen,
            idle_exit: config.daemon.idle_exit.0.map(|time| time.0),
            prestart: config.daemon.prestart.0.map(|time| time.0),
            keyring: config
                .daemon
                .keyring
                .map(|keyring| keyring == KeyringUse::Auto),
            telemetry,
            problems,
            lines: config.lines,
            written: config.written,
        }
    }
}

impl Settings {
    /// The paths that the sandboxes of servers grant. The caller checks whether they exist, because this may block.
    pub fn sandbox_grants(&self) -> Vec<EntryPath> {
        let grants = self
            .sandboxes()
            .flat_map(|(server, sandbox)| EntryPath::all_of(server, sandbox));
        grants.collect()
    }

    /// The host names that sandboxes list, each with the name of the server. Patterns and addresses are left out.
    pub fn sandbox_hosts(&self) -> Vec<(String, String)> {
        let hosts = self.sandboxes().flat_map(|(server, sandbox)| {
            let hosts = sandbox.network.host_names();
            hosts.map(move |host| (server.to_owned(), host.to_owned()))
        });
        hosts.collect()
    }

    fn sandboxes(&self) -> impl Iterator<Item = (&str, &ServerSandbox)> {
        self.servers.values().filter_map(|server| {
            let definition = server.definition.as_ref().ok()?;
            let sandbox = match &definition.endpoint {
                ServerEndpoint::Process(process) => process.sandbox.sandbox(),
                ServerEndpoint::Remote(_) | ServerEndpoint::Source(_) => None,
            };
            Some((server.name.as_str(), sandbox?))
        })
    }

    /// The section that has the entry of a server or source.
    pub fn section_of(&self, name: &str) -> &'static str {
        if self.sources.contains(name) {
            "sources"
        } else {
            "servers"
        }
    }

    /// Servers and sources that cannot be used, each with its section and why.
    pub fn unusable_servers(&self) -> impl Iterator<Item = (&str, ConfigProblem)> {
        self.servers.values().filter_map(|server| {
            let problem = server.definition.as_ref().err()?;
            let name = server.name.as_str();
            let section = self.section_of(name);
            let message = format!("[{section}.{name}]: {problem}");
            Some((name, ConfigProblem::at(&[section, name], message)))
        })
    }
}

/// An entry's command line, with secrets masked.
fn masked_command_line(entry: &ServerEntry) -> String {
    let words: Vec<String> = entry.command.iter().chain(&entry.args).cloned().collect();
    server::command_line(&mux_secrets::arguments::masked(&words))
}

/// The complete command line or URL of an entry, for the user to approve.
pub fn full_command_line(entry: &ServerEntry) -> String {
    match &entry.url {
        Some(url) => url.clone(),
        None => server::command_line(entry.command.iter().chain(&entry.args)),
    }
}

fn check_name(name: &str, all: &[String]) -> Result<(), String> {
    if !is_server_name(name) {
        return Err(format!(
            "the name {name:?} must match [A-Za-z][A-Za-z0-9_-]*; rename it"
        ));
    }
    if is_reserved(name) {
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
            .map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn errors_name_the_fix() {
        for (server, part) in [
            ("[servers.call]\ncommand = \"x\"", "reserved"),
            ("[servers.\"a.b\"]\ncommand = \"x\"", "must match"),
            (
                "[servers.a-b]\ncommand = \"x\"\n[servers.a_b]\ncommand = \"x\"",
                "mux.a_b",
            ),
            ("[servers.a]\n", "`command` is missing"),
            ("[servers.a]\ncommand = \"x\"\nargs = [\"${NOPE}\"]", "NOPE"),
            ("[servers.a]\nurl = \"ftp://x\"", "http://"),
            (
                "[servers.a]\nurl = \"https://x\"\nargs = [\"y\"]",
                "`command`",
            ),
            (
                "[servers.a]\ncommand = \"x\"\nheaders = { A = \"b\" }",
                "`url`",
            ),
            ("[servers.a]\ncommand = \"x\"\nshare = \"all\"", "workspace"),
            (
                "[servers.a]\nurl = \"https://x\"\noauth = { client_secret = \"s\", auth = \"jwt\" }",
                "none of basic, post",
            ),
            (
                "[servers.a]\nurl = \"https://x\"\noauth = { auth = \"post\" }",
                "there is none",
            ),
            (
                "[servers.a]\ncommand = \"x\"\ncalls_at_once = 0",
                "between 1 and 256",
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
    fn valid_entry_is_resolved() {
        let config = Config::parse(
            "[servers.a]\ncommand = \"${HOME}/bin/x\"\nargs = [\"a b\"]\ncwd = \"notes\"\n[servers.b]\ncommand = \"y\"\nenabled = false\n[limits]\ncalls_per_server = 3",
            "c",
        )
        .unwrap();
        let environment = Environment::of([("HOME".into(), "/home/me".into())]);
        let settings = Settings::resolve(config, &environment, Path::new("/home/me"));
        let a = settings.servers["a"].definition.as_ref().unwrap();
        assert_eq!(a.endpoint.shown(), "${HOME}/bin/x \"a b\"");
        let ServerEndpoint::Process(process) = &a.endpoint else {
            panic!("{a:?}");
        };
        assert_eq!(process.command, "/home/me/bin/x");
        assert_eq!(process.cwd, Path::new("/home/me/notes"));
        assert_eq!(a.calls_at_once, 3);
        assert_eq!(settings.servers.len(), 1);
        assert_eq!(settings.disabled["b"], "y");
    }

    #[test]
    fn server_overrides_on_change_and_invalid_value_means_refuse() {
        for (config, expected, problems) in [
            ("", OnChange::Refuse, 0),
            ("[pins]\non_change = \"warn\"\n", OnChange::Warn, 0),
            ("[pins]\non_change = \"never\"\n", OnChange::Refuse, 1),
        ] {
            let text = format!(
                "{config}[servers.a]\ncommand = \"x\"\n[servers.b]\ncommand = \"x\"\npins = \"off\"\n"
            );
            let config = Config::parse(&text, "c").unwrap();
            let settings =
                Settings::resolve(config, &Environment::default(), Path::new("/home/me"));
            let pins = |name: &str| settings.servers[name].definition.as_ref().unwrap().pins;
            assert_eq!((pins("a"), pins("b")), (expected, OnChange::Off), "{text}");
            assert_eq!(settings.problems.len(), problems, "{:?}", settings.problems);
        }
    }

    #[test]
    fn a_problem_names_the_keys_of_its_value() {
        let text = "unknown = 1\n[limits]\nwall = \"9h\"\n[daemon]\nkeyring = \"x\"\nidle_exit = \"x\"\n[check]\nmode = \"x\"\n\
                    [pins]\non_change = \"x\"\n[results]\nsecrets = \"x\"\n[audit]\nkeep = \"1s\"\n[metrics]\nlisten = \"x\"\n[approvals]\nheld = 0\n\
                    [agents.a]\ncheck = \"x\"\nlimits = { wall = \"9h\", heap = 1 }\npolicy = [{ action = \"x\" }]\n\
                    [servers.b]\n[sources.b]\nurl = \"x\"\n[[policy]]\nmatch = \"a\"\naction = \"x\"\n";
        let config = Config::parse(text, "c").unwrap();
        let settings = Settings::resolve(config, &Environment::default(), Path::new("/"));
        let servers = settings.unusable_servers().map(|(_, problem)| problem);
        let problems = settings.problems.iter().cloned().chain(servers);
        let mut keys: Vec<String> = problems.map(|problem| problem.keys.join(".")).collect();
        keys.sort();
        let expected = [
            "agents.a.check",
            "agents.a.limits.heap",
            "agents.a.limits.wall",
            "agents.a.policy.1",
            "approvals.held",
            "audit.keep",
            "check.mode",
            "daemon.idle_exit",
            "daemon.keyring",
            "limits.wall",
            "metrics.listen",
            "pins.on_change",
            "policy.1",
            "results.secrets",
            "servers.b",
            "sources.b",
            "unknown",
        ];
        assert_eq!(keys, expected);
    }
}
