//! Colors by meaning, and escaping of foreign text. `anstream` removes colors without a terminal and for `NO_COLOR`.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};

use super::terminal::{escape_one_line, escape_visible};

pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(super) const WARN: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(super) const NAME: Style = AnsiColor::Cyan.on_default();
pub(super) const STRONG: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();

/// Applies a style to a string.
pub(super) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{}{text}{}", style.render(), style.render_reset())
}

/// A line of a diff.
pub(super) fn paint_diff_line(line: &str) -> String {
    match line.as_bytes().first() {
        Some(b'+') => paint(GOOD, line),
        Some(b'-') => paint(ERROR, line),
        Some(b'@') => paint(DIM, line),
        _ => line.to_owned(),
    }
}

/// At most `most` characters of a string on one line, with invisible characters escaped.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let text = escape_one_line(text);
    let mut line: String = text.chars().take(most).collect();
    if text.chars().count() > most {
        line.push('\u{2026}');
    }
    line
}

/// Escapes control sequences and invisible characters in a string from a program or server.
pub(super) fn escape_text(text: &str) -> Cow<'_, str> {
    escape_visible(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_replaces_newlines_and_truncates() {
        assert_eq!(one_line("a\nb\u{7}c", 20), "a b c");
        assert_eq!(one_line("abcdef", 3), "abc\u{2026}");
    }
}
