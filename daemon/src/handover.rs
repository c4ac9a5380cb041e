//! Handover from one daemon to the next without a gap: the listening socket, the instance lock, the keeper, and the
//! pipes of sessions are sent over a socket between the two daemons. Runs stay where they are.
//!
//! The predecessor (`start_successor`) starts the new program as `muxd successor` and talks to it in `frames` over a
//! `channel`. The successor (`take_over`) reads its configuration, starts its workers and opens the cache while the
//! predecessor still serves. Both accept for a moment. Then the predecessor stops accepting, hands over each session
//! once it is idle (`session_transfer`), and exits with its last run. `upgrade_request` has the request and its
//! answer, and `error` the reasons for a failure. `elsewhere` replaces the rest on systems without a keeper.
//!
//! Invariant: until the successor has sent `Serving`, the predecessor gives up nothing that it could not take back, and
//! after any failure it continues as if nothing had happened.

#[cfg(target_os = "linux")]
mod channel;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
#[cfg(target_os = "linux")]
mod frames;
#[cfg(target_os = "linux")]
mod session_transfer;
#[cfg(target_os = "linux")]
mod start_successor;
#[cfg(target_os = "linux")]
mod take_over;
mod upgrade_request;

#[cfg(not(target_os = "linux"))]
pub use self::elsewhere::Predecessor;
#[cfg(not(target_os = "linux"))]
pub(crate) use self::elsewhere::{HandoverSource, Successor, hand_over};
pub use self::error::HandoverError;
#[cfg(target_os = "linux")]
pub use self::take_over::{Predecessor, TakenOver};
pub(crate) use self::upgrade_request::{NextDaemon, PendingUpgrade, UpgradeTarget};
#[cfg(target_os = "linux")]
pub(crate) use self::{
    session_transfer::hand_over,
    start_successor::{HandoverSource, Successor},
};
