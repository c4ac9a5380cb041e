//! Short names of commands, which the help does not list. `ls` and `search` are aliases of `tools`.

use clap::Subcommand;

use super::{LoginArgs, RunsListArgs, ServerAddArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum ShortcutCommand {
    /// List active runs, as `mux runs --running` does
    #[command(hide = true, after_help = "Example: mux ps")]
    Ps(RunsListArgs),
    /// Add a server to config.toml, as `mux servers add` does
    #[command(
        hide = true,
        after_help = "Example: mux add files -- mcp-server-filesystem /home/me/notes"
    )]
    Add(ServerAddArgs),
    /// Sign in to a server, as `mux servers login` does
    #[command(hide = true, after_help = "Example: mux login docs")]
    Login(LoginArgs),
    /// Print the version, as `mux --version` does
    #[command(hide = true, after_help = "Example: mux version")]
    Version,
}
