//! `[history]`: which runs are kept, and for how long.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use mux_config::{AgentEntry, HistoryEntry};

/// What the history keeps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HistorySettings {
    /// How long a run is kept. Zero: nothing is kept.
    pub keep: Duration,
    /// The maximum size of the database in bytes.
    pub size: u64,
    /// Agents whose inputs, arguments, results and output are not kept.
    pub bare_agents: BTreeSet<String>,
}

impl HistorySettings {
    pub(super) fn of(entry: &HistoryEntry, agents: &BTreeMap<String, AgentEntry>) -> Self {
        let bare = agents
            .iter()
            .filter(|(_, agent)| agent.history == Some(false));
        Self {
            keep: entry.keep.0,
            size: entry.size.0.0,
            bare_agents: bare.map(|(name, _)| name.clone()).collect(),
        }
    }
}
