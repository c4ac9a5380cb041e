//! Why one daemon could not take over from another.

use std::{io, path::PathBuf, time::Duration};

/// The daemon that serves goes on.
#[derive(Debug, thiserror::Error)]
pub enum HandoverError {
    #[error("{binary:?} cannot be started: {source}")]
    Start { binary: PathBuf, source: io::Error },
    #[error("speak to the other muxd: {0}")]
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
    #[error("the new muxd (build {build}) hands over in another way than this one")]
    OtherWire { build: String },
    #[error(
        "the new muxd (build {build}) speaks contract {theirs}, and the mux that asks speaks {wanted}"
    )]
    OtherContract {
        build: String,
        theirs: u32,
        wanted: u32,
    },
    #[error("another muxd is being started")]
    Busy,
    #[error("on this system no muxd takes over from another")]
    NotHere,
    #[error("the muxd that served has changed its mind")]
    GivenUp,
    #[error("the other muxd said something that was not its turn to say")]
    OutOfTurn,
}
