//! Decides which parts of a program certainly execute if the program runs.
//!
//! Reads tokens only, and so takes loops and callbacks as executed, and functions if their name is used. A branch, the
//! right side of `&&`, `||` and `??`, a handler, and a `try` whose `catch` keeps the program alive are not certain.
//!
//! Invariant: each question takes a bounded number of steps.

use std::cell::Cell;

use super::program_tokens::{BLOCK_HEADS, ProgramTokens, TokenKind};

/// The maximum number of functions that are followed to their calls.
const MAX_FOLLOWED_FUNCTIONS: usize = 20;
/// The maximum number of tokens that one question reads. Beyond, nothing is certain.
const MAX_STEPS: usize = 200_000;

/// Functions of the language that run the functions they get.
const RUNNING_CALLEES: &[&str] = &[
    "Promise",
    "every",
    "filter",
    "finally",
    "find",
    "findIndex",
    "findLast",
    "flatMap",
    "forEach",
    "from",
    "groupBy",
    "map",
    "queueMicrotask",
    "reduce",
    "replace",
    "replaceAll",
    "some",
    "sort",
    "then",
    "toSorted",
];

/// A function, an `if`, or another construct around a position.
enum Surrounding {
    /// Executes with the token at this position.
    At(usize),
    /// Executes when a function with this name is called.
    Function { name: String, start: usize },
    /// May not execute.
    Uncertain,
}

/// Returns true if the token at `at` certainly executes.
pub(super) fn is_certain(program: &ProgramTokens<'_>, at: usize) -> bool {
    ExecutionSearch {
        program,
        followed: Vec::new(),
        steps: Cell::new(0),
    }
    .is_certain(at)
}

/// The first token of the statement, list element or argument that contains `at`.
pub(super) fn expression_start(program: &ProgramTokens<'_>, at: usize) -> usize {
    let mut start = at;
    while let Some(before) = program.sibling_before(start) {
        if matches!(program.text(before), ";" | ",") || is_boundary(program, before, start) {
            break;
        }
        start = before;
    }
    start
}

struct ExecutionSearch<'a, 'p> {
    program: &'a ProgramTokens<'p>,
    /// The names of the functions whose calls are being searched.
    followed: Vec<String>,
    /// The number of tokens that were read.
    steps: Cell<usize>,
}

impl ExecutionSearch<'_, '_> {
    fn is_certain(&mut self, mut at: usize) -> bool {
        // What an asynchronous function throws can be handled around its call.
        let mut in_function = !self.followed.is_empty();
        loop {
            if self.steps.get() > MAX_STEPS || in_function && self.is_handled(at) {
                return false;
            }
            match self.around(at) {
                None => return true,
                Some(Surrounding::At(outer)) => {
                    in_function |= self.is_function_start(outer);
                    at = outer;
                }
                Some(Surrounding::Uncertain) => return false,
                Some(Surrounding::Function { name, start }) => {
                    return self.is_called(&name, start);
                }
            }
        }
    }

    /// Returns true if a use of the function is certain to execute. The function `main` may be called by the runtime.
    fn is_called(&mut self, name: &str, start: usize) -> bool {
        if self.followed.iter().any(|followed| followed == name)
            || self.followed.len() >= MAX_FOLLOWED_FUNCTIONS
        {
            return false;
        }
        self.followed.push(name.to_owned());
        let program = self.program;
        self.steps.set(self.steps.get() + program.len());
        let uses: Vec<usize> = (0..program.len())
            .filter(|at| program.is_word(*at) && program.text(*at) == name && *at != start)
            .filter(|at| program.text(at + 1) != "=" && program.before(*at) != "function")
            .filter(|at| program.text(at + 1) != ":" || program.before(*at) == "?")
            .collect();
        if uses.is_empty() {
            return name == "main";
        }
        let is_getter = program.before(start) == "get";
        uses.into_iter().any(|at| {
            let is_argument = matches!(program.text(at + 1), "," | ")")
                && matches!(program.before(at), "(" | ",");
            let is_run = match program.parent(at).filter(|_| is_argument) {
                Some(open) => self.runs_argument(open),
                None => is_getter || program.text(at + 1) == "(" || program.before(at) == "new",
            };
            is_run && self.is_certain(at)
        })
    }

