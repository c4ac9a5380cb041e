//! The severity of diagnostics.
//!
//! TypeScript is stricter than the engine: it knows no values, only declared or inferred types. Code that works or may
//! work at run time is at most a warning.

use super::super::{Severity, hints::quoted_after};

/// Errors, unless the message indicates otherwise: unknown names, unknown properties, values of the wrong type, missing
/// arguments.
const ERROR_CODES: &[u32] = &[
    1058, 1062, 1320, 1345, 1360, 2300, 2304, 2307, 2322, 2339, 2345, 2349, 2351, 2353, 2362, 2363,
    2448, 2451, 2488, 2503, 2504, 2551, 2552, 2554, 2555, 2559, 2561, 2580, 2581, 2582, 2584, 2588,
    2591, 2592, 2593, 2693, 2739, 2740, 2741, 2769, 2801, 2820, 2867, 2868, 18004,
];
/// Codes in the range of syntax errors that concern types.
const NON_SYNTAX_CODES: &[u32] = &[1058, 1062, 1117, 1320, 1321, 1322, 1345, 1355, 1360];
/// Codes that are irrelevant at run time: uninitialized properties, values of unknown type, the comma in place of a
/// default export, calls of a promise's `resolve` without a value.
const IGNORED_CODES: &[u32] = &[2564, 2571, 2683, 2695, 2794, 18046];

/// Globals with members that the engine may have but the type library lacks.
const ENGINE_GLOBALS: &[&str] = &["Atomics", "Intl", "Iterator", "JSON", "Math", "Reflect"];

/// The location of a diagnostic.
pub(super) struct SeverityContext<'a> {
    pub(super) program: &'a str,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it is in the arguments of a tool call.
    pub(super) is_argument: bool,
    /// The declarations that the program is checked against.
    pub(super) types: &'a str,
}

/// The severity of a diagnostic; `None` if it is not reported.
pub(super) fn of(code: u32, message: &str, context: &SeverityContext<'_>) -> Option<Severity> {
    if (7000..7100).contains(&code) || IGNORED_CODES.contains(&code) {
        return None;
    }
    if (1000..2000).contains(&code) && !NON_SYNTAX_CODES.contains(&code) {
        return Some(Severity::Syntax);
    }
    if !ERROR_CODES.contains(&code) {
        return Some(Severity::Warning);
    }
    let first = message.lines().next().unwrap_or_default();
    let verdict = match code {
        2339 | 2551 => property(first, message, context)?,
        // A function of the program may work with fewer arguments; a tool does not.
        2554 | 2555 if !has_too_many(first) && !is_of_mux(context) => Severity::Warning,
        // Dates can be subtracted.
        2362 | 2363 if is_subtracted(context) => Severity::Warning,
        2693 if quoted_after(first, "'").is_some_and(|name| ENGINE_GLOBALS.contains(&name)) => {
            Severity::Warning
        }
        2322 | 2345 | 2739..=2741 | 2769 | 2820 => assignment(first, message, context)?,
        2349 | 2488 | 2504
            if mentions_nothing(first) || message.contains("Not all constituents") =>
        {
            Severity::Warning
        }
        _ => Severity::Error,
    };
    // An observed type is no guarantee.
    if message.contains("Seen<") {
        return Some(Severity::Warning);
    }
    Some(verdict)
}

/// The severity of an unknown property.
fn property(first: &str, message: &str, context: &SeverityContext<'_>) -> Option<Severity> {
    let name = quoted_after(first, "Property '")?;
    let (_, of) = first.split_once("' does not exist on type '")?;
    let of = of.split_once("'. Did you mean").map_or_else(
        || of.trim_end_matches('.').trim_end_matches('\''),
        |(of, _)| of,
    );
    // Nothing is known about the members of these types.
    if matches!(of, "{}" | "never" | "object" | "never[]") {
        return None;
    }
    // The compiler makes no suggestion for members newer than its library.
    let is_suggested = first.contains("'. Did you mean '");
    let is_of_library = ENGINE_GLOBALS.contains(&of) && !is_suggested
        || of.ends_with("Constructor")
        || of.split('<').next().is_some_and(|name| {
            name.ends_with("Iterator") || name.ends_with("IteratorObject") || name == "Generator"
        })
        || of.starts_with("Uint8Array<");
    // One member of a union may have the property.
    let is_of_union = message.lines().nth(1).is_some();
    // A type inferred from the program's own objects may lack members that they have.
    let is_guessed = !is_suggested && of.starts_with('{') && !is_declared(of, context.types);
    if is_of_library || is_of_union || is_guessed || is_written(name, context) {
        return Some(Severity::Warning);
    }
    Some(Severity::Error)
}

/// The severity of a value of the wrong type.
fn assignment(first: &str, message: &str, context: &SeverityContext<'_>) -> Option<Severity> {
    let mut lines = message.lines().map(str::trim).rev();
    let last = lines.next().unwrap_or_default();
    // An empty array that is filled later, a `null` that is replaced: the inferred type is too narrow.
    if last.ends_with(" type 'never'.")
        || last.ends_with("'ConcatArray<never>'.")
        || first.contains("'never[]'")
    {
        return None;
    }
    let is_nothing = |line: &str| {
        line.starts_with("Type 'undefined' is not assignable to type '")
            || line.starts_with("Type 'null' is not assignable to type '")
    };
    let only_absence = is_nothing(last) && lines.next().is_some_and(mentions_nothing);
    let of_unknown = |line: &str| {
        line.starts_with("Type 'unknown' ")
            || line.starts_with("Argument of type 'unknown' ")
            || line.starts_with("Type '{}' ")
            || line.starts_with("Argument of type '{}' ")
    };
    let is_placeholder = last.ends_with(" type 'null'.") || last.ends_with(" type 'undefined'.");
    if only_absence
        || of_unknown(first)
        || of_unknown(last)
        || may_fit(first)
        || (is_null(last) && !is_null_written(context))
        || (!context.is_argument && (is_placeholder || is_reassigned(context)))
    {
        return Some(Severity::Warning);
    }
    Some(Severity::Error)
}

