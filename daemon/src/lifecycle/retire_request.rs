//! Asks a running daemon to retire, when a service manager starts another daemon.

use std::{path::PathBuf, time::Duration};

use mux_proto::{
    ClientInfo, Hello, MuxClient, transport,
    version::{BUILD, CONTRACT, features},
};
use tarpc::client::Config;

/// How long the other daemon may take to acknowledge.
const RETIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// Asks the daemons at these sockets to drain and exit. A daemon that cannot be reached detects by itself that its
/// socket was replaced.
pub async fn ask_to_go(sockets: &[PathBuf]) {
    // The daemon may be of another build: every build understands `hello` and `retire`.
    let hello = hello();
    for socket in sockets {
        let Ok(stream) = transport::dial(socket).await else {
            continue;
        };
        let client = MuxClient::new(Config::default(), transport::frames(stream)).spawn();
        let greeted = client.hello(transport::within(RETIRE_TIMEOUT), hello.clone());
        if matches!(greeted.await, Ok(Ok(_))) {
            let reason = "a service manager has started another muxd".to_owned();
            // If the other daemon does not exit, this daemon's wait for the instance lock fails with an error.
            drop(
                client
                    .retire(transport::within(RETIRE_TIMEOUT), reason)
                    .await,
            );
        }
    }
}

/// The `hello` of one daemon to another.
pub(super) fn hello() -> Hello {
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
        profile: None,
        features: features(),
    }
}
