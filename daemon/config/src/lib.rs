//! The configuration file as the user wrote it.
//!
//! This crate depends on `mux-secrets`, `mux-text`, and the keeper, which runs commands. This crate does not depend on
//! servers, sessions or settings. `mux-settings` turns the entries into checked values.
//!
//! - `agents`, `approvals`, `audit`, `limits`, `metrics`, `pins`, `policy`, `results`, `sandbox`, `sources` and
//!   `telemetry` are the sections as written, `tool_overrides` the overrides of tools. The top level and servers are
//!   here. `line_index`: the lines of keys in the file. `expanded_texts`: the values that are expanded, and their
//!   references. `written_config`: all values as written. `parse_errors`: messages about errors in a file.
//!   `config_problem`: one error with its key. `entry_error`: why an entry cannot be used. `schema`: the JSON Schema of
//!   the file, made from these types. `account_name`: the syntax of account names.
//! - `environment`: the environment of servers, from the user's login shell and the `env` file, never from the client
//!   that started the daemon. `environment/text_references` parses references in values, `environment/command_values`
//!   runs commands (`${cmd:…}`). A named secret (`${keyring:NAME}`) is a value of the credential store.
//!
//! Invariants:
//!
//! - An invalid entry disables only that entry. Only a file that is not TOML, or whose top level is invalid, is
//!   rejected as a whole.
//! - No message repeats a value of the file: it may be part of a secret.
//! - A server gets a short list of variables and the variables that its entry declares. All other variables that a
//!   login shell exports are only used for `${VAR}` and `${cmd:…}`.

mod account_name;
mod agents;
mod approvals;
mod audit;
mod config_problem;
mod entry_error;
pub mod environment;
mod expanded_texts;
mod limits;
mod line_index;
mod metrics;
pub mod parse_errors;
mod pins;
mod policy;
mod results;
mod sandbox;
pub mod schema;
mod sources;
mod telemetry;
mod tool_overrides;
mod written_config;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use self::account_name::account_pattern;
use self::schema::{
    SERVER_KEYS, TOOLS_KEYS, TOP_LEVEL_KEYS, duration, duration_or_never, globs, roots, text,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use toml::{Table, Value, de::DeTable};

pub use self::approvals::ApprovalsEntry;
pub use self::{
    account_name::{MAX_ACCOUNT_CHARS, is_account_name},
    agents::AgentEntry,
    audit::AuditEntry,
    config_problem::ConfigProblem,
    entry_error::EntryError,
    limits::{LimitsEntry, SizeEntry},
    line_index::LineIndex,
    metrics::MetricsEntry,
    pins::PinsEntry,
    policy::{AnnotationsEntry, PolicyEntry},
    results::ResultsEntry,
    sandbox::{NetworkEntry, SandboxChoice, SandboxDefaultsEntry, SandboxEntry},
    sources::{CredentialEntry, SourceEntry},
    telemetry::TelemetryEntry,
    tool_overrides::ToolOverrideEntry,
    written_config::WrittenConfig,
};
use mux_text::did_you_mean::nearest;

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
#[serde(default)]
#[schemars(deny_unknown_fields)]
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
    #[schemars(schema_with = "self::sandbox::sandbox", extend("x-type" = "bool or table", "x-default" = "by `sandbox.mode`"))]
    pub sandbox: Option<Value>,
    /// `http://` or `https://` and a host.
    #[schemars(extend("x-default" = "required"))]
    pub url: Option<String>,
    /// Sent with every request to that origin, and to no other origin.
    pub headers: BTreeMap<String, String>,
    /// Which callers share a session: all clients, clients in the same directory, one connection, or one run. `user`
    /// cannot be combined with `${workspace}`.
    #[schemars(schema_with = "text", extend("enum" = ["user", "workspace", "client", "run"], "x-default" = "detected"))]
    pub share: Option<String>,
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
    /// Time from process start to the tool list.
    #[schemars(schema_with = "duration", extend("default" = "60s"))]
    pub start_timeout: Option<String>,
    /// Time a call may be silent. A progress notification resets the clock.
    #[schemars(schema_with = "duration", extend("default" = "5m"))]
    pub call_timeout: Option<String>,
    /// Total time of one call, regardless of progress.
    #[schemars(schema_with = "duration", extend("default" = "1h"))]
    pub total_timeout: Option<String>,
    /// Concurrent calls to one process, or to all sessions of a URL. Further calls wait in turn.
    #[schemars(range(min = 1, max = 256), extend("x-default" = "`limits.calls_per_server`"))]
    pub calls_at_once: Option<usize>,
    /// `auto` tries streamable HTTP first, and HTTP+SSE (2024-11-05) if the first message is answered with 400, 404 or
    /// 405.
    #[schemars(schema_with = "text", extend("enum" = ["auto", "streamable-http", "sse"], "default" = "auto"))]
    pub transport: Option<String>,
    /// The MCP revision for sessions. `transport = "sse"` cannot be combined with `"2026-07-28"`.
    #[schemars(schema_with = "text", extend("enum" = ["auto", "2026-07-28", "2025-11-25"], "default" = "auto"))]
    pub era: Option<String>,
    /// The Unix socket for requests to the `url`.
    pub socket: Option<String>,
    /// `false` disables logins. A table describes your client, see below.
    #[schemars(extend("x-type" = "`false` or table", "x-default" = "on"))]
    pub oauth: Option<OauthEntry>,
    /// The name of the login. Entries with the same `url` but different accounts have separate logins.
    #[schemars(schema_with = "text", extend("pattern" = account_pattern()))]
    pub account: Option<String>,
    /// `lazy` opens the session when a call needs it. `auto` also opens the session in the background if the server was
    /// called recently: when the daemon starts (see [`prestart`](#daemon)), and after the server's process has ended.
    /// `eager` opens the session when the daemon starts, and again whenever the session ends.
    #[schemars(schema_with = "text", extend("enum" = ["auto", "lazy", "eager"], "default" = "auto"))]
    pub start: Option<String>,
    /// Closes a session that has had no call for this long.
    #[schemars(schema_with = "duration_or_never", extend("x-range" = "at least `1s`", "x-default" = "`\"never\"` for a session that all clients share, otherwise `\"30m\"`"))]
    pub idle_close: Option<String>,
    /// Calls to send once more if the server died before it answered. `idempotent` includes read-only tools.
    #[schemars(schema_with = "text", extend("enum" = ["never", "read_only", "idempotent"], "default" = "never"))]
    pub retry: Option<String>,
    /// The reaction to a changed tool definition.
    #[schemars(schema_with = "text", extend("enum" = ["refuse", "warn", "off"], "x-default" = "`pins.on_change`"))]
    pub pins: Option<String>,
    /// The reaction to structured content that does not match the tool's output schema.
    #[schemars(schema_with = "text", extend("enum" = ["error", "warn", "off"], "default" = "error"))]
    pub check_results: Option<String>,
    /// `true` marks results as data where a model reads them as text.
    #[schemars(extend("x-default" = "`results.fence`"))]
    pub fence: Option<bool>,
    /// The reaction to a result that seems to contain a secret.
    #[schemars(schema_with = "text", extend("enum" = ["mask", "warn", "off"], "x-default" = "`results.secrets`"))]
    pub secrets: Option<String>,
}

