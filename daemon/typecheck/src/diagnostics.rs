//! Turns compiler diagnostics into diagnostics for the author of a program: with a severity, and with positions in the
//! program as written.
//!
//! Invariant: code that is certain to fail is an error (`severity`). All other findings are warnings.

mod severity;

use std::fmt::Write as _;

use std::collections::{BTreeSet, HashSet};

use mux_wire::program_wrapper::WRAPPER_PREFIX;

use super::{
    Diagnostic, Severity, enclosing_call, hints,
    lsp::{LspDiagnostic, LspPosition},
    syntax_tree::SyntaxTree,
};

/// The maximum number of diagnostics.
const MAX_DIAGNOSTICS: usize = 20;
/// The maximum number of warnings among them.
const MAX_WARNINGS: usize = 8;
/// The maximum number of the compiler's diagnostics that are judged.
const MAX_JUDGED: usize = 200;
/// The maximum number of further lines that a repeated diagnostic names.
const MAX_NAMED_LINES: usize = 3;
/// The maximum length of a message in bytes.
const MAX_MESSAGE_BYTES: usize = 2000;
/// `'x' only refers to a type, but is being used as a value here.`
const ONLY_A_TYPE_CODE: u32 = 2693;
/// `No value exists in scope for the shorthand property 'x'.`
const NO_SHORTHAND_VALUE_CODE: u32 = 18004;

/// Returns true if the compiler lacks the types that every program has. In that case, the diagnostics are not the
/// program's fault.
pub(super) fn has_lost_its_types(found: &[LspDiagnostic]) -> bool {
    found.iter().any(|found| {
        found.message.starts_with("Cannot find name 'mux'.")
            || found.message.starts_with("Cannot find global type 'Array'")
    })
}

/// The diagnostics of a program, of two compilations.
#[derive(Default)]
pub(super) struct ProgramDiagnostics {
    pub(super) found: Vec<LspDiagnostic>,
    /// The diagnostics of the same program with [`declared_type_names`] after it. A name that is still unknown there is
    /// used as a value.
    pub(super) with_type_names: Vec<LspDiagnostic>,
}

/// Declares the names that the compiler does not know as types. Empty if it knows all of them.
pub(super) fn declared_type_names(found: &[LspDiagnostic]) -> String {
    let unknown = found
        .iter()
        .filter(|found| severity::UNKNOWN_NAME_CODES.contains(&found.code));
    let names: BTreeSet<&str> = unknown
        .filter_map(|found| found.message.split('\'').nth(1))
        .collect();
    let declare = |name: &&str| format!("type {name} = any;\n");
    names.iter().map(declare).collect::<Vec<_>>().concat()
}

pub(super) fn judge(
    diagnostics: &ProgramDiagnostics,
    plain: &str,
    tree: &SyntaxTree,
    folder: &str,
    types: &str,
) -> Vec<Diagnostic> {
    let program = ProgramLines::of(plain, tree, &diagnostics.with_type_names);
    let mut diagnostics: Vec<Diagnostic> = diagnostics
        .found
        .iter()
        .filter(|found| found.severity == 1)
        .take(MAX_JUDGED)
        .filter_map(|found| program.diagnostic(found, folder, types))
        .collect();
    diagnostics.sort_by_key(|d| (d.line, d.column, d.code));
    few(group(diagnostics))
}

/// A program, split into lines.
struct ProgramLines<'a> {
    plain: &'a str,
    /// Lines, each with its byte offset.
    lines: Vec<(usize, &'a str)>,
    tree: &'a SyntaxTree,
    /// Where the program uses the value of a name that is declared as a type only.
    value_names: HashSet<LspPosition>,
}

/// A position in a program: byte offset, and line and column counted from 1.
struct ProgramPosition {
    byte: usize,
    line: u32,
    column: u32,
}

