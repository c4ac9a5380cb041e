//! Decides which parts of a program certainly execute if the program runs, and fail the program if they throw.
//!
//! Top-level statements are certain to execute, and so are functions that are declared once and called by their name or
//! inline. A branch, the body of a loop or of a `switch`, a callback, a method, a generator, a default, code that a
//! `try` or a handler catches, and a promise that is not awaited or returned immediately are not certain.
//!
//! Invariant: code is not certain to execute unless the tokens show it.

use super::{
    program_tokens::{BLOCK_HEADS, ProgramTokens},
    value_uses::{binding, expression_before, is_assigned_at, is_parameter},
};

/// The maximum number of functions that are followed to their calls.
const MAX_FOLLOWED_FUNCTIONS: usize = 20;

/// Returns true if the token at `at` certainly executes, and an exception there ends the program.
pub(super) fn is_certain(program: &ProgramTokens<'_>, at: usize) -> bool {
    ExecutionSearch {
        program,
        followed: Vec::new(),
    }
    .is_certain(at, false)
}

/// A function, a block, or another construct around a position.
enum Surrounding {
    /// Executes with the token at this position.
    At(usize),
    Function(Function),
    /// May not execute, or an exception does not end the program.
    Uncertain,
}

struct Function {
    is_async: bool,
    call: FunctionCall,
}

enum FunctionCall {
    /// By its name, which is declared at this position.
    ByName(usize),
    /// By the expression that contains this token.
    Here(usize),
    /// By the runtime, because the program is this function.
    ByRuntime,
    Unknown,
}

/// The construct that a block belongs to.
enum BlockKind {
    Arrow(usize),
    /// The keyword `function`.
    Function(usize),
    /// A method, a getter, a constructor or a generator.
    Method,
    Class,
    Branch,
    Loop,
    Switch,
    /// A block that executes with the statement before it, or with the surrounding code.
    Plain,
    Try,
}

/// How the statement that makes a promise uses it.
enum PromiseUse {
    Awaited,
    Returned,
    Other,
}

struct ExecutionSearch<'a, 'p> {
    program: &'a ProgramTokens<'p>,
    /// The names of the functions whose calls are being searched.
    followed: Vec<String>,
}

impl ExecutionSearch<'_, '_> {
    /// Returns true if `at` certainly executes. If `is_returned` is set, the function around it returns a promise that is
    /// rejected.
    fn is_certain(&mut self, mut at: usize, mut is_returned: bool) -> bool {
        loop {
            match self.around(at) {
                None => return true,
                Some(Surrounding::At(outer)) => at = outer,
                Some(Surrounding::Uncertain) => return false,
                Some(Surrounding::Function(function)) => {
                    let is_rejection = function.is_async || is_returned;
                    match function.call {
                        FunctionCall::ByName(name) => return self.is_called(name, is_rejection),
                        FunctionCall::ByRuntime => return true,
                        FunctionCall::Unknown => return false,
                        FunctionCall::Here(call) => {
                            let Some(returned) = self.propagates(call, is_rejection) else {
                                return false;
                            };
                            is_returned = returned;
                            at = call;
                        }
                    }
                }
            }
        }
    }

    /// Returns true if a call of the function whose name is declared at `declared` is certain to execute. The function
    /// `main` may be called by the runtime.
    fn is_called(&mut self, declared: usize, is_rejection: bool) -> bool {
        let program = self.program;
        let name = program.text(declared);
        if self.followed.iter().any(|followed| followed == name)
            || self.followed.len() >= MAX_FOLLOWED_FUNCTIONS
        {
            return false;
        }
        self.followed.push(name.to_owned());
        let is_key =
            |at: usize| program.text(at + 1) == ":" && matches!(program.before(at), "{" | ",");
        let uses: Vec<usize> = program
            .names(name)
            .filter(|at| *at != declared && !is_key(*at))
            .collect();
        if uses.is_empty() {
            return name == "main" && program.parent(declared).is_none();
        }
        !uses.iter().any(|at| self.is_declaration(*at))
            && uses.into_iter().any(|at| {
                program.is_open(at + 1, "(")
                    && self
                        .propagates(at, is_rejection)
                        .is_some_and(|returned| self.is_certain(at, returned))
            })
    }

