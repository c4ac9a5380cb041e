//! `mux servers` with all that it does, and `mux project`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::{Accept, Lines, Pins};

#[derive(Debug, ClapArgs)]
pub(crate) struct Servers {
    #[command(subcommand)]
    pub(crate) command: Option<ServersCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// List them (the default)
    #[command(after_help = "Example: mux servers list --json")]
    List,
    /// Close a server's session and start it again
    #[command(after_help = "Example: mux servers restart files")]
    Restart { server: String },
    /// Write a server into config.toml
    #[command(
        after_help = "Secrets go into the file `env` beside it. ${NAME} is a variable, ${cmd:…} what a command tells.\n\
        Examples:\n  mux servers add files -- mcp-server-filesystem /home/me/notes\n  \
        mux servers add docs --url https://example.com/mcp --header 'Authorization=Bearer ${cmd:pass docs}'"
    )]
    Add(AddServer),
    /// Take a server out of config.toml
    #[command(after_help = "Example: mux servers remove files")]
    Remove(ChangeServer),
    /// Offer a server again that was switched off
    #[command(after_help = "Example: mux servers enable files")]
    Enable(ChangeServer),
    /// Keep a server's entry, and offer nothing of it
    #[command(after_help = "Example: mux servers disable files")]
    Disable(ChangeServer),
    /// List its tools beside what was pinned of them
    #[command(after_help = "Example: mux servers pins github")]
    Pins(Pins),
    /// Show what its tools have become since they were first trusted, and accept it
    #[command(
        after_help = "It asks before it accepts; without a terminal, --yes says so. What changes while you look is not \
        accepted.\nExamples:\n  mux servers accept github\n  mux servers accept github create_issue --yes"
    )]
    Accept(Accept),
    /// Sign in to a server that wants to know its users
    #[command(
        after_help = "A browser opens, and the daemon keeps what it brings back. Where no browser can reach this\n\
        machine, --paste takes the address at which it ends.\n\
        Examples:\n  mux servers login docs\n  mux servers login docs --paste"
    )]
    Login(Login),
    /// Sign out: the tokens are revoked and forgotten
    #[command(after_help = "Example: mux servers logout docs")]
    Logout { server: String },
    /// Show what a server wrote to its standard error
    #[command(after_help = "Example: mux servers logs files -n 20")]
    Logs {
        server: String,
        #[command(flatten)]
        lines: Lines,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Login {
    pub(crate) server: String,
    /// Only print the address
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Read the address that the browser was sent to from standard input
    #[arg(long)]
    pub(crate) paste: bool,
    /// Open the address with this program
    #[arg(long, value_name = "PROGRAM", conflicts_with = "no_browser")]
    pub(crate) browser: Option<PathBuf>,
}

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
        Examples:\n  mux project approve\n  mux project approve --hash 5f0c93a1d2b47e8806c1f4a39d5be217"
    )]
    Approve {
        /// In it, or below it; the current directory if absent
        dir: Option<PathBuf>,
        /// The digest that `mux project show` printed, or its first 32 digits
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

pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        // It is not repeated: a secret may have been given alone.
        _ => Err("it must be NAME=VALUE".into()),
    }
}
