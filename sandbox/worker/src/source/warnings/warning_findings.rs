//! Finds the positions in a program that deserve a warning.

use std::collections::HashSet;

use mux_wire::{Fault, FaultKind};
use swc_common::{BytePos, Spanned as _};
use swc_ecma_ast::{
    BinaryOp, CallExpr, Callee, Expr, ExprStmt, Lit, NewExpr, Number, Pat, Prop, Stmt, UnaryExpr,
    UnaryOp, VarDeclarator,
};
use swc_ecma_visit::{Visit, VisitWith};

use super::{
    MAX_VISIT_DEPTH, MAX_WARNINGS,
    program_survey::ProgramSurvey,
    tool_calls::{self, CallExpression},
};
use crate::large_integers::rounded_literal;
use mux_wire::missing_globals;

const NOT_AWAITED_MESSAGE: &str = "is not awaited: it is cancelled when the program ends";
const AWAIT_HINT: &str = "put `await` before it";
const LARGE_LITERAL_HINT: &str =
    "as an argument it is sent as written; do not compute or compare with it, or write a BigInt";

pub(super) struct WarningFinder<'a> {
    pub(super) found: Vec<(BytePos, Fault)>,
    survey: &'a ProgramSurvey,
    /// Missing names that were reported: each is reported once.
    reported: HashSet<String>,
    depth: usize,
}

impl<'a> WarningFinder<'a> {
    pub(super) fn new(survey: &'a ProgramSurvey) -> Self {
        Self {
            found: Vec::new(),
            survey,
            reported: HashSet::new(),
            depth: 0,
        }
    }

    fn add_warning(&mut self, place: BytePos, message: String, hint: &str) {
        if self.found.len() < MAX_WARNINGS {
            let fault = Fault::new(FaultKind::Runtime, message).hint(hint);
            self.found.push((place, fault));
        }
    }

    /// Warns about a name that the program does not declare and the sandbox does not have.
    fn check_name(&mut self, name: &str, place: BytePos) {
        let Some(instead) = missing_globals::global_hint(name) else {
            return;
        };
        if !self.survey.declares(name)
            && !self.survey.is_guarded(name)
            && self.reported.insert(name.to_owned())
        {
            self.add_warning(place, format!("there is no `{name}` here"), instead);
        }
    }

    /// Handles an expression whose value is not used.
    fn check_discarded(&mut self, expression: &Expr) {
        let mut rest = vec![expression];
        while let Some(expression) = rest.pop() {
            match tool_calls::strip_parens(expression) {
                Expr::Seq(several) => rest.extend(several.exprs.iter().map(|e| &**e)),
                Expr::Cond(either) => rest.extend([&*either.cons, &*either.alt]),
                Expr::Bin(bin)
                    if matches!(
                        bin.op,
                        BinaryOp::LogicalAnd | BinaryOp::LogicalOr | BinaryOp::NullishCoalescing
                    ) =>
                {
                    rest.push(&bin.right);
                }
                other => {
                    let first = tool_calls::first_in_promise_chain(other);
                    match tool_calls::as_call(first)
                        .as_ref()
                        .and_then(tool_calls::promise_combinator_argument)
                    {
                        Some(Expr::Array(list)) => {
                            rest.extend(list.elems.iter().flatten().map(|element| &*element.expr));
                        }
                        Some(list) => rest.push(list),
                        None => self.check_lost_promise(first),
                    }
                }
            }
        }
    }

    /// Warns if the expression is a call whose promise is not used.
    fn check_lost_promise(&mut self, expression: &Expr) {
        let Some(call) = tool_calls::as_call(expression) else {
            return;
        };
        let place = expression.span_lo();
        if let Some(name) = self.tool_call(&call) {
            self.add_warning(
                place,
                format!("`{name}(…)` {NOT_AWAITED_MESSAGE}"),
                AWAIT_HINT,
            );
        } else if let Some((method, place)) = self.started_calls(&call) {
            let message = format!(
                "`{method}(…)` starts calls that are not awaited: they are cancelled when the program ends"
            );
            let hint = if method == "forEach" {
                "`forEach` does not wait: write `for (const item of list)` with `await` inside, or \
                 `await Promise.all(list.map(…))`"
            } else {
                "write `await Promise.all(list.map(…))`"
            };
            self.add_warning(place, message, hint);
        } else if let Some(name) = self.async_function_call(&call) {
            let message =
                format!("{name} is not awaited: its calls are cancelled when the program ends");
            self.add_warning(place, message, AWAIT_HINT);
        }
    }

    fn tool_call(&self, call: &CallExpression<'_>) -> Option<String> {
        tool_calls::tool_callee(call).filter(|_| !self.survey.declares("mux"))
    }

