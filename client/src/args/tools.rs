//! Arguments of `mux call`, `mux mcp`, `mux tools` and `mux types`.

use std::{path::PathBuf, time::Duration};

use clap::{Args as ClapArgs, Subcommand};

use super::{TraceArgs, timeout::parse_timeout};
use crate::mcp::AgentProfile;

#[derive(Debug, ClapArgs)]
pub(crate) struct CallArgs {
    /// SERVER.TOOL, SERVER TOOL, or a quoted call: 'SERVER.TOOL(key: "value")'. With --stdio or --url: TOOL, or nothing to
    /// list the tools
    #[arg(required_unless_present_any = ["stdio", "url"])]
    pub(crate) path: Option<String>,
    /// KEY=VALUE pairs, or one JSON object, @FILE, or - for standard input
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
    /// The arguments, in the same forms; KEY=VALUE can be repeated
    #[arg(long, value_name = "INPUT", allow_negative_numbers = true)]
    pub(crate) input: Vec<String>,
    /// Print the whole result as the server returned it
    #[arg(long)]
    pub(crate) raw: bool,
    /// Write the parts of the result (images, audio, text, resources) to new files in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) save_parts: Option<PathBuf>,
    /// The maximum time to wait; a number without a unit is in seconds
    #[arg(long, value_name = "TIME", value_parser = parse_timeout)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) unlisted: UnlistedServerArgs,
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
}

/// A server that is started for one command and is not in config.toml.
#[derive(Debug, Default, ClapArgs)]
#[group(skip)]
pub(crate) struct UnlistedServerArgs {
    /// Start this server for the call, without an entry in config.toml
    #[arg(long, value_name = "COMMAND", conflicts_with = "url")]
    pub(crate) stdio: Option<String>,
    /// Connect to this server for the call, without an entry in config.toml
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Send this header with each request to --url; can be repeated
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = super::servers::parse_pair, requires = "url")]
    pub(crate) headers: Vec<(String, String)>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct McpArgs {
    /// Apply the overrides of [agents.NAME]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The agent's workspace [default: its roots, or the current directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Serve every tool directly instead of programs; with a server name, serve only that server, under its own tool names
    #[arg(long, value_name = "SERVER", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) passthrough: Option<String>,
    /// The maximum size of the tool list in the description of `run`
    #[arg(
        long,
        value_name = "TOKENS",
        default_value_t = 2000,
        conflicts_with = "passthrough"
    )]
    pub(crate) inventory: usize,
    /// Adapt descriptions and results to this agent's limits [default: chosen by the client's name]
    #[arg(long, value_name = "NAME", value_parser = parse_profile)]
    pub(crate) profile: Option<&'static AgentProfile>,
    /// Return program results as structured content instead of text, for clients that parse them
    #[arg(long, conflicts_with = "passthrough")]
    pub(crate) structured: bool,
}

fn parse_profile(name: &str) -> Result<&'static AgentProfile, String> {
    AgentProfile::find(name).ok_or_else(|| {
        let names = AgentProfile::all()
            .iter()
            .map(|profile| profile.name.as_str());
        format!("the profiles are {}", names.collect::<Vec<_>>().join(", "))
    })
}

#[derive(Debug, Default, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
    /// Words to search for in names, servers, arguments and descriptions
    pub(crate) query: Vec<String>,
    /// List only tools of this server
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Include tools that only MCP Apps can use
    #[arg(long, conflicts_with = "query")]
    pub(crate) all: bool,
    /// The maximum number of tools to list
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// The cursor of the next page, as printed by the previous page of the same search
    #[arg(long, value_name = "CURSOR", requires = "query")]
    pub(crate) cursor: Option<String>,
    /// Include JSON schemas and annotations; requires --json
    #[arg(long, requires = "json")]
    pub(crate) schemas: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Change a tool's name, description, arguments or annotations for all clients
    #[command(
        after_help = "Writes [servers.SERVER.override.TOOL] to config.toml; the server and its pins do not change.\n\
        Examples:\n  mux tools override github.create_issue --name new_issue --default owner=acme\n  \
        mux tools override github.create_issue --fix repo=site --annotation destructive=true\n  \
        mux tools override github.create_issue --remove"
    )]
    Override(ToolOverrideArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ToolOverrideArgs {
    /// SERVER.TOOL, with the server's own name for the tool
    pub(crate) path: String,
    /// The tool's new name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The tool's new description
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// The default for an argument that the caller omits; can be repeated
    #[arg(long = "default", value_name = "KEY=VALUE", value_parser = parse_pair)]
    pub(crate) defaults: Vec<(String, String)>,
    /// A fixed argument that callers can neither see nor pass; can be repeated
    #[arg(long = "fix", value_name = "KEY=VALUE", value_parser = parse_pair)]
    pub(crate) fixed: Vec<(String, String)>,
    #[expect(clippy::doc_markdown, reason = "the help has no markup")]
    /// read_only, destructive, idempotent or open_world, for rules and approvals; can be repeated
    #[arg(long = "annotation", value_name = "KEY=BOOL", value_parser = parse_pair)]
    pub(crate) annotations: Vec<(String, String)>,
    /// Remove the override
    #[arg(long, conflicts_with_all = ["name", "description", "defaults", "fixed", "annotations"])]
    pub(crate) remove: bool,
    /// Show the change without writing it
    #[arg(long)]
    pub(crate) dry_run: bool,
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("it must be KEY=VALUE".into()),
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TypesArgs {
    /// SERVER, SERVER.GROUP or SERVER.TOOL [default: all tools]
    pub(crate) paths: Vec<String>,
    /// Keep DIR/mux.d.ts, and a tsconfig.json next to it, up to date until Ctrl-C
    #[arg(long, value_name = "DIR", conflicts_with_all = ["paths", "forget", "json"])]
    pub(crate) watch: Option<PathBuf>,
    /// Forget the result types inferred from past calls
    #[arg(long)]
    pub(crate) forget: bool,
}
