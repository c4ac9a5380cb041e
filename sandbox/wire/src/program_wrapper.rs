//! The source of a program: the enclosing text that is stripped, and the wrapper that makes it a function.
//!
//! Invariant: a program that is run and a program that is checked have the same lines. Only the columns of the first
//! line shift, by the length of [`WRAPPER_PREFIX`], which is ASCII.

use std::{borrow::Cow, ops::Range};

/// Precedes the first line and makes `await` and `return` legal.
pub const WRAPPER_PREFIX: &str = "(async () => { \"use strict\"; ";

/// Follows the last line.
pub const WRAPPER_SUFFIX: &str = "\n})";

/// The source with everything that may enclose a program blanked out: a byte-order mark, a `#!` line, a model's
/// thoughts, and Markdown fences with the prose around them. Line numbers do not change.
pub fn strip_bom_hashbang_and_fence(source: &str) -> String {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let mut lines: Vec<&str> = source.split('\n').collect();
    if lines.first().is_some_and(|line| line.starts_with("#!")) {
        lines[0] = "";
    }
    blank_thoughts(&mut lines);
    blank_enclosing_tags(&mut lines);
    let programs = find_fenced_programs(&lines);
    if programs.is_empty() {
        strip_stray_fence(&mut lines);
    } else {
        let is_kept = |at: usize| programs.iter().any(|program| program.contains(&at));
        for (at, line) in lines.iter_mut().enumerate() {
            if !is_kept(at) {
                *line = "";
            }
        }
        // A fence that is closed on the last line of the program.
        if let Some(last) = lines.iter_mut().rev().find(|line| !line.trim().is_empty()) {
            *last = last.trim_end().strip_suffix("```").unwrap_or(last);
        }
    }
    blank_module_syntax(&lines).join("\n")
}

/// Blanks syntax that only modules have, because a program is not a module: `export` before declarations, export lists,
/// type imports. The default export and CommonJS exports become an expression.
fn blank_module_syntax<'a>(lines: &[&'a str]) -> Vec<Cow<'a, str>> {
    let mut backticks = 0;
    let blanked = lines.iter().map(|line| {
        let is_in_literal = backticks % 2 == 1;
        backticks += count_backticks(line);
        if is_in_literal {
            return Cow::Borrowed(*line);
        }
        let statement = line.trim_start();
        let indent = &line[..line.len() - statement.len()];
        if let Some(exported) = default_export(statement) {
            let length = statement.len() - exported.len();
            // A comma keeps the columns, and makes a function without a name an expression.
            let replaced = if is_named(exported) { "" } else { "0," };
            return Cow::Owned(format!("{indent}{replaced:>length$}{exported}"));
        }
        if is_name_list(statement) || statement.starts_with("import type ") {
            return Cow::Borrowed("");
        }
        match statement.strip_prefix("export ") {
            Some(declared) if is_declaration(declared) => {
                Cow::Owned(format!("{indent}       {declared}"))
            }
            _ => run_as_main_module(line),
        }
    });
    blanked.collect()
}

/// The expression that a statement exports as the default, or as the only value of a CommonJS module.
fn default_export(statement: &str) -> Option<&str> {
    if let Some(exported) = statement.strip_prefix("export default ") {
        return Some(exported);
    }
    let exported = statement.strip_prefix("module.exports").or_else(|| {
        let member = statement.strip_prefix("exports.")?;
        Some(member.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    })?;
    let value = exported.trim_start().strip_prefix('=')?;
    let value = value.strip_prefix(' ').unwrap_or(value);
    (!value.starts_with(['=', '>']) && !is_braced_names(value)).then_some(value)
}

/// Returns true for `export { main };` and `module.exports = { main };`. The functions themselves are in the program.
fn is_name_list(statement: &str) -> bool {
    let list = statement.strip_prefix("export ").or_else(|| {
        let assigned = statement.strip_prefix("module.exports")?.trim_start();
        assigned.strip_prefix('=')
    });
    list.is_some_and(is_braced_names)
}

fn is_braced_names(text: &str) -> bool {
    let text = text.trim().trim_end_matches(';').trim_end();
    let names = text
        .strip_prefix('{')
        .and_then(|list| list.strip_suffix('}'));
    names.is_some_and(|names| {
        names
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | ',' | ' '))
    })
}

