//! Agents (programs with MCP servers of their own) and their configuration files: the paths, and how the list of
//! servers is read and edited.
//!
//! Invariant: an edit changes one entry. Comments, order, indentation, line endings and every other entry stay as they
//! are, and a file that cannot be parsed is not written.

mod agent_file;
mod agent_paths;
mod config_document;
mod config_document_error;
mod diff;
mod json;
mod line_endings;
mod mux_entry;
mod toml;

use clap::ValueEnum;

pub(crate) use self::{
    agent_file::{AgentFile, AgentFileError, list_backups},
    agent_paths::{AgentPaths, OperatingSystem},
    config_document::{ConfigDocument, ConfigFormat},
    config_document_error::ConfigDocumentError,
    diff::{masked_diff, unmasked_diff},
    mux_entry::MuxEntry,
};

/// A program with MCP servers of its own, whose configuration file can be edited.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, strum::IntoStaticStr, ValueEnum)]
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
}

impl Agent {
    pub(crate) const ALL: [Self; 8] = [
        Self::Claude,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::Vscode,
        Self::Codex,
        Self::Windsurf,
        Self::Opencode,
        Self::Zed,
    ];

    /// The name on the command line and in JSON.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// The name shown to users.
    pub(crate) fn display_name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
            Self::Codex => "Codex",
            Self::Windsurf => "Windsurf",
            Self::Opencode => "opencode",
            Self::Zed => "Zed",
        }
    }

    pub(crate) fn format(self) -> ConfigFormat {
        match self {
            Self::Codex => ConfigFormat::Toml,
            _ => ConfigFormat::Json,
        }
    }

    /// The keys of the object that holds the agent's servers. In version 2 of opencode's file, it is one level deeper.
    pub(crate) fn servers_section(self, document: &ConfigDocument) -> &'static [&'static str] {
        match self {
            Self::Claude | Self::ClaudeDesktop | Self::Cursor | Self::Windsurf => &["mcpServers"],
            Self::Vscode => &["servers"],
            Self::Codex => &["mcp_servers"],
            Self::Zed => &["context_servers"],
            Self::Opencode => {
                let servers = document.values().pointer("/mcp/servers");
                // In version 1, `servers` could only be a server of that name, which has a type.
                match servers.filter(|v| v.is_object() && !v["type"].is_string()) {
                    Some(_) => &["mcp", "servers"],
                    None => &["mcp"],
                }
            }
        }
    }

    /// Whether the agent is started from the desktop, with a PATH that differs from the user's shell.
    pub(crate) fn needs_absolute_command(self) -> bool {
        self == Self::ClaudeDesktop
    }
}

#[cfg(test)]
pub(crate) mod tests;
