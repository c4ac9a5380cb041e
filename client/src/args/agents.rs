//! What `mux install` and `mux import` are asked for.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::agents::Agent;

#[derive(Debug, ClapArgs)]
pub(crate) struct Install {
    /// The programs; without one, all that are on this machine
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<Agent>,
    /// Show which programs are known, their files, and which of them have mux
    #[arg(long, conflicts_with_all = ["dry_run", "undo", "project", "agent_name", "command"])]
    pub(crate) list: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take the entry out again
    #[arg(long, conflicts_with_all = ["agent_name", "command"])]
    pub(crate) undo: bool,
    /// Write into the project's own file: of claude, cursor and vscode, in this directory
    #[arg(long)]
    pub(crate) project: bool,
    /// What the entry is called there
    #[arg(long, value_name = "NAME", default_value = "mux", value_parser = entry_name)]
    pub(crate) name: String,
    /// Under which name of [agents.NAME] the program connects
    #[arg(long, value_name = "NAME", value_parser = entry_name)]
    pub(crate) agent_name: Option<String>,
    /// The mux to start; without it, this one
    #[arg(long, value_name = "PATH")]
    pub(crate) command: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Import {
    /// Only from these programs; without it, from all that are on this machine
    #[arg(long, value_name = "AGENT", value_delimiter = ',')]
    pub(crate) from: Vec<Agent>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write over entries of the same name that differ
    #[arg(long)]
    pub(crate) replace: bool,
}

fn entry_name(text: &str) -> Result<String, String> {
    let right = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(right) {
        Ok(text.into())
    } else {
        Err("a name begins with a letter; letters, digits, - and _ follow".into())
    }
}
