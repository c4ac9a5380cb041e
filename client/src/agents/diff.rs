//! Diffs of configuration edits, for users.

use std::fmt::Write as _;

use mux_secrets::mask_config_line;
use similar::{ChangeTag, TextDiff};

const DIFF_CONTEXT_LINES: usize = 2;

/// A unified diff. Secrets are masked, because the context lines are the user's and may contain some.
pub(crate) fn masked_diff(old: &str, new: &str, path: &str) -> String {
    render_diff(old, new, path, mask_config_line)
}

/// A unified diff without masking, for a file that the user must review completely.
pub(crate) fn unmasked_diff(old: &str, new: &str, path: &str) -> String {
    render_diff(old, new, path, str::to_owned)
}

fn render_diff(old: &str, new: &str, path: &str, shown_line: fn(&str) -> String) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut shown = String::new();
    for hunk in diff
        .unified_diff()
        .context_radius(DIFF_CONTEXT_LINES)
        .iter_hunks()
    {
        if shown.is_empty() {
            shown = format!("--- {path}\n+++ {path}\n");
        }
        _ = writeln!(shown, "{}", hunk.header());
        for change in hunk.iter_changes() {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let line = shown_line(change.value().trim_end_matches(['\n', '\r']));
            _ = writeln!(shown, "{sign}{line}");
        }
    }
    shown
}
