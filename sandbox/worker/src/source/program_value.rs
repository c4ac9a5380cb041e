//! Finds the expression that gives a program without `return` its value: its last expression, or the only function that
//! it consists of.
//!
//! Models write programs in the forms of other tools: an arrow function, `async function main()` that nobody calls, an
//! expression at the end. Each form gives the value that its author expects.
//!
//! Invariant: the lines of the program stay as they are. An inserted `return` moves the columns of one line, by
//! [`ColumnShift`].

use std::collections::HashSet;

use deno_core::serde_json::{Value, json};
use swc_common::{BytePos, Spanned as _};
use swc_ecma_ast::{
    ArrowExpr, ArrowFunctionBody, AwaitExpr, Callee, ClassMember, Constructor, Decl, Expr,
    Function, GetterProp, ObjectPatProp, Pat, Prop, PropName, ReturnStmt, Script, SetterProp, Stmt,
    UnaryOp, VarDecl,
};
use swc_ecma_visit::{Visit, VisitWith};

use mux_wire::program_wrapper::{WRAPPER_PREFIX, WRAPPER_SUFFIX};

use super::warnings::{SOURCE_START, parse_script};

/// Functions with these names are called if a program has several.
const ENTRY_NAMES: [&str; 7] = [
    "main", "run", "program", "execute", "handler", "solve", "start",
];

/// The columns of a line that an insertion has moved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ColumnShift {
    line: u32,
    /// The first column that moved.
    column: u32,
    by: u32,
}

impl ColumnShift {
    pub(crate) const NONE: Self = Self {
        line: 0,
        column: 0,
        by: 0,
    };

    /// The arguments for the prelude, which corrects stacks.
    pub(crate) fn to_json(self) -> Value {
        json!({ "line": self.line, "column": self.column, "by": self.by })
    }

    pub(crate) fn original(self, line: u32, column: u32) -> u32 {
        if line == self.line && column > self.column {
            column.saturating_sub(self.by).max(self.column + 1)
        } else {
            column
        }
    }
}

/// A script that returns its value.
pub(crate) struct ValueScript {
    pub(crate) text: String,
    pub(crate) shift: ColumnShift,
    /// True if the program did not ask for this value: a value that cannot be returned is not an error.
    pub(crate) is_implicit: bool,
    /// True if the program itself has a `return`.
    pub(crate) has_return: bool,
    /// True if the value is a call of `mux` or of the program's own functions, whose promise is awaited.
    pub(super) awaits_call: bool,
}

/// Makes a script that [`super::prepare_script`] returned give the value of the program.
pub(super) fn return_value(script: String) -> ValueScript {
    let unchanged = |text| ValueScript {
        text,
        shift: ColumnShift::NONE,
        is_implicit: false,
        has_return: false,
        awaits_call: false,
    };
    if ends_with_return(&script) {
        return ValueScript {
            has_return: true,
            ..unchanged(script)
        };
    }
    let Some(tree) = parse_script(&script) else {
        return unchanged(script);
    };
    let Some(statements) = statements_of(&tree) else {
        return unchanged(script);
    };
    if contains_return(statements) {
        return ValueScript {
            has_return: true,
            ..unchanged(script)
        };
    }
    let unchanged = unchanged(String::new());
    match find_value(statements) {
        Some(FoundValue::Expression {
            operator,
            begin,
            end,
            call,
            awaits_call,
        }) => {
            let begin = offset(begin);
            let end = offset(end);
            let mut script = script;
            if let Some(operator) = operator.map(offset) {
                script.replace_range(operator..begin, &" ".repeat(begin - operator));
            }
            let is_called = call.is_some();
            let (before, after) = call.unwrap_or_default();
            let inserted = format!("return ({before}");
            let text = format!(
                "{}{inserted}{}{after}){}",
                &script[..begin],
                &script[begin..end],
                &script[end..]
            );
            let line_start = script[..begin].rfind('\n').map_or(0, |at| at + 1);
            let units = |text: &str| u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX);
            let lines = script[..begin].matches('\n').count() + 1;
            ValueScript {
                shift: ColumnShift {
                    line: u32::try_from(lines).unwrap_or(u32::MAX),
                    column: units(&script[line_start..begin]),
                    by: units(&inserted),
                },
                text,
                is_implicit: true,
                awaits_call: awaits_call || is_called,
                ..unchanged
            }
        }
        Some(FoundValue::Function { name, arguments }) => ValueScript {
            text: with_last_statement(&script, &format!("return {name}({arguments});")),
            is_implicit: true,
            awaits_call: true,
            ..unchanged
        },
        Some(FoundValue::Variable { name }) => ValueScript {
            text: with_last_statement(&script, &format!("return {name};")),
            is_implicit: true,
            ..unchanged
        },
        None => ValueScript {
            text: script,
            ..unchanged
        },
    }
}

