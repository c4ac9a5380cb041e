//! Decides how a program uses a value: if it certainly fails when the value is `undefined`, and if it tests for that.
//!
//! Invariant: where the tokens do not show an answer, the program is taken to run.

use super::{
    enclosing_call::{chain_before, next_after_chain},
    execution::is_certain,
    program_tokens::{BLOCK_HEADS, ProgramTokens, TokenKind},
};

/// The maximum number of uses of a variable that are looked at in detail.
const MAX_USES: usize = 50;

/// The maximum number of constants through which a value is followed.
const MAX_CONSTANTS: usize = 5;

/// Built-in functions that throw without a value.
const NEEDING_A_VALUE: &[&str] = &[
    "Object.keys",
    "Object.values",
    "Object.entries",
    "Object.fromEntries",
    "Array.from",
    "JSON.parse",
    "Math.max",
];
/// Operators that compare, test or replace a value.
const TESTS: &[&str] = &[
    "?",
    "??",
    "||",
    "&&",
    "??=",
    "||=",
    "&&=",
    "===",
    "!==",
    "==",
    "!=",
    "in",
    "instanceof",
];

/// Returns true if the program certainly fails because the member at `at` is missing.
pub(super) fn fails_without(program: &ProgramTokens<'_>, at: usize) -> bool {
    if let Some((name, is_constant)) = binding(program, at) {
        return is_constant && variable_fails(program, name, MAX_CONSTANTS);
    }
    if !matches!(program.before(at), "." | "[") {
        return false;
    }
    let end = match program.text(at + 1) {
        "]" if program.before(at) == "[" => at + 1,
        _ => at,
    };
    is_certain(program, at) && expression_fails(program, end, MAX_CONSTANTS)
}

/// Returns true if some code tests if a member or variable with this name exists, or defines it.
pub(super) fn is_tested(program: &ProgramTokens<'_>, name: &str, except: usize) -> bool {
    program.occurrences(name).any(|at| {
        if program.is_word(at) {
            return is_test(program, at) || at != except && is_assigned_at(program, at);
        }
        let is_operand = program.text(at + 1) == "in" || matches!(program.before(at), "(" | ",");
        at != except && is_operand
    })
}

/// Returns true if the chain that contains the word at `at` is tested there.
pub(super) fn is_test(program: &ProgramTokens<'_>, at: usize) -> bool {
    let end = end_of_member(program, at);
    let next = next_after_chain(program, end + 1);
    let start = chain_start(program, end);
    let before = program.before(start);
    let is_condition = || {
        let Some(open) = program.parent(start) else {
            return false;
        };
        before == "("
            && program.text(next) == ")"
            && matches!(program.before(open), "if" | "while" | "Boolean")
    };
    TESTS.contains(&program.text(next))
        || program.text(next) == "?."
        || matches!(
            before,
            "!" | "typeof" | "in" | "delete" | "===" | "!==" | "==" | "!="
        )
        || program.before(at) == "?."
        || is_condition()
}

/// Returns true if the variable, or a member with this name, gets another value after its declaration.
pub(super) fn is_reassigned(program: &ProgramTokens<'_>, name: &str) -> bool {
    program
        .occurrences(name)
        .any(|at| program.is_word(at) && is_assigned_at(program, at))
}

/// Returns true if an object or class of the program has a member with this name.
pub(super) fn is_key(program: &ProgramTokens<'_>, name: &str) -> bool {
    program.occurrences(name).any(|at| {
        matches!(program.text(at + 1), ":" | "(")
            && matches!(program.before(at), "{" | "," | "}" | "get" | "async")
    })
}

/// The names in the expression before the member at `at`: `["r", "owner"]` for `r.owner.login`.
pub(super) fn receiver_names<'a>(program: &ProgramTokens<'a>, at: usize) -> Vec<&'a str> {
    let Some(end) = receiver_end(program, at) else {
        return Vec::new();
    };
    let start = expression_before(program, end);
    let parent = program.parent(start);
    (start..=end)
        .filter(|at| program.is_word(*at) && program.parent(*at) == parent)
        .map(|at| program.text(at))
        .collect()
}

/// The last token of the expression before the member at `at`.
pub(super) fn receiver_end(program: &ProgramTokens<'_>, at: usize) -> Option<usize> {
    match program.before(at) {
        "." | "?." | "[" => at.checked_sub(2),
        _ => None,
    }
}

