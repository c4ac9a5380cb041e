//! The configuration file as the user wrote it.
//!
//! It knows `mux-secrets`, `mux-text`, and the keeper, through which commands are run. It knows no server, session or
//! settings: `mux-settings` turns this into checked values.
//!
//! - `agents`, `approvals`, `audit`, `limits`, `metrics`, `pins`, `policy`, `sources` and `telemetry` are the sections
//!   as written; the top level and servers are here. `line_index` finds on which line of the file something is, `expanded_texts`
//!   which texts are expanded and what they name, `parse_errors` what a mistake in a file is called.
//! - `environment` is the environment that servers get: the user's login shell's and the `env` file's, and never that
//!   of the client that started the daemon. `environment/parts` takes texts apart, `environment/commands` asks commands
//!   (`${cmd:…}`). A named secret (`${keyring:NAME}`) is a value of the credential store, which `environment` puts in.
//!
//! Invariants:
//!
//! - One entry that cannot be used disables that entry alone. Only a file that is not TOML, or whose top level is
//!   wrong, is refused as a whole.
//! - No message repeats a value of the file: it may be half of a secret.
//! - A server sees a short list of variables and what its entry declares; everything else that a login shell exports
//!   serves `${VAR}` and `${cmd:…}` only.

mod agents;
mod approvals;
mod audit;
pub mod environment;
mod expanded_texts;
mod limits;
mod line_index;
mod metrics;
pub mod parse_errors;
mod pins;
mod policy;
mod sources;
mod telemetry;

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use toml::{Table, Value};

pub use self::approvals::ApprovalsEntry;
pub use self::{
    agents::AgentEntry,
    audit::AuditEntry,
    limits::{LimitsEntry, SizeEntry},
    line_index::LineIndex,
    metrics::MetricsEntry,
    pins::PinsEntry,
    policy::{AnnotationsEntry, PolicyEntry},
    sources::{CredentialEntry, SourceEntry},
    telemetry::TelemetryEntry,
};
use mux_text::did_you_mean::nearest;

const TOP_LEVEL_KEYS: &[&str] = &[
    "servers",
    "sources",
    "policy",
    "limits",
    "daemon",
    "check",
    "agents",
    "pins",
    "approvals",
    "audit",
    "metrics",
    "telemetry",
];

/// Everything in the file, entry by entry.
#[derive(Debug, Default)]
pub struct Config {
    pub servers: BTreeMap<String, Result<ServerEntry, String>>,
    pub sources: BTreeMap<String, Result<SourceEntry, String>>,
    pub policy: Vec<PolicyEntry>,
    pub limits: LimitsEntry,
    pub daemon: DaemonEntry,
    pub check: CheckEntry,
    pub agents: BTreeMap<String, AgentEntry>,
    pub pins: PinsEntry,
    pub audit: AuditEntry,
    pub metrics: MetricsEntry,
    pub approvals: ApprovalsEntry,
    pub telemetry: TelemetryEntry,
    /// What was ignored, and why.
    pub problems: Vec<String>,
}

/// The file as a whole cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {path}: {source}")]
    Read {
        path: String,
        source: std::io::Error,
    },
    #[error("{path} is not valid TOML: {message}")]
    Syntax { path: String, message: String },
    #[error("{path}: {message}")]
    Shape { path: String, message: String },
}

impl ConfigError {
    /// The line on which it stands, if that is known, and what is wrong there.
    pub fn at(&self) -> (Option<usize>, String) {
        let message = match self {
            Self::Read { .. } => return (None, self.to_string()),
            Self::Syntax { message, .. } | Self::Shape { message, .. } => message,
        };
        let place = message.strip_prefix("line ").and_then(|rest| {
            let (line, rest) = rest.split_once(", column ")?;
            Some((line.parse().ok()?, rest.split_once(": ")?.1))
        });
        match place {
            Some((line, message)) => (Some(line), format!("it is not valid TOML: {message}")),
            None => (None, message.clone()),
        }
    }
}

