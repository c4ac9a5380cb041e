//! Line endings, which TOML and JSON editors normalize.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// `new` with the line endings of `old`: unchanged lines keep theirs, other lines get the most frequent one.
pub(super) fn keep_line_endings(old: &str, new: &str) -> String {
    if !old.contains('\r') {
        return new.to_owned();
    }
    let olds = split_line_endings(old);
    let news = split_line_endings(new);
    let crlf = olds.iter().filter(|(_, end)| *end == "\r\n").count();
    let usual = if crlf * 2 >= olds.len() { "\r\n" } else { "\n" };
    let texts = |(text, _): &(&str, &str)| (*text).to_owned();
    let old_texts: Vec<String> = olds.iter().map(texts).collect();
    let new_texts: Vec<String> = news.iter().map(texts).collect();
    let mut kept = String::with_capacity(new.len() + news.len());
    for op in capture_diff_slices(Algorithm::Myers, &old_texts, &new_texts) {
        let same = match op {
            DiffOp::Equal { old_index, .. } => Some(old_index),
            _ => None,
        };
        for (offset, (text, end)) in news[op.new_range()].iter().enumerate() {
            kept.push_str(text);
            kept.push_str(match (*end, same) {
                ("", _) => "",
                (_, Some(first)) => match olds[first + offset].1 {
                    "" => usual,
                    end => end,
                },
                (_, None) => usual,
            });
        }
    }
    kept
}

/// Each line with its line ending.
fn split_line_endings(text: &str) -> Vec<(&str, &str)> {
    text.split_inclusive('\n')
        .map(
            |line| match (line.strip_suffix("\r\n"), line.strip_suffix('\n')) {
                (Some(text), _) => (text, "\r\n"),
                (None, Some(text)) => (text, "\n"),
                (None, None) => (line, ""),
            },
        )
        .collect()
}
