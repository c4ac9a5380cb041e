//! The configuration file, read into types that state what each key allows and its default.
//!
//! This crate depends on `mux-secrets`, `mux-text`, and the keeper, which runs commands. This crate does not depend on
//! servers, sessions or settings. `mux-settings` expands references and resolves what depends on several values.
//!
//! - `agents`, `approvals`, `audit`, `limits`, `metrics`, `pins`, `policy`, `results`, `sandbox`, `sources` and
//!   `telemetry` are the sections, `tool_overrides` the overrides of tools. The top level and servers are here.
//!   `values` are durations, sizes and numbers with their ranges and defaults, `choices` words of a fixed list,
//!   `word_or_list` values of one of two types, `sandbox_network` hosts. `sections` reads a section without its wrong
//!   values. `units` writes durations and sizes. `line_index`: the lines of keys in the file. `expanded_texts`: the
//!   values that are expanded, and their references. `written_config`: all values as written. `parse_errors`: messages
//!   about errors in a file. `config_problem`: one error with its key. `entry_error`: why an entry cannot be used.
//!   `schema`: the JSON Schema of the file, made from these types. `account_name`: the syntax of account names.
//! - `environment`: the environment of servers, from the user's login shell and the `env` file, never from the client
//!   that started the daemon. `environment/text_references` parses references in values, `environment/command_values`
//!   runs commands (`${cmd:…}`). A named secret (`${keyring:NAME}`) is a value of the credential store.
//!
//! Invariants:
//!
//! - A value in which references are expanded is a string here. Every other value is checked when it is read.
//! - An invalid entry disables only that entry. In a section, a value that its key does not allow costs only that value,
//!   but an unknown key or a value of another TOML type rejects the whole file.
//! - No message repeats a value that may be part of a secret. `parse_errors::wrong_value` is for keys that never have one.
//! - A server gets a short list of variables and the variables that its entry declares. All other variables that a
//!   login shell exports are only used for `${VAR}` and `${cmd:…}`.

mod account_name;
mod agents;
mod approvals;
mod audit;
mod choices;
mod config_problem;
mod entry_error;
pub mod environment;
mod expanded_texts;
mod history;
mod limits;
mod line_index;
mod metrics;
pub mod parse_errors;
mod pins;
mod policy;
mod results;
mod sandbox;
mod sandbox_network;
pub mod schema;
mod sections;
mod sources;
mod telemetry;
mod tool_overrides;
pub mod units;
mod values;
mod word_or_list;
mod written_config;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use self::account_name::{account_name, account_pattern};
use self::choices::{or_auto, or_auto_schema};
use self::parse_errors::wrong_value;
use self::schema::{TOP_LEVEL_KEYS, globs, roots, text};
use self::sections::{checked_section, deserialize_section, read_section, remove_wrong_values};
use self::word_or_list::WordOrList;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use toml::{Table, Value, de::DeTable};

pub use self::approvals::ApprovalsEntry;
pub use self::history::HistoryEntry;
pub use self::{
    account_name::{MAX_ACCOUNT_CHARS, is_account_name},
    agents::AgentEntry,
    audit::AuditEntry,
    choices::{
        AgentProfile, CheckMode, ClientAuthentication, KeyringUse, OnChange, ProtocolEra,
        RemoteTransport, ResultCheck, RetryPolicy, SandboxMode, SecretSearch, ShareMode, StartMode,
    },
    config_problem::ConfigProblem,
    entry_error::EntryError,
    limits::LimitsEntry,
    line_index::LineIndex,
    metrics::MetricsEntry,
    pins::PinsEntry,
    policy::{AnnotationsEntry, PolicyEntry},
    results::ResultsEntry,
    sandbox::{ProcessCount, SandboxDefaultsEntry, SandboxEntry},
    sandbox_network::{HostPattern, SandboxNetwork},
    sources::{CredentialEntry, RequestRate, SourceEntry},
    telemetry::TelemetryEntry,
    tool_overrides::ToolOverrideEntry,
    values::{Bytes, Count, OrNever, Ranged, Seconds},
    word_or_list::SwitchOrTable,
    written_config::WrittenConfig,
};
use mux_text::did_you_mean::nearest;

/// The default of `start_timeout`.
pub const DEFAULT_START_TIMEOUT_SECS: u64 = 60;

/// Everything in the file, entry by entry.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub servers: BTreeMap<String, Result<ServerEntry, String>>,
    pub sources: BTreeMap<String, Result<SourceEntry, String>>,
    pub policy: Vec<PolicyEntry>,
    pub limits: LimitsEntry,
    pub daemon: DaemonEntry,
    pub check: CheckEntry,
    pub agents: BTreeMap<String, AgentEntry>,
    pub pins: PinsEntry,
    pub results: ResultsEntry,
    pub sandbox: SandboxDefaultsEntry,
    pub audit: AuditEntry,
    pub metrics: MetricsEntry,
    pub approvals: ApprovalsEntry,
    pub history: HistoryEntry,
    pub telemetry: TelemetryEntry,
    /// The ignored values, with reasons.
    pub problems: Vec<ConfigProblem>,
    /// The lines of all keys in the file.
    pub lines: Arc<LineIndex>,
    pub written: Arc<WrittenConfig>,
}

