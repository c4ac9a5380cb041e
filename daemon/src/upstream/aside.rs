//! Work on long lists of tools, beside the runtime's own threads: a thousand tools keep one busy for some hundred
//! milliseconds, and whoever asks for something else meanwhile would wait as long.
//!
//! Invariant: what is short is done at once, where it is.

use rmcp::{RoleClient, service::Peer};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::{block_in_place, spawn_blocking},
};

use super::{
    listing::{self, Listed},
    offer::Offer,
};
use crate::catalog::{ToolDescription, ToolSet};

/// That take longer than it takes to hand them over.
const MANY_TOOLS: usize = 50;

/// What a source lists comes all at once.
pub(super) async fn list_tools(
    peer: &Peer<RoleClient>,
    transport: &'static str,
) -> Result<Listed, String> {
    if transport != "source" {
        return listing::list_tools(peer, transport).await;
    }
    let (peer, runtime) = (peer.clone(), Handle::current());
    let listed = move || runtime.block_on(listing::list_tools(&peer, transport));
    let listed = spawn_blocking(listed).await;
    listed.unwrap_or_else(|_| Err("its tools could not be listed: see `mux logs`".into()))
}

/// Remembered, held against pins, and made ready.
pub(super) fn set_of(offer: &Offer, tools: Vec<ToolDescription>) -> ToolSet {
    let many = tools.len() > MANY_TOOLS;
    let list = || offer.list(tools);
    // Tests may have a runtime of one thread, which cannot be handed over.
    match many && Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread {
        true => block_in_place(list),
        false => list(),
    }
}
