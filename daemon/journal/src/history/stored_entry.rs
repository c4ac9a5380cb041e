//! One row of a run in the history: what happened between two writes.
//!
//! Invariant: a row that was written can be read by every later version with the same schema version.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use mux_messages::Event;
use mux_wire::Fault;
use serde::{Deserialize, Serialize};

use crate::call_log::{CallState, LoggedCall};

/// Texts of at least this length are stored once for all runs.
pub(super) const MIN_SHARED_TEXT_BYTES: usize = 2 << 10;

#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct StoredEntries {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) events: Vec<Event>,
    /// Calls that are new or have changed, by their index.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) calls: BTreeMap<usize, StoredCall>,
    /// Set if calls from here on exceeded the limit of a run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_full: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct StoredCall {
    pub(super) tool: Arc<str>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) raw: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) number: Option<u32>,
    pub(super) at: Duration,
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    pub(super) took: Duration,
    pub(super) arguments: StoredText,
    pub(super) outcome: StoredOutcome,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredOutcome {
    Open,
    Asked,
    Result(StoredText),
    Error(Arc<Fault>),
}

/// A text, or where it is.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredText {
    Text(Arc<str>),
    /// The digest of a text in the table of texts.
    Shared(String),
    /// The server's or the agent's entry says `history = false`. Contains the length in bytes.
    Withheld(usize),
}

impl StoredCall {
    /// `store` decides where a text goes.
    pub(super) fn of(call: &LoggedCall, mut store: impl FnMut(&Arc<str>) -> StoredText) -> Self {
        Self {
            tool: Arc::clone(&call.tool),
            raw: call.raw,
            number: call.number,
            at: call.at,
            took: call.took,
            arguments: store(&call.arguments),
            outcome: match &call.state {
                CallState::Open => StoredOutcome::Open,
                CallState::Asked => StoredOutcome::Asked,
                CallState::Ended(Ok(text)) => StoredOutcome::Result(store(text)),
                CallState::Ended(Err(fault)) => StoredOutcome::Error(Arc::clone(fault)),
            },
        }
    }
}
