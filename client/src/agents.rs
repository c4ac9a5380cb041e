//! The programs that talk to MCP servers, and their files: where each stands and how its list of
//! servers is read and edited.
//!
//! Invariant: an edit touches one entry. Comments, order, indentation, line ends and every other entry
//! stay as they are, and a file that cannot be read as its program reads it is not written.

mod diff;
mod document;
mod door;
mod endings;
mod file;
mod json;
mod places;
mod toml;

use clap::ValueEnum;

pub(crate) use self::{
    diff::{unified, unified_whole},
    document::{Document, DocumentError, Format},
    door::Door,
    file::{AgentFile, FileError, backups},
    places::{Places, System},
};

/// A program with MCP servers of its own.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, ValueEnum)]
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

    /// As the command line and JSON have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Codex => "codex",
            Self::Windsurf => "windsurf",
            Self::Opencode => "opencode",
            Self::Zed => "zed",
        }
    }

    /// As people call it.
    pub(crate) fn title(self) -> &'static str {
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

    pub(crate) fn format(self) -> Format {
        match self {
            Self::Codex => Format::Toml,
            _ => Format::Json,
        }
    }

    /// The keys that lead to its servers. opencode has moved them: files of its second version hold
    /// them one level deeper.
    pub(crate) fn section(self, document: &Document) -> &'static [&'static str] {
        match self {
            Self::Claude | Self::ClaudeDesktop | Self::Cursor | Self::Windsurf => &["mcpServers"],
            Self::Vscode => &["servers"],
            Self::Codex => &["mcp_servers"],
            Self::Zed => &["context_servers"],
            Self::Opencode => {
                let servers = document.values().pointer("/mcp/servers");
                // In the first version this would be a server of that name, and have a type.
                match servers.filter(|v| v.is_object() && !v["type"].is_string()) {
                    Some(_) => &["mcp", "servers"],
                    None => &["mcp"],
                }
            }
        }
    }

    /// Whether it is started from a desktop whose PATH is not that of the user's shell.
    pub(crate) fn needs_absolute_command(self) -> bool {
        self == Self::ClaudeDesktop
    }
}

#[cfg(test)]
mod tests;