    fn is_declaration(&self, at: usize) -> bool {
        let program = self.program;
        matches!(
            program.before(at),
            "const" | "let" | "var" | "function" | "class" | "*" | "get" | "set" | "static"
        ) || program.is_open(at + 1, "(")
            && program
                .partner(at + 1)
                .is_some_and(|close| matches!(program.text(close + 1), "{" | ":"))
            || is_assigned_at(program, at)
            || is_parameter(program, at)
            || binding(program, at).is_some()
    }

    /// If an exception or rejection of the call that contains the token at `at` leaves its statement: true if that is
    /// because the function around it returns the promise.
    fn propagates(&self, at: usize, is_rejection: bool) -> Option<bool> {
        if self.is_handled(at) {
            return None;
        }
        if !is_rejection {
            return Some(false);
        }
        match self.promise_use(at) {
            PromiseUse::Awaited => Some(false),
            PromiseUse::Returned => Some(true),
            PromiseUse::Other => None,
        }
    }

    /// Returns true if the rest of the statement that contains `at` handles a rejection.
    fn is_handled(&self, at: usize) -> bool {
        let program = self.program;
        let mut later = at;
        while let Some(next) = program.sibling_after(later) {
            if matches!(program.text(next), ";" | ",") || program.is_boundary(later, next) {
                break;
            }
            if matches!(program.text(next), "catch" | "then")
                && program.is_property(next)
                && (program.text(next) == "catch" || self.has_second_argument(next + 1))
            {
                return true;
            }
            later = next;
        }
        let callee = program.parent(at).map_or("", |open| program.before(open));
        matches!(callee, "allSettled" | "any" | "race")
    }

    fn has_second_argument(&self, open: usize) -> bool {
        let mut at = Some(open + 1);
        while let Some(argument) = at {
            if self.program.text(argument) == "," {
                return true;
            }
            at = self.program.sibling_after(argument);
        }
        false
    }

    /// How the statement uses the promise of the chain that contains the token at `at`.
    fn promise_use(&self, at: usize) -> PromiseUse {
        let program = self.program;
        let chain = expression_before(program, at);
        let start = match program.before(chain) {
            "new" => chain - 1,
            _ => chain,
        };
        match program.before(start) {
            "await" => return PromiseUse::Awaited,
            "return" | "=>" => return PromiseUse::Returned,
            _ => {}
        }
        let Some(open) = program.parent(start) else {
            return if self.is_last_statement(start) {
                PromiseUse::Returned
            } else {
                PromiseUse::Other
            };
        };
        let is_all = open >= 4
            && program.is_open(open, "[")
            && matches!(program.before(start), "[" | ",")
            && program.before(open) == "("
            && program.text(open - 2) == "all"
            && program.text(open - 4) == "Promise";
        if is_all && !self.is_handled(open - 4) {
            return self.promise_use(open - 2);
        }
        PromiseUse::Other
    }

    /// Returns true if the expression statement that begins at `start` is the last of the program, whose value is awaited.
    fn is_last_statement(&self, start: usize) -> bool {
        let program = self.program;
        let mut last = start;
        while let Some(next) = program.sibling_after(last) {
            if program.text(next) == ";" && next + 1 == program.len() {
                break;
            }
            if program.text(next) == ";" || program.is_boundary(last, next) {
                return false;
            }
            last = next;
        }
        program.expression_start(start) == start
    }