    /// Returns true if the rest of the statement that contains `at` handles a rejection.
    fn is_handled(&self, at: usize) -> bool {
        let program = self.program;
        let mut later = at;
        while let Some(next) = program.sibling_after(later) {
            if matches!(program.text(next), ";" | ",") || is_boundary(program, later, next) {
                break;
            }
            if program.text(next) == "catch" && program.before(next) == "." {
                return true;
            }
            later = next;
        }
        let callee = program.parent(at).map_or("", |open| program.before(open));
        matches!(callee, "allSettled" | "any" | "race")
    }

    fn is_function_start(&self, at: usize) -> bool {
        let program = self.program;
        let after = match program.kind(at) {
            Some(TokenKind::Open) => program.partner(at).unwrap_or(at) + 1,
            _ => at + 1,
        };
        matches!(program.text(at), "async" | "function")
            || matches!(program.text(after), "=>" | ":")
    }

    /// Returns true if the call that opens at `open` certainly runs a function that it gets: a function of the language
    /// does, and brackets around a function are no call.
    fn runs_argument(&self, open: usize) -> bool {
        let program = self.program;
        let before = open.checked_sub(1);
        let is_group = !before.is_some_and(|before| program.ends_value(before));
        is_group || RUNNING_CALLEES.contains(&program.before(open))
    }

    /// What surrounds the statement or expression that contains `at`; `None` at the top level of the program.
    fn around(&self, at: usize) -> Option<Surrounding> {
        let program = self.program;
        let mut start = at;
        while let Some(before) = program.sibling_before(start) {
            self.steps.set(self.steps.get() + 1);
            match program.text(before) {
                ";" | "," => break,
                "&&" | "||" | "??" | "&&=" | "||=" | "??=" | "?." | "else" | "case" | "default" => {
                    return Some(Surrounding::Uncertain);
                }
                "?" if !matches!(program.text(before + 1), ":" | "," | ")" | "=") => {
                    return Some(Surrounding::Uncertain);
                }
                "=>" => return Some(self.function(before)),
                "(" if matches!(program.before(before), "if" | "catch") => {
                    return Some(Surrounding::Uncertain);
                }
                _ if is_boundary(program, before, start) => break,
                _ => {}
            }
            start = before;
        }
        if self.is_skippable(start) {
            return Some(Surrounding::Uncertain);
        }
        let open = program.parent(start)?;
        if self.is_pattern(open) {
            return Some(Surrounding::Uncertain);
        }
        match program.text(open) {
            "{" => Some(self.block(open)),
            _ => Some(Surrounding::At(open)),
        }
    }

    /// Returns true if these brackets hold parameters or a destructuring pattern, in which values are defaults.
    fn is_pattern(&self, open: usize) -> bool {
        let program = self.program;
        let after = program
            .partner(open)
            .map_or("", |close| program.text(close + 1));
        if program.is_open(open, "(") {
            return after == "=>" || after == "{" && !BLOCK_HEADS.contains(&program.before(open));
        }
        after == "=" && matches!(program.before(open), "const" | "let" | "var")
    }

    /// Returns true if an earlier statement of the same block may leave it.
    fn is_skippable(&self, start: usize) -> bool {
        let program = self.program;
        let block = program.parent(start);
        let first = block.map_or(0, |open| open + 1);
        self.steps.set(self.steps.get() + start - first);
        (first..start).any(|at| {
            let exits = match program.text(at) {
                "return" | "break" | "continue" | "yield" => true,
                // After a conditional `throw` the program fails in either case.
                "throw" => program.parent(at) == block && self.begins_statement(at),
                _ => false,
            };
            let is_name = matches!(program.before(at), "." | "?.") || program.text(at + 1) == ":";
            exits && program.is_word(at) && !is_name && self.leaves(at, block)
        })
    }

