//! Stops the running daemon before the service manager starts one.

use std::time::Duration;

use mux_client::{StartsHeld, within_seconds};
use mux_proto::{Kind, StopRequest, endpoint::Dirs};

use super::super::{Failure, running};
use crate::exit;

/// Covers the drain and the shutdown of all servers.
const PATIENCE: Duration = Duration::from_secs(40);

/// Stops the running daemon, if there is one, and returns its pid. No client starts another until the returned guard
/// is dropped.
pub(super) async fn make(dirs: &Dirs) -> Result<(Option<u32>, StartsHeld), Failure> {
    let failed = |error: std::io::Error| {
        Failure::from(exit::machinery(format!("cannot read the locks: {error}")))
    };
    let held = mux_client::hold_starts(dirs).await.map_err(failed)?;
    let pid = match running().await? {
        Some(session) => {
            let request = StopRequest { now: false };
            let stopped = session.client.stop(within_seconds(10), request).await?;
            stopped.map_err(Failure::from)?;
            Some(session.welcome.pid)
        }
        // One that is already shutting down, or none.
        None => mux_client::holder(dirs).map_err(failed)?,
    };
    match tokio::time::timeout(PATIENCE, held.until_nobody_serves(dirs)).await {
        Ok(ended) => ended.map_err(failed)?,
        Err(_) => {
            let mut error = exit::machinery(format!("muxd did not end within {PATIENCE:?}"))
                .hint("`mux stop --now` cancels what runs; then try again");
            error.kind = Kind::Timeout;
            return Err(error.into());
        }
    }
    Ok((pid, held))
}