impl<'a> ProgramLines<'a> {
    fn of(plain: &'a str, tree: &'a SyntaxTree, with_type_names: &[LspDiagnostic]) -> Self {
        let value_names = with_type_names
            .iter()
            .filter(|found| found.code == ONLY_A_TYPE_CODE || found.code == NO_SHORTHAND_VALUE_CODE)
            .map(|found| found.range.start);
        let mut begins = 0;
        let lines = plain
            .split('\n')
            .map(|line| {
                let began = begins;
                begins += line.len() + 1;
                (began, line)
            })
            .collect();
        Self {
            plain,
            lines,
            tree,
            value_names: value_names.collect(),
        }
    }

    fn diagnostic(&self, found: &LspDiagnostic, folder: &str, types: &str) -> Option<Diagnostic> {
        let start = self.program_position(found.range.start);
        let end = self.program_position(found.range.end);
        let node = self.tree.at_byte(start.byte);
        let unknown = match found.code {
            2339 | 2551 => self.unknown_tool(node, &found.message),
            _ => None,
        };
        let is_unknown = unknown.is_some();
        let is_call = matches!(found.code, 2554 | 2555);
        let tool = unknown.or_else(|| enclosing_call::around(self.tree, node, is_call));
        let context = severity::SeverityContext {
            tree: self.tree,
            at: node,
            has_declare: self.plain.contains("declare"),
            is_type_name: !self.value_names.contains(&found.range.start),
            types,
        };
        let severity = severity::of(found.code, &found.message, &context)?;
        let message = cleaned(&found.message, folder);
        let (first, why) = message.split_once('\n').unwrap_or((&message, ""));
        let hint = hints::hint_for(&hints::HintContext {
            code: found.code,
            message: first,
            why,
            line: line_around(self.plain, start.byte),
            types,
        });
        Some(Diagnostic {
            severity,
            code: found.code,
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
            hint,
            tool,
            is_unknown,
            message,
        })
    }

    /// The tool that does not exist, if the message is about its name or a group in its name.
    fn unknown_tool(&self, node: usize, message: &str) -> Option<enclosing_call::ToolCallPath> {
        let name = hints::quoted_after(message, "Property '")?;
        enclosing_call::around(self.tree, node, true)
            .filter(|(_, tool)| tool.split('.').any(|segment| segment == name))
    }

    /// Maps a position in the wrapped text to the program.
    fn program_position(&self, position: LspPosition) -> ProgramPosition {
        let line = position.line as usize;
        let Some(&(began, text)) = self.lines.get(line) else {
            return self.end();
        };
        let mut units = position.character as usize;
        if line == 0 {
            units = units.saturating_sub(WRAPPER_PREFIX.len());
        }
        let mut byte = 0;
        let mut seen = 0;
        for c in text.chars() {
            if seen >= units {
                break;
            }
            seen += c.len_utf16();
            byte += c.len_utf8();
        }
        ProgramPosition {
            byte: began + byte,
            line: position.line + 1,
            column: u32::try_from(seen + 1).unwrap_or(u32::MAX),
        }
    }

    /// The end of the program. Diagnostics in the wrapper after it are reported there.
    fn end(&self) -> ProgramPosition {
        let text = self.plain.trim_end();
        let last = text.rsplit('\n').next().unwrap_or_default();
        let count = |number: usize| u32::try_from(number + 1).unwrap_or(u32::MAX);
        ProgramPosition {
            byte: text.len(),
            line: count(text.matches('\n').count()),
            column: count(last.encode_utf16().count()),
        }
    }
}

/// The message without advice that does not apply here, and without the path of the types folder.
fn cleaned(message: &str, folder: &str) -> String {
    let folder = format!("{folder}/");
    let shown = &message[..message.floor_char_boundary(MAX_MESSAGE_BYTES)];
    let mut lines = shown.lines().map(|line| {
        let advice = [
            " Do you need to install type definitions",
            " Do you need to change your target library",
        ];
        let end = advice.iter().filter_map(|advice| line.find(advice)).min();
        without_marks(&line[..end.unwrap_or(line.len())].replace(&folder, ""))
    });
    let mut cleaned = lines.next().unwrap_or_default();
    for line in lines {
        cleaned.push('\n');
        cleaned.push_str(&line);
    }
    if shown.len() < message.len() {
        cleaned.push_str(" …");
    }
    cleaned
}

