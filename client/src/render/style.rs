//! Colours by meaning, and what of a stranger's text a terminal may see. `anstream` takes colours away
//! where there is no terminal, and for `NO_COLOR`.

use std::{
    borrow::Cow,
    io::{IsTerminal, stderr},
};

use anstyle::{AnsiColor, Style};

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

/// At most `most` characters of a text in one line, without anything that moves the cursor.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(most)
        .collect();
    if text.chars().count() > most {
        line.push('\u{2026}');
    }
    line
}

/// Text of a program or a server for standard error. A terminal obeys control sequences, which could
/// rewrite what stands above; there they are spelled out.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    if stderr().is_terminal() {
        spelled_out(text)
    } else {
        text.into()
    }
}

fn spelled_out(text: &str) -> Cow<'_, str> {
    let acts = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(acts) {
        return text.into();
    }
    let mut spelled = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) {
            spelled.extend(c.escape_default());
        } else {
            spelled.push(c);
        }
    }
    spelled.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_nothing_to_obey() {
        assert_eq!(
            spelled_out("plain\n\ttext 😀"),
            Cow::Borrowed("plain\n\ttext 😀")
        );
        assert_eq!(
            spelled_out("a\u{1b}[2Jb\r\u{9b}1m"),
            "a\\u{1b}[2Jb\\r\\u{9b}1m"
        );
        assert_eq!(one_line("a\nb\u{7}c", 9), "a b c");
        assert_eq!(one_line("abcdef", 3), "abc…");
    }
}
