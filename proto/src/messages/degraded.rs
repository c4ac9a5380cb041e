//! What a daemon cannot do now, because its machine does not let it.

use serde::{Deserialize, Serialize};

/// One way in which it is less than it could be. It is told as long as it is so.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Degraded {
    /// `descriptors`, `disk_full`, `read_only`, `missing`, `log`, `audit`, `cache`, `workers`, `clock`, `paused`,
    /// `watch`, `no_home` or `environment`. A newer daemon may know others.
    pub mode: String,
    /// What is so, and what does not work.
    pub message: String,
    /// What one does about it.
    pub fix: String,
}
