//! The title of a run: the name that its client gave it, or a line of its program.

use mux_caller::one_line;
use mux_text::sanitize::clean;

/// The name that a client gives its program, shortened to one line. `None` if nothing of it is visible.
pub(super) fn program_name(name: &str) -> Option<String> {
    let name = one_line(clean(name).trim());
    (!name.is_empty()).then_some(name)
}

/// The maximum length of a title that is made of the program, in characters.
const MAX_TITLE_CHARS: usize = 80;
/// The beginnings of comments for tools, such as `// @ts-nocheck`.
const DIRECTIVES: [&str; 4] = ["@", "<", "!", "eslint"];

/// The comment that the program begins with, or else its first line of code; empty if there is neither.
pub(super) fn program_title(source: &str) -> String {
    let mut in_comment = false;
    let mut comment = None;
    for line in source.lines().map(str::trim) {
        let (text, code) = match line.strip_prefix("/*") {
            _ if in_comment => split_block(line),
            Some(block) => split_block(block),
            None if line.starts_with("//") => (line, Some("")),
            None if line.is_empty() || line.starts_with("```") => ("", Some("")),
            None => ("", Some(line)),
        };
        in_comment = code.is_none();
        let text = text.trim_matches(|c: char| c.is_whitespace() || "/*".contains(c));
        if comment.is_none() && is_prose(text) {
            comment = Some(text);
        }
        if let Some(code) = code.filter(|code| !code.is_empty()) {
            return short_line(comment.unwrap_or(code));
        }
    }
    comment.map(short_line).unwrap_or_default()
}

/// Splits a line within a block comment into the comment, and what follows its end if it ends there.
fn split_block(line: &str) -> (&str, Option<&str>) {
    match line.split_once("*/") {
        Some((text, code)) => (text, Some(code.trim())),
        None => (line, None),
    }
}

fn is_prose(comment: &str) -> bool {
    let is_directive = DIRECTIVES.iter().any(|word| comment.starts_with(word));
    comment.contains(char::is_alphabetic) && !is_directive
}

/// One line, cut behind a word if one ends in its second half.
fn short_line(text: &str) -> String {
    let mut ends = text.char_indices().map(|(at, _)| at);
    let (Some(last), Some(_)) = (ends.nth(MAX_TITLE_CHARS - 1), ends.next()) else {
        return one_line(text);
    };
    match text[..last].rfind(char::is_whitespace) {
        Some(space) if space > last / 2 => format!("{}…", one_line(text[..space].trim_end())),
        _ => one_line(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_one_short_visible_line() {
        let long = "n".repeat(100);
        let cut = format!("{}…", "n".repeat(79));
        for (name, expected) in [
            ("report.ts", Some("report.ts")),
            (" \n\u{200b}", None),
            ("a\u{1b}[2J\u{202e}\nb.ts", Some("a[2J b.ts")),
            (&*long, Some(cut.as_str())),
        ] {
            assert_eq!(program_name(name).as_deref(), expected, "{name:?}");
        }
    }

    #[test]
    fn title_is_the_first_comment_or_else_the_first_line_of_code() {
        let long = "x".repeat(100);
        let cut = format!("{}…", "x".repeat(79));
        for (source, expected) in [
            ("return 1", "return 1"),
            (
                "\n```ts\n// counts\n\n  const n = 1;\nreturn n\n```",
                "counts",
            ),
            ("const n = 1; // one\nreturn n", "const n = 1; // one"),
            ("/* one\n * two\n */\nreturn 2", "one"),
            (
                "/**\n * Adds two numbers.\n */\nreturn 2",
                "Adds two numbers.",
            ),
            ("/* one */ return 3", "one"),
            ("/* */ return 4", "return 4"),
            ("// @ts-nocheck\n// Counts files\nreturn 5", "Counts files"),
            ("/* eslint-disable */\nreturn 6", "return 6"),
            ("// ----\nreturn 7", "return 7"),
            ("// nothing else\n", "nothing else"),
            (
                "const found = await mux.files.search({ query: 'a long query', limit: 100, offset: 7 });",
                "const found = await mux.files.search({ query: 'a long query', limit: 100,…",
            ),
            ("", ""),
            ("a\u{1b}[31m\tb", "a [31m b"),
            (&long, &cut),
        ] {
            assert_eq!(program_title(source), expected, "{source:?}");
        }
    }
}