/// The line with the test for the main module answered.
fn run_as_main_module(line: &str) -> Cow<'_, str> {
    for test in ["require.main === module", "import.meta.main"] {
        if line.contains("if (") && line.contains(test) {
            return Cow::Owned(line.replace(test, &format!("{:<1$}", "true", test.len())));
        }
    }
    Cow::Borrowed(line)
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
    let Some(first) = first_line(lines) else {
        return;
    };
    let line = lines[first].trim_start().to_ascii_lowercase();
    let names = [
        "think",
        "thinking",
        "thought",
        "reasoning",
        "analysis",
        "scratchpad",
    ];
    let Some(name) = names.iter().find(|name| {
        line.strip_prefix('<')
            .and_then(|tag| tag.strip_prefix(**name))
            .is_some_and(|tag| tag.starts_with('>'))
    }) else {
        return;
    };
    let closing = format!("</{name}>");
    let end = lines.iter().enumerate().skip(first).find_map(|(at, line)| {
        let (_, after) = line.split_once(&closing)?;
        Some((at, after))
    });
    if let Some((last, after)) = end {
        lines[first..=last].fill("");
        lines[last] = after;
    }
}

/// Blanks a tag on the first line that closes on the last one.
fn blank_enclosing_tags(lines: &mut [&str]) {
    let last = lines.iter().rposition(|line| !line.trim().is_empty());
    let (Some(first), Some(last)) = (first_line(lines), last) else {
        return;
    };
    let opening = lines[first].trim();
    let closing = lines[last].trim();
    let name = opening
        .strip_prefix('<')
        .and_then(|tag| tag.strip_suffix('>'));
    let is_tag = name.is_some_and(|name| {
        ["code", "program", "script", "typescript"].contains(&name)
            && closing == format!("</{name}>")
    });
    if first < last && (is_tag || (opening == "<![CDATA[" && closing == "]]>")) {
        lines[first] = "";
        lines[last] = "";
    }
}

fn first_line(lines: &[&str]) -> Option<usize> {
    lines.iter().position(|line| !line.trim().is_empty())
}

/// The lines of the programs in fences. Several are the parts of one program, which ends with the first that returns.
///
/// Three backticks at the start of a line are not part of a program, except in a template literal, where the number of
/// backticks before them is odd. Tildes could be operators, so they need a closing line.
fn find_fenced_programs(lines: &[&str]) -> Vec<Range<usize>> {
    let mut found: Vec<(Range<usize>, bool)> = Vec::new();
    let mut backticks = 0;
    let mut before = "";
    let mut at = 0;
    let mut is_markdown = false;
    while let Some(line) = lines.get(at) {
        let is_in_literal =
            !is_markdown && (backticks % 2 == 1 || before.ends_with(['`', '(', '+']));
        let opening = opening_fence(line).filter(|_| !is_in_literal);
        if let Some((fence, language)) = opening {
            let closes = |line: &&str| {
                let line = line.trim();
                line.len() >= fence.len() && line.chars().all(|c| fence.starts_with(c))
            };
            let length = lines[at + 1..].iter().position(closes);
            let is_complete = length.is_some();
            // An answer that was cut off, or that has only an opening fence.
            let may_be_open = fence.starts_with('`')
                && at + 1 < lines.len()
                && (before.is_empty() || is_markdown || line.trim().len() > fence.len());
            if !is_complete && !may_be_open {
                break;
            }
            let program = at + 1..length.map_or(lines.len(), |length| at + 1 + length);
            at = program.end + 1;
            match language {
                FenceLanguage::Other => {}
                language => found.push((program, language == FenceLanguage::Program)),
            }
            is_markdown = true;
            continue;
        }
        backticks += count_backticks(line);
        if !line.trim().is_empty() {
            before = line.trim_end();
        }
        at += 1;
    }
    // Beside a fence with a language, one without is an output or a command.
    let any_named = found.iter().any(|(_, is_named)| *is_named);
    found.retain(|(_, is_named)| *is_named || !any_named);
    let mut programs = Vec::new();
    for (program, _) in found {
        let opening = lines[program.start - 1];
        let indent = &opening[..opening.len() - opening.trim_start().len()];
        let mut content = lines[program.clone()].iter();
        let is_last = content.any(|line| {
            line.strip_prefix(indent)
                .unwrap_or(line)
                .starts_with("return")
        });
        programs.push(program);
        if is_last {
            break;
        }
    }
    programs
}

