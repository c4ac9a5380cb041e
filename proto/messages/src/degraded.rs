//! Conditions of the host that restrict the daemon.

use serde::{Deserialize, Serialize};

/// A condition of the host that restricts the daemon. The condition is reported while it lasts.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Degraded {
    /// `descriptors`, `disk_full`, `read_only`, `missing`, `log`, `audit`, `cache`, `workers`, `clock`, `paused`,
    /// `watch`, `no_home` or `environment`. A newer daemon may know others.
    pub mode: String,
    /// The problem, and the features that do not work.
    pub message: String,
    /// The fix.
    pub fix: String,
}

impl Degraded {
    pub fn new(mode: &str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            mode: mode.to_owned(),
            message: message.into(),
            fix: fix.into(),
        }
    }
}
