//! Finds out where a value of a program comes from, to know if it certainly has the type that the compiler prints.
//!
//! The compiler believes annotations and casts, and an inferred type can be too narrow. Literals, the results of tools
//! that declare them, and values that built-in functions compute from these have their declared types.
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

/// Built-in functions and objects whose results have their declared types.
const LANGUAGE_ROOTS: &[&str] = &[
    "Array", "Boolean", "Math", "Number", "Object", "Promise", "String",
];

/// Built-in functions whose results have the same type for every argument.
const CONVERSIONS: &[&str] = &["Boolean", "Number", "String"];

/// Keywords and constructors in an expression that do not change where its value comes from.
const NEUTRAL_WORDS: &[&str] = &[
    "async",
    "await",
    "const",
    "false",
    "new",
    "null",
    "true",
    "typeof",
    "undefined",
];

/// Methods that pass the elements of a list to their callback as its first argument.
const ELEMENT_METHODS: &[&str] = &[
    "map",
    "filter",
    "forEach",
    "flatMap",
    "find",
    "some",
    "every",
    "findIndex",
];

/// Methods that change a list, a map or a set.
const CHANGING_METHODS: &[&str] = &[
    "add",
    "assign",
    "copyWithin",
    "fill",
    "push",
    "set",
    "splice",
    "unshift",
];

/// A program and the declarations that it is checked against.
#[derive(Clone, Copy)]
pub(super) struct Origins<'a> {
    pub(super) program: &'a ProgramTokens<'a>,
    pub(super) types: &'a str,
    pub(super) wanted: WantedType,
}

/// The property of a value that must be certain.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum WantedType {
    /// The value is of its type, or `undefined` if it is an element of a list.
    Members,
    /// The value is of its type.
    Value,
    /// The value is a promise, as an asynchronous function always returns.
    Promise,
}

