//! Agents (programs with their own MCP servers) and their configuration files: the paths, and how the server list is
//! read and edited.
//!
//! Invariant: an edit changes one entry. Order, indentation, line endings, every other entry and the comments above all
//! entries stay as they are, and a file that cannot be parsed is not written.

mod agent_file;
mod agent_paths;
mod agent_table;
mod config_document;
mod config_document_error;
mod diff;
mod edit_lock;
mod json;
mod line_endings;
mod mux_entry;
mod toml;
mod yaml;

use clap::ValueEnum;

pub(crate) use self::{
    agent_file::{
        AgentFile, AgentFileError, MAX_KEPT_FILES, list_backups, list_files, remove_older_files,
    },
    agent_paths::{AgentPaths, OperatingSystem},
    agent_table::{AgentSpec, ReferenceSyntax, TimeoutKey},
    config_document::{ConfigDocument, ConfigFormat},
    config_document_error::{ConfigDocumentError, ConfigFileError},
    diff::{masked_diff, unmasked_diff},
    edit_lock::EditLock,
    mux_entry::{MuxEntry, command_words},
};

/// A program with its own MCP servers, whose configuration file can be edited.
#[derive(
    Clone,
    Copy,
    Debug,
    Eq,
    Ord,
    PartialEq,
    PartialOrd,
    serde::Serialize,
    strum::IntoStaticStr,
    ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Agent {
    Claude,
    ClaudeDesktop,
    Cursor,
    Vscode,
    Codex,
    Windsurf,
    Opencode,
    Zed,
    Gemini,
    Copilot,
    Qwen,
    Goose,
    Crush,
    Cline,
    Kiro,
}

impl Agent {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Self::value_variants().iter().copied()
    }

    /// Each of these agents once, in the order of the table.
    pub(crate) fn distinct(named: &[Self]) -> Vec<Self> {
        Self::all().filter(|agent| named.contains(agent)).collect()
    }

    /// The names of all agents, for a message.
    pub(crate) fn names() -> String {
        let names: Vec<&str> = Self::all().map(Self::name).collect();
        names.join(", ")
    }

    /// The name on the command line and in JSON.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    pub(crate) fn spec(self) -> &'static AgentSpec {
        &agent_table::AGENTS[self as usize]
    }

    /// The entries of a file that start mux, each with its name.
    pub(crate) fn mux_entries(self, document: &ConfigDocument) -> Vec<(String, MuxEntry)> {
        let entries = document.section_entries(self.servers_section(document));
        let entries = entries.into_iter().filter_map(|(name, entry)| {
            let mux_entry = MuxEntry::parse_mcp_entry(entry)?;
            mux_entry
                .starts_mux(name)
                .then(|| (name.to_owned(), mux_entry))
        });
        entries.collect()
    }

    /// The name shown to users.
    pub(crate) fn display_name(self) -> &'static str {
        self.spec().display_name
    }

    pub(crate) fn format(self) -> ConfigFormat {
        self.spec().format
    }

    /// The keys of the object that contains the agent's servers.
    pub(crate) fn servers_section(self, document: &ConfigDocument) -> &'static [&'static str] {
        let spec = self.spec();
        let is_newer = |section: &&'static [&'static str]| {
            let found = document.find_value(section);
            // In the older version, the last key could only be the name of a server, which has a type.
            found.is_some_and(|found| found.is_object() && !found["type"].is_string())
        };
        let newer = spec.newer_section.filter(is_newer);
        newer.unwrap_or(spec.section)
    }
}

#[cfg(test)]
pub(crate) mod tests;