/// `[servers.NAME]`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ServerEntry {
    pub command: Option<String>,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub cwd: Option<String>,
    pub url: Option<String>,
    pub headers: BTreeMap<String, String>,
    pub share: Option<String>,
    /// What it is told when it asks for roots.
    pub roots: Option<RootsEntry>,
    pub tools: ToolsEntry,
    /// `false` keeps the entry and offers nothing of it.
    pub enabled: Option<bool>,
    /// From the start of the process to its list of tools, such as `"60s"`.
    pub start_timeout: Option<String>,
    /// One call, from its last sign of life, such as `"2m"`.
    pub call_timeout: Option<String>,
    /// One call, however much progress it makes.
    pub total_timeout: Option<String>,
    /// Calls on their way at once, in place of `limits.calls_per_server`.
    pub calls_at_once: Option<usize>,
    /// `auto`, `streamable-http` or `sse`, for a `url`.
    pub transport: Option<String>,
    /// `auto`, `2026-07-28` or `2025-11-25`: the revision of MCP in which sessions are opened.
    pub era: Option<String>,
    /// A Unix socket that takes the requests for the `url`.
    pub socket: Option<String>,
    pub oauth: Option<OauthEntry>,
    /// `lazy` or `eager`.
    pub start: Option<String>,
    /// Without calls, such as `"30m"`; or `"never"`.
    pub idle_close: Option<String>,
    /// `never`, `read_only` or `idempotent`: what is sent again if nobody knows whether it happened.
    pub retry: Option<String>,
    /// As `[pins] on_change`, for this server's tools.
    pub pins: Option<String>,
    /// `error`, `warn` or `off`: what becomes of a result that is not as its tool declares.
    pub check_results: Option<String>,
}

/// `roots = "workspace"`, `"none"`, or a list of directories.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum RootsEntry {
    Word(String),
    Directories(Vec<String>),
}

/// `oauth = false`, or what is known of the client.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum OauthEntry {
    Switch(bool),
    Own(OauthClient),
}

/// `oauth = { … }` of a server.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct OauthClient {
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// Of the authorization server where this client is registered.
    pub issuer: Option<String>,
    pub scopes: Vec<String>,
    /// Of the callback on the loopback interface.
    pub port: Option<u16>,
}

impl ServerEntry {
    const KEYS: &[&str] = &[
        "command",
        "args",
        "env",
        "cwd",
        "url",
        "headers",
        "share",
        "roots",
        "tools",
        "enabled",
        "start_timeout",
        "call_timeout",
        "total_timeout",
        "calls_at_once",
        "transport",
        "era",
        "socket",
        "oauth",
        "start",
        "idle_close",
        "retry",
        "pins",
        "check_results",
    ];
}

/// `tools = { … }` of a server.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ToolsEntry {
    pub exclude: Vec<String>,
    pub direct: Vec<String>,
}

/// `[daemon]`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct DaemonEntry {
    /// Without clients and runs, such as `"3h"`; `"never"` switches it off.
    pub idle_exit: Option<String>,
    /// `"auto"`: tokens go into the system's keyring, if there is one; `"never"`: into a file.
    pub keyring: Option<String>,
}

/// `[check]`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct CheckEntry {
    /// `"error"`, `"warn"` or `"off"`.
    pub mode: Option<String>,
    /// TypeScript's native compiler.
    pub tsc: Option<String>,
}

impl Config {
    /// The text of the file; `None` if there is no such file.
    pub fn read(path: &Path) -> Result<Option<String>, ConfigError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ConfigError::Read {
                path: path.display().to_string(),
                source,
            }),
        }
    }

    /// `path` is for the errors.
    pub fn parse(text: &str, path: &str) -> Result<Self, ConfigError> {
        let table: Table = toml::from_str(text).map_err(|e| ConfigError::Syntax {
            path: path.to_owned(),
            message: parse_errors::syntax(&e, text),
        })?;
        Self::of(table).map_err(|message| ConfigError::Shape {
            path: path.to_owned(),
            message,
        })
    }

    /// The same of what was read already.
    pub fn of(table: Table) -> Result<Self, String> {
        let mut config = Self::default();
        for (key, value) in table {
            match key.as_str() {
                "servers" => config.servers = read_entries(value, "servers", read_server)?,
                "sources" => config.sources = read_entries(value, "sources", SourceEntry::read)?,
                "policy" if value.is_array() => config.policy = PolicyEntry::read_rules(value),
                "policy" => return Err("`policy` must be rules: [[policy]]".into()),
                "limits" => config.limits = deserialize_entry(value, "limits")?,
                "check" => config.check = deserialize_entry(value, "check")?,
                "agents" => config.read_agents(value)?,
                "pins" => config.pins = deserialize_entry(value, "pins")?,
                "audit" => config.audit = deserialize_entry(value, "audit")?,
                "metrics" => config.metrics = deserialize_entry(value, "metrics")?,
                "approvals" => config.approvals = deserialize_entry(value, "approvals")?,
                "telemetry" => config.telemetry = deserialize_entry(value, "telemetry")?,
                "daemon" => config.daemon = deserialize_entry(value, "daemon")?,
                unknown => {
                    config.problems.push(format!(
                        "{} is ignored",
                        unknown_key_message(unknown, TOP_LEVEL_KEYS)
                    ));
                }
            }
        }
        Ok(config)
    }

    fn read_agents(&mut self, value: Value) -> Result<(), String> {
        let Value::Table(agents) = value else {
            return Err("`agents` must be tables: [agents.NAME]".into());
        };
        for (name, value) in agents {
            let agent = AgentEntry::read(&name, value, &mut self.problems)?;
            self.agents.insert(name, agent);
        }
        Ok(())
    }
}

