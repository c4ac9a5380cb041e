//! The reasons for a failed handover.

use std::{io, path::PathBuf, time::Duration};

/// The reason a handover failed. The predecessor continues to serve.
#[derive(Debug, thiserror::Error)]
pub enum HandoverError {
    #[error("{binary:?} cannot be started: {source}")]
    Start { binary: PathBuf, source: io::Error },
    #[error("cannot communicate with the other muxd: {0}")]
    Channel(#[from] io::Error),
    #[error("the new muxd ended before it served; see `mux logs`")]
    Ended,
    #[error("the new muxd could not serve: {0}")]
    Failed(String),
    #[error("the {who} muxd did not {what} within {limit:?}")]
    Silent {
        /// `old` or `new`.
        who: &'static str,
        what: &'static str,
        limit: Duration,
    },
    #[error("the new muxd (build {build}) has another version of the handover protocol")]
    OtherWire { build: String },
    #[error(
        "the new muxd (build {build}) speaks contract {theirs}, and the client that requested it speaks {wanted}"
    )]
    OtherContract {
        build: String,
        theirs: u32,
        wanted: u32,
    },
    #[error("another muxd is being started")]
    Busy,
    #[error("muxd cannot be upgraded without a restart on this system")]
    NotHere,
    #[error("the running muxd has ended the handover")]
    GivenUp,
    #[error("the other muxd sent an unexpected message")]
    OutOfTurn,
}