/// Why the file as a whole cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {path}: {source}")]
    Read {
        path: String,
        source: std::io::Error,
    },
    #[error("{path} is not valid TOML: {position}{message}", position = position_prefix(*.position))]
    Syntax {
        path: String,
        /// The line and the column, if they are known.
        position: Option<(usize, usize)>,
        message: String,
    },
    #[error("{path}: {message}")]
    Shape { path: String, message: String },
}

impl ConfigError {
    /// The line of the error, if known, and the message without it.
    pub fn at(&self) -> (Option<usize>, String) {
        match self {
            Self::Read { .. } => (None, self.to_string()),
            Self::Syntax {
                position, message, ..
            } => (
                position.map(|(line, _)| line),
                format!("it is not valid TOML: {message}"),
            ),
            Self::Shape { message, .. } => (None, message.clone()),
        }
    }
}

fn position_prefix(position: Option<(usize, usize)>) -> String {
    position.map_or_else(String::new, |(line, column)| {
        format!("line {line}, column {column}: ")
    })
}

/// `[servers.NAME]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct ServerEntry {
    /// The program, found in your login shell's `PATH`.
    #[schemars(extend("x-default" = "required"))]
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// The program's variables, in addition to [those that every server gets](#variables-that-a-server-gets).
    pub env: BTreeMap<String, String>,
    /// The program's working directory. A relative path starts at your home.
    #[schemars(extend("x-default" = "your home"))]
    pub cwd: Option<String>,
    /// The files, hosts and memory that the server may use. `false` gives the server all of your rights.
    #[schemars(extend("x-type" = "bool or table", "x-default" = "by `sandbox.mode`"))]
    pub sandbox: Option<SwitchOrTable<SandboxEntry>>,
    /// `http://` or `https://` and a host.
    #[schemars(extend("x-default" = "required"))]
    pub url: Option<String>,
    /// Sent with every request to that origin, and to no other origin.
    pub headers: BTreeMap<String, String>,
    /// Which callers share a session: all clients, clients in the same directory, one connection, or one run. `user`
    /// cannot be combined with `${workspace}`.
    #[schemars(extend("x-default" = "detected"))]
    pub share: Option<ShareMode>,
    /// The answer to `roots/list`. For the filesystem server with directories in `args`, the default is `"none"`.
    #[schemars(schema_with = "roots", extend("default" = "workspace"))]
    pub roots: Option<RootsEntry>,
    /// Which tools are offered, and how.
    pub tools: ToolsEntry,
    /// Changes to individual tools, by tool name.
    #[schemars(with = "BTreeMap<String, ToolOverrideEntry>")]
    pub r#override: BTreeMap<String, Value>,
    /// `false` keeps the entry but disables it.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// `false` keeps arguments and results of this server out of the [history](#history).
    #[schemars(extend("default" = true))]
    pub history: Option<bool>,
    /// Time from process start to the tool list.
    pub start_timeout: Seconds<0, { u64::MAX }, DEFAULT_START_TIMEOUT_SECS>,
    /// Time a call may be silent. A progress notification resets the clock.
    pub call_timeout: Seconds<0, { u64::MAX }, { 5 * 60 }>,
    /// Total time of one call, regardless of progress.
    pub total_timeout: Seconds<0, { u64::MAX }, { 60 * 60 }>,
    /// Concurrent calls to one process, or to all sessions of a URL. Further calls wait in turn.
    #[schemars(extend("x-default" = "`limits.calls_per_server`"))]
    pub calls_at_once: Option<Count<1, 256>>,
    /// `auto` tries streamable HTTP first, and HTTP+SSE (2024-11-05) if the first message is answered with 400, 404 or
    /// 405.
    #[serde(deserialize_with = "or_auto")]
    #[schemars(schema_with = "or_auto_schema::<RemoteTransport>", extend("default" = "auto"))]
    pub transport: Option<RemoteTransport>,
    /// The MCP revision for sessions. `transport = "sse"` cannot be combined with `"2026-07-28"`.
    #[serde(deserialize_with = "or_auto")]
    #[schemars(schema_with = "or_auto_schema::<ProtocolEra>", extend("default" = "auto"))]
    pub era: Option<ProtocolEra>,
    /// The Unix socket for requests to the `url`.
    pub socket: Option<String>,
    /// `false` disables logins. A table describes your client, see below.
    #[schemars(extend("x-type" = "`false` or table", "x-default" = "on"))]
    pub oauth: Option<SwitchOrTable<OauthClient>>,
    /// The name of the login. Entries with the same `url` but different accounts have separate logins.
    #[serde(deserialize_with = "account_name")]
    #[schemars(schema_with = "text", extend("pattern" = account_pattern()))]
    pub account: Option<String>,
    /// `lazy` opens the session when a call needs it. `auto` also opens the session in the background if the server was
    /// called recently: when the daemon starts (see [`prestart`](#daemon)), and after the server's process has ended.
    /// `eager` opens the session when the daemon starts, and again whenever the session ends.
    pub start: StartMode,
    /// Closes a session that has had no call for this long.
    #[schemars(extend("x-default" = "`\"never\"` for a session that all clients share, otherwise `\"30m\"`"))]
    pub idle_close: Option<OrNever<Seconds<1>>>,
    /// Calls to send once more if the server died before it answered. `idempotent` includes read-only tools.
    pub retry: RetryPolicy,
    /// The reaction to a changed tool definition.
    #[schemars(extend("x-default" = "`pins.on_change`"))]
    pub pins: Option<OnChange>,
    /// The reaction to structured content that does not match the tool's output schema.
    pub check_results: ResultCheck,
    /// `true` marks results as data where a model reads them as text.
    #[schemars(extend("x-default" = "`results.fence`"))]
    pub fence: Option<bool>,
    /// The reaction to a result that seems to contain a secret.
    #[schemars(extend("x-default" = "`results.secrets`"))]
    pub secrets: Option<SecretSearch>,
}

