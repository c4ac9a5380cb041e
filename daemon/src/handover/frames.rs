//! The frames between the two daemons of a handover: u32 length (little-endian), then JSON.
//!
//! The successor sends the first frame (`Hello`). Then, in turns: `Offer`, `Warm`; `CacheFree`, `Ready`; `Go`,
//! `Serving`. From then on only the predecessor sends: one session after the other, and finally `Left` or the end of
//! the stream.
//!
//! Invariant: an `Offer` carries the listening socket and the lock, and the socket to the keeper if it has a `keeper`.
//! A `Door` carries the connection, and a `Session` the process's standard input, output and error. No other frame
//! carries descriptors.

use serde::{Deserialize, Serialize};

use crate::lifecycle::InheritedService;
use mux_upstream::{HandoverKey, HandoverState};

/// Increased when a frame, or the meaning of a session's state, changes.
pub(super) const HANDOVER_PROTOCOL_VERSION: u32 = 1;

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PredecessorFrame {
    Offer {
        /// Open sessions that may be handed over.
        awaited: Vec<HandoverKey>,
        /// The version of the keeper's protocol, and its pid.
        keeper: Option<(u32, u32)>,
        /// The service manager that started the first of these daemons, if any.
        service: InheritedService,
    },
    /// The predecessor has closed the cache: the successor can open it.
    CacheFree {},
    /// Lets the successor serve, with the sessions that are open now and may be handed over. From here on both accept.
    Go {
        awaited: Vec<HandoverKey>,
        /// The number of the successor's first run.
        next_run: u64,
    },
    /// Carries a connection to the predecessor, on which its runs can be read.
    Door {},
    Session(Box<HandoverState>),
    /// The session is busy and may be handed over later.
    Withheld(HandoverKey),
    /// The pending approvals have been written to the disk.
    Records {
        /// Runs that continue in the predecessor, which writes their approvals itself.
        going_on: Vec<String>,
    },
    /// The last frame.
    Left {},
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SuccessorFrame {
    Hello {
        wire: u32,
        build: String,
        contract: u32,
    },
    /// The successor could serve, except for the cache.
    Warm {},
    Ready {},
    Serving {
        pid: u32,
    },
    Failed {
        message: String,
    },
}