/// Whether a printed type may be a declared one: the declarations contain the names of all its members.
fn is_declared(printed: &str, types: &str) -> bool {
    members(printed).iter().all(|name| {
        types.match_indices(name).any(|(at, _)| {
            let before = types[..at].chars().next_back();
            let after = types[at + name.len()..].trim_start_matches(['"', '?']);
            after.starts_with(':') && before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
        })
    })
}

/// The member names of an object type printed on one line.
fn members(printed: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut names = Vec::new();
    let mut rest = printed;
    while let Some(at) = rest.find(['{', '}', '(', ')', '[', ']', ';', ':']) {
        let (before, mark) = (rest[..at].trim(), &rest[at..=at]);
        rest = &rest[at + 1..];
        match mark {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            ":" if depth == 1 => {
                names.push(before.trim_end_matches('?').trim_matches('"'));
                // Skips the member's type.
                let end = end_of_member(rest);
                rest = &rest[end..];
            }
            _ => {}
        }
    }
    names
}

fn end_of_member(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' if depth == 0 => return at,
            '}' | ')' | ']' => depth -= 1,
            ';' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

/// Whether a member of the expression's union type is the wanted type.
fn may_fit(first: &str) -> bool {
    let Some((source, target)) = first.split_once("' is not assignable to ") else {
        return false;
    };
    let source = source.split_once("ype '").map_or("", |(_, source)| source);
    let target = target.split_once("type '").map_or("", |(_, target)| target);
    let target = target.trim_end_matches('.').trim_end_matches('\'');
    let mut parts = source.split(" | ");
    source.contains(" | ") && parts.any(|part| part == target)
}

fn is_null(line: &str) -> bool {
    line.contains("ype 'null' is not assignable to ")
}

/// Whether the program has a literal `null` there, rather than a value inferred as one.
fn is_null_written(context: &SeverityContext<'_>) -> bool {
    let word = context.program.get(context.start..context.end);
    let after = context.program.get(context.end..).unwrap_or_default();
    let value = after.trim_start().strip_prefix(':').unwrap_or_default();
    word == Some("null") || value.trim_start().starts_with("null")
}

/// Whether a function of `mux` is called at this location.
fn is_of_mux(context: &SeverityContext<'_>) -> bool {
    let before = context.program.get(..context.start).unwrap_or_default();
    let called = context.program.get(context.start..).unwrap_or_default();
    context.is_argument || before.ends_with("mux.") || called.starts_with("mux.")
}

fn is_subtracted(context: &SeverityContext<'_>) -> bool {
    let before = context.program.get(..context.start).unwrap_or_default();
    let after = context.program.get(context.end..).unwrap_or_default();
    let after = after.trim_start_matches(|c: char| c.is_whitespace() || c == ')');
    let before = before.trim_end_matches(|c: char| c.is_whitespace() || c == '(');
    after.starts_with('-') || before.ends_with('-')
}

fn has_too_many(first: &str) -> bool {
    let mut numbers = first
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse::<u32>().ok());
    match (numbers.next(), numbers.next_back()) {
        (Some(expected), Some(got)) => got > expected,
        _ => false,
    }
}

fn mentions_nothing(line: &str) -> bool {
    line.contains("| undefined") || line.contains("| null") || line.contains("undefined |")
}

/// Whether the program assigns this property to an object.
fn is_written(name: &str, context: &SeverityContext<'_>) -> bool {
    if name.is_empty() {
        return false;
    }
    let access = format!(".{name}");
    context
        .program
        .match_indices(&access)
        .any(|(at, _)| is_assigned(&context.program[at + access.len()..]))
}

/// Whether the location is an assignment that is not a declaration.
fn is_reassigned(context: &SeverityContext<'_>) -> bool {
    let before = context.program.get(..context.start).unwrap_or_default();
    let word = before
        .trim_end()
        .rsplit(|c: char| !c.is_alphanumeric())
        .next();
    let is_declared = matches!(word, Some("const" | "let" | "var"));
    let after = context.program.get(context.end..).unwrap_or_default();
    !is_declared && is_assigned(after)
}

fn is_assigned(after: &str) -> bool {
    let mut after = after.trim_start().chars();
    after.next() == Some('=') && !matches!(after.next(), Some('=' | '>'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_printed_types_are_parsed() {
        let printed =
            "{ a: { b: string; }[]; c?: (x: number) => void; \"d-e\": [f: 1]; ... 2 more ...; }";
        assert_eq!(members(printed), ["a", "c", "d-e"]);
        assert!(is_declared("{ at: number; }", "type T = { at?: string }"));
        assert!(!is_declared(
            "{ at: number; }",
            "type T = { format: string }"
        ));
    }
}