fn with_last_statement(script: &str, statement: &str) -> String {
    let body = script.trim_end().strip_suffix("})").unwrap_or(script);
    format!("{body}{statement}\n}})")
}

/// Returns true if the last line is a `return` of the program itself. A function around it would have to end on this line.
/// This check saves most programs the second parse.
fn ends_with_return(script: &str) -> bool {
    let body = script.strip_suffix(WRAPPER_SUFFIX).unwrap_or(script);
    let line = body.trim_end().rsplit('\n').next().unwrap_or_default();
    let line = line.strip_prefix(WRAPPER_PREFIX).unwrap_or(line);
    let returned = line.strip_prefix("return");
    returned.is_some_and(|value| {
        let is_word = value.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$');
        !is_word && !value.contains('}')
    })
}

enum FoundValue {
    Expression {
        /// The beginning of an operator before the expression, which is dropped.
        operator: Option<BytePos>,
        begin: BytePos,
        end: BytePos,
        /// The text to put around a function to call it.
        call: Option<(String, String)>,
        awaits_call: bool,
    },
    Function {
        name: String,
        arguments: String,
    },
    /// A variable that the program ends with.
    Variable {
        name: String,
    },
}

/// The statements of the program, which the wrapper encloses.
fn statements_of(tree: &Script) -> Option<&[Stmt]> {
    let Stmt::Expr(wrapper) = tree.body.first()? else {
        return None;
    };
    let Expr::Paren(wrapper) = &*wrapper.expr else {
        return None;
    };
    let Expr::Arrow(wrapper) = &*wrapper.expr else {
        return None;
    };
    match &*wrapper.body {
        // The first statement is the wrapper's directive.
        ArrowFunctionBody::FunctionBody(block) => block.stmts.get(1..),
        ArrowFunctionBody::Expr(_) => None,
    }
}

fn find_value(statements: &[Stmt]) -> Option<FoundValue> {
    let is_declaration = |stmt: &&Stmt| {
        matches!(
            stmt,
            Stmt::Empty(_) | Stmt::Decl(Decl::Fn(_) | Decl::Class(_))
        )
    };
    let executed: Vec<&Stmt> = statements
        .iter()
        .filter(|stmt| !is_declaration(stmt))
        .collect();
    if let Some(Stmt::Decl(Decl::Var(variables))) = executed.last()
        && let Some(value) = last_variable(variables)
        && has_acted(&executed, statements)
    {
        return Some(value);
    }
    if let Some(last) = executed.last().and_then(|last| object_literal(last)) {
        return Some(last);
    }
    if let Some(last) = executed.last().and_then(|last| last_expression(last)) {
        let expression = without_operator(last);
        // A program that is one function.
        let params = match expression {
            Expr::Arrow(arrow) => Some(arrow.params.iter().collect::<Vec<_>>()),
            Expr::Fn(function) => {
                let params = function.function.params.iter();
                Some(params.map(|param| &param.pat).collect())
            }
            Expr::Ident(name) => {
                let functions = statements.iter().flat_map(declared_functions);
                let mut named = functions.filter(|(function, _)| *function == *name.sym);
                if let Some((name, arguments)) = named.next() {
                    return Some(FoundValue::Function { name, arguments });
                }
                None
            }
            _ => None,
        };
        let call = params.map(|params| ("(".into(), format!(")({})", arguments_for(&params))));
        let (operator, returned) = match last {
            Expr::Unary(unary) if !std::ptr::eq(expression, last) => {
                (Some(unary.span_lo()), &*unary.arg)
            }
            _ => (None, last),
        };
        return Some(FoundValue::Expression {
            operator,
            begin: returned.span_lo(),
            end: returned.span_hi(),
            call,
            awaits_call: is_awaited_call(expression),
        });
    }
    // Only declarations: the function that does the work is not called.
    if has_acted(&executed, statements) {
        return None;
    }
    let functions: Vec<(String, String)> = statements.iter().flat_map(declared_functions).collect();
    let is_entry = |(name, _): &&(String, String)| ENTRY_NAMES.contains(&name.as_str());
    let found = match functions.as_slice() {
        [only] => Some(only),
        several => several
            .iter()
            .find(is_entry)
            .or_else(|| only_unused_function(several, statements)),
    };
    found.map(|(name, arguments)| FoundValue::Function {
        name: name.clone(),
        arguments: arguments.clone(),
    })
}

