//! The one way to standard output and standard error.
//!
//! Invariant: whatever text a server, a program, a file or an agent made up, a terminal obeys nothing of it: control
//! sequences, characters without a shape and marks of direction are spelled out, on both streams, whether they are
//! terminals or not. Left as they are: line ends, tabs, and the colours of [`super::style`]. Data for other programs
//! ([`data`]) is exact where no terminal reads it, and JSON ([`json`]) is escaped as JSON has it.

use std::{
    borrow::Cow,
    fmt,
    io::{self, IsTerminal as _, Write as _},
};

/// `print!` by way of this file.
macro_rules! print {
    ($($arg:tt)*) => { $crate::render::terminal::out(format_args!($($arg)*)) };
}
/// `println!` by way of this file.
macro_rules! println {
    () => { $crate::render::terminal::out(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::render::terminal::out(format_args!("{}\n", format_args!($($arg)*))) };
}
/// `eprint!` by way of this file.
macro_rules! eprint {
    ($($arg:tt)*) => { $crate::render::terminal::err(format_args!($($arg)*)) };
}
/// `eprintln!` by way of this file.
macro_rules! eprintln {
    () => { $crate::render::terminal::err(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::render::terminal::err(format_args!("{}\n", format_args!($($arg)*))) };
}
pub(crate) use {eprint, eprintln, print, println};

/// For people, on standard output.
pub(crate) fn out(text: fmt::Arguments<'_>) {
    anstream::print!("{}", styled(&text.to_string()));
}

/// For people, on standard error.
pub(crate) fn err(text: fmt::Arguments<'_>) {
    anstream::eprint!("{}", styled(&text.to_string()));
}

/// Text of a program or a tool on standard output: to the last byte, because it is data. Only a terminal gets it
/// spelled out.
pub(crate) fn data(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let text = match stdout.is_terminal() {
        true => spelled_out(text),
        false => text.into(),
    };
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// A document, already JSON: the same value, without a character that a terminal obeys or nobody sees.
pub(crate) fn json(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(escaped_json(text).as_bytes())?;
    stdout.flush()
}

/// A text that somebody else made up, with every character to be seen. Lines and tabs stay.
pub(crate) fn spelled_out(text: &str) -> Cow<'_, str> {
    spelled(text, |c, spelled| spelled.extend(c.escape_default()))
}

/// The same in one line, with a space for each control character.
pub(crate) fn spelled_in_one_line(text: &str) -> String {
    spelled_out(&text.replace(char::is_control, " ")).into_owned()
}

/// JSON text with what [`acts`] written as `\uXXXX`; it can only stand in strings.
pub(crate) fn escaped_json(text: &str) -> Cow<'_, str> {
    spelled(text, |c, spelled| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            spelled.push_str(&format!("\\u{unit:04x}"));
        }
    })
}

/// What a terminal obeys, or what nobody sees beside it.
pub(crate) fn acts(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn spelled(text: &str, how: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(acts) {
        return text.into();
    }
    let mut spelled = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match acts(c) {
            true => how(c, &mut spelled),
            false => spelled.push(c),
        }
    }
    spelled.into()
}

/// Spelled out, but for colours.
fn styled(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return text.into();
    }
    let mut styled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        styled.push_str(&spelled_out(&rest[..at]));
        let length = colour(&rest[at..]);
        match length {
            0 => {
                styled.push_str("\\u{1b}");
                rest = &rest[at + 1..];
            }
            length => {
                styled.push_str(&rest[at..at + length]);
                rest = &rest[at + length..];
            }
        }
    }
    styled.push_str(&spelled_out(rest));
    styled.into()
}

/// The length of the escape sequence here, if it sets a colour or a weight and nothing else: nothing that hides.
fn colour(text: &str) -> usize {
    let Some(body) = text.strip_prefix("\u{1b}[") else {
        return 0;
    };
    let Some(end) = body.find(|c: char| !c.is_ascii_digit() && c != ';') else {
        return 0;
    };
    if !body[end..].starts_with('m') {
        return 0;
    }
    let mut codes = body[..end].split(';');
    let known = match codes.next() {
        Some("38") => codes.next() == Some("5") && codes.next().is_some(),
        Some("" | "0" | "1" | "2" | "22" | "39") => true,
        Some(code) => matches!(code.parse(), Ok(30..=37 | 90..=97)),
        None => false,
    };
    match known && codes.next().is_none() {
        true => "\u{1b}[".len() + end + 1,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::style::{ERROR, paint};

    #[test]
    fn a_terminal_obeys_nothing_but_our_colours() {
        let red = paint(ERROR, "red");
        for (text, shown) in [
            ("plain\n\ttext \u{1f600}", "plain\n\ttext \u{1f600}"),
            (red.as_str(), red.as_str()),
            ("a\u{1b}[2Jb\r\u{9b}1m", "a\\u{1b}[2Jb\\r\\u{9b}1m"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{1b}]52;c;Y3Vy\u{7}", "\\u{1b}]52;c;Y3Vy\\u{7}"),
            ("\u{1b}[8mhidden\u{1b}[1;8m", "\\u{1b}[8mhidden\\u{1b}[1;8m"),
            ("\u{1b}[38;5;9mx\u{1b}[39m", "\u{1b}[38;5;9mx\u{1b}[39m"),
            ("rm \u{202e}txt\u{200b}", "rm \\u{202e}txt\\u{200b}"),
            ("\u{1b}", "\\u{1b}"),
        ] {
            assert_eq!(styled(text), shown);
        }
        assert_eq!(
            spelled_out(&red),
            format!("\\u{{1b}}[1m\\u{{1b}}[31mred\\u{{1b}}[0m")
        );
        assert_eq!(spelled_in_one_line("a\nb\rc"), "a b c");
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = serde_json::json!({ "a\u{9b}": "\u{202e}\u{e0041}\n\u{1f600}" });
        let text = escaped_json(&value.to_string()).into_owned();
        assert!(!text.contains(acts), "{text}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }
}
