//! Converts the servers in an agent's file to entries of config.toml.
//!
//! Invariant: each key of an entry is either carried over or reported.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use mux_proto::{Error, Kind};
use serde_json::{Map, Value};

use super::{
    server_definition::ServerDefinition,
    variable_references::{ReferenceTranslator, TextPosition, escape_literal},
};
use crate::{
    agents::{Agent, AgentFile, ConfigDocument, MuxEntry, TimeoutKey},
    exit,
};

/// An agent's file as it was read, with its servers.
#[derive(Debug)]
pub(super) struct AgentSource {
    pub(super) agent: Agent,
    pub(super) path: PathBuf,
    pub(super) document: ConfigDocument,
    pub(super) servers: Vec<AgentServer>,
    /// Notes on the file as a whole.
    pub(super) notes: Vec<String>,
}

/// A server from an agent's file.
#[derive(Debug)]
pub(super) struct AgentServer {
    pub(super) agent: Agent,
    /// As the agent calls it.
    pub(super) name: String,
    /// The keys of the object that contains its entry.
    pub(super) section: Vec<String>,
    pub(super) server: Result<ServerDefinition, SkipReason>,
    /// Notes on settings that could not be carried over.
    pub(super) notes: Vec<String>,
    /// Variables whose values the user must put into the `env` file.
    pub(super) variables_by_hand: Vec<String>,
    /// True if the server works only within the agent until the user changes its entry in config.toml.
    pub(super) needs_edit: bool,
}

/// Why an entry is not imported.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum SkipReason {
    #[error("it is mux itself")]
    Ourselves,
    #[error("it is an extension of {}, and only that can start it", .0.display_name())]
    Extension(Agent),
    #[error("it has neither a command nor a url")]
    Nothing,
}

/// Reads an agent's file and its servers.
pub(super) fn read_agent_servers(
    agent: Agent,
    path: &Path,
    project: Option<&Path>,
) -> Result<AgentSource, Error> {
    let file = AgentFile::read(path).map_err(|error| exit::unavailable_error(error.to_string()))?;
    if !file.exists() {
        let message = format!("{} has no file {}", agent.display_name(), path.display());
        return Err(Error::new(Kind::NotFound, message));
    }
    let document = file.parse(agent.format()).map_err(|failed| {
        let message = format!("{}: {failed}", path.display());
        failed.locate(Error::new(Kind::Validation, message))
    })?;
    let mut servers = Vec::new();
    let mut notes = Vec::new();
    if agent == Agent::Claude {
        let mut others = 0;
        for (folder, entry) in document.section_entries(&["projects"]) {
            let entries = entry["mcpServers"].as_object();
            if project.is_some_and(|project| project == Path::new(folder)) {
                // A project's own entries take precedence, as in Claude Code.
                let section = ["projects", folder, "mcpServers"];
                for (name, entry) in entries.into_iter().flatten() {
                    let mut server = convert_entry(agent, &section, name, entry);
                    if let Ok(definition) = &mut server.server
                        && definition.command.is_some()
                    {
                        definition.cwd.get_or_insert_with(|| escape_literal(folder));
                    }
                    servers.push(server);
                }
            } else {
                others += entries.map_or(0, Map::len);
            }
        }
        if others > 0 {
            notes.push(format!(
                "{others} of the servers in this file belong to other projects; run `mux import` in their directories"
            ));
        }
    }
    let section = agent.servers_section(&document);
    for (name, entry) in document.section_entries(section) {
        servers.push(convert_entry(agent, section, name, entry));
    }
    Ok(AgentSource {
        agent,
        path: path.to_owned(),
        document,
        servers,
        notes,
    })
}

pub(super) fn convert_entry(
    agent: Agent,
    section: &[impl AsRef<str>],
    name: &str,
    entry: &Value,
) -> AgentServer {
    let section = section.iter().map(|key| key.as_ref().to_owned());
    let mut source = AgentServer {
        agent,
        name: name.to_owned(),
        section: section.collect(),
        server: Err(SkipReason::Ourselves),
        notes: Vec::new(),
        variables_by_hand: Vec::new(),
        needs_edit: false,
    };
    if !MuxEntry::parse_mcp_entry(entry).is_some_and(|mux_entry| mux_entry.starts_mux(name)) {
        EntryConverter::convert_into(&mut source, entry);
    }
    source
}