/// Returns true if the program does anything but declare constants and functions.
fn has_acted(executed: &[&Stmt], statements: &[Stmt]) -> bool {
    let functions: Vec<(String, String)> = statements.iter().flat_map(declared_functions).collect();
    let is_constant = |stmt: &&Stmt| {
        let Stmt::Decl(Decl::Var(variables)) = stmt else {
            return false;
        };
        // Without functions, the last constant is the program's value.
        !functions.is_empty() && !variables.decls.is_empty() && !acts(stmt, &functions)
    };
    !executed.iter().all(is_constant)
}

/// The variable at the end of a program, whose value nothing uses.
fn last_variable(variables: &VarDecl) -> Option<FoundValue> {
    let variable = variables.decls.last()?;
    if matches!(
        unparenthesized(variable.init.as_deref()?),
        Expr::Arrow(_) | Expr::Fn(_) | Expr::Class(_)
    ) {
        return None;
    }
    Some(FoundValue::Variable {
        name: variable.name.as_ident()?.sym.to_string(),
    })
}

/// An object literal as the last statement, which is a block with a label or names for JavaScript: `{ total: 3 }`.
fn object_literal(last: &Stmt) -> Option<FoundValue> {
    let Stmt::Block(block) = last else {
        return None;
    };
    let [only] = block.stmts.as_slice() else {
        return None;
    };
    let is_literal = match only {
        Stmt::Labeled(member) => {
            // A statement ends with a semicolon, a member does not.
            matches!(&*member.body, Stmt::Expr(value) if value.span_hi() == value.expr.span_hi())
        }
        Stmt::Expr(names) if names.span_hi() == names.expr.span_hi() => match &*names.expr {
            Expr::Ident(_) => true,
            Expr::Seq(names) => names.exprs.iter().all(|name| name.is_ident()),
            _ => false,
        },
        _ => false,
    };
    is_literal.then(|| FoundValue::Expression {
        operator: None,
        begin: block.span_lo(),
        end: block.span_hi(),
        call: None,
        awaits_call: false,
    })
}

/// The last expression, also at the end of a block, a `try` block or an `if` without `else`.
fn last_expression(mut last: &Stmt) -> Option<&Expr> {
    loop {
        last = match last {
            Stmt::Expr(statement) => return Some(&statement.expr),
            Stmt::Block(block) => block.stmts.last()?,
            Stmt::Try(attempt) => attempt.block.stmts.last()?,
            Stmt::If(condition) if condition.alt.is_none() => &condition.cons,
            Stmt::Labeled(labeled) => &labeled.body,
            _ => return None,
        };
    }
}

/// The call behind `void` or behind an operator that only begins an expression, as in `!function () {}()`.
fn without_operator(last: &Expr) -> &Expr {
    let Expr::Unary(unary) = last else {
        return unparenthesized(last);
    };
    let call = unparenthesized(&unary.arg);
    let is_call_in_place = || {
        let callee = call.as_call().and_then(|call| call.callee.as_expr());
        callee.is_some_and(|callee| matches!(unparenthesized(callee), Expr::Arrow(_) | Expr::Fn(_)))
    };
    let is_dropped = match unary.op {
        UnaryOp::Void => is_awaited_call(call),
        UnaryOp::Bang | UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Tilde => is_call_in_place(),
        _ => false,
    };
    if is_dropped { call } else { last }
}

/// The only function that the program does not mention outside of its own declaration.
fn only_unused_function<'a>(
    functions: &'a [(String, String)],
    statements: &[Stmt],
) -> Option<&'a (String, String)> {
    let mut finder = MentionFinder::default();
    statements.visit_with(&mut finder);
    let mut unused = functions
        .iter()
        .filter(|(name, _)| !finder.mentioned.contains(name));
    let first = unused.next()?;
    unused.next().is_none().then_some(first)
}

/// Collects the names that expressions mention.
#[derive(Default)]
struct MentionFinder {
    mentioned: HashSet<String>,
}

impl Visit for MentionFinder {
    fn visit_expr(&mut self, expression: &Expr) {
        if let Expr::Ident(name) = expression {
            self.mentioned.insert(name.sym.to_string());
        }
        expression.visit_children_with(self);
    }

    fn visit_prop(&mut self, property: &Prop) {
        if let Prop::Shorthand(name) = property {
            self.mentioned.insert(name.sym.to_string());
        }
        property.visit_children_with(self);
    }
}