impl Origins<'_> {
    /// Returns true if the value of the tokens from `start` up to `end` certainly has the type that the compiler infers.
    pub(super) fn is_known(&self, start: usize, end: usize) -> bool {
        self.is_known_within(start, end, MAX_VARIABLES)
    }

    /// Returns true if the value that the pattern at `open` takes apart is known.
    pub(super) fn is_pattern_known(&self, open: usize) -> bool {
        let close = self.program.partner(open).unwrap_or(open);
        match self.until_statement_end(close + 2) {
            Declaration::From { start, end } => self.is_known(start, end),
            _ => false,
        }
    }

    /// Returns true if each name in the tokens is known.
    fn is_known_within(&self, start: usize, end: usize, depth: usize) -> bool {
        let program = self.program;
        if depth == 0 || start >= end {
            return false;
        }
        let mut calls = 0;
        let mut at = start;
        while at < end {
            let text = program.text(at);
            let is_name = program.is_word(at) && !program.is_property(at);
            let is_key = program.text(at + 1) == ":" && matches!(program.before(at), "{" | ",");
            let mut last = at;
            if self.is_doubtful(at) {
                return false;
            } else if is_name && text == "mux" {
                last = end_of_chain(program, at);
                calls += 1;
                if calls > MAX_CALLS || self.is_learned_result(at) {
                    return false;
                }
                // The result of a tool does not depend on the arguments.
                last = self.end_of_call(last);
            } else if text.starts_with('`') {
                last = self.end_of_template(at);
            } else if is_name && (self.is_conversion(at) || self.is_async_call(at)) {
                last = self.end_of_call(at);
            } else if is_name && !is_key && !self.is_known_name(at, depth - 1) {
                return false;
            }
            at = last + 1;
        }
        !program.is_exhausted()
    }

    /// The last token of the template at `at`, which is a string for every expression in it.
    fn end_of_template(&self, at: usize) -> usize {
        let program = self.program;
        let mut open = at;
        while let Some(close) = program.partner(open) {
            let next = close + 1;
            if !program.is_open(next, program.text(next)) || !program.text(next).starts_with('}') {
                return close;
            }
            open = next;
        }
        open
    }

    fn is_conversion(&self, at: usize) -> bool {
        CONVERSIONS.contains(&self.program.text(at)) && self.program.before(at) != "new"
    }

    /// The last token of a call of the function whose name ends at `at`.
    fn end_of_call(&self, at: usize) -> usize {
        let program = self.program;
        if program.is_open(at + 1, "(") {
            return program.partner(at + 1).unwrap_or(at);
        }
        at
    }

    /// Returns true if the token begins or ends a type that the program gives, or reads an element that may be missing.
    fn is_doubtful(&self, at: usize) -> bool {
        let program = self.program;
        match program.text(at) {
            "as" => program.is_word(at) && program.text(at + 1) != "const",
            "satisfies" => program.is_word(at),
            "<" => true,
            ")" => program.text(at + 1) == ":",
            "[" => {
                self.wanted == WantedType::Value
                    && at.checked_sub(1).is_some_and(|at| program.ends_value(at))
            }
            _ => false,
        }
    }

    fn is_known_name(&self, at: usize, depth: usize) -> bool {
        let program = self.program;
        let name = program.text(at);
        if NEUTRAL_WORDS.contains(&name) {
            return name != "await"
                || self.wanted != WantedType::Promise
                || program.before(at) != "=";
        }
        let is_language = LANGUAGE_ROOTS.contains(&name)
            || program.before(at) == "new" && matches!(name, "Date" | "Map" | "Set");
        if is_language {
            return program
                .names(name)
                .all(|at| matches!(self.declaration(at), Declaration::None));
        }
        self.is_known_variable(name, depth)
    }

    /// Returns true if an asynchronous function of the program is called at `at`, and its promise is wanted.
    fn is_async_call(&self, at: usize) -> bool {
        let program = self.program;
        let is_async = |at: usize| {
            program.before(at) == "function" && program.text(at.saturating_sub(2)) == "async"
                || program.before(at) == "const"
                    && program.text(at + 1) == "="
                    && program.text(at + 2) == "async"
        };
        let is_declaration = |at: &usize| !matches!(self.declaration(*at), Declaration::None);
        let name = program.text(at);
        self.wanted == WantedType::Promise
            && program.is_open(at + 1, "(")
            && program.before(at) != "await"
            && program.names(name).any(is_async)
            && program.names(name).filter(is_declaration).all(is_async)
    }

    /// Returns true if every variable with this name gets a known value, and no other.
    fn is_known_variable(&self, name: &str, depth: usize) -> bool {
        let program = self.program;
        let mut is_declared = false;
        for at in program.names(name) {
            match self.declaration(at) {
                Declaration::None if self.is_changed(at) => return false,
                Declaration::None => {}
                Declaration::Unknown => return false,
                Declaration::From { start, end } => {
                    if !self.is_known_within(start, end, depth) {
                        return false;
                    }
                    is_declared = true;
                }
            }
        }
        is_declared
    }

    /// Returns true if the list or object in the variable at `at` is changed there.
    fn is_changed(&self, at: usize) -> bool {
        let program = self.program;
        let callee = program
            .parent(at)
            .filter(|open| program.before(at) == "(" && program.is_open(*open, "("))
            .map_or("", |open| program.before(open));
        let mut next = at + 1;
        loop {
            match program.text(next) {
                "." | "?." | "!" => next += 1,
                "[" => next = program.partner(next).unwrap_or(next) + 1,
                text if program.is_word(next) && program.is_property(next) => {
                    if CHANGING_METHODS.contains(&text) {
                        return true;
                    }
                    next += 1;
                }
                text => {
                    let assigns = text.ends_with('=')
                        && !matches!(text, "==" | "===" | "!=" | "!==" | "<=" | ">=");
                    return CHANGING_METHODS.contains(&callee) || assigns && next > at + 1;
                }
            }
        }
    }

    /// The kind of declaration at `at`, if the name there is declared.
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
            let is_element = program.is_open(target, "[") && self.wanted == WantedType::Value;
            return match program.text(last + 1) {
                "=" | "of" if !is_element => self.until_statement_end(last + 2),
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
                let has_default = (open..close).any(|at| program.text(at) == "=");
                let compares = program
                    .parent(open)
                    .is_some_and(|call| matches!(program.before(call), "sort" | "toSorted"));
                if program.text(close + 1) != "=>"
                    || !(is_first || compares)
                    || is_typed
                    || has_default
                {
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
        let passes_elements = ELEMENT_METHODS.contains(&program.before(call))
            || matches!(program.before(call), "sort" | "toSorted");
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
        names.is_some_and(|names| learns_result(program, self.types, &names))
    }
}

/// The kind of a declaration.
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
fn learns_result(program: &ProgramTokens<'_>, types: &str, names: &[String]) -> bool {
    let [server, .., tool] = names else {
        return false;
    };
    // None of these has a type that could be wrong.
    if BUILTIN_NAMES.contains(&server.as_str()) {
        return false;
    }
    program.count_search(types);
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
