//! Decides which parts of a program certainly execute if the program runs, and fail the program if they throw.
//!
//! Top-level statements are certain to execute, and so are functions that are declared once and called by their name or
//! inline. A branch, the body of a loop or of a `switch`, a callback, a method, a generator, a default, code that a
//! `try` or a handler catches, and a promise that is not awaited or returned immediately are not certain.
//!
//! Invariant: code is not certain to execute unless the tree shows it.

use super::syntax_tree::{NameRole, SyntaxTree};

/// The maximum number of functions that are followed to their calls.
const MAX_FOLLOWED_FUNCTIONS: usize = 20;
/// Functions of `Promise` that do not fail when one promise is rejected.
const TOLERANT_COMBINATORS: &[&str] = &["allSettled", "any", "race"];
const LOOPS: &[&str] = &[
    "DoWhileStatement",
    "ForInStatement",
    "ForOfStatement",
    "ForStatement",
    "WhileStatement",
];

/// Returns true if the node at `at` certainly executes, and an exception there ends the program.
pub(super) fn is_certain(tree: &SyntaxTree, at: usize) -> bool {
    let mut search = ExecutionSearch {
        tree,
        followed: Vec::new(),
    };
    search.is_certain(at, false) && tree.is_readable()
}

/// How a function is called.
enum FunctionCall {
    /// By its name, which is declared at this node.
    ByName(usize),
    /// By the call at this node. If `rejects` is set, an exception in the function rejects a promise.
    Here {
        call: usize,
        rejects: bool,
    },
    /// By the runtime, because the program is this function.
    ByRuntime,
    Unknown,
}

/// How the statement that makes a promise uses it.
enum PromiseUse {
    Awaited,
    Returned,
    Other,
}

struct ExecutionSearch<'a> {
    tree: &'a SyntaxTree,
    /// The names of the functions whose calls are being searched.
    followed: Vec<String>,
}

