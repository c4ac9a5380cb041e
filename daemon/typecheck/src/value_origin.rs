//! Finds out where a value of a program comes from, to know if it certainly has the type that the compiler prints.
//!
//! The compiler believes annotations and casts, and an inferred type can be too narrow. Literals, the results of tools
//! that declare them, and what is made of these by functions of the language have their types.
//!
//! Invariant: an origin that tokens do not show is unknown.

use mux_typegen::names::BUILTIN_NAMES;

use super::{
    enclosing_call::{chain_before, end_of_chain, mux_path},
    program_tokens::{ProgramTokens, TokenKind},
    value_uses::{expression_before, is_assigned_at, is_parameter, value_end},
};

/// The maximum number of variables through which an origin is followed.
const MAX_VARIABLES: usize = 8;

/// The maximum number of calls in one expression whose results are looked up.
const MAX_CALLS: usize = 20;

/// Functions and objects of the language whose results have their declared types.
const LANGUAGE_ROOTS: &[&str] = &[
    "Array", "Boolean", "Math", "Number", "Object", "Promise", "String",
];

/// A program and the declarations that it is checked against.
#[derive(Clone, Copy)]
pub(super) struct Origins<'a> {
    pub(super) program: &'a ProgramTokens<'a>,
    pub(super) types: &'a str,
}

