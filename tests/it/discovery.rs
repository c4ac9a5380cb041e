//! Finding tools: over the socket, in programs and on the command line, as different agents see them.

mod agents;
mod budget;
mod words;

use mux_client::{ClientIdentity, Session, within_seconds};
use mux_proto::{Inventory, InventoryRequest};
use mux_tests::{TestEnv, env::binary};

/// The timeout of each request, in seconds.
const PATIENCE: u64 = 60;

/// A client with or without an agent name.
async fn client(env: &TestEnv, agent: Option<&str>) -> Session {
    let identity = ClientIdentity {
        agent: agent.map(str::to_owned),
        ..ClientIdentity::new("test", "0")
    };
    mux_client::connect_or_spawn(&env.dirs, Some(binary("muxd")), &identity)
        .await
        .unwrap()
}

async fn inventory(session: &Session, budget: usize, wait_ms: u64) -> Inventory {
    let request = InventoryRequest {
        budget_tokens: Some(budget),
        wait_ms,
        ..InventoryRequest::default()
    };
    let inventory = session.client.inventory(within_seconds(PATIENCE), request);
    inventory.await.unwrap().unwrap()
}