    fn begins_statement(&self, at: usize) -> bool {
        let program = self.program;
        match program.sibling_before(at) {
            None => true,
            Some(before) => program.text(before) == ";" || is_boundary(program, before, at),
        }
    }

    /// Returns true if the `return`, `break` or `continue` at `at` leaves `block`, and not only a function or a loop in
    /// it.
    fn leaves(&self, at: usize, block: Option<usize>) -> bool {
        let program = self.program;
        let mut open = program.parent(at);
        while open != block {
            let Some(bracket) = open else {
                return true;
            };
            if program.is_open(bracket, "{") {
                let is_inner = match self.block(bracket) {
                    Surrounding::Function { .. } => true,
                    Surrounding::At(outer) => {
                        let is_loop =
                            matches!(program.text(outer), "for" | "while" | "do" | "switch");
                        self.is_function_start(outer) || is_loop && program.text(at) != "return"
                    }
                    Surrounding::Uncertain => program.before(bracket) == "=>",
                };
                if is_inner {
                    return false;
                }
            }
            open = program.parent(bracket);
        }
        true
    }

    /// What the block that opens at `open` belongs to.
    fn block(&self, open: usize) -> Surrounding {
        let program = self.program;
        let keyword = open.checked_sub(1).unwrap_or(open);
        match program.before(open) {
            "=>" => return self.function(keyword),
            "else" | "catch" => return Surrounding::Uncertain,
            "try" if self.survives(open) => return Surrounding::Uncertain,
            "try" | "do" | "finally" => return Surrounding::At(keyword),
            _ => {}
        }
        if program.before(open) == ")"
            && let Some(header) = program.partner(keyword)
        {
            let word = header.saturating_sub(1);
            match program.text(word) {
                "if" | "catch" => return Surrounding::Uncertain,
                "for" | "while" | "switch" | "with" => return Surrounding::At(word),
                "await" if program.before(word) == "for" => return Surrounding::At(word - 1),
                "function" => return self.function_expression(word),
                "constructor" => return Surrounding::At(word),
                name if program.is_word(word) => {
                    return Surrounding::Function {
                        name: name.to_owned(),
                        start: word,
                    };
                }
                _ => {}
            }
        }
        // A class, or a function with a return type.
        let mut at = open;
        while let Some(before) = program.sibling_before(at) {
            match program.text(before) {
                "class" => return self.class(before),
                "function" => return self.function_expression(before),
                "(" if program.text(program.partner(before).unwrap_or(before) + 1) == ":"
                    && program.is_word(before.saturating_sub(1)) =>
                {
                    let name = before.saturating_sub(1);
                    return match program.text(name) {
                        "function" => self.function_expression(name),
                        text => Surrounding::Function {
                            name: text.to_owned(),
                            start: name,
                        },
                    };
                }
                ";" | "," | "=" => break,
                _ if is_boundary(program, before, at) => break,
                _ => {}
            }
            at = before;
        }
        Surrounding::At(open)
    }

    fn class(&self, keyword: usize) -> Surrounding {
        let name = self.program.text(keyword + 1);
        if self.program.is_word(keyword + 1) && name != "extends" {
            return Surrounding::Function {
                name: name.to_owned(),
                start: keyword + 1,
            };
        }
        Surrounding::At(keyword)
    }

    /// The function of the keyword `function` at `keyword`.
    fn function_expression(&self, keyword: usize) -> Surrounding {
        let program = self.program;
        let name = match program.text(keyword + 1) {
            "*" => keyword + 2,
            _ => keyword + 1,
        };
        if program.is_word(name) {
            return Surrounding::Function {
                name: program.text(name).to_owned(),
                start: name,
            };
        }
        self.named_by_context(match program.before(keyword) {
            "async" => keyword - 1,
            _ => keyword,
        })
    }

