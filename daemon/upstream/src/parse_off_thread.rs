//! Work on long lists of tools, beside the runtime's own threads: a thousand tools keep one busy for some hundred
//! milliseconds, and whoever asks for something else meanwhile would wait as long.
//!
//! Invariant: what a server lists page by page is waited for where it is.

use rmcp::{RoleClient, service::Peer};
use tokio::{runtime::Handle, task::spawn_blocking};

use super::tools_list::{self, ListedTools};

/// What a source lists comes all at once.
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