impl Origins<'_> {
    /// Returns true if the value of the tokens from `start` up to `end` certainly has the type that the compiler infers.
    pub(super) fn is_known(&self, start: usize, end: usize) -> bool {
        self.is_known_within(start, end, MAX_VARIABLES)
    }

    fn is_known_within(&self, start: usize, end: usize, depth: usize) -> bool {
        let program = self.program;
        if depth == 0 || start >= end || self.is_doubtful(start, end) {
            return false;
        }
        match (program.kind(start), program.text(start)) {
            (Some(TokenKind::Open), "(") => {
                let close = program.partner(start).unwrap_or(start);
                self.is_known_within(start + 1, close, depth)
            }
            (Some(TokenKind::Operator), "-" | "+" | "!") | (_, "await" | "typeof") => {
                self.is_known_within(start + 1, end, depth)
            }
            (Some(TokenKind::Word), "new") => {
                matches!(program.text(start + 1), "Array" | "Date" | "Map" | "Set")
            }
            (Some(TokenKind::Word), "true" | "false" | "null" | "undefined") => true,
            (Some(TokenKind::Word), "mux") => true,
            (Some(TokenKind::Word), name) if LANGUAGE_ROOTS.contains(&name) => true,
            (Some(TokenKind::Word), name) => self.is_known_variable(name, depth - 1),
            (Some(TokenKind::Operator) | None, _) => false,
            // Literals.
            _ => true,
        }
    }

    /// Returns true if the tokens contain a cast, or call a tool whose results have a learned type.
    fn is_doubtful(&self, start: usize, end: usize) -> bool {
        let program = self.program;
        let mut calls = 0;
        (start..end).any(|at| match program.text(at) {
            "as" | "satisfies" => program.is_word(at) && program.text(at + 1) != "const",
            "mux" if program.before(at) != "." => {
                calls += 1;
                calls > MAX_CALLS || self.is_learned_result(at)
            }
            _ => false,
        })
    }

    fn is_known_variable(&self, name: &str, depth: usize) -> bool {
        let program = self.program;
        let mut origin = None;
        for at in program.names(name) {
            let found = match self.declaration(at) {
                Declaration::None => continue,
                Declaration::Unknown => return false,
                Declaration::From { start, end } => (start, end),
            };
            if origin.replace(found).is_some() {
                return false;
            }
        }
        origin.is_some_and(|(start, end)| self.is_known_within(start, end, depth))
    }

    /// What the name at `at` declares, if it is a declaration.
    fn declaration(&self, at: usize) -> Declaration {
        let program = self.program;
        let is_key = program.text(at + 1) == ":" && matches!(program.before(at), "{" | ",");
        if is_key {
            return Declaration::None;
        }
        if is_assigned_at(program, at) || matches!(program.before(at), "function" | "class") {
            return Declaration::Unknown;
        }
        // The pattern that contains the name, if there is one.
        let mut target = at;
        while let Some(open) = program.parent(target)
            && matches!(program.text(open), "{" | "[")
            && !matches!(program.before(target), "const" | "let" | "var")
        {
            target = open;
        }
        if matches!(program.before(target), "const" | "let" | "var") {
            let last = match program.kind(target) {
                Some(TokenKind::Open) => program.partner(target).unwrap_or(target),
                _ => target,
            };
            return match program.text(last + 1) {
                "=" | "of" => self.until_statement_end(last + 2),
                _ => Declaration::Unknown,
            };
        }
        if is_parameter(program, at) {
            return self.parameter(at);
        }
        Declaration::None
    }

    /// A parameter without a type gets its values from the list whose method is called with the function.
    fn parameter(&self, at: usize) -> Declaration {
        let program = self.program;
        let mut start = at;
        while program.text(start + 1) != "=>"
            && let Some(open) = program.parent(start)
        {
            start = open;
            let close = program.partner(open).unwrap_or(open);
            if program.is_open(open, "(") {
                let is_first = (open..at).all(|at| program.text(at) != ",")
                    || program.is_open(open + 1, "[")
                    || program.is_open(open + 1, "{");
                let is_typed = (open..close)
                    .any(|at| program.text(at) == ":" && program.parent(at) == Some(open));
                if program.text(close + 1) != "=>" || !is_first || is_typed {
                    return Declaration::Unknown;
                }
                break;
            }
        }
        if program.before(start) == "async" {
            start -= 1;
        }
        let Some(call) = program
            .parent(start)
            .filter(|open| program.is_open(*open, "("))
        else {
            return Declaration::Unknown;
        };
        let is_method = call >= 3
            && program.is_word(call - 1)
            && matches!(program.before(call - 1), "." | "?.");
        let passes_elements = matches!(
            program.before(call),
            "map" | "filter" | "forEach" | "flatMap" | "find" | "some" | "every" | "findIndex"
        );
        if !is_method || !passes_elements || program.before(start) != "(" {
            return Declaration::Unknown;
        }
        Declaration::From {
            start: expression_before(program, call - 1),
            end: call - 2,
        }
    }

    fn until_statement_end(&self, start: usize) -> Declaration {
        let program = self.program;
        let mut at = start;
        while let Some(next) = program.sibling_after(at) {
            let begins_line = program.get(next).is_some_and(|token| token.begins_line);
            if matches!(program.text(next), ";" | ",") || begins_line && program.is_word(next) {
                return Declaration::From { start, end: next };
            }
            at = next;
        }
        Declaration::From {
            start,
            end: value_end(program, at),
        }
    }

    /// Returns true if `mux` at `start` is a call of a tool whose results have a learned type.
    fn is_learned_result(&self, start: usize) -> bool {
        let program = self.program;
        let end = end_of_chain(program, start);
        let chain = chain_before(program, end + 1);
        let names = chain.and_then(|chain| mux_path(program, &chain));
        names.is_some_and(|names| learns_result(self.types, &names))
    }
}

/// What a name declares.
enum Declaration {
    None,
    Unknown,
    /// A variable with the value, or an element of it, of the tokens from `start` up to `end`.
    From {
        start: usize,
        end: usize,
    },
}

/// Returns true if the results of this tool may have a learned type.
fn learns_result(types: &str, names: &[String]) -> bool {
    let [server, .., tool] = names else {
        return false;
    };
    // Nothing of these has a type that could be wrong.
    if BUILTIN_NAMES.contains(&server.as_str()) {
        return false;
    }
    let result = || {
        let (_, server) = types.split_once(&format!("\n  readonly {server}: Mux."))?;
        let (server, _) = server.split_once(';')?;
        let (_, tools) = types.split_once(&format!("\n  interface {server} {{\n"))?;
        let (_, tool) = tools.split_once(&format!("    {tool}("))?;
        let (_, result) = tool.split_once("): Promise<")?;
        result.lines().next()
    };
    result().is_none_or(|line| line.contains("Seen<"))
}