/// Returns true if everything between these positions is written literally.
pub(super) fn is_written_out(program: &ProgramTokens<'_>, start: usize, end: usize) -> bool {
    (start..end).all(|at| match program.kind(at) {
        Some(TokenKind::Word) => {
            let is_key = program.text(at + 1) == ":" && matches!(program.before(at), "{" | ",");
            is_key
                || matches!(
                    program.text(at),
                    "true" | "false" | "null" | "undefined" | "as" | "const"
                )
        }
        Some(TokenKind::Open | TokenKind::Close) => !matches!(program.text(at), "(" | ")"),
        Some(TokenKind::Operator) => matches!(program.text(at), "," | ":" | "-"),
        _ => true,
    })
}

/// Where the expression that begins at `start` ends: at the next comma or bracket.
pub(super) fn value_end(program: &ProgramTokens<'_>, start: usize) -> usize {
    let mut at = start;
    loop {
        if matches!(program.text(at), "," | ";") && program.kind(at) == Some(TokenKind::Operator) {
            return at;
        }
        match program.sibling_after(at) {
            Some(next) => at = next,
            None => {
                return match program.kind(at) {
                    Some(TokenKind::Open) => program.partner(at).map_or(at, |end| end + 1),
                    Some(_) => at + 1,
                    None => at,
                };
            }
        }
    }
}

/// The object literal that a constant stands for, if the program uses the constant only as an argument.
pub(super) fn constant_object(program: &ProgramTokens<'_>, name: &str) -> Option<usize> {
    let mut literal = None;
    for at in program.names(name) {
        if program.before(at) == "const"
            && program.text(at + 1) == "="
            && program.is_open(at + 2, "{")
        {
            let close = program.partner(at + 2)?;
            let ends = program.get(close + 1).is_none_or(|token| token.begins_line);
            if literal.is_some() || !(ends || program.text(close + 1) == ";") {
                return None;
            }
            literal = Some(at + 2);
            continue;
        }
        let is_argument = program.before(at) == "(" && program.text(at + 1) == ")";
        let open = program.parent(at)?;
        let path = chain_before(program, open)?;
        if !is_argument || path.first().is_none_or(|first| first != "mux") {
            return None;
        }
    }
    literal
}

/// Returns true if the object literal at `open` lists all of its members.
pub(super) fn lists_members(program: &ProgramTokens<'_>, open: usize) -> bool {
    let mut at = Some(open + 1);
    while let Some(member) = at.filter(|member| program.parent(*member) == Some(open)) {
        let is_computed =
            program.is_open(member, "[") && matches!(program.before(member), "{" | ",");
        if program.text(member) == "..." || is_computed {
            return false;
        }
        at = program.sibling_after(member);
    }
    program.partner(open).is_some()
}

/// The names of the members of the object literal at `open`.
pub(super) fn member_names<'a>(program: &ProgramTokens<'a>, open: usize) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut at = Some(open + 1);
    while let Some(member) = at.filter(|member| program.parent(*member) == Some(open)) {
        if matches!(program.before(member), "{" | ",") {
            names.push(program.text(member).trim_matches(['"', '\'']));
        }
        at = program.sibling_after(member);
    }
    names
}

/// The variable that a destructuring pattern binds to the member at `at`, and whether it is a constant without a
/// default.
pub(super) fn binding<'a>(program: &ProgramTokens<'a>, at: usize) -> Option<(&'a str, bool)> {
    let open = program.parent(at)?;
    if !program.is_open(open, "{") || !matches!(program.before(at), "{" | ",") {
        return None;
    }
    let after = program.text(program.partner(open)? + 1);
    if after != "=" && after != "of" {
        return None;
    }
    let local = match program.text(at + 1) {
        ":" => at + 2,
        _ => at,
    };
    let is_plain = matches!(program.text(local + 1), "," | "}");
    let is_constant = program.before(open) == "const" && is_plain && program.is_word(local);
    Some((program.text(local), is_constant))
}

/// Returns true if the program certainly fails because this variable is `undefined`.
fn variable_fails(program: &ProgramTokens<'_>, name: &str, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let mut declarations = 0;
    let mut uses = 0;
    let mut fails = false;
    for at in program.names(name) {
        let is_key = program.text(at + 1) == ":" && matches!(program.before(at), "{" | ",");
        if is_key {
            continue;
        }
        let in_pattern = binding(program, at).is_some();
        if matches!(program.before(at), "const" | "let" | "var" | "function")
            || in_pattern
            || is_parameter(program, at)
        {
            declarations += 1;
        } else if is_test(program, at) {
            return false;
        } else {
            uses += 1;
            fails |=
                uses <= MAX_USES && is_certain(program, at) && expression_fails(program, at, depth);
        }
    }
    fails && declarations <= 1
}

