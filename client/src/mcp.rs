//! `mux mcp`: the whole pool as one small MCP server over standard input and output, for any agent.
//!
//! A thin bridge. `face` speaks the protocol, both eras of it; `link` keeps a connection to the daemon,
//! `follow` hears what the daemon tells of its own accord, and `desk` brings a server's question to the
//! request that caused it. Nothing is decided here that another client would have to decide again.
//!
//! Invariant: standard output carries the protocol and nothing else.

mod answers;
mod audience;
mod catalog;
mod desk;
mod ending;
mod face;
mod follow;
mod guide;
mod job;
mod link;
mod names;
mod offers;
mod own;
mod questions;
mod roots;
mod subscriptions;
mod teller;
mod transcript;
mod work;

use std::path::PathBuf;

use mux_proto::{Error, endpoint::Dirs};
use rmcp::service::{QuitReason, ServerInitializeError, serve_server};

use tokio_util::sync::CancellationToken;

use self::{ending::Ending, face::Face, link::Link};
use crate::exit;

/// What of the pool this server shows, and to whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// Whose overrides apply.
    pub(crate) agent: Option<String>,
    /// Where the agent works, whatever its roots say.
    pub(crate) workspace: Option<PathBuf>,
    /// Where this process was started.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) show: Show,
    /// The most that the inventory of tools may take.
    pub(crate) inventory_tokens: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Show {
    /// Programs, discovery, and the tools that are marked as direct.
    #[default]
    Programs,
    /// Every tool as an ordinary one, under its server's name.
    Everything,
    /// One server as it is, under its own names.
    Server(String),
}

/// Serves until the agent closes standard input.
pub(crate) async fn serve(
    options: Options,
    dirs: Dirs,
    program: Option<PathBuf>,
) -> Result<(), Error> {
    let link = Link::new(dirs, program, &options);
    let over = CancellationToken::new();
    let face = Face::new(options, link, over.clone());
    let stdio = (Ending::new(tokio::io::stdin(), over), tokio::io::stdout());
    let service = match serve_server(face, stdio).await {
        Ok(service) => service,
        // It went away without having said a word.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => {
            let message = format!("the agent did not open an MCP session: {error}");
            return Err(exit::machinery(message));
        }
    };
    match service.waiting().await {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
        Ok(other) => Err(exit::machinery(format!("the session ended: {other:?}"))),
        Err(error) => Err(exit::machinery(format!("the session broke: {error}"))),
    }
}
