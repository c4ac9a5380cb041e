//! Line endings, which TOML and YAML editors normalize.

use similar::TextDiff;

/// `edited`, which has only `\n`, with the line endings of `old`: unchanged lines keep theirs, other lines get the most
/// frequent one.
pub(super) fn keep_line_endings(old: &str, edited: &str) -> String {
    let plain = old.replace("\r\n", "\n");
    let plain: Vec<&str> = plain.split_inclusive('\n').collect();
    let edited_lines: Vec<&str> = edited.split_inclusive('\n').collect();
    let crlf: Vec<bool> = old
        .split_inclusive('\n')
        .map(|line| line.ends_with("\r\n"))
        .collect();
    let crlf_count = crlf.iter().filter(|is_crlf| **is_crlf).count();
    if crlf_count == 0 {
        return edited.to_owned();
    }
    let is_usual = crlf_count * 2 >= crlf.len();
    let mut kept = String::with_capacity(edited.len() + edited_lines.len());
    let diff = TextDiff::from_slices(&plain, &edited_lines);
    for change in diff.iter_all_changes() {
        if change.new_index().is_none() {
            continue;
        }
        let is_crlf = change.old_index().map_or(is_usual, |line| crlf[line]);
        match change.value().strip_suffix('\n') {
            Some(line) if is_crlf => kept.extend([line, "\r\n"]),
            _ => kept.push_str(change.value()),
        }
    }
    kept
}
