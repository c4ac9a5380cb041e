//! Connects to the daemon as a client, to check that new clients are answered.
//!
//! Invariant: the probe is not counted as a client, so it does not keep an idle daemon alive.

use std::path::Path;

use mux_proto::{
    ClientInfo, Hello, MuxClient, transport,
    version::{BUILD, CONTRACT},
};
use tarpc::client::{Config, RpcError};

use super::{CLIENT_HELLO_TIMEOUT, ClientConnections, connection::PeerIds};

const PROBE_CLIENT_NAME: &str = "muxd watchdog";

/// True if a connection belongs to the probe.
pub(super) fn is_probe(hello: &Hello, peer: PeerIds) -> bool {
    hello.client.name == PROBE_CLIENT_NAME && peer.0 == Some(std::process::id())
}

/// Sends `hello` and `status`, as every client does. A daemon that refuses the connection, or has no descriptor left,
/// is full but alive. If it does not answer at all, this waits forever.
pub(crate) async fn lives(socket: &Path, connections: &ClientConnections) -> bool {
    let failures = connections.failures();
    tokio::select! {
        answered = asked(socket) => answered,
        () = connections.failed_since(failures) => true,
    }
}

async fn asked(socket: &Path) -> bool {
    let Ok(stream) = transport::dial(socket).await else {
        return true;
    };
    let client = MuxClient::new(Config::default(), transport::frames(stream)).spawn();
    let hello = Hello {
        contract: CONTRACT,
        build: BUILD.into(),
        client: ClientInfo {
            name: PROBE_CLIENT_NAME.into(),
            version: BUILD.into(),
        },
        agent: None,
        workspace: None,
        for_agent: false,
        profile: None,
        features: Vec::new(),
    };
    // The caller has a shorter timeout, and the daemon closes a connection without `hello` earlier.
    match client
        .hello(transport::within(CLIENT_HELLO_TIMEOUT * 100), hello)
        .await
    {
        Ok(Ok(_)) => {}
        Ok(Err(_)) => return true,
        Err(error) => return !matches!(error, RpcError::DeadlineExceeded),
    }
    let status = client
        .status(transport::within(CLIENT_HELLO_TIMEOUT * 100))
        .await;
    !matches!(status, Err(RpcError::DeadlineExceeded))
}
