//! `[approvals]`, as the user wrote it.

use serde::Deserialize;

use super::SizeEntry;

/// `[approvals]`. Times are texts such as `"4m"`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalsEntry {
    /// How long a program waits for an answer.
    pub wait: Option<String>,
    /// Calls that wait at once.
    pub held: Option<usize>,
    pub held_per_run: Option<usize>,
    /// What of a run's calls and results is kept for running it again.
    pub log: Option<SizeEntry>,
    /// How long what nobody answered is kept.
    pub keep: Option<String>,
    /// Whether the desktop is told.
    pub desktop: Option<bool>,
}
