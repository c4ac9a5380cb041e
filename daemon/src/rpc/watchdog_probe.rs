//! The daemon as its own client: whether somebody who dials now is answered.
//!
//! Invariant: it is no client in any count, so that it keeps no daemon from leaving.

use std::path::Path;

use mux_proto::{
    ClientInfo, Hello, MuxClient, transport,
    version::{BUILD, CONTRACT},
};
use tarpc::client::{Config, RpcError};

use super::{CLIENT_HELLO_TIMEOUT, ClientConnections, connection::PeerIds};

const PROBE_CLIENT_NAME: &str = "muxd watchdog";

/// Whether this connection is our own.
pub(super) fn is_probe(hello: &Hello, peer: PeerIds) -> bool {
    hello.client.name == PROBE_CLIENT_NAME && peer.0 == Some(std::process::id())
}

/// Says hello and asks for the status, on the way that every client takes. A daemon that refuses us, or has
/// no descriptor left, is full and lives; one that says nothing does not: this then waits for ever.
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
        features: Vec::new(),
    };
    // The caller's patience is shorter, and there is none to be had beyond that of the door.
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
