//! Sanitizes foreign text for comments and quoted names in a TypeScript file.
//!
//! Invariant: no returned text can end the comment or the string that contains it, or change how the rest of the line
//! is displayed.

use std::{borrow::Cow, fmt::Write as _};

use super::names::is_identifier;

/// The maximum length of a description, in bytes. See also `daemon/text/src/sanitize.rs`, which cuts descriptions in
/// lists.
pub(super) const MAX_DESCRIPTION_BYTES: usize = 4 * 1024;

/// The maximum length of a value in a tag or a note, in bytes.
const MAX_COMMENT_LINE_BYTES: usize = 200;

/// A description as the lines of a block comment, without its delimiters: dedented like a Python docstring, without
/// runs of blank lines, at most [`MAX_DESCRIPTION_BYTES`] bytes.
pub(super) fn sanitize_description(text: &str) -> String {
    let visible: String = text.chars().filter_map(visible_char).collect();
    let margin = visible
        .lines()
        .skip(1)
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .min()
        .unwrap_or(0);
    let mut cleaned = String::with_capacity(visible.len());
    let mut blank = false;
    for (number, line) in visible.lines().enumerate() {
        let line = if number == 0 {
            line.trim()
        } else {
            line.get(margin..).unwrap_or("")
        };
        let line = line.trim_end();
        if line.is_empty() {
            blank = !cleaned.is_empty();
            continue;
        }
        if !cleaned.is_empty() {
            cleaned.push_str(if blank { "\n\n" } else { "\n" });
        }
        blank = false;
        cleaned.push_str(line);
    }
    truncate(escape_comment_end(cleaned), MAX_DESCRIPTION_BYTES)
}

/// Foreign text for one line of a comment: runs of white space become one blank, at most [`MAX_COMMENT_LINE_BYTES`] bytes.
pub(super) fn sanitize_line(text: &str) -> String {
    // A long value is cut before it is processed, because a default may be megabytes of JSON.
    let start = text
        .get(..text.floor_char_boundary(4 * MAX_COMMENT_LINE_BYTES))
        .unwrap_or(text);
    let visible: String = start.chars().filter_map(visible_char).collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    truncate(escape_comment_end(words.join(" ")), MAX_COMMENT_LINE_BYTES)
}

/// A JSON string literal. Invisible characters are escaped, not stripped, because the server must recognize the name.
pub(super) fn quote_string(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for c in text.chars() {
        match c {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            c if is_invisible(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    _ = write!(literal, "\\u{unit:04x}");
                }
            }
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

/// A name as the key of an object type: bare where TypeScript allows it.
pub(super) fn property_name(name: &str) -> Cow<'_, str> {
    if is_identifier(name) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(quote_string(name))
    }
}

/// Returns true if two strings are equal apart from case, blanks and punctuation, like the title `Read File` and the
/// name `read_file`.
pub(super) fn equal_ignoring_punctuation(a: &str, b: &str) -> bool {
    let letters = |text: &str| -> Vec<char> {
        text.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect()
    };
    letters(a) == letters(b)
}

/// Escapes `*/`. Call this after stripping, which may join `*` and `/`.
fn escape_comment_end(text: String) -> String {
    if text.contains("*/") {
        text.replace("*/", "*\\/")
    } else {
        text
    }
}

fn truncate(mut text: String, most: usize) -> String {
    const TRUNCATION_MARK: &str = " …";
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most - TRUNCATION_MARK.len()));
        text.push_str(TRUNCATION_MARK);
    }
    text
}

fn visible_char(c: char) -> Option<char> {
    match c {
        '\n' => Some('\n'),
        '\t' => Some(' '),
        c => (!is_invisible(c)).then_some(c),
    }
}

/// Returns true if a character is invisible to a reader but not to a parser, a terminal or a model: control characters,
/// the line separators of JavaScript, marks that change the text direction, and invisible fillers and tags. The joiners
/// are not included, because some scripts need them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e01ef}'
        )
}
