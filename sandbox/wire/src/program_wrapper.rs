//! The source of a program: what is stripped around it, and the wrapper that makes it a function.
//!
//! Invariant: a program that is run and a program that is checked have the same lines. Only the columns of the first
//! line shift, by the length of [`WRAPPER_PREFIX`], which is ASCII.

/// Precedes the first line and makes `await` and `return` legal.
pub const WRAPPER_PREFIX: &str = "(async () => { \"use strict\"; ";

/// Follows the last line.
pub const WRAPPER_SUFFIX: &str = "\n})";

/// The source with what may enclose a program blanked out: a byte-order mark, a `#!` line, a Markdown fence. Line
/// numbers do not change.
pub fn strip_bom_hashbang_and_fence(source: &str) -> String {
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
    fn stripping_bom_hashbang_and_fence_keeps_line_numbers() {
        for (source, plain) in [
            ("return 1", "return 1"),
            ("\u{feff}return 1", "return 1"),
            ("#!/usr/bin/env -S mux run\nreturn 1", "\nreturn 1"),
            ("```ts\nreturn 1\n```\n", "\nreturn 1\n\n"),
            ("\n````JS\nreturn 1\n````", "\n\nreturn 1\n"),
            ("```py\nreturn 1\n```", "```py\nreturn 1\n```"),
            ("```", "```"),
        ] {
            assert_eq!(strip_bom_hashbang_and_fence(source), plain, "{source:?}");
        }
    }
}