/// Strips backticks around a program on one line, or a closing fence that was never opened.
fn strip_stray_fence(lines: &mut [&str]) {
    let Some(last) = lines.iter().rposition(|line| !line.trim().is_empty()) else {
        return;
    };
    let backticks: usize = lines[..last].iter().map(|line| count_backticks(line)).sum();
    if backticks % 2 == 1 {
        return;
    }
    let line = lines[last].trim();
    if first_line(lines) == Some(last)
        && let Some(program) = line
            .strip_prefix("```")
            .and_then(|line| line.strip_suffix("```"))
    {
        let language = program
            .split(' ')
            .next()
            .filter(|word| is_program_language(word));
        lines[last] = &program[language.map_or(0, str::len)..];
    } else if first_line(lines) != Some(last) && line.len() >= 3 && line.chars().all(|c| c == '`') {
        lines[last] = "";
    }
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum FenceLanguage {
    Program,
    Unnamed,
    Other,
}

/// The marks of a line that opens a fence, and the kind of its language.
fn opening_fence(line: &str) -> Option<(&str, FenceLanguage)> {
    let line = line.trim();
    let mark = line
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let end = line.find(|c| c != mark).unwrap_or(line.len());
    let (fence, info) = line.split_at(end);
    if fence.len() < 3 || info.contains(mark) {
        return None;
    }
    // The language, alone or with attributes: `ts title="a.ts"`, `{.typescript}`.
    let language = info.trim_start_matches([' ', '{', '.']);
    let end = language.find(|c: char| !c.is_ascii_alphanumeric());
    let language = language[..end.unwrap_or(language.len())].to_ascii_lowercase();
    let kind = if language.is_empty() {
        FenceLanguage::Unnamed
    } else if is_program_language(&language) {
        FenceLanguage::Program
    } else {
        FenceLanguage::Other
    };
    Some((fence, kind))
}

fn is_program_language(word: &str) -> bool {
    let languages = [
        "ts",
        "typescript",
        "js",
        "javascript",
        "tsx",
        "jsx",
        "mts",
        "mjs",
        "cts",
        "cjs",
        "node",
        "deno",
        "es6",
        "ecmascript",
    ];
    languages.contains(&word)
}

/// The number of backticks that are not escaped.
fn count_backticks(line: &str) -> usize {
    line.matches('`').count() - line.matches("\\`").count()
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
            // The parts of one program, beside fences that are none.
            (
                "```ts\nlet a\n```\nand\n```sh\nls\n```\n```js\nreturn a\n```\n```\nno\n```",
                "\nlet a\n\n\n\n\n\n\nreturn a\n\n\n\n",
            ),
            (
                "```json\n{}\n```\n```ts\nreturn 1\n```",
                "\n\n\n\nreturn 1\n",
            ),
            ("return 1\n```", "return 1\n"),
            ("```ts\nreturn 1 ```", "\nreturn 1 "),
            ("```return 1```", "return 1"),
            ("```ts return 1```", " return 1"),
            ("<code>\nreturn 1\n</code>", "\nreturn 1\n"),
            ("<reasoning>x\n</reasoning>\nreturn 1", "\n\nreturn 1"),
            (
                "return `\n\\`\\`\\`ts\nx\n\\`\\`\\`\n`",
                "return `\n\\`\\`\\`ts\nx\n\\`\\`\\`\n`",
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
                "       const a = 1;\n",
            ),
            ("  export const a = 1;", "         const a = 1;"),
            ("export { a } from 'b';", "export { a } from 'b';"),
            (
                "module.exports = async () => 1",
                "               0,async () => 1",
            ),
            ("module.exports = { main };", ""),
            ("exports.run = main;", "            0,main;"),
            (
                "if (require.main === module) main();",
                "if (true                   ) main();",
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