/// The functions that a statement declares, each with the arguments to call it with.
fn declared_functions(statement: &Stmt) -> Vec<(String, String)> {
    match statement {
        Stmt::Decl(Decl::Fn(declared)) => {
            let params: Vec<&Pat> = declared.function.params.iter().map(|p| &p.pat).collect();
            vec![(declared.ident.sym.to_string(), arguments_for(&params))]
        }
        Stmt::Decl(Decl::Var(variables)) => {
            let functions = variables.decls.iter().filter_map(|variable| {
                let name = variable.name.as_ident()?.sym.to_string();
                let params: Vec<&Pat> = match unparenthesized(variable.init.as_deref()?) {
                    Expr::Arrow(arrow) => arrow.params.iter().collect(),
                    Expr::Fn(function) => function.function.params.iter().map(|p| &p.pat).collect(),
                    _ => return None,
                };
                Some((name, arguments_for(&params)))
            });
            functions.collect()
        }
        _ => Vec::new(),
    }
}

/// The arguments for a program's function, after its parameters: `mux`, the input, or both in an object.
fn arguments_for(params: &[&Pat]) -> String {
    let arguments = params.iter().map(|param| {
        let param = match param {
            Pat::Assign(assign) => &assign.left,
            other => *other,
        };
        let is_context = |name: &str| matches!(name, "mux" | "tools" | "input");
        match param {
            Pat::Ident(name) if matches!(&*name.sym, "mux" | "tools") => "mux",
            Pat::Ident(name) if matches!(&*name.sym, "context" | "ctx" | "env") => CONTEXT,
            Pat::Object(object) if object.props.iter().any(|prop| has_name(prop, is_context)) => {
                CONTEXT
            }
            _ => "mux.input",
        }
    });
    arguments.collect::<Vec<_>>().join(", ")
}

const CONTEXT: &str = "{ mux, tools: mux, input: mux.input, console }";

fn has_name(prop: &ObjectPatProp, is_wanted: impl Fn(&str) -> bool) -> bool {
    match prop {
        ObjectPatProp::Assign(prop) => is_wanted(&prop.key.sym),
        ObjectPatProp::KeyValue(prop) => {
            matches!(&prop.key, PropName::Ident(name) if is_wanted(&name.sym))
        }
        ObjectPatProp::Rest(_) => false,
    }
}

/// The expression without parentheses, and without the comma that replaces `export default`.
fn unparenthesized(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => unparenthesized(&inner.expr),
        Expr::Seq(sequence) => match sequence.exprs.as_slice() {
            [first, last] if matches!(&**first, Expr::Lit(_)) => unparenthesized(last),
            _ => expression,
        },
        _ => expression,
    }
}

/// Returns true for a call of a tool, of the program's own function, of an inline function, or of `map`.
fn is_awaited_call(expression: &Expr) -> bool {
    let Expr::Call(call) = expression else {
        return false;
    };
    let Callee::Expr(callee) = &call.callee else {
        return false;
    };
    let mut root = unparenthesized(callee);
    let is_named = matches!(root, Expr::Ident(_) | Expr::Arrow(_) | Expr::Fn(_));
    // The prelude awaits a list of promises.
    let makes_list = root.as_member().is_some_and(|method| {
        method
            .prop
            .as_ident()
            .is_some_and(|name| &*name.sym == "map")
    });
    while let Expr::Member(member) = root {
        root = unparenthesized(&member.obj);
    }
    is_named || makes_list || root.as_ident().is_some_and(|root| &*root.sym == "mux")
}

fn offset(position: BytePos) -> usize {
    (position - SOURCE_START).0 as usize
}

fn contains_return(statements: &[Stmt]) -> bool {
    let mut finder = ReturnFinder { found: false };
    statements.visit_with(&mut finder);
    finder.found
}

/// Finds a `return` of the program itself.
struct ReturnFinder {
    found: bool,
}

impl Visit for ReturnFinder {
    fn visit_return_stmt(&mut self, _: &ReturnStmt) {
        self.found = true;
    }

    // Functions have their own.
    fn visit_arrow_expr(&mut self, _: &ArrowExpr) {}
    fn visit_function(&mut self, _: &Function) {}
    fn visit_class_member(&mut self, _: &ClassMember) {}
    fn visit_constructor(&mut self, _: &Constructor) {}
    fn visit_getter_prop(&mut self, _: &GetterProp) {}
    fn visit_setter_prop(&mut self, _: &SetterProp) {}
    // Expressions contain no statements, except in functions.
    fn visit_expr(&mut self, _: &Expr) {}
}

