//! The source of a program: what is stripped around it, and the wrapper that makes it a function.
//!
//! Invariant: a program that is run and a program that is checked have the same lines. Only the columns of the first
//! line shift, by the length of [`WRAPPER_PREFIX`], which is ASCII.

use std::borrow::Cow;

/// Precedes the first line and makes `await` and `return` legal.
pub const WRAPPER_PREFIX: &str = "(async () => { \"use strict\"; ";

/// Follows the last line.
pub const WRAPPER_SUFFIX: &str = "\n})";

/// The source with what may enclose a program blanked out: a byte-order mark, a `#!` line, a model's thoughts, and a
/// Markdown fence with the prose around it. Line numbers do not change.
pub fn strip_bom_hashbang_and_fence(source: &str) -> String {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let mut lines: Vec<&str> = source.split('\n').collect();
    if lines.first().is_some_and(|line| line.starts_with("#!")) {
        lines[0] = "";
    }
    blank_thoughts(&mut lines);
    if let Some((first, last)) = find_fenced_lines(&lines) {
        lines[..=first].fill("");
        if last < lines.len() {
            lines[last..].fill("");
        }
    }
    blank_exports(&lines).join("\n")
}

/// Blanks `export` before declarations, and makes an anonymous default export an expression: a program is no module.
fn blank_exports<'a>(lines: &[&'a str]) -> Vec<Cow<'a, str>> {
    let mut backticks = 0;
    let blanked = lines.iter().map(|line| {
        let is_in_literal = backticks % 2 == 1;
        backticks += line.matches('`').count();
        if is_in_literal || !line.starts_with("export ") {
            return Cow::Borrowed(*line);
        }
        let Some(exported) = line.strip_prefix("export default ") else {
            let declared = &line["export ".len()..];
            return match is_declaration(declared) {
                true => Cow::Owned(format!("{}{declared}", " ".repeat("export ".len()))),
                false => Cow::Borrowed(*line),
            };
        };
        // A comma keeps the columns, and makes a function without a name an expression.
        let replaced = if is_named(exported) { "" } else { "0," };
        Cow::Owned(format!("{replaced:>15}{exported}"))
    });
    blanked.collect()
}

fn is_declaration(text: &str) -> bool {
    let keywords = [
        "async",
        "class",
        "const",
        "enum",
        "function",
        "interface",
        "let",
        "type",
        "var",
    ];
    let word = text.split(|c: char| !c.is_ascii_alphabetic()).next();
    word.is_some_and(|word| keywords.contains(&word))
}

/// Returns true for a function or class with a name.
fn is_named(text: &str) -> bool {
    let text = text.trim_start();
    let text = text.strip_prefix("async").map_or(text, str::trim_start);
    let name = text
        .strip_prefix("function")
        .or_else(|| text.strip_prefix("class"));
    name.is_some_and(|name| {
        let name = name.trim_start_matches(['*', ' ']);
        name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$')
    })
}

/// Blanks `<think>…</think>` before a program.
fn blank_thoughts(lines: &mut [&str]) {
    let is_tag = |line: &str, tag: &str| line.trim_start().to_ascii_lowercase().starts_with(tag);
    let first = lines.iter().position(|line| !line.trim().is_empty());
    let Some(first) = first.filter(|&first| is_tag(lines[first], "<think")) else {
        return;
    };
    let tags = ["</think>", "</thinking>"];
    let end = lines.iter().enumerate().skip(first).find_map(|(at, line)| {
        let after = tags.iter().find_map(|tag| Some(line.split_once(tag)?.1))?;
        Some((at, after))
    });
    if let Some((last, after)) = end {
        lines[first..=last].fill("");
        lines[last] = after;
    }
}

/// The lines of the first fence of a program: the opening one, and the closing one or the number of lines.
///
/// Three backticks at the start of a line are no program, except in a template literal: then the number of backticks
/// before them is odd. Tildes could be operators, so they need a closing line.
fn find_fenced_lines(lines: &[&str]) -> Option<(usize, usize)> {
    let (mut backticks, mut before) = (0, "");
    for (first, line) in lines.iter().enumerate() {
        let is_in_literal = backticks % 2 == 1 || before.ends_with(['`', '(', '+']);
        if let Some(fence) = opening_fence(line).filter(|_| !is_in_literal) {
            let closes = |line: &&str| {
                let line = line.trim();
                line.len() >= fence.len() && line.chars().all(|c| fence.starts_with(c))
            };
            let after = &lines[first + 1..];
            let is_first = before.is_empty();
            return match after.iter().position(closes) {
                Some(length) => Some((first, first + 1 + length)),
                // An answer that was cut off, or that has only an opening fence.
                None if is_first || line.trim().len() > fence.len() => {
                    let is_fence = fence.starts_with('`') && !after.is_empty();
                    is_fence.then_some((first, lines.len()))
                }
                None => None,
            };
        }
        backticks += line.matches('`').count();
        if !line.trim().is_empty() {
            before = line.trim_end();
        }
    }
    None
}

/// The marks of a line that opens a fence for a program.
fn opening_fence(line: &str) -> Option<&str> {
    let line = line.trim();
    let mark = line
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let end = line.find(|c| c != mark).unwrap_or(line.len());
    let (fence, info) = line.split_at(end);
    // The language, alone or with attributes: `ts title="a.ts"`, `{.typescript}`.
    let language = info.trim_start_matches([' ', '{', '.']);
    let end = language.find(|c: char| !c.is_ascii_alphanumeric());
    let language = language[..end.unwrap_or(language.len())].to_ascii_lowercase();
    let is_program = matches!(
        language.as_str(),
        "" | "ts" | "typescript" | "js" | "javascript" | "tsx" | "jsx" | "mts" | "mjs"
    );
    (fence.len() >= 3 && is_program && !info.contains(mark)).then_some(fence)
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
            (
                "Here it is:\n\n```ts\nreturn 1\n```\nDone.",
                "\n\n\nreturn 1\n\n",
            ),
            (
                "Use `x`:\n```typescript title=\"a.ts\"\nreturn 1\n```",
                "\n\nreturn 1\n",
            ),
            ("```{.js}\nreturn 1\n```", "\nreturn 1\n"),
            ("~~~ts\nreturn 1\n~~~", "\nreturn 1\n"),
            ("```ts\nreturn 1", "\nreturn 1"),
            (
                "```ts\nreturn 1\n```\n```ts\nreturn 2\n```",
                "\nreturn 1\n\n\n\n",
            ),
            ("<think>\nfirst `a`\n</think>\nreturn 1", "\n\n\nreturn 1"),
            ("<think>x</think>return 1", "return 1"),
            (
                "<thinking>\n```ts\nno\n```\n</thinking>\n```ts\nreturn 1\n```",
                "\n\n\n\n\n\nreturn 1\n",
            ),
            (
                "export default async function main() {}",
                "               async function main() {}",
            ),
            (
                "export default async () => 1",
                "             0,async () => 1",
            ),
            (
                "export const a = 1;\nexport { a };",
                "       const a = 1;\nexport { a };",
            ),
            ("return `\nexport const a\n`", "return `\nexport const a\n`"),
            // A template literal that is Markdown.
            ("return `\n```ts\nx\n```\n`", "return `\n```ts\nx\n```\n`"),
            (
                "const a = `b`;\nreturn ~\n~~~1",
                "const a = `b`;\nreturn ~\n~~~1",
            ),
        ] {
            assert_eq!(strip_bom_hashbang_and_fence(source), plain, "{source:?}");
        }
    }
}
