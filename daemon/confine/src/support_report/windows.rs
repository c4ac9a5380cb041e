//! Nothing is tried: muxd has no sandbox for servers on Windows.

use mux_messages::{SandboxSupportNote, SandboxSupportReport};

pub fn sandbox_support() -> SandboxSupportReport {
    SandboxSupportReport {
        layers: Vec::new(),
        has_sandboxes: false,
        notes: vec![SandboxSupportNote {
            message: "muxd has no sandbox for servers on Windows: an entry that asks for one does not start"
                .into(),
            fix: "set sandbox = false in the entry, or run muxd in WSL".into(),
            is_weaker: true,
        }],
    }
}