    /// The surroundings of the statement or expression that contains `at`, or `None` at the top level of the program.
    fn around(&self, at: usize) -> Option<Surrounding> {
        let program = self.program;
        let mut start = at;
        while let Some(before) = program.sibling_before(start) {
            match program.text(before) {
                ";" | "," => break,
                "&&" | "||" | "??" | "&&=" | "||=" | "??=" | "?." | "else" | "case" | "default"
                    if !program.is_property(before) =>
                {
                    return Some(Surrounding::Uncertain);
                }
                "?" if !matches!(program.text(before + 1), ":" | "," | ")" | "=") => {
                    return Some(Surrounding::Uncertain);
                }
                "=>" => return Some(Surrounding::Function(self.arrow(before))),
                "(" if self.is_conditional_head(before) => return Some(Surrounding::Uncertain),
                _ if program.is_boundary(before, start) => break,
                _ => {}
            }
            start = before;
        }
        if self.is_skippable(start) {
            return Some(Surrounding::Uncertain);
        }
        let open = program.parent(start)?;
        if self.is_pattern(open) || self.is_loop_update(open, start) {
            return Some(Surrounding::Uncertain);
        }
        match program.text(open) {
            "{" => Some(self.block(open)),
            _ => Some(Surrounding::At(open)),
        }
    }

    /// Returns true if a statement after these brackets may not execute.
    fn is_conditional_head(&self, open: usize) -> bool {
        let program = self.program;
        BLOCK_HEADS.contains(&program.before(open)) || self.is_async_loop_head(open)
    }

    fn is_async_loop_head(&self, open: usize) -> bool {
        open >= 2 && self.program.before(open) == "await" && self.program.text(open - 2) == "for"
    }

    /// Returns true if these brackets contain parameters or a destructuring pattern, in which values are defaults.
    fn is_pattern(&self, open: usize) -> bool {
        let program = self.program;
        let after = program
            .partner(open)
            .map_or("", |close| program.text(close + 1));
        if program.is_open(open, "(") {
            let is_head = BLOCK_HEADS.contains(&program.before(open))
                && program.before(open) != "catch"
                || self.is_async_loop_head(open);
            return matches!(after, "=>" | ":") || after == "{" && !is_head;
        }
        matches!(after, "=" | "of")
    }

    /// Returns true if `start` is in the last part of the head of a `for`.
    fn is_loop_update(&self, open: usize, start: usize) -> bool {
        let program = self.program;
        program.before(open) == "for"
            && (open..start)
                .filter(|at| program.text(*at) == ";" && program.parent(*at) == Some(open))
                .count()
                > 1
    }

    /// Returns true if an earlier statement of the same block may leave it.
    fn is_skippable(&self, start: usize) -> bool {
        let program = self.program;
        let block = program.parent(start);
        let first = block.map_or(0, |open| open + 1);
        (first..start).any(|at| {
            let exits = match program.text(at) {
                "return" | "break" | "continue" | "yield" => true,
                // After a conditional `throw` the program fails in either case.
                "throw" => program.parent(at) == block && program.expression_start(at) == at,
                _ => false,
            };
            exits
                && program.is_word(at)
                && !program.is_property(at)
                && program.text(at + 1) != ":"
                && self.leaves(at, block)
        })
    }

    /// Returns true if the `return`, `break` or `continue` at `at` leaves `block`, and not only a function or a loop in
    /// it.
    fn leaves(&self, at: usize, block: Option<usize>) -> bool {
        let program = self.program;
        let exit = program.text(at);
        let has_label = matches!(exit, "break" | "continue")
            && program.is_word(at + 1)
            && program.get(at + 1).is_some_and(|label| !label.begins_line);
        let mut open = program.parent(at);
        while open != block {
            let Some(bracket) = open else {
                return true;
            };
            if program.is_open(bracket, "{") {
                let is_inner = match self.block_kind(bracket) {
                    BlockKind::Arrow(_) | BlockKind::Function(_) | BlockKind::Method => true,
                    BlockKind::Loop => !has_label && matches!(exit, "break" | "continue"),
                    BlockKind::Switch => !has_label && exit == "break",
                    _ => false,
                };
                if is_inner {
                    return false;
                }
            }
            open = program.parent(bracket);
        }
        true
    }

