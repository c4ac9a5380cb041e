//! `[history]`: which runs are kept, and for how long.

use std::{collections::BTreeSet, time::Duration};

use mux_config::Config;

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
    pub(super) fn of(config: &Config) -> Self {
        let agents = config.agents.iter();
        let bare = agents.filter(|(_, agent)| agent.history == Some(false));
        Self {
            keep: config.history.keep.0,
            size: config.history.size.0.0,
            bare_agents: bare.map(|(name, _)| name.clone()).collect(),
        }
    }
}