/// Returns true if a declaration awaits something, or uses `mux` or one of these functions outside of functions.
fn acts(statement: &Stmt, functions: &[(String, String)]) -> bool {
    let mut finder = ActionFinder {
        functions,
        found: false,
    };
    statement.visit_with(&mut finder);
    finder.found
}

struct ActionFinder<'a> {
    functions: &'a [(String, String)],
    found: bool,
}

impl Visit for ActionFinder<'_> {
    fn visit_await_expr(&mut self, _: &AwaitExpr) {
        self.found = true;
    }

    fn visit_expr(&mut self, expression: &Expr) {
        if let Expr::Ident(name) = expression {
            let is_function = self
                .functions
                .iter()
                .any(|(function, _)| *function == *name.sym);
            self.found |= &*name.sym == "mux" || is_function;
        }
        expression.visit_children_with(self);
    }

    fn visit_arrow_expr(&mut self, _: &ArrowExpr) {}
    fn visit_function(&mut self, _: &Function) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::prepare_script;

    /// The statements of the script, without the wrapper.
    fn body_of(source: &str) -> (String, bool) {
        let script = return_value(prepare_script(source).unwrap());
        let text = script.text.split_once("\"use strict\"; ").unwrap().1;
        let text = text
            .trim_end()
            .strip_suffix("})")
            .unwrap()
            .trim()
            .to_owned();
        (text, script.is_implicit)
    }

    #[test]
    fn programs_without_a_return_give_the_value_that_their_form_means() {
        let context = CONTEXT;
        for (source, body) in [
            ("1 + 1", "return (1 + 1)".to_owned()),
            (
                "const a = 1;\na // b",
                "const a = 1;\nreturn (a) // b".into(),
            ),
            ("({ a: 1 });", "return (({ a: 1 }));".into()),
            (
                "await main();\nasync function main() {}",
                "return (await main());\nasync function main() {}".into(),
            ),
            (
                "async () => { return 1; }",
                "return ((async () => { return 1; })())".into(),
            ),
            (
                "(async ({ mux }) => 1)",
                format!("return (((async ({{ mux }}) => 1))({context}))"),
            ),
            (
                "async function main(input) { return 1; }",
                "async function main(input) { return 1; }\nreturn main(mux.input);".into(),
            ),
            (
                "const a = new Set([1]);\nconst f = async (mux) => 1;",
                "const a = new Set([1]);\nconst f = async (mux) => 1;\nreturn f(mux);".into(),
            ),
            (
                "function a() {}\nfunction run() {}",
                "function a() {}\nfunction run() {}\nreturn run();".into(),
            ),
            (
                "const f = () => 1;\nf",
                "const f = () => 1;\nf\nreturn f();".into(),
            ),
            (
                "(async () => { return 1 })()",
                "return ((async () => { return 1 })())".into(),
            ),
            (
                "void (async () => 1)();",
                "return ((async () => 1)());".into(),
            ),
            ("const a = 1;", "const a = 1;\nreturn a;".into()),
            (
                "function f() {}\nconst r = await f();",
                "function f() {}\nconst r = await f();\nreturn r;".into(),
            ),
            (
                "try { f(); 1 } catch {}",
                "try { f(); return (1) } catch {}".into(),
            ),
            ("if (a) { 1 }", "if (a) { return (1) }".into()),
            ("a();\n{ b: 1 }", "a();\nreturn ({ b: 1 })".into()),
            (
                "const a = 1;\n{ a, a }",
                "const a = 1;\nreturn ({ a, a })".into(),
            ),
            (
                "function a() {}\nfunction b() { a(); }",
                "function a() {}\nfunction b() { a(); }\nreturn b();".into(),
            ),
        ] {
            assert_eq!(body_of(source), (body, true), "{source}");
        }
        for source in [
            "return 1",
            "const a = 1;\nreturn a;",
            "return { a: 1 };",
            "if (1) {\nreturn 1 }\n2",
            "if (a) return 1;\n2",
            "for (const a of [1]) { console.log(a); }",
            "function a() {}\nfunction b() {}",
            "if (a) { 1 } else { 2 }",
            "const { a } = b;",
            "",
        ] {
            assert!(!body_of(source).1, "{source}");
        }
    }

    #[test]
    fn positions_behind_an_inserted_return_are_corrected() {
        let script = return_value(prepare_script("let a;\nlet b; a.b.c").unwrap());
        let line = script.text.lines().nth(1).unwrap();
        assert_eq!(line, "let b; return (a.b.c)");
        let at = |column| script.shift.original(2, column);
        assert_eq!((at(5), at(8), at(16), at(18)), (5, 8, 8, 10));
        assert_eq!(script.shift.original(1, 16), 16);
    }
}
