//! Colours by meaning, and what of a stranger's text a terminal may see. `anstream` takes colours away
//! where there is no terminal, and for `NO_COLOR`.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};

use super::terminal::{spelled_in_one_line, spelled_out};

pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(super) const WARN: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(super) const NAME: Style = AnsiColor::Cyan.on_default();
pub(super) const STRONG: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();

/// `text` in a style.
pub(super) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{}{text}{}", style.render(), style.render_reset())
}

/// At most `most` characters of a text in one line, with every character to be seen.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let text = spelled_in_one_line(text);
    let mut line: String = text.chars().take(most).collect();
    if text.chars().count() > most {
        line.push('\u{2026}');
    }
    line
}

/// Text of a program or a server: control sequences and invisible characters are escaped.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    spelled_out(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_and_cut() {
        assert_eq!(one_line("a\nb\u{7}c", 20), "a b c");
        assert_eq!(one_line("abcdef", 3), "abc\u{2026}");
    }
}
