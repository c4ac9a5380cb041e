//! All output to standard output and standard error.
//!
//! Invariant: text from a server, program, file or agent cannot control the terminal: control sequences, invisible
//! characters and direction marks are escaped, on both streams, whether they are terminals or not. Line breaks, tabs
//! and the colors of [`super::style`] are kept. Data for other programs ([`print_data`]) is unchanged unless it goes to
//! a terminal, and JSON ([`print_json`]) is escaped as JSON.
//!
//! A reader that closes its pipe, as `head` does, is not an error. This file alone recognizes it ([`unless_closed`]), and
//! commands that would never end ask [`is_output_closed`].

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    io::{self, IsTerminal as _},
    sync::atomic::{AtomicBool, Ordering},
};

use console::AnsiCodeIterator;

/// Set once a write has shown that the reader of standard output has closed its pipe.
static OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Set for a dry run.
static REPORTS_KEPT: AtomicBool = AtomicBool::new(false);

/// `print!` with escaping.
macro_rules! print {
    ($($arg:tt)*) => { $crate::render::terminal::out(format_args!($($arg)*)) };
}
/// `println!` with escaping.
macro_rules! println {
    () => { $crate::render::terminal::out(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::render::terminal::out(format_args!("{}\n", format_args!($($arg)*))) };
}
/// `println!` with escaping for a sentence about what the command did: nothing with `--quiet`.
macro_rules! report {
    ($($arg:tt)*) => { $crate::render::terminal::report_out(format_args!("{}\n", format_args!($($arg)*))) };
}
/// `eprint!` with escaping.
macro_rules! eprint {
    ($($arg:tt)*) => { $crate::render::terminal::err(format_args!($($arg)*)) };
}
/// `eprintln!` with escaping.
macro_rules! eprintln {
    () => { $crate::render::terminal::err(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::render::terminal::err(format_args!("{}\n", format_args!($($arg)*))) };
}
pub(crate) use {eprint, eprintln, print, println, report};

/// Prints text for people to standard output.
pub(crate) fn out(text: fmt::Arguments<'_>) {
    let text = text.to_string();
    expect_written(write_to(anstream::stdout(), &escape_keeping_colors(&text)));
}

/// The plan is the result of a dry run, which `--quiet` does not leave out.
pub(crate) fn keep_reports() {
    REPORTS_KEPT.store(true, Ordering::Relaxed);
}

/// Prints what the command did, unless the user wants no such text.
pub(crate) fn report_out(text: fmt::Arguments<'_>) {
    let is_quiet = super::verbosity::verbosity() == super::Verbosity::Quiet;
    if !is_quiet || REPORTS_KEPT.load(Ordering::Relaxed) {
        out(text);
    }
}

/// Prints text for people to standard error.
pub(crate) fn err(text: fmt::Arguments<'_>) {
    let text = text.to_string();
    let written = write_to(anstream::stderr(), &escape_keeping_colors(&text));
    match written {
        Err(error) if !is_closed_pipe(&error) => {
            panic!("cannot write to standard error: {error}")
        }
        _ => {}
    }
}

/// Prints data of a program or tool to standard output. The data is escaped only if that is a terminal.
pub(crate) fn print_data(text: &str) -> io::Result<()> {
    let stdout = io::stdout().lock();
    if stdout.is_terminal() {
        write_to(stdout, &escape_visible(text))
    } else {
        write_to(stdout, text)
    }
}

/// Prints TOML, with control and invisible characters escaped as in basic strings of TOML.
pub(crate) fn print_toml(text: &str) -> io::Result<()> {
    let text = escape_with(text, |c, spelled| {
        _ = write!(spelled, "\\U{:08X}", u32::from(c));
    });
    write_to(io::stdout().lock(), &text)
}

/// Prints JSON, with control and invisible characters escaped as JSON.
pub(crate) fn print_json(text: &str) -> io::Result<()> {
    write_to(io::stdout().lock(), &escaped_json(text))
}

/// Panics if standard output could not be written, like `println!`, except for a closed pipe.
pub(crate) fn expect_written(written: io::Result<()>) {
    if let Err(error) = unless_closed(written) {
        panic!("cannot write to standard output: {error}");
    }
}

/// Passes on every failure of a write to standard output, except for a pipe that its reader has closed.
pub(crate) fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if is_closed_pipe(&error) => {
            OUTPUT_CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        written => written,
    }
}

/// Returns true if a write has shown that the reader of standard output has closed its pipe.
pub(crate) fn is_output_closed() -> bool {
    OUTPUT_CLOSED.load(Ordering::Relaxed)
}

/// Windows has three errors for it, and the standard library knows two of them.
fn is_closed_pipe(error: &io::Error) -> bool {
    /// `ERROR_PIPE_NOT_CONNECTED`: the end of the reader was disconnected before it was closed.
    const PIPE_NOT_CONNECTED: i32 = 233;
    error.kind() == io::ErrorKind::BrokenPipe
        || cfg!(windows) && error.raw_os_error() == Some(PIPE_NOT_CONNECTED)
}

fn write_to(mut stream: impl io::Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

/// Escapes control and invisible characters in a foreign string. Line breaks and tabs are kept.
pub(crate) fn escape_visible(text: &str) -> Cow<'_, str> {
    escape_with(text, |c, spelled| spelled.extend(c.escape_default()))
}

/// Escapes a foreign string on one line: control characters become spaces.
pub(crate) fn escape_one_line(text: &str) -> String {
    escape_visible(&text.replace(char::is_control, " ")).into_owned()
}

/// JSON with characters that match [`is_unsafe_char`] as `\uXXXX`. They can only occur in strings.
pub(crate) fn escaped_json(text: &str) -> Cow<'_, str> {
    escape_with(text, |c, spelled| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            _ = write!(spelled, "\\u{unit:04x}");
        }
    })
}