/// `roots = "workspace"`, `"none"`, or a list of directories.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(untagged)]
pub enum RootsEntry {
    Word(String),
    Directories(Vec<String>),
}

/// `oauth = false`, or the client's registration.
#[derive(Clone, Debug, JsonSchema, PartialEq)]
#[schemars(untagged)]
pub enum OauthEntry {
    Switch(bool),
    Own(OauthClient),
}

/// `oauth = { … }` of a server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct OauthClient {
    /// The client that you registered, or the `https` URL of a client metadata document.
    #[schemars(extend("x-default" = "muxd registers itself"))]
    pub client_id: Option<String>,
    /// The client's secret.
    pub client_secret: Option<String>,
    /// How muxd sends the secret to the token endpoint: `client_secret_basic` or `client_secret_post` of RFC 7591.
    #[schemars(schema_with = "text", extend("enum" = ["basic", "post"], "x-default" = "chosen from the metadata"))]
    pub auth: Option<String>,
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

impl<'de> Deserialize<'de> for OauthEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Boolean(is_on) => Ok(Self::Switch(is_on)),
            table @ Value::Table(_) => {
                let client = OauthClient::deserialize(table).map(Self::Own);
                client.map_err(|error| D::Error::custom(parse_errors::shape(&error)))
            }
            _ => Err(D::Error::custom(
                "must be `false` or a table, as in oauth = { client_id = \"…\" }",
            )),
        }
    }
}

/// `tools = { … }` of a server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
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
    #[schemars(schema_with = "duration_or_never", extend("default" = "3h"))]
    pub idle_exit: Option<String>,
    /// `auto` stores tokens and secrets in the system's keyring, if available. `never` stores them in
    /// `credentials.json` in the state directory.
    #[schemars(schema_with = "text", extend("enum" = ["auto", "never"], "x-default" = "`\"auto\"`; `\"never\"` with `MUX_HOME` set"))]
    pub keyring: Option<String>,
    /// When the daemon starts, it starts the servers that were called within this time, in the background, unless their
    /// `start` says otherwise.
    #[schemars(schema_with = "duration_or_never", extend("default" = "3d"))]
    pub prestart: Option<String>,
}

/// `[check]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct CheckEntry {
    /// `error`: a program with type errors does not run. `warn`: the program runs with warnings. `off`: no check.
    #[schemars(schema_with = "text", extend("enum" = ["error", "warn", "off"], "default" = "error"))]
    pub mode: Option<String>,
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
                "results" => config.results = deserialize_entry(value, "results")?,
                "sandbox" => config.sandbox = deserialize_entry(value, "sandbox")?,
                "audit" => config.audit = deserialize_entry(value, "audit")?,
                "metrics" => config.metrics = deserialize_entry(value, "metrics")?,
                "approvals" => config.approvals = deserialize_entry(value, "approvals")?,
                "telemetry" => config.telemetry = deserialize_entry(value, "telemetry")?,
                "daemon" => config.daemon = deserialize_entry(value, "daemon")?,
                unknown => {
                    let message = unknown_key_message(unknown, &TOP_LEVEL_KEYS);
                    let message = format!("{message} is ignored");
                    config.problems.push(ConfigProblem::at(&[unknown], message));
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
    check_keys(
        &value,
        &SERVER_KEYS,
        "must be a table with `command`, as in [servers.NAME]",
    )?;
    deserialize_entry(value, "the entry")
}

fn check_keys(value: &Value, known: &[String], shape: &str) -> Result<(), String> {
    let Value::Table(table) = value else {
        return Err(shape.to_owned());
    };
    if let Some(unknown) = table.keys().find(|key| !known.contains(key)) {
        return Err(unknown_key_message(unknown, known));
    }
    if let Some(Value::Table(tools)) = table.get("tools")
        && let Some(unknown) = tools.keys().find(|key| !TOOLS_KEYS.contains(key))
    {
        let known: Vec<String> = TOOLS_KEYS
            .iter()
            .map(|key| format!("tools.{key}"))
            .collect();
        return Err(unknown_key_message(&format!("tools.{unknown}"), &known));
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