/// `roots = "workspace"`, `"none"`, or a list of directories.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum RootsEntry {
    Workspace,
    Off,
    Directories(Vec<String>),
}

impl<'de> Deserialize<'de> for RootsEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match WordOrList::deserialize(deserializer)? {
            WordOrList::List(directories) => Ok(Self::Directories(directories)),
            WordOrList::Word(word) => match word.as_str() {
                "workspace" => Ok(Self::Workspace),
                "none" => Ok(Self::Off),
                _ => {
                    let why = "must be workspace, none, or a list of directories";
                    Err(wrong_value(format!("{word:?}"), why))
                }
            },
        }
    }
}

/// `oauth = { … }` of a server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OauthClient {
    /// The client that you registered, or the `https` URL of a client metadata document.
    #[schemars(extend("x-default" = "muxd registers itself"))]
    pub client_id: Option<String>,
    /// The client's secret.
    pub client_secret: Option<String>,
    /// How muxd sends the secret to the token endpoint: `client_secret_basic` or `client_secret_post` of RFC 7591.
    #[schemars(extend("x-default" = "chosen from the metadata"))]
    pub auth: Option<ClientAuthentication>,
    /// The authorization server where the client is registered. Required for the first login with a `client_secret`.
    #[schemars(extend("x-default" = "the issuer of the first login"))]
    pub issuer: Option<String>,
    /// The scopes to request.
    #[schemars(extend("x-default" = "what the server asks for"))]
    pub scopes: Vec<String>,
    /// Port of the redirect `http://127.0.0.1:PORT/callback`.
    #[schemars(extend("x-default" = "any free port"))]
    pub port: Option<u16>,
    /// `true` lets this server use another server's sign-in at the same authorization server, if you granted that
    /// sign-in for this server too.
    pub share: bool,
}

/// `tools = { … }` of a server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsEntry {
    /// Tools that are never offered.
    #[schemars(schema_with = "globs")]
    pub exclude: Vec<String>,
    /// Tools that agents also get as ordinary MCP tools.
    #[schemars(schema_with = "globs")]
    pub direct: Vec<String>,
}

/// `[daemon]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct DaemonEntry {
    /// The daemon exits after this time without clients and runs.
    pub idle_exit: OrNever<Seconds<0, { u64::MAX }, { 3 * 60 * 60 }>>,
    /// `auto` stores tokens and secrets in the system's keyring, if available. `never` stores them in
    /// `credentials.json` in the state directory.
    #[schemars(extend("x-default" = "`\"auto\"`; `\"never\"` with `MUX_HOME` set"))]
    pub keyring: Option<KeyringUse>,
    /// When the daemon starts, it starts the servers that were called within this time, in the background, unless their
    /// `start` says otherwise.
    pub prestart: OrNever<Seconds<0, { u64::MAX }, { 3 * 24 * 60 * 60 }>>,
}

/// `[check]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct CheckEntry {
    /// `error`: a program with type errors does not run. `warn`: the program runs with warnings. `off`: no check.
    pub mode: CheckMode,
    /// A TypeScript 7 native compiler. A relative path starts at your home.
    #[schemars(extend("x-default" = "the compiler of `mux setup`, then `PATH`"))]
    pub tsc: Option<String>,
}