/// The tables of a section, each read by itself.
fn read_entries<T>(
    value: Value,
    section: &str,
    read: fn(Value) -> Result<T, String>,
) -> Result<BTreeMap<String, Result<T, String>>, String> {
    match value {
        Value::Table(table) => {
            let entries = table.into_iter();
            Ok(entries.map(|(name, value)| (name, read(value))).collect())
        }
        _ => Err(format!("`{section}` must be tables: [{section}.NAME]")),
    }
}

fn read_server(value: Value) -> Result<ServerEntry, String> {
    check_keys(
        &value,
        ServerEntry::KEYS,
        "must be a table with `command`, as in [servers.NAME]",
    )?;
    deserialize_entry(value, "the entry")
}

fn check_keys(value: &Value, known: &[&str], shape: &str) -> Result<(), String> {
    let Value::Table(table) = value else {
        return Err(shape.to_owned());
    };
    if let Some(unknown) = table.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(unknown_key_message(unknown, known));
    }
    if let Some(Value::Table(tools)) = table.get("tools")
        && let Some(unknown) = tools
            .keys()
            .find(|key| !["exclude", "direct"].contains(&key.as_str()))
    {
        return Err(unknown_key_message(
            &format!("tools.{unknown}"),
            &["tools.exclude", "tools.direct"],
        ));
    }
    Ok(())
}

fn deserialize_entry<T: serde::de::DeserializeOwned>(
    value: Value,
    what: &str,
) -> Result<T, String> {
    value
        .try_into()
        .map_err(|error| format!("{what}: {}", parse_errors::shape(&error)))
}

fn unknown_key_message(key: &str, known: &[&str]) -> String {
    match nearest(key, known.iter().copied()) {
        Some(near) => format!("unknown key `{key}` (did you mean `{near}`?)"),
        None => format!("unknown key `{key}` (known: {})", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Config {
        Config::parse(text, "config.toml").unwrap()
    }

    #[test]
    fn an_entry_with_a_mistake_is_the_only_one_that_suffers() {
        let config = parse(
            "[servers.a]\ncommand = \"x\"\n[servers.b]\ncomand = \"x\"\n[servers.c]\ncommand = 3\n",
        );
        assert!(config.servers["a"].is_ok());
        let b = config.servers["b"].as_ref().unwrap_err();
        assert!(b.contains("did you mean `command`"), "{b}");
        let c = config.servers["c"].as_ref().unwrap_err();
        assert!(c.contains("string"), "{c}");
    }

    #[test]
    fn a_file_that_is_not_toml_says_where() {
        let error =
            Config::parse("[servers.a]\ncommand = \"x\"\n[servers.a]\n", "c.toml").unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("line 3") && text.contains("duplicate"),
            "{text}"
        );
    }

    #[test]
    fn unknown_sections_are_named_with_the_nearest() {
        let config = parse("[server.a]\ncommand = \"x\"\n");
        assert!(
            config.problems[0].contains("did you mean `servers`"),
            "{:?}",
            config.problems
        );
    }

    #[test]
    fn a_missing_file_is_told_from_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        assert_eq!(Config::read(&file).unwrap(), None);
        std::fs::write(&file, "").unwrap();
        assert_eq!(Config::read(&file).unwrap().as_deref(), Some(""));
        assert!(Config::read(dir.path()).is_err());
    }
}