    /// Matches `list.map(…)` with a function that calls tools and returns promises.
    fn started_calls<'e>(&self, call: &CallExpression<'e>) -> Option<(&'e str, BytePos)> {
        let (_, method, place) = tool_calls::called_method(call)?;
        let [first, ..] = call.arguments else {
            return None;
        };
        let (begin, gives) = tool_calls::as_function(&first.expr)?;
        let starts = matches!(method, "map" | "flatMap" | "forEach")
            && gives
            && self.survey.calls_tools(begin)
            && !self.survey.declares("mux");
        starts.then_some((method, place))
    }

    /// Matches a call of a function of the program itself that calls tools and returns a promise.
    fn async_function_call(&self, call: &CallExpression<'_>) -> Option<String> {
        if self.survey.declares("mux") {
            return None;
        }
        match tool_calls::strip_parens(call.callee) {
            Expr::Ident(name) if self.survey.returns_promise(&name.sym) => {
                Some(format!("`{}(…)`", tool_calls::truncate_name(&name.sym)))
            }
            callee => {
                let (begin, gives) = tool_calls::as_function(callee)?;
                (gives && self.survey.calls_tools(begin)).then(|| "this function".into())
            }
        }
    }

    fn with_depth(&mut self, look: impl FnOnce(&mut Self)) {
        if self.depth < MAX_VISIT_DEPTH {
            self.depth += 1;
            look(self);
            self.depth -= 1;
        }
    }
}

impl Visit for WarningFinder<'_> {
    fn visit_expr(&mut self, expression: &Expr) {
        if let Expr::Ident(name) = expression {
            self.check_name(&name.sym, name.span.lo);
        }
        self.with_depth(|findings| expression.visit_children_with(findings));
    }

    fn visit_stmt(&mut self, statement: &Stmt) {
        self.with_depth(|findings| statement.visit_children_with(findings));
    }

    fn visit_pat(&mut self, pattern: &Pat) {
        self.with_depth(|findings| pattern.visit_children_with(findings));
    }

    fn visit_expr_stmt(&mut self, statement: &ExprStmt) {
        self.check_discarded(&statement.expr);
        statement.visit_children_with(self);
    }

    fn visit_prop(&mut self, property: &Prop) {
        if let Prop::Shorthand(name) = property {
            self.check_name(&name.sym, name.span.lo);
        }
        property.visit_children_with(self);
    }

    fn visit_number(&mut self, number: &Number) {
        let literal = number.raw.as_deref().unwrap_or_default();
        if let Some(rounded) = rounded_literal(literal) {
            let message = format!(
                "`{literal}` is {rounded} in JavaScript, which rounds integers beyond 2^53"
            );
            self.add_warning(number.span.lo, message, LARGE_LITERAL_HINT);
        }
    }

    fn visit_unary_expr(&mut self, unary: &UnaryExpr) {
        // `typeof name` tests whether the name exists.
        if unary.op != UnaryOp::TypeOf || !unary.arg.is_ident() {
            unary.visit_children_with(self);
        }
    }

    fn visit_var_declarator(&mut self, declarator: &VarDeclarator) {
        if let Some(name) = tool_calls::declared_name(&declarator.name)
            && let Some(value) = declarator.init.as_deref()
            && self.survey.is_never_read(name)
        {
            self.check_discarded(value);
        }
        declarator.visit_children_with(self);
    }

    fn visit_call_expr(&mut self, call: &CallExpr) {
        let specifier = call.args.first().and_then(|first| match &*first.expr {
            Expr::Lit(Lit::Str(text)) => text.value.as_str(),
            _ => None,
        });
        match &call.callee {
            Callee::Import(_) => {
                let instead = &missing_globals::module_hint(specifier.unwrap_or_default());
                self.add_warning(
                    call.span.lo,
                    "there are no modules to import here".into(),
                    instead,
                );
            }
            Callee::Expr(callee) => match (&**callee, specifier) {
                // The specifier gives a better hint than `require` alone.
                (Expr::Ident(name), Some(specifier))
                    if name.sym == *"require"
                        && !self.survey.declares("require")
                        && !self.survey.is_guarded("require")
                        && self.reported.insert("require".into()) =>
                {
                    let message = "there is no `require` here".into();
                    self.add_warning(
                        name.span.lo,
                        message,
                        &missing_globals::module_hint(specifier),
                    );
                }
                (Expr::Ident(name), _) if is_function_constructor(&name.sym, self.survey) => {
                    self.warn_about_code_generation(name.span.lo);
                }
                _ => {}
            },
            Callee::Super(_) => {}
        }
        call.visit_children_with(self);
    }

    fn visit_new_expr(&mut self, new: &NewExpr) {
        if let Expr::Ident(name) = &*new.callee
            && is_function_constructor(&name.sym, self.survey)
        {
            self.warn_about_code_generation(name.span.lo);
        }
        new.visit_children_with(self);
    }
}

impl WarningFinder<'_> {
    /// Warns about `new Function("…")`: the constructor exists but throws.
    fn warn_about_code_generation(&mut self, place: BytePos) {
        let message = "code cannot be created from strings here".into();
        self.add_warning(place, message, missing_globals::code_generation_hint());
    }
}

fn is_function_constructor(name: &str, survey: &ProgramSurvey) -> bool {
    name == "Function" && !survey.declares(name)
}
