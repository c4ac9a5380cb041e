//! What an edit changes, for people to look at.

use similar::{ChangeTag, TextDiff};

use super::masked;

const AROUND: usize = 2;

/// A unified diff. The lines around an edit belong to the user, and may hold his secrets: those are not
/// shown.
pub(crate) fn unified(old: &str, new: &str, path: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut shown = String::new();
    for hunk in diff.unified_diff().context_radius(AROUND).iter_hunks() {
        if shown.is_empty() {
            shown = format!("--- {path}\n+++ {path}\n");
        }
        shown.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let line = masked(change.value().trim_end_matches(['\n', '\r']));
            shown.push_str(&format!("{sign}{line}\n"));
        }
    }
    shown
}