/// Returns true if the word is a parameter of a function.
pub(super) fn is_parameter(program: &ProgramTokens<'_>, at: usize) -> bool {
    if program.text(at + 1) == "=>" {
        return true;
    }
    let mut open = program.parent(at);
    while let Some(bracket) = open {
        let after = program
            .partner(bracket)
            .map_or("", |close| program.text(close + 1));
        if program.is_open(bracket, "(") {
            return after == "=>"
                || after == ":"
                || after == "{" && !BLOCK_HEADS.contains(&program.before(bracket));
        }
        if !program.is_open(bracket, "{") && !program.is_open(bracket, "[") {
            return false;
        }
        open = program.parent(bracket);
    }
    false
}

/// Returns true if evaluating the code around an expression throws if the expression, which ends with the token at `end`,
/// is `undefined`.
fn expression_fails(program: &ProgramTokens<'_>, end: usize, depth: usize) -> bool {
    let next = next_after_chain(program, end + 1);
    let follows = program.get(next).is_some_and(|token| !token.begins_line);
    match program.text(next) {
        "." => return true,
        "(" | "[" if follows => return true,
        "?." => return false,
        _ => {}
    }
    let start = chain_start(program, end);
    let before = program.before(start);
    let ends = match program.get(next) {
        None => true,
        Some(token) => {
            token.begins_line || matches!(program.text(next), ";" | "," | ")" | "]" | "}")
        }
    };
    if !ends || program.text(next) == "?" {
        return false;
    }
    let open = program.parent(start);
    match before {
        "of" => program.text(next) == ")",
        "..." => open.is_some_and(|open| !program.is_open(open, "{")),
        "=" => {
            let target = start.saturating_sub(2);
            if program.is_word(target) && program.before(target) == "const" {
                return variable_fails(program, program.text(target), depth);
            }
            let pattern = program.partner(target);
            matches!(program.text(target), "}" | "]")
                && pattern
                    .is_some_and(|open| matches!(program.before(open), "const" | "let" | "var"))
        }
        "(" => open
            .and_then(|open| chain_before(program, open))
            .is_some_and(|callee| NEEDING_A_VALUE.contains(&callee.join(".").as_str())),
        _ => false,
    }
}

/// The first token of the expression that ends with the token at `end`, through members, calls and elements.
pub(super) fn expression_before(program: &ProgramTokens<'_>, end: usize) -> usize {
    let mut start = end;
    loop {
        let before = start.checked_sub(1);
        let ends_value = before.is_some_and(|before| {
            program.ends_value(before) && !BLOCK_HEADS.contains(&program.text(before))
        });
        start = match (program.kind(start), program.text(start)) {
            (Some(TokenKind::Close), _) => match program.partner(start) {
                Some(open) => open,
                None => return start,
            },
            (Some(TokenKind::Open), "(" | "[") if ends_value => start - 1,
            // The earlier parts of a template.
            (Some(TokenKind::Open), text) if text.starts_with('}') => start - 1,
            (_, "!") if ends_value => start - 1,
            _ if matches!(program.before(start), "." | "?.") && start >= 2 => start - 2,
            _ => return start,
        };
    }
}

/// The same, with the `await` before it.
fn chain_start(program: &ProgramTokens<'_>, end: usize) -> usize {
    let start = expression_before(program, end);
    match program.before(start) {
        "await" => start - 1,
        _ => start,
    }
}

/// The last token of the member at `at`: its name, or the bracket around it.
fn end_of_member(program: &ProgramTokens<'_>, at: usize) -> usize {
    match program.kind(at) {
        Some(TokenKind::String) if program.before(at) == "[" => at + 1,
        _ => at,
    }
}

pub(super) fn is_assigned_at(program: &ProgramTokens<'_>, at: usize) -> bool {
    let next = program.text(at + 1);
    let assigns = next.ends_with('=')
        && program.kind(at + 1) == Some(TokenKind::Operator)
        && !matches!(next, "==" | "===" | "!=" | "!==" | "<=" | ">=");
    let in_pattern = || {
        // `[a, b] = …` and `({ a } = …)`.
        let open = program.parent(at);
        open.is_some_and(|open| {
            let close = program.partner(open).unwrap_or(open);
            program.text(close + 1) == "="
                && !matches!(program.before(open), "const" | "let" | "var")
                && !program.is_open(open, "(")
        })
    };
    (assigns || in_pattern())
        && !matches!(program.before(at), "const" | "let" | "var")
        && program.text(program.expression_start(at)) != "const"
}