/// Removes the marks of closed types: `Closed<{ a: string; }>` becomes `{ a: string; }`. Text in double quotes is the
/// program's own.
fn without_marks(line: &str) -> String {
    const MARK: &str = "Closed<";
    let mut text = String::with_capacity(line.len());
    // For each open `<`, true if it belongs to a mark.
    let mut open = Vec::new();
    let mut rest = line;
    let mut before = ' ';
    let mut in_quotes = false;
    while let Some(c) = rest.chars().next() {
        let is_inside_word = before.is_alphanumeric() || matches!(before, '_' | '$');
        if !in_quotes && !is_inside_word && rest.starts_with(MARK) {
            open.push(true);
            rest = &rest[MARK.len()..];
            before = '<';
            continue;
        }
        rest = &rest[c.len_utf8()..];
        let is_escaped = in_quotes && before == '\\';
        let ends_arrow = before == '=';
        before = if is_escaped { ' ' } else { c };
        match c {
            '"' if !is_escaped => in_quotes = !in_quotes,
            '<' if !in_quotes => open.push(false),
            '>' if !in_quotes && !ends_arrow && open.pop() == Some(true) => continue,
            _ => {}
        }
        text.push(c);
    }
    text
}

/// Merges equal diagnostics into one that names the lines of the others.
fn group(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut groups: Vec<(Diagnostic, Vec<u32>)> = Vec::new();
    for diagnostic in diagnostics {
        let same = groups.iter_mut().find(|(first, _)| {
            (first.severity, first.code, &first.message, &first.tool)
                == (
                    diagnostic.severity,
                    diagnostic.code,
                    &diagnostic.message,
                    &diagnostic.tool,
                )
        });
        match same {
            Some((first, lines)) => {
                if diagnostic.line != first.line && lines.last() != Some(&diagnostic.line) {
                    lines.push(diagnostic.line);
                }
            }
            None => groups.push((diagnostic, Vec::new())),
        }
    }
    groups
        .into_iter()
        .map(|(mut diagnostic, lines)| {
            if let Some(named) = named(&lines) {
                let first = diagnostic
                    .message
                    .find('\n')
                    .unwrap_or(diagnostic.message.len());
                diagnostic.message.insert_str(first, &format!(" ({named})"));
            }
            diagnostic
        })
        .collect()
}

fn named(lines: &[u32]) -> Option<String> {
    let shown: Vec<String> = lines
        .iter()
        .take(MAX_NAMED_LINES)
        .map(u32::to_string)
        .collect();
    let (last, others) = shown.split_last()?;
    Some(match (others.len(), lines.len() - shown.len()) {
        (0, _) => format!("and on line {last}"),
        (_, 0) => format!("and on lines {} and {last}", others.join(", ")),
        (_, more) => format!("and on lines {}, {last} and {more} more", others.join(", ")),
    })
}

/// Truncates to [`MAX_WARNINGS`] and [`MAX_DIAGNOSTICS`]. Drops warnings before errors. The last diagnostic says how
/// many are missing.
fn few(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let all = diagnostics.len();
    diagnostics.sort_by_key(|d| d.severity == Severity::Warning);
    let errors = diagnostics.partition_point(|d| d.severity != Severity::Warning);
    diagnostics.truncate(MAX_DIAGNOSTICS.min(errors + MAX_WARNINGS));
    diagnostics.sort_by_key(|d| (d.line, d.column, d.code));
    let more = all - diagnostics.len();
    if more == 0 {
        return diagnostics;
    }
    if let Some(last) = diagnostics.last_mut() {
        _ = write!(last.message, "\n({more} more are not shown)");
    }
    diagnostics
}

/// The line of the program that contains this byte.
fn line_around(program: &str, byte: usize) -> &str {
    let Some((before, after)) = program.split_at_checked(byte) else {
        return "";
    };
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    let end = after.find('\n').map_or(program.len(), |at| byte + at);
    &program[begin..end]
}

#[cfg(test)]
mod tests;
