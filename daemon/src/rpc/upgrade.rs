//! Requests to hand over to another `muxd` program.

use mux_proto::{self as wire, Kind};
use serde_json::json;
use tokio::sync::oneshot;

use crate::{
    daemon::Daemon,
    handover::{NextDaemon, UpgradeTarget},
};

pub(super) async fn upgrade(
    daemon: &Daemon,
    request: wire::UpgradeRequest,
) -> wire::Result<wire::Upgraded> {
    let wire::UpgradeRequest { binary, contract } = request;
    if !binary.is_absolute() {
        let message = format!("{:?} is not an absolute path", binary.to_string_lossy());
        return Err(wire::Error::new(Kind::Validation, message));
    }
    let (answer, answered) = oneshot::channel();
    let wish = (UpgradeTarget { binary, contract }, answer);
    let ending = || {
        let mut error = wire::Error::new(Kind::Unavailable, "another muxd is already taking over");
        error.details = Some(json!({ "ending": true }));
        error
    };
    daemon.upgrades.send(wish).await.map_err(|_| ending())?;
    let NextDaemon {
        pid,
        build,
        contract,
        took,
    } = answered.await.map_err(|_| ending())?.map_err(|error| {
        let message = format!("this muxd continues: {error}");
        wire::Error::new(Kind::Unavailable, message)
            .hint("see `mux logs`; `mux restart` stops it and starts another")
    })?;
    Ok(wire::Upgraded {
        pid,
        build,
        contract,
        ms: wire::millis(took),
    })
}
