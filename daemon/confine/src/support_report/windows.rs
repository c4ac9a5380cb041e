//! Nothing is tried: muxd has no sandbox for servers on Windows.

use super::{SupportNote, SupportReport};

impl SupportReport {
    pub fn of_this_machine() -> Self {
        Self {
            layers: Vec::new(),
            has_sandboxes: false,
            notes: vec![SupportNote {
                message: "muxd has no sandbox for servers on Windows: an entry that asks for one does not start"
                    .into(),
                fix: "set sandbox = false in the entry, or run muxd in WSL".into(),
                is_weaker: true,
            }],
        }
    }
}
