//! The text of a program: what may stand around it, and what is put around it.
//!
//! Invariant: whoever reads a program, to run it or to check it, reads the same lines. Only the
//! columns of the first line move, by the length of [`PREFIX`], which is ASCII.

/// Stands in front of the first line and makes `await` and `return` legal.
pub const PREFIX: &str = "(async () => { \"use strict\"; ";

/// Stands behind the last line.
pub const SUFFIX: &str = "\n})";

/// The source with everything blanked that may stand around a program: a byte-order mark, a `#!`
/// line, a Markdown fence. Lines stay where they are.
pub fn without_frame(source: &str) -> String {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let mut lines: Vec<&str> = source.split('\n').collect();
    if lines.first().is_some_and(|line| line.starts_with("#!")) {
        lines[0] = "";
    }
    let first = lines.iter().position(|line| !line.trim().is_empty());
    let last = lines.iter().rposition(|line| !line.trim().is_empty());
    if let (Some(first), Some(last)) = (first, last)
        && first < last
        && is_opening_fence(lines[first])
        && lines[last].trim().chars().all(|c| c == '`')
        && lines[last].trim().len() >= 3
    {
        lines[first] = "";
        lines[last] = "";
    }
    lines.join("\n")
}

fn is_opening_fence(line: &str) -> bool {
    line.trim().strip_prefix("```").is_some_and(|language| {
        matches!(
            language
                .trim_start_matches('`')
                .trim()
                .to_ascii_lowercase()
                .as_str(),
            "" | "ts" | "typescript" | "js" | "javascript" | "tsx" | "jsx" | "mts" | "mjs"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_a_program_leaves_its_lines_behind() {
        for (source, plain) in [
            ("return 1", "return 1"),
            ("\u{feff}return 1", "return 1"),
            ("#!/usr/bin/env -S mux run\nreturn 1", "\nreturn 1"),
            ("```ts\nreturn 1\n```\n", "\nreturn 1\n\n"),
            ("\n````JS\nreturn 1\n````", "\n\nreturn 1\n"),
            ("```py\nreturn 1\n```", "```py\nreturn 1\n```"),
            ("```", "```"),
        ] {
            assert_eq!(without_frame(source), plain, "{source:?}");
        }
    }
}