impl Config {
    /// The content of the file, or `None` if the file does not exist.
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

    /// Parses the content of the file. `path` is only used in errors.
    pub fn parse(text: &str, path: &str) -> Result<Self, ConfigError> {
        let syntax = |error: toml::de::Error| ConfigError::Syntax {
            path: path.to_owned(),
            position: parse_errors::position(&error, text),
            message: parse_errors::without_value(error.message()),
        };
        let document = DeTable::parse(text).map_err(syntax)?;
        let lines = LineIndex::of(document.get_ref(), text);
        let table = Table::deserialize(toml::Deserializer::from(document)).map_err(syntax)?;
        let written = WrittenConfig(table.clone());
        let mut config = Self::of(table).map_err(|message| ConfigError::Shape {
            path: path.to_owned(),
            message,
        })?;
        config.lines = Arc::new(lines);
        config.written = Arc::new(written);
        Ok(config)
    }

    /// Reads the configuration from a parsed table.
    pub fn of(table: Table) -> Result<Self, String> {
        let mut config = Self::default();
        let problems = &mut config.problems;
        let mut limits = Value::Table(Table::new());
        let mut agents = None;
        for (section, value) in table {
            let section = section.as_str();
            match section {
                "servers" => config.servers = read_entries(value, "servers", read_server)?,
                "sources" => config.sources = read_entries(value, "sources", SourceEntry::read)?,
                "policy" if value.is_array() => config.policy = PolicyEntry::read_rules(value),
                "policy" => return Err("`policy` must be rules: [[policy]]".into()),
                "limits" => limits = checked_section::<LimitsEntry>(value, section, problems),
                "check" => config.check = read_section(value, section, problems)?,
                "agents" => agents = Some(value),
                "pins" => config.pins = read_section(value, section, problems)?,
                "results" => config.results = read_section(value, section, problems)?,
                "sandbox" => config.sandbox = read_section(value, section, problems)?,
                "audit" => config.audit = read_section(value, section, problems)?,
                "metrics" => config.metrics = read_section(value, section, problems)?,
                "approvals" => config.approvals = read_section(value, section, problems)?,
                "history" => config.history = read_section(value, section, problems)?,
                "telemetry" => config.telemetry = read_section(value, section, problems)?,
                "daemon" => config.daemon = read_section(value, section, problems)?,
                unknown => {
                    let message = unknown_key_message(unknown, &TOP_LEVEL_KEYS);
                    let message = format!("{message} is ignored");
                    problems.push(ConfigProblem::at(&[unknown], message));
                }
            }
        }
        config.limits = deserialize_section(limits.clone(), "limits")?;
        config.agents = AgentEntry::read_all(agents, &limits, problems)?;
        Ok(config)
    }
}

/// Reads each table of a section on its own.
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
    read_entry(
        value,
        "must be a table with `command`, as in [servers.NAME]",
    )
}

/// Reads the entry of a server or source. The values of a disabled entry are not used, and may be wrong.
fn read_entry<T: DeserializeOwned>(mut value: Value, shape: &str) -> Result<T, String> {
    let Value::Table(table) = &mut value else {
        return Err(shape.to_owned());
    };
    if table.get("enabled") == Some(&Value::Boolean(false)) {
        remove_wrong_values::<T>(table);
    }
    deserialize_entry(value, "the entry")
}

fn deserialize_entry<T: DeserializeOwned>(value: Value, what: &str) -> Result<T, String> {
    value.try_into().map_err(|error| {
        let of_key =
            parse_errors::of_value(&error).or_else(|| parse_errors::of_unknown_key(&error));
        of_key.unwrap_or_else(|| format!("{what}: {}", parse_errors::shape(&error)))
    })
}

fn unknown_key_message(key: &str, known: &[String]) -> String {
    match nearest(key, known.iter().map(String::as_str)) {
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
    fn invalid_entry_does_not_affect_others() {
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
    fn toml_syntax_error_names_the_line() {
        let error =
            Config::parse("[servers.a]\ncommand = \"x\"\n[servers.a]\n", "c.toml").unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("line 3") && text.contains("duplicate"),
            "{text}"
        );
    }

    #[test]
    fn unknown_section_suggests_the_nearest() {
        let config = parse("[server.a]\ncommand = \"x\"\n");
        assert!(
            config.problems[0]
                .message
                .contains("did you mean `servers`"),
            "{:?}",
            config.problems
        );
    }

    #[test]
    fn missing_file_differs_from_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        assert_eq!(Config::read(&file).unwrap(), None);
        std::fs::write(&file, "").unwrap();
        assert_eq!(Config::read(&file).unwrap().as_deref(), Some(""));
        assert!(Config::read(dir.path()).is_err());
    }
}
