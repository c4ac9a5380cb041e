//! What the two daemons say to each other: u32 length (little-endian), then JSON.
//!
//! The new one speaks first (`Hello`). Then, in turns: `Offer`, `Warm`; `CacheFree`, `Ready`; `Go`, `Serving`. From
//! there on only the old one speaks: sessions, one after the other, and at last `Left`, or its end.
//!
//! Invariant: an `Offer` carries the listening socket and the lock, and the socket to the keeper if it says so; a
//! `ConnectionState` the connection, a `Session` the process's standard input, output and error. Nothing else carries descriptors.

use serde::{Deserialize, Serialize};

use crate::lifecycle::InheritedService;
use mux_upstream::{HandoverKey, HandoverState};

/// Changes with what is said here, and with what a session's state means.
pub(super) const HANDOVER_PROTOCOL_VERSION: u32 = 1;

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PredecessorFrame {
    Offer {
        /// Sessions that are open and may come.
        awaited: Vec<HandoverKey>,
        /// The version of the keeper's wire, and its pid.
        keeper: Option<(u32, u32)>,
        /// Who started the first of us, and looks after us.
        service: InheritedService,
    },
    /// The store can be opened.
    CacheFree {},
    /// Sessions that are open now and may come. From here on both accept.
    Go {
        awaited: Vec<HandoverKey>,
    },
    /// Carries a connection on which runs that go on over there can be read.
    Door {},
    Session(Box<HandoverState>),
    /// It is busy, and may come later.
    Withheld(HandoverKey),
    /// What waits for an approval stands on the disk.
    Records {
        /// Runs that go on, and write what is theirs themselves.
        going_on: Vec<String>,
    },
    /// Nothing more comes.
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
    /// It could serve at once, but for the cache.
    Warm {},
    Ready {},
    Serving {
        pid: u32,
    },
    Failed {
        message: String,
    },
}
