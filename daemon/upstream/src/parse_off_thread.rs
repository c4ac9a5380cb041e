//! Lists the tools of a source on a blocking thread: a thousand tools take some hundred milliseconds, which would delay
//! other tasks of the runtime.
//!
//! Invariant: lists that a server sends page by page are awaited in place.

use rmcp::{RoleClient, service::Peer};
use tokio::{runtime::Handle, task::spawn_blocking};

use super::tools_list::{self, ListedTools};

/// Lists the tools; a source lists all of them at once, on a blocking thread.
pub(super) async fn list_tools_off_thread(
    peer: &Peer<RoleClient>,
    transport: &'static str,
) -> Result<ListedTools, String> {
    if transport != "source" {
        return tools_list::list_tools(peer, transport).await;
    }
    let (peer, runtime) = (peer.clone(), Handle::current());
    let listed = move || runtime.block_on(tools_list::list_tools(&peer, transport));
    let listed = spawn_blocking(listed).await;
    listed.unwrap_or_else(|_| Err("its tools could not be listed: see `mux logs`".into()))
}
