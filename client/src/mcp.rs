//! `mux mcp`: an MCP server over standard input and output that gives an agent all configured servers.
//!
//! A thin bridge, which leaves decisions to the daemon. `mcp_server` implements the protocol in both eras: legacy (MCP
//! 2025-11-25 and older, with `initialize`) and modern (2026-07-28 and newer). `daemon_link` keeps a connection to the
//! daemon, `notice_follower` receives the daemon's notices, and `question_router` routes a server's question to the
//! request that caused it. `fence` marks results as server data. The agent decides how much reaches the model:
//! `profiles` describes the agents, and `run_texts` places the inventory and `result_reader` cuts results accordingly.
//!
//! Invariant: standard output carries only the protocol.

mod agent_stdio;
mod builtin_calls;
mod builtins;
mod catalog;
mod daemon_access;
mod daemon_link;
mod fence;
mod guide;
mod listed_names;
mod mcp_server;
mod meant_arguments;
mod notice_follower;
mod notification_receivers;
mod pending_jobs;
mod profiles;
mod progress_sender;
mod question_messages;
mod question_router;
mod resources_and_prompts;
mod result_reader;
mod roots;
mod run_texts;
mod runs_without_stored_values;
mod subscriptions;
mod tool_results;
mod transcript;
mod value_text;

use std::path::PathBuf;

use mux_proto::{Error, endpoint::Dirs};
use rmcp::service::{QuitReason, ServerInitializeError, serve_server};
use tokio_util::{io::InspectReader, sync::CancellationToken};

pub(crate) use self::profiles::AgentProfile;
use self::{daemon_link::DaemonLink, mcp_server::MuxMcpServer};
use crate::exit;

/// Which tools this server shows, and for which agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct McpOptions {
    /// The name whose overrides in `[agents.NAME]` apply.
    pub(crate) agent: Option<String>,
    /// The agent's workspace. Takes precedence over its roots.
    pub(crate) workspace: Option<PathBuf>,
    /// The directory in which this process was started.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) show: ServedTools,
    /// The maximum size of the tool inventory, in tokens.
    pub(crate) inventory_tokens: Option<usize>,
    /// The profile, regardless of the agent's name.
    pub(crate) profile: Option<&'static AgentProfile>,
    /// The built-in tools return structured content instead of text.
    pub(crate) structured: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum ServedTools {
    /// The built-in tools, and the servers' tools that are marked as direct.
    #[default]
    Programs,
    /// Every tool of every server, named `server__tool`.
    Everything,
    /// One server, unchanged, under its own names.
    Server(String),
}

/// Serves until the agent closes standard input.
pub(crate) async fn serve_mcp(
    options: McpOptions,
    dirs: Dirs,
    program: Option<PathBuf>,
) -> Result<(), Error> {
    let link = DaemonLink::new(dirs, program, &options);
    let over = CancellationToken::new();
    let face = MuxMcpServer::new(options, link, over.clone());
    let (input, output) = agent_stdio::open_agent_stdio();
    // rmcp lets pending requests finish for a while after the agent has closed the connection. A
    // `subscriptions/listen` request would never finish, and ends with this token.
    let input = InspectReader::new(input, move |read| {
        if read.is_empty() {
            over.cancel();
        }
    });
    let service = match serve_server(face, (input, output)).await {
        Ok(service) => service,
        // The agent closed the connection without a message.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(_) => {
            let message = "the agent did not open an MCP session: its first message must be `initialize` or `server/discover`";
            return Err(exit::unavailable_error(message.into()));
        }
    };
    if let Ok(QuitReason::Closed | QuitReason::Cancelled) = service.waiting().await {
        Ok(())
    } else {
        let message = "the session ended because of an error inside `mux mcp`; start it again";
        Err(exit::unavailable_error(message.into()))
    }
}