/// One entry while it is read.
struct EntryConverter<'a> {
    to: ReferenceTranslator<'a>,
    definition: ServerDefinition,
}

impl EntryConverter<'_> {
    fn convert_into(source: &mut AgentServer, entry: &Value) {
        let names = |key: &str| entry[key].as_object().into_iter().flatten();
        let own: BTreeSet<String> = names("env")
            .chain(names("environment"))
            .chain(names("envs"))
            .map(|(name, _)| name.clone())
            .collect();
        let agent = source.agent;
        let mut reading = EntryConverter {
            to: ReferenceTranslator::new(agent, &own),
            definition: ServerDefinition::default(),
        };
        let Some(fields) = entry.as_object() else {
            source.server = Err(SkipReason::Nothing);
            return;
        };
        for (key, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            reading.convert_or_note(key, value);
        }
        reading.merge_env_into_headers();
        let EntryConverter { to, mut definition } = reading;
        definition.disabled |= to.broken;
        source.server = match (&definition.command, &definition.url) {
            (None, None) if agent.spec().has_extensions => Err(SkipReason::Extension(agent)),
            (None, None) => Err(SkipReason::Nothing),
            _ => Ok(definition),
        };
        source.notes = to.notes;
        source.variables_by_hand = to.variables_by_hand;
        source.needs_edit = to.broken;
    }

    fn convert_or_note(&mut self, key: &str, value: &Value) {
        if !self.convert_key(key, value) {
            let note = format!("`{key}` is not imported");
            self.to.notes.push(note);
        }
    }

    /// Converts one key. Returns `false` if the key has no equivalent.
    fn convert_key(&mut self, key: &str, value: &Value) -> bool {
        match (key, value) {
            // Cline's newer format.
            ("transport", Value::Object(fields)) => {
                for (key, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                    self.convert_or_note(key, value);
                }
                true
            }
            ("type" | "transport" | "transportType", Value::String(kind)) => {
                if kind == "sse" {
                    self.to.notes.push(
                        "`type: sse`, the older transport, is not distinguished from HTTP".into(),
                    );
                }
                true
            }
            ("command" | "cmd", command) => self.convert_command(command),
            ("args", Value::Array(args)) => {
                self.convert_arguments(args);
                true
            }
            ("env" | "environment" | "envs", Value::Object(pairs)) => {
                let texts = self.translate_texts(pairs);
                self.definition.env.extend(texts);
                true
            }
            ("headers" | "http_headers", Value::Object(pairs)) => {
                let texts = self.translate_texts(pairs);
                self.definition.headers.extend(texts);
                true
            }
            ("url" | "serverUrl" | "httpUrl" | "uri", Value::String(url)) => {
                self.definition.url = Some(self.to.translate_text(url, TextPosition::Argument));
                true
            }
            ("cwd", Value::String(folder)) => {
                let folder = self.to.translate_text(folder, TextPosition::Argument);
                // Agents resolve relative paths in the workspace, muxd in the home directory.
                let whole = folder.starts_with("${") || Path::new(&folder).is_absolute();
                if whole {
                    self.definition.cwd = Some(folder);
                }
                whole
            }
            ("disabled", Value::Bool(disabled)) => {
                self.definition.disabled |= disabled;
                true
            }
            ("enabled", Value::Bool(enabled)) => {
                self.definition.disabled |= !enabled;
                true
            }
            ("disabledTools" | "disabled_tools" | "excludeTools", Value::Array(tools)) => {
                let names = tools.iter().filter_map(Value::as_str).map(str::to_owned);
                self.definition.exclude.extend(names);
                true
            }
            ("tools", Value::Array(tools)) => tools.iter().any(|tool| tool == "*"),
            // An empty list neither approves nor restricts anything.
            ("autoApprove" | "available_tools", Value::Array(tools)) => tools.is_empty(),
            _ => {
                self.to.agent.spec().labels.contains(&key)
                    || self.convert_timeout(key, value)
                    || self.convert_variable_names(key, value)
            }
        }
    }

    /// Reads a command: a string, opencode's array of words, or Zed's older object.
    fn convert_command(&mut self, command: &Value) -> bool {
        match command {
            Value::String(word) => {
                self.definition.command =
                    Some(self.to.translate_text(word, TextPosition::Argument));
                true
            }
            Value::Array(words) => {
                let Some((first, rest)) = words.split_first() else {
                    return false;
                };
                self.convert_arguments(rest);
                self.convert_command(first)
            }
            Value::Object(parts) => {
                let known = |key: &String| ["path", "args", "env"].contains(&key.as_str());
                let all = parts.keys().all(known);
                let path = parts
                    .get("path")
                    .is_some_and(|path| self.convert_command(path));
                for key in ["args", "env"] {
                    if let Some(value) = parts.get(key).filter(|value| !value.is_null()) {
                        self.convert_key(key, value);
                    }
                }
                all && path
            }
            _ => false,
        }
    }

    fn translate_texts(&mut self, pairs: &Map<String, Value>) -> BTreeMap<String, String> {
        let pairs = pairs
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), scalar_text(value)?)));
        pairs
            .map(|(name, value)| (name, self.to.translate_text(&value, TextPosition::Value)))
            .collect()
    }

    fn convert_arguments(&mut self, args: &[Value]) {
        for arg in args.iter().filter_map(scalar_text) {
            let arg = self.to.translate_text(&arg, TextPosition::Argument);
            self.definition.args.push(arg);
        }
    }

    fn convert_timeout(&mut self, key: &str, value: &Value) -> bool {
        let Some(number) = value.as_f64().filter(|number| *number > 0.0) else {
            return false;
        };
        let meaning = match (key, self.to.agent.spec().timeout) {
            ("startup_timeout_sec", _) => TimeoutKey::StartSeconds,
            ("startup_timeout_ms", _) => TimeoutKey::StartMilliseconds,
            ("tool_timeout_sec", _) => TimeoutKey::CallSeconds,
            ("timeout", Some(meaning)) => meaning,
            _ => return false,
        };
        let (limit, seconds) = match meaning {
            TimeoutKey::StartSeconds => (&mut self.definition.start_timeout, number),
            TimeoutKey::StartMilliseconds => (&mut self.definition.start_timeout, number / 1_000.0),
            TimeoutKey::CallSeconds => (&mut self.definition.call_timeout, number),
            TimeoutKey::CallMilliseconds => (&mut self.definition.call_timeout, number / 1_000.0),
        };
        *limit = Some(if seconds.fract() == 0.0 {
            format!("{seconds}s")
        } else {
            format!("{:.0}ms", seconds * 1_000.0)
        });
        true
    }

    /// Converts keys of Codex and Goose that name variables instead of referring to them.
    fn convert_variable_names(&mut self, key: &str, value: &Value) -> bool {
        match (key, value) {
            ("bearer_token_env_var", Value::String(name)) => {
                let value = format!("Bearer ${{{name}}}");
                self.definition
                    .headers
                    .insert("Authorization".into(), value);
            }
            ("env_http_headers", Value::Object(headers)) => {
                for (header, name) in headers.iter().filter_map(|(h, n)| Some((h, n.as_str()?))) {
                    self.definition
                        .headers
                        .insert(header.clone(), format!("${{{name}}}"));
                }
            }
            ("env_vars", Value::Array(names)) => {
                for name in names
                    .iter()
                    .filter_map(|n| n.as_str().or(n["name"].as_str()))
                {
                    let value = format!("${{{name}}}");
                    self.definition.env.entry(name.into()).or_insert(value);
                }
            }
            // Secrets that Goose stores.
            ("env_keys", Value::Array(names)) => {
                for name in names.iter().filter_map(Value::as_str) {
                    let agent = self.to.agent.display_name();
                    let reason = format!("{agent} keeps {name} in its own store");
                    let value = self.to.refer_by_hand(&reason, name.to_owned());
                    self.definition.env.entry(name.into()).or_insert(value);
                }
            }
            _ => return false,
        }
        true
    }

    /// Puts the variables of a server with a URL, which has no process, into the headers that refer to them.
    fn merge_env_into_headers(&mut self) {
        if self.definition.url.is_none() {
            return;
        }
        // A longer name precedes the names that are its prefixes.
        for (name, value) in std::mem::take(&mut self.definition.env).iter().rev() {
            let references = [format!("${{{name}}}"), format!("${name}")];
            let mut is_used = false;
            for header in self.definition.headers.values_mut() {
                let found = references.iter().find(|found| header.contains(*found));
                if let Some(reference) = found {
                    *header = header.replace(reference, value);
                    is_used = true;
                }
            }
            if !is_used {
                let note = format!("`{name}` is not imported: no header refers to it");
                self.to.notes.push(note);
            }
        }
    }
}

/// A string, number or boolean as a string.
fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
