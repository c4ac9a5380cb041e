//! From one daemon to the next, without a gap: the listening socket, the instance lock, the keeper, and the pipes of
//! sessions go over a socket between the two; what runs stays where it is.
//!
//! The daemon that serves (`giving`) starts the new program as `muxd successor` and tells it all (`frames`) over a
//! `channel`. The new one (`taking`) reads its configuration, starts its workers and opens the cache while the old one
//! still serves. Both accept for a moment; then the old one accepts no more, hands over each session as soon as
//! nothing is on its way over it (`sessions`), and leaves with its last run.
//!
//! Invariant: until the new daemon has said that it serves, the old one gives nothing up that it could not have back,
//! and whatever goes wrong, it goes on as if nothing had happened.

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

#[cfg(not(target_os = "linux"))]
pub use self::elsewhere::Predecessor;
#[cfg(not(target_os = "linux"))]
pub(crate) use self::elsewhere::{
    HandoverSource, PendingUpgrade, Successor, UpgradeTarget, hand_over,
};
pub use self::error::HandoverError;
#[cfg(target_os = "linux")]
pub use self::take_over::{Predecessor, TakenOver};
#[cfg(target_os = "linux")]
pub(crate) use self::{
    session_transfer::hand_over,
    start_successor::{HandoverSource, PendingUpgrade, Successor, UpgradeTarget},
};