    /// The surroundings of the statements in the block that opens at `open`.
    fn block(&self, open: usize) -> Surrounding {
        match self.block_kind(open) {
            BlockKind::Arrow(arrow) => Surrounding::Function(self.arrow(arrow)),
            BlockKind::Function(keyword) => Surrounding::Function(self.function(keyword)),
            BlockKind::Try if self.survives(open) => Surrounding::Uncertain,
            BlockKind::Try | BlockKind::Plain => Surrounding::At(open),
            BlockKind::Method
            | BlockKind::Class
            | BlockKind::Branch
            | BlockKind::Loop
            | BlockKind::Switch => Surrounding::Uncertain,
        }
    }

    /// The construct that the block that opens at `open` belongs to.
    fn block_kind(&self, open: usize) -> BlockKind {
        let program = self.program;
        let Some(last) = open.checked_sub(1) else {
            return BlockKind::Plain;
        };
        match program.text(last) {
            "=>" => return BlockKind::Arrow(last),
            "else" | "catch" => return BlockKind::Branch,
            "try" => return BlockKind::Try,
            "do" => return BlockKind::Plain,
            _ => {}
        }
        if program.text(last) == ")"
            && let Some(header) = program.partner(last)
        {
            let name = header.saturating_sub(1);
            return match program.text(name) {
                "if" | "catch" | "with" => BlockKind::Branch,
                "for" | "while" => BlockKind::Loop,
                "await" if self.is_async_loop_head(header) => BlockKind::Loop,
                "switch" => BlockKind::Switch,
                _ => self.function_before(header),
            };
        }
        // A class, or a function with a return type.
        let mut at = open;
        while let Some(before) = program.sibling_before(at) {
            match program.text(before) {
                "class" => return BlockKind::Class,
                "(" if program.text(program.partner(before).unwrap_or(before) + 1) == ":"
                    && program.is_word(before.saturating_sub(1)) =>
                {
                    return self.function_before(before);
                }
                "function" => return BlockKind::Method,
                ";" | "," | "=" => break,
                _ if program.is_boundary(before, at) => break,
                _ => {}
            }
            at = before;
        }
        BlockKind::Plain
    }

    /// The function whose parameters open at `open`.
    fn function_before(&self, open: usize) -> BlockKind {
        let program = self.program;
        let name = open.saturating_sub(1);
        match (program.text(name), program.before(name)) {
            ("function", _) => BlockKind::Function(name),
            (_, "function") if program.is_word(name) => BlockKind::Function(name - 1),
            _ => BlockKind::Method,
        }
    }

    /// The function of the keyword `function` at `keyword`.
    fn function(&self, keyword: usize) -> Function {
        let program = self.program;
        let is_async = program.before(keyword) == "async";
        let start = keyword - usize::from(is_async);
        let is_named = program.is_word(keyword + 1);
        let statement = program.expression_start(start);
        let is_declared = is_named
            && (statement == start
                || (statement..start).all(|at| matches!(program.text(at), "export" | "default")));
        let is_statement = program
            .parent(start)
            .is_none_or(|open| program.is_open(open, "{"));
        if is_declared && is_statement && !matches!(program.before(start), "," | ":") {
            return Function {
                is_async,
                call: FunctionCall::ByName(keyword + 1),
            };
        }
        self.in_context(start, is_async)
    }

