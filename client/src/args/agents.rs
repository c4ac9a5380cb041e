//! Arguments of `mux init`, `mux install` and `mux import`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::agents::Agent;

#[derive(Debug, ClapArgs)]
pub(crate) struct InitArgs {
    /// Set up only these agents [default: all found on this machine]
    #[arg(long, value_name = "AGENT", value_delimiter = ',')]
    pub(crate) agents: Vec<Agent>,
    /// Remove the imported servers from the agents' files so that none runs twice
    #[arg(long = "move")]
    pub(crate) move_servers: bool,
    /// Also install muxd as a service
    #[arg(long)]
    pub(crate) service: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Show what would be done without doing it
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Undo `mux init`: put moved servers back, remove mux from the agents' files, and remove the imported servers that you
    /// have not changed since
    #[arg(long, conflicts_with_all = ["agents", "move_servers", "service"])]
    pub(crate) undo: bool,
}

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct InstallArgs {
    /// The agents to install into [default: all found on this machine]
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<Agent>,
    /// List the supported agents, their files, and which agents have mux
    #[arg(long, conflicts_with_all = ["dry_run", "undo", "project", "agent_name", "command"])]
    pub(crate) list: bool,
    /// Show what would change without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove the entry
    #[arg(long, conflicts_with_all = ["agent_name", "command"])]
    pub(crate) undo: bool,
    /// Write to the project's file in this directory (claude, cursor, vscode, gemini, copilot, qwen, crush, kiro only)
    #[arg(long)]
    pub(crate) project: bool,
    /// The name of the entry
    #[arg(long, value_name = "NAME", default_value = "mux", value_parser = parse_entry_name)]
    pub(crate) name: String,
    /// The name under which the agent connects, for its overrides in [agents.NAME]
    #[arg(long, value_name = "NAME", value_parser = parse_entry_name)]
    pub(crate) agent_name: Option<String>,
    /// The mux program to start [default: this one]
    #[arg(long, value_name = "PATH")]
    pub(crate) command: Option<PathBuf>,
}

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct ImportArgs {
    /// Import only from these agents [default: all found on this machine]
    #[arg(long, value_name = "AGENT", value_delimiter = ',')]
    pub(crate) from: Vec<Agent>,
    /// Show what would be written without writing it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Overwrite existing entries with the same name that differ
    #[arg(long)]
    pub(crate) replace: bool,
    /// Then remove the imported servers from the agents' files so that none runs twice
    #[arg(long = "move")]
    pub(crate) move_servers: bool,
    /// Put the servers that --move removed back into the agents' files
    #[arg(long, conflicts_with_all = ["replace", "move_servers"])]
    pub(crate) undo: bool,
}

fn parse_entry_name(text: &str) -> Result<String, String> {
    let right = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(right) {
        Ok(text.into())
    } else {
        Err("a name begins with a letter and contains only letters, digits, - and _".into())
    }
}
