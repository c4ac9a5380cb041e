//! What an edit changes, for people to look at.

use mux_secrets::mask_config_line;
use similar::{ChangeTag, TextDiff};

const AROUND: usize = 2;

/// A unified diff. The lines around an edit belong to the user, and may hold his secrets: those are not
/// shown.
pub(crate) fn unified(old: &str, new: &str, path: &str) -> String {
    between(old, new, path, mask_config_line)
}

/// The same of a file whose every word is to be judged: nothing of it is left out.
pub(crate) fn unified_whole(old: &str, new: &str, path: &str) -> String {
    between(old, new, path, str::to_owned)
}

fn between(old: &str, new: &str, path: &str, shown_line: fn(&str) -> String) -> String {
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
            let line = shown_line(change.value().trim_end_matches(['\n', '\r']));
            shown.push_str(&format!("{sign}{line}\n"));
        }
    }
    shown
}