impl ExecutionSearch<'_> {
    /// Returns true if `at` certainly executes. If `is_returned` is set, the function around it returns a promise that is
    /// rejected.
    fn is_certain(&mut self, mut at: usize, mut is_returned: bool) -> bool {
        let tree = self.tree;
        while let Some(outer) = tree.parent(at) {
            if !is_function(tree.kind(outer)) {
                if !self.executes_with(at, outer) {
                    return false;
                }
                at = outer;
                continue;
            }
            if tree.slot(at) != "body" || tree.text(outer) == "generator" {
                return false;
            }
            let is_rejection = tree.text(outer) == "async" || is_returned;
            match self.call_of(outer) {
                FunctionCall::ByName(name) => return self.is_called(name, is_rejection),
                FunctionCall::ByRuntime => return true,
                FunctionCall::Unknown => return false,
                FunctionCall::Here { call, rejects } => {
                    let Some(returned) = self.propagates(call, is_rejection || rejects) else {
                        return false;
                    };
                    is_returned = returned;
                    at = call;
                }
            }
        }
        !self.is_skippable(at, None)
    }

    /// Returns true if `at`, which is directly in `outer`, executes whenever `outer` does, and an exception leaves
    /// `outer`.
    fn executes_with(&self, at: usize, outer: usize) -> bool {
        let tree = self.tree;
        let slot = tree.slot(at);
        match tree.kind(outer) {
            "IfStatement" | "ConditionalExpression" | "WhileStatement" => slot == "test",
            "ForStatement" => matches!(slot, "init" | "test"),
            "ForInStatement" | "ForOfStatement" => slot == "right",
            "SwitchStatement" => slot == "discriminant",
            "BinaryExpression" => slot == "left" || !matches!(tree.text(outer), "&&" | "||" | "??"),
            "AssignmentExpression" => {
                slot == "left" || !matches!(tree.text(outer), "&&=" | "||=" | "??=")
            }
            // The parts of an optional chain behind its `?.`.
            "CallExpression" | "MemberExpression" => {
                matches!(slot, "callee" | "object") || tree.slot(outer) != "base"
            }
            "TryStatement" => match slot {
                "block" => !self.survives(outer),
                _ => slot == "finalizer",
            },
            "BlockStatement" | "FunctionBody" => !self.is_skippable(at, Some(outer)),
            // Defaults.
            "AssignmentPattern" | "AssignmentPatternProperty" => false,
            "CatchClause" | "ClassDeclaration" | "ClassExpression" | "GetterProperty"
            | "MethodProperty" | "SetterProperty" | "SwitchCase" | "WithStatement" => false,
            _ => true,
        }
    }

    /// Returns true if a call of the function whose name is declared at `declared` is certain to execute. The function
    /// `main` may be called by the runtime.
    fn is_called(&mut self, declared: usize, is_rejection: bool) -> bool {
        let tree = self.tree;
        let name = tree.text(declared);
        if self.followed.iter().any(|followed| followed == name)
            || self.followed.len() >= MAX_FOLLOWED_FUNCTIONS
        {
            return false;
        }
        self.followed.push(name.to_owned());
        let uses: Vec<usize> = tree.names(name).filter(|at| *at != declared).collect();
        if uses.is_empty() {
            let declaration = tree.parent(declared).unwrap_or(declared);
            return name == "main" && tree.parent(declaration).is_none();
        }
        uses.iter().all(|at| tree.role(*at) == NameRole::Used)
            && uses.into_iter().any(|at| {
                let callee = tree.whole(at);
                tree.slot(callee) == "callee"
                    && tree.parent(callee).is_some_and(|call| {
                        self.propagates(call, is_rejection)
                            .is_some_and(|returned| self.is_certain(call, returned))
                    })
            })
    }

    /// If an exception or rejection of the call leaves its statement: true if that is because the function around it
    /// returns the promise.
    fn propagates(&self, call: usize, is_rejection: bool) -> Option<bool> {
        if self.is_handled(call) {
            return None;
        }
        if !is_rejection {
            return Some(false);
        }
        match self.promise_use(call) {
            PromiseUse::Awaited => Some(false),
            PromiseUse::Returned => Some(true),
            PromiseUse::Other => None,
        }
    }

    /// Returns true if the chain of calls behind this call, or the call around it, handles a rejection.
    fn is_handled(&self, call: usize) -> bool {
        let tree = self.tree;
        let mut link = tree.whole(call);
        while matches!(tree.slot(link), "object" | "callee")
            && let Some(next) = tree.parent(link)
        {
            let handler = tree.member_name(next).unwrap_or_default();
            let arguments = tree
                .parent(tree.whole(next))
                .map(|next| tree.arguments(next));
            if handler == "catch"
                || handler == "then" && arguments.is_some_and(|arguments| arguments.len() > 1)
            {
                return true;
            }
            link = tree.whole(next);
        }
        let outer = tree.parent(link).filter(|_| tree.is_argument(link));
        let callee = outer.and_then(|outer| tree.callee(outer));
        let function = callee.and_then(|names| names.last().cloned());
        function.is_some_and(|name| TOLERANT_COMBINATORS.contains(&name.as_str()))
    }

    /// How the statement uses the promise of the chain that begins with this call.
    fn promise_use(&self, call: usize) -> PromiseUse {
        let tree = self.tree;
        let mut chain = tree.whole(call);
        while matches!(tree.slot(chain), "object" | "callee")
            && let Some(next) = tree.parent(chain)
        {
            chain = tree.whole(next);
        }
        let Some(outer) = tree.parent(chain) else {
            return PromiseUse::Other;
        };
        match tree.kind(outer) {
            "AwaitExpression" => PromiseUse::Awaited,
            "ReturnStatement" | "ArrowFunctionExpression" => PromiseUse::Returned,
            // The value of the last statement is awaited.
            "ExpressionStatement" if tree.children(None).last() == Some(&outer) => {
                PromiseUse::Returned
            }
            "ArrayExpression" => match tree.parent(outer) {
                Some(all)
                    if tree
                        .callee(all)
                        .is_some_and(|names| names == ["Promise", "all"])
                        && !self.is_handled(all) =>
                {
                    self.promise_use(all)
                }
                _ => PromiseUse::Other,
            },
            _ => PromiseUse::Other,
        }
    }

    /// Returns true if an earlier statement of the same block may leave it.
    fn is_skippable(&self, at: usize, block: Option<usize>) -> bool {
        let tree = self.tree;
        let statements = tree.children(block).into_iter();
        let mut earlier = statements.take_while(|statement| *statement != at);
        earlier.any(|statement| {
            // After a conditional `throw` the program fails in either case.
            tree.kind(statement) == "ThrowStatement"
                || (statement..tree.inside(statement).end).any(|exit| {
                    matches!(
                        tree.kind(exit),
                        "ReturnStatement" | "BreakStatement" | "ContinueStatement"
                    ) && self.leaves(exit, block)
                })
        })
    }

    /// Returns true if the `return`, `break` or `continue` at `exit` leaves `block`, and not only a function or a loop in
    /// it.
    fn leaves(&self, exit: usize, block: Option<usize>) -> bool {
        let tree = self.tree;
        let kind = tree.kind(exit);
        let has_label = tree.child(exit, "label").is_some();
        let mut inner = exit;
        while let Some(outer) = tree.parent(inner).filter(|outer| Some(*outer) != block) {
            let ends_here = match tree.kind(outer) {
                "SwitchStatement" => kind == "BreakStatement" && !has_label,
                outer if LOOPS.contains(&outer) => kind != "ReturnStatement" && !has_label,
                outer => is_function(outer),
            };
            if ends_here {
                return false;
            }
            inner = outer;
        }
        true
    }

    /// How the function at `function` is called.
    fn call_of(&self, function: usize) -> FunctionCall {
        let tree = self.tree;
        if tree.kind(function) == "FunctionDeclaration" {
            let name = tree.child(function, "identifier");
            return name.map_or(FunctionCall::Unknown, FunctionCall::ByName);
        }
        let value = tree.whole(function);
        let Some(outer) = tree.parent(value) else {
            return FunctionCall::Unknown;
        };
        let slot = tree.slot(value);
        match tree.kind(outer) {
            "VariableDeclarator" if tree.is_constant(outer) => match tree.child(outer, "id") {
                Some(name) if tree.kind(name) == "Identifier" => FunctionCall::ByName(name),
                _ => FunctionCall::Unknown,
            },
            "ExpressionStatement" if tree.children(None) == [outer] => FunctionCall::ByRuntime,
            "CallExpression" if slot == "callee" => FunctionCall::Here {
                call: outer,
                rejects: false,
            },
            "CallExpression" | "NewExpression" if tree.arguments(outer).first() == Some(&value) => {
                let callee = tree.child(outer, "callee").map(|callee| tree.plain(callee));
                let callee = callee.unwrap_or_default();
                let is_executor = tree.kind(outer) == "NewExpression"
                    && tree.text(callee) == "Promise"
                    && tree.text(function) != "async";
                if is_executor || tree.member_name(callee) == Some("then") {
                    FunctionCall::Here {
                        call: outer,
                        rejects: true,
                    }
                } else {
                    FunctionCall::Unknown
                }
            }
            _ => FunctionCall::Unknown,
        }
    }

    /// Returns true if the program may go on when the block of a `try` throws.
    fn survives(&self, statement: usize) -> bool {
        let tree = self.tree;
        let leaves = |block: usize| {
            tree.inside(block).any(|at| {
                let kind = tree.kind(at);
                LOOPS.contains(&kind)
                    || matches!(
                        kind,
                        "ReturnStatement"
                            | "BreakStatement"
                            | "ContinueStatement"
                            | "IfStatement"
                            | "SwitchStatement"
                    )
            })
        };
        let handler = tree.child(statement, "handler");
        let is_caught = handler.is_some_and(|handler| {
            let body = tree.child(handler, "body");
            let mut statements = tree.children(body).into_iter();
            !statements.any(|at| tree.kind(at) == "ThrowStatement") || leaves(handler)
        });
        is_caught || tree.child(statement, "finalizer").is_some_and(leaves)
    }
}

fn is_function(kind: &str) -> bool {
    matches!(
        kind,
        "ArrowFunctionExpression"
            | "ClassMethod"
            | "Constructor"
            | "FunctionDeclaration"
            | "FunctionExpression"
            | "GetterProperty"
            | "MethodProperty"
            | "PrivateMethod"
            | "SetterProperty"
    )
}
