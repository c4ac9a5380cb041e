//! What a client asks of a daemon in order to upgrade it, and the answer.

use std::{path::PathBuf, time::Duration};

use tokio::sync::oneshot;

use super::error::HandoverError;

/// A request to hand over to another program.
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "an upgrade is refused")
)]
#[derive(Clone, Debug)]
pub(crate) struct UpgradeTarget {
    pub(crate) binary: PathBuf,
    /// The contract that the requesting client speaks.
    pub(crate) contract: u32,
}

/// The daemon that serves from now on.
#[derive(Clone, Debug)]
pub(crate) struct NextDaemon {
    pub(crate) pid: u32,
    pub(crate) build: String,
    pub(crate) contract: u32,
    /// How long the handover took.
    pub(crate) took: Duration,
}

pub(crate) type PendingUpgrade = (
    UpgradeTarget,
    oneshot::Sender<Result<NextDaemon, HandoverError>>,
);
