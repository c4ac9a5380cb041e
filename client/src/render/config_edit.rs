//! The output for edits of config.toml that are checked before and reloaded afterwards. The output contains no secret
//! values.

use std::path::PathBuf;

use super::terminal::{println, report};
use mux_proto::ReloadReport;
use serde::Serialize;

use super::{display_path, note, reloaded, style::escape_text, warn};

/// A change of config.toml.
#[serde_with::skip_serializing_none]
#[derive(Debug, Default, Serialize)]
pub(crate) struct ConfigEdit {
    pub(crate) config: PathBuf,
    /// The change, as in `limits.wall is set`.
    pub(crate) summary: String,
    pub(crate) diff: String,
    pub(crate) changed: bool,
    pub(crate) dry_run: bool,
    pub(crate) notes: Vec<String>,
    pub(crate) warnings: Vec<String>,
    /// The answer of the running daemon, or `None` if none runs.
    pub(crate) reloaded: Option<ReloadReport>,
    pub(crate) not_reloaded: Option<String>,
}

pub(crate) fn config_edit(edit: &ConfigEdit) {
    let config = display_path(&edit.config);
    if !edit.changed {
        report!("nothing to change in {config}");
        return;
    }
    let diff = escape_text(edit.diff.trim_end());
    if edit.dry_run {
        println!("{diff}");
    } else {
        report!("{diff}");
        report!("{} in {config}", edit.summary);
    }
    for text in &edit.notes {
        note(text);
    }
    for text in &edit.warnings {
        warn(escape_text(text));
    }
    match (&edit.reloaded, &edit.not_reloaded) {
        (_, Some(problem)) => warn(format!("{problem}; run `mux reload`")),
        (Some(report), None) => reloaded(report),
        (None, None) => {}
    }
}
