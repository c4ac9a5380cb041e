//! `mux servers add`, `remove`, `enable`, `disable`, and `mux project`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct AddServer {
    /// What programs call it: mux.NAME
    pub(crate) name: String,
    /// Reach it over HTTP
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "env", "cwd"], required_unless_present = "command")]
    pub(crate) url: Option<String>,
    /// Send this header with each request; may stand several times
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair, requires = "url")]
    pub(crate) headers: Vec<(String, String)>,
    /// auto, streamable-http or sse
    #[arg(long, value_name = "TRANSPORT", requires = "url")]
    pub(crate) transport: Option<String>,
    /// Give it this variable; may stand several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) env: Vec<(String, String)>,
    /// Start it in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Who shares one session: user, workspace, client or run
    #[arg(long, value_name = "WHO")]
    pub(crate) share: Option<String>,
    /// Write over the entry of this name
    #[arg(long)]
    pub(crate) replace: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ChangeServer {
    pub(crate) name: String,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Project {
    #[command(subcommand)]
    pub(crate) command: Option<ProjectCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProjectCommand {
    /// List those that are approved, and those in which somebody works (the default)
    #[command(after_help = "Example: mux project list --json")]
    List,
    /// Show what a project's files would start, and what is new since it was approved
    #[command(after_help = "Example: mux project show ~/src/shop")]
    Show {
        /// In it, or below it; the current directory if absent
        dir: Option<PathBuf>,
    },
    /// Let those who work in a project have its servers, as its files are now
    #[command(
        after_help = "It shows the files and asks. Without a terminal, name what you saw by its digest.\n\
        Examples:\n  mux project approve\n  mux project approve --hash 5f0c93a1d2b4"
    )]
    Approve {
        /// In it, or below it; the current directory if absent
        dir: Option<PathBuf>,
        /// The digest that `mux project show` printed, or its first 12 digits
        #[arg(long, value_name = "DIGEST")]
        hash: Option<String>,
    },
    /// Take an approval back; the project's servers end
    #[command(after_help = "Example: mux project revoke ~/src/shop")]
    Revoke {
        /// In it, or below it; the current directory if absent
        dir: Option<PathBuf>,
    },
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        // It is not repeated: a secret may have been given alone.
        _ => Err("it must be NAME=VALUE".into()),
    }
}
