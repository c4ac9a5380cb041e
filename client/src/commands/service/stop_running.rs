//! Stops the running daemon before the service manager starts one.

use std::time::Duration;

use mux_client::{StartGuard, within_seconds};
use mux_proto::{Error, Kind, StopRequest, endpoint::Dirs};

use super::super::{CommandFailure, connect_if_running};
use crate::exit;

/// Covers the drain and the shutdown of all servers.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(40);

/// Stops the running daemon, if there is one, and returns its pid. No client starts another until the returned guard
/// is dropped.
pub(super) async fn stop_running_daemon(
    dirs: &Dirs,
) -> Result<(Option<u32>, StartGuard), CommandFailure> {
    let failed = |error: std::io::Error| {
        CommandFailure::from(exit::unavailable_error(format!(
            "cannot read the locks: {error}"
        )))
    };
    let held = mux_client::block_starts(dirs).await.map_err(failed)?;
    let pid = match connect_if_running().await? {
        Some(session) => {
            let request = StopRequest { now: false };
            session.client.stop(within_seconds(10), request).await??;
            Some(session.welcome.pid)
        }
        // One that is already shutting down, or none.
        None => mux_client::lock_holder(dirs).map_err(failed)?,
    };
    if let Ok(ended) = tokio::time::timeout(DRAIN_TIMEOUT, held.wait_until_unlocked(dirs)).await {
        ended.map_err(failed)?;
    } else {
        let message = format!("muxd did not exit within {DRAIN_TIMEOUT:?}");
        return Err(Error::new(Kind::Timeout, message)
            .hint("`mux stop --now` cancels active runs; then try again")
            .into());
    }
    Ok((pid, held))
}
