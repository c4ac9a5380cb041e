//! Tools, one by one, as types, and for agents.

use std::{path::PathBuf, time::Duration};

use clap::Args as ClapArgs;

use super::Trace;

#[derive(Debug, ClapArgs)]
pub(crate) struct Call {
    /// SERVER.TOOL
    pub(crate) path: String,
    /// key=value pairs, one JSON object, or - for a JSON object on standard input
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
    /// Print the whole result as the server gave it
    #[arg(long)]
    pub(crate) raw: bool,
    /// Wait at most this long
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) trace: Trace,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Mcp {
    /// Apply the overrides of [agents.NAME]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Where the agent works; its roots, or the current directory, if absent
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Offer every tool as an ordinary one instead of programs; with a server's name, that server as it is
    #[arg(long, value_name = "SERVER", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) passthrough: Option<String>,
    /// The most that the list of tools in the description of `run` may take
    #[arg(
        long,
        value_name = "TOKENS",
        default_value_t = 2000,
        conflicts_with = "passthrough"
    )]
    pub(crate) inventory: usize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Tools {
    /// Words of the name, the server, the arguments or the description
    pub(crate) query: Vec<String>,
    /// Only this server's
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Also those for the pages of MCP Apps, which no model is shown
    #[arg(long, conflicts_with = "query")]
    pub(crate) all: bool,
    /// At most so many
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// The next page of the same words, as the page before names it
    #[arg(long, value_name = "CURSOR", requires = "query")]
    pub(crate) cursor: Option<String>,
    /// With their JSON schemas; goes with --json
    #[arg(long, requires = "json")]
    pub(crate) schemas: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Types {
    /// SERVER, SERVER.GROUP or SERVER.TOOL; everything without
    pub(crate) paths: Vec<String>,
    /// Keep DIR/mux.d.ts, and a tsconfig.json beside it, as they should be until Ctrl-C
    #[arg(long, value_name = "DIR", conflicts_with_all = ["paths", "forget", "json"])]
    pub(crate) watch: Option<PathBuf>,
    /// Forget what was learned of their results
    #[arg(long)]
    pub(crate) forget: bool,
}