/// Returns true if a character controls the terminal or is invisible.
pub(crate) fn is_unsafe_char(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn escape_with(text: &str, how: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(is_unsafe_char) {
        return text.into();
    }
    let mut spelled = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe_char(c) {
            how(c, &mut spelled);
        } else {
            spelled.push(c);
        }
    }
    spelled.into()
}

/// Escapes a string, except for colors.
fn escape_keeping_colors(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe_char) {
        return text.into();
    }
    let pieces = AnsiCodeIterator::new(text);
    let pieces = pieces.map(|(piece, is_code)| {
        if is_code && is_color_sequence(piece) {
            piece.into()
        } else {
            escape_visible(piece)
        }
    });
    pieces.collect::<String>().into()
}

/// Returns true if an escape sequence only sets a color or weight. Styles that hide text are not allowed.
fn is_color_sequence(sequence: &str) -> bool {
    let body = sequence.strip_prefix("\u{1b}[");
    let Some(body) = body.and_then(|body| body.strip_suffix('m')) else {
        return false;
    };
    let mut codes = body.split(';');
    let known = match codes.next() {
        Some("38") => codes.next() == Some("5") && codes.next().is_some_and(is_number),
        Some("" | "0" | "1" | "2" | "22" | "39") => true,
        Some(code) => is_number(code) && matches!(code.parse(), Ok(30..=37 | 90..=97)),
        None => false,
    };
    known && codes.next().is_none()
}

fn is_number(code: &str) -> bool {
    code.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::style::{ERROR, paint};

    #[test]
    fn everything_but_colors_is_escaped() {
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
            assert_eq!(escape_keeping_colors(text), shown);
        }
        assert_eq!(
            escape_visible(&red),
            format!("\\u{{1b}}[1m\\u{{1b}}[31mred\\u{{1b}}[0m")
        );
        assert_eq!(escape_one_line("a\nb\rc"), "a b c");
    }

    #[test]
    fn only_a_closed_pipe_is_no_failure() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert!(unless_closed(Err(full)).is_err());
        assert!(!is_output_closed());
        let closed = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(unless_closed(Err(closed)).is_ok());
        assert!(is_output_closed());
    }

    #[cfg(windows)]
    #[test]
    fn every_error_of_windows_for_a_closed_pipe_is_known() {
        for code in [109, 232, 233] {
            assert!(
                is_closed_pipe(&io::Error::from_raw_os_error(code)),
                "{code}"
            );
        }
    }

    #[test]
    fn escaped_json_is_the_same_value() {
        let value = serde_json::json!({ "a\u{9b}": "\u{202e}\u{e0041}\n\u{1f600}" });
        let text = escaped_json(&value.to_string()).into_owned();
        assert!(!text.contains(is_unsafe_char), "{text}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }
}