    /// The function of the arrow at `arrow`.
    fn function(&self, arrow: usize) -> Surrounding {
        let program = self.program;
        let Some(last) = program.sibling_before(arrow) else {
            return Surrounding::At(arrow);
        };
        let is_return_type =
            |at: usize| at >= 2 && program.before(at) == ":" && program.text(at - 2) == ")";
        let mut start = last;
        if !program.is_open(last, "(") && (!program.is_word(last) || is_return_type(last)) {
            // The parameters are before the return type.
            while let Some(before) = program.sibling_before(start) {
                start = before;
                let after = program.partner(before).unwrap_or(before) + 1;
                if program.is_open(before, "(") && program.text(after) == ":" {
                    break;
                }
            }
        }
        if program.before(start) == "async" {
            start -= 1;
        }
        self.named_by_context(start)
    }

    /// The function that begins at `start`: named by its variable or member, or an argument of a call.
    fn named_by_context(&self, start: usize) -> Surrounding {
        let program = self.program;
        let named = |at: usize| Surrounding::Function {
            name: program.text(at).to_owned(),
            start: at,
        };
        match program.before(start) {
            "=" => {
                let statement = expression_start(program, start);
                let name = match program.text(statement) {
                    "const" | "let" | "var" => statement + 1,
                    "export" => statement + 2,
                    _ => start.saturating_sub(2),
                };
                if program.is_word(name) {
                    return named(name);
                }
            }
            ":" if start >= 2 && program.is_word(start - 2) => return named(start - 2),
            _ => {}
        }
        let Some(open) = program.parent(start) else {
            return Surrounding::At(start);
        };
        let is_second_handler = program.before(open) == "then" && program.before(start) == ",";
        if program.is_open(open, "(") && (is_second_handler || !self.runs_argument(open)) {
            return Surrounding::Uncertain;
        }
        Surrounding::At(start)
    }

    /// Returns true if the program goes on if the block of a `try` throws.
    fn survives(&self, open: usize) -> bool {
        let program = self.program;
        let Some(close) = program.partner(open) else {
            return true;
        };
        if program.text(close + 1) != "catch" {
            return false;
        }
        let body = if program.is_open(close + 2, "(") {
            program.partner(close + 2).map_or(close + 2, |end| end + 1)
        } else {
            close + 2
        };
        let mut at = body + 1;
        let mut rethrows = false;
        while program.parent(at) == Some(body) && program.kind(at) != Some(TokenKind::Close) {
            rethrows |= program.text(at) == "throw" && program.before(at) != ")";
            if program.text(at) == "return" || program.text(at) == "if" {
                return true;
            }
            let Some(next) = program.sibling_after(at) else {
                break;
            };
            at = next;
        }
        !rethrows
    }
}

/// Returns true if a statement ends before `next`, the sibling after `last`.
fn is_boundary(program: &ProgramTokens<'_>, last: usize, next: usize) -> bool {
    const CONTINUING: &[&str] = &[
        "in",
        "of",
        "instanceof",
        "as",
        "satisfies",
        "else",
        "catch",
        "finally",
        "while",
    ];
    let end = match program.kind(last) {
        Some(TokenKind::Open) => program.partner(last).unwrap_or(last),
        _ => last,
    };
    if program.text(end) == ")"
        && matches!(
            program.before(last),
            "if" | "for" | "while" | "with" | "catch" | "switch"
        )
    {
        return false;
    }
    let begins = match program.kind(next) {
        Some(TokenKind::Word) => !CONTINUING.contains(&program.text(next)),
        Some(TokenKind::Open) => program.text(next) == "{",
        Some(TokenKind::String | TokenKind::Number | TokenKind::Template) => true,
        _ => false,
    };
    let on_new_line = program.get(next).is_some_and(|token| token.begins_line);
    let ends = match program.kind(end) {
        Some(TokenKind::Close) => true,
        _ => program.ends_value(end),
    };
    let after_block = program.text(end) == "}" && program.text(next) != "{";
    begins && ends && (on_new_line || after_block)
}