    /// The function of the arrow at `arrow`.
    fn arrow(&self, arrow: usize) -> Function {
        let program = self.program;
        let is_return_type =
            |at: usize| at >= 2 && program.before(at) == ":" && program.text(at - 2) == ")";
        let mut start = program.sibling_before(arrow).unwrap_or(arrow);
        if !program.is_open(start, "(") && (!program.is_word(start) || is_return_type(start)) {
            // The parameters are before the return type.
            while let Some(before) = program.sibling_before(start) {
                start = before;
                let after = program.partner(before).unwrap_or(before) + 1;
                if program.is_open(before, "(") && program.text(after) == ":" {
                    break;
                }
            }
        }
        let is_async = program.before(start) == "async";
        self.in_context(start - usize::from(is_async), is_async)
    }

    /// The function expression that begins at `start`: named by its constant, called where it is written, or given to a
    /// function of promises.
    fn in_context(&self, start: usize, is_async: bool) -> Function {
        let call = self.call_in_context(start, is_async);
        // An exception in an executor or handler of a promise rejects the promise.
        let is_handler = matches!(call, FunctionCall::Here(callee) if self.program.is_word(callee));
        Function {
            is_async: is_async || is_handler,
            call,
        }
    }

    fn call_in_context(&self, start: usize, is_async: bool) -> FunctionCall {
        let program = self.program;
        if program.before(start) == "=" {
            let statement = program.expression_start(start);
            let name = match program.text(statement) {
                "const" => statement + 1,
                "export" if program.text(statement + 1) == "const" => statement + 2,
                _ => return FunctionCall::Unknown,
            };
            let is_named = name + 2 == start || program.text(name + 1) == ":";
            return if program.is_word(name) && is_named {
                FunctionCall::ByName(name)
            } else {
                FunctionCall::Unknown
            };
        }
        let Some(open) = program.parent(start) else {
            let last = match program.text(program.len() - 1) {
                ";" => program.len().saturating_sub(2),
                _ => program.len() - 1,
            };
            let ends = program.text(last) == "}"
                && program.partner(last).is_some_and(|body| {
                    program.expression_start(body) == program.expression_start(start)
                });
            return if ends && (start == 0 || program.before(start) == "default") {
                FunctionCall::ByRuntime
            } else {
                FunctionCall::Unknown
            };
        };
        if !program.is_open(open, "(") || start != open + 1 {
            return FunctionCall::Unknown;
        }
        let callee = open.saturating_sub(1);
        let is_group = open == 0 || !program.ends_value(callee);
        let is_called = program
            .partner(open)
            .is_some_and(|close| program.is_open(close + 1, "("));
        let is_executor =
            program.text(callee) == "Promise" && program.before(callee) == "new" && !is_async;
        let is_handler = program.text(callee) == "then" && program.is_property(callee);
        if is_group && is_called {
            FunctionCall::Here(open)
        } else if is_executor || is_handler {
            FunctionCall::Here(callee)
        } else {
            FunctionCall::Unknown
        }
    }

    /// Returns true if the program may go on when the block of a `try` throws.
    fn survives(&self, open: usize) -> bool {
        const LEAVING: &[&str] = &[
            "return", "break", "continue", "if", "else", "switch", "for", "while",
        ];
        let program = self.program;
        let Some(close) = program.partner(open) else {
            return true;
        };
        let has = |open: usize, words: &[&str]| {
            let close = program.partner(open).unwrap_or(program.len());
            (open..close).any(|at| program.is_word(at) && words.contains(&program.text(at)))
        };
        let mut finally = close + 1;
        if program.text(close + 1) == "catch" {
            let body = if program.is_open(close + 2, "(") {
                program.partner(close + 2).map_or(close + 2, |end| end + 1)
            } else {
                close + 2
            };
            let Some(end) = program.partner(body) else {
                return true;
            };
            let rethrows = (body..end).any(|at| {
                program.text(at) == "throw"
                    && program.parent(at) == Some(body)
                    && program.expression_start(at) == at
            });
            if !rethrows || has(body, LEAVING) {
                return true;
            }
            finally = end + 1;
        }
        program.text(finally) == "finally" && has(finally + 1, LEAVING)
    }
}
