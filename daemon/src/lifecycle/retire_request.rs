//! A daemon that runs when a service manager starts another: it is asked to make room.

use std::{path::PathBuf, time::Duration};

use mux_proto::{
    ClientInfo, Hello, MuxClient, transport,
    version::{BUILD, CONTRACT},
};
use tarpc::client::Config;

/// It only has to hear it.
const RETIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// Asks whoever serves at these sockets to drain and go. One that cannot be reached notices by itself that
/// its socket is another's.
pub async fn ask_to_go(sockets: &[PathBuf]) {
    // It may be of another build: `hello` and `retire` are understood by all.
    let hello = hello(Vec::new());
    for socket in sockets {
        let Ok(stream) = transport::dial(socket).await else {
            continue;
        };
        let client = MuxClient::new(Config::default(), transport::frames(stream)).spawn();
        let greeted = client.hello(transport::within(RETIRE_TIMEOUT), hello.clone());
        if matches!(greeted.await, Ok(Ok(_))) {
            let reason = "a service manager starts muxd from now on".to_owned();
            // It goes, or it holds the lock and its successor says so.
            drop(
                client
                    .retire(transport::within(RETIRE_TIMEOUT), reason)
                    .await,
            );
        }
    }
}

/// Of one daemon to another.
pub(super) fn hello(features: Vec<String>) -> Hello {
    Hello {
        contract: CONTRACT,
        build: BUILD.into(),
        client: ClientInfo {
            name: "muxd".into(),
            version: BUILD.into(),
        },
        agent: None,
        workspace: None,
        for_agent: false,
        features,
    }
}
