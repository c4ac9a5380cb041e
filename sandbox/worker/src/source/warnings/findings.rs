//! Finds the places of a program that deserve a warning.

use std::collections::HashSet;

use mux_wire::{Fault, Kind};
use swc_common::{BytePos, Spanned as _};
use swc_ecma_ast::{
    BinaryOp, CallExpr, Callee, Expr, ExprStmt, Lit, NewExpr, Pat, Prop, Stmt, UnaryExpr, UnaryOp,
    VarDeclarator,
};
use swc_ecma_visit::{Visit, VisitWith};

use super::{
    DEEPEST, MOST,
    calls::{self, Call},
    survey::Survey,
};
use mux_wire::absent;

const LOST: &str = "is not awaited: it is cancelled when the program ends";
const AWAIT: &str = "put `await` before it";

pub(super) struct Findings<'a> {
    pub(super) found: Vec<(BytePos, Fault)>,
    survey: &'a Survey,
    /// Missing names that were reported: each is reported once.
    told: HashSet<String>,
    depth: usize,
}

impl<'a> Findings<'a> {
    pub(super) fn new(survey: &'a Survey) -> Self {
        Self {
            found: Vec::new(),
            survey,
            told: HashSet::new(),
            depth: 0,
        }
    }

    fn add(&mut self, place: BytePos, message: String, hint: &str) {
        if self.found.len() < MOST {
            let fault = Fault::new(Kind::Runtime, message).hint(hint);
            self.found.push((place, fault));
        }
    }

    /// Warns about a name that the program does not declare and the sandbox does not have.
    fn look_up(&mut self, name: &str, place: BytePos) {
        let Some(instead) = absent::global(name) else {
            return;
        };
        if !self.survey.declares(name)
            && !self.survey.guards(name)
            && self.told.insert(name.to_owned())
        {
            self.add(place, format!("there is no `{name}` here"), instead);
        }
    }

    /// Handles an expression whose value is not used.
    fn discarded(&mut self, expression: &Expr) {
        let mut rest = vec![expression];
        while let Some(expression) = rest.pop() {
            match calls::plain(expression) {
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
                    let first = calls::beginning(other);
                    match calls::call(first).as_ref().and_then(calls::gathered) {
                        Some(Expr::Array(list)) => {
                            rest.extend(list.elems.iter().flatten().map(|element| &*element.expr));
                        }
                        Some(list) => rest.push(list),
                        None => self.lost(first),
                    }
                }
            }
        }
    }

    /// Warns if the expression is a call whose promise is not used.
    fn lost(&mut self, expression: &Expr) {
        let Some(call) = calls::call(expression) else {
            return;
        };
        let place = expression.span_lo();
        if let Some(name) = self.tool(&call) {
            self.add(place, format!("`{name}(…)` {LOST}"), AWAIT);
        } else if let Some((method, place)) = self.started(&call) {
            let message = format!(
                "`{method}(…)` starts calls that are not awaited: they are cancelled when the program ends"
            );
            let hint = if method == "forEach" {
                "`forEach` waits for nothing: write `for (const item of list)` with `await` inside, or \
                 `await Promise.all(list.map(…))`"
            } else {
                "write `await Promise.all(list.map(…))`"
            };
            self.add(place, message, hint);
        } else if let Some(name) = self.own(&call) {
            let message =
                format!("{name} is not awaited: its calls are cancelled when the program ends");
            self.add(place, message, AWAIT);
        }
    }

    fn tool(&self, call: &Call<'_>) -> Option<String> {
        calls::tool(call).filter(|_| !self.survey.declares("mux"))
    }

    /// Matches `list.map(…)` with a function that calls tools and returns promises.
    fn started<'e>(&self, call: &Call<'e>) -> Option<(&'e str, BytePos)> {
        let (_, method, place) = calls::method(call)?;
        let [first, ..] = call.arguments else {
            return None;
        };
        let (begin, gives) = calls::function(&first.expr)?;
        let starts = matches!(method, "map" | "flatMap" | "forEach")
            && gives
            && self.survey.acts(begin)
            && !self.survey.declares("mux");
        starts.then_some((method, place))
    }

    /// Matches a call of a function of the program itself that calls tools and returns a promise.
    fn own(&self, call: &Call<'_>) -> Option<String> {
        if self.survey.declares("mux") {
            return None;
        }
        match calls::plain(call.callee) {
            Expr::Ident(name) if self.survey.promises(&name.sym) => {
                Some(format!("`{}(…)`", calls::shortened(&name.sym)))
            }
            callee => {
                let (begin, gives) = calls::function(callee)?;
                (gives && self.survey.acts(begin)).then(|| "this function".into())
            }
        }
    }

    fn deeper(&mut self, look: impl FnOnce(&mut Self)) {
        if self.depth < DEEPEST {
            self.depth += 1;
            look(self);
            self.depth -= 1;
        }
    }
}

impl Visit for Findings<'_> {
    fn visit_expr(&mut self, expression: &Expr) {
        if let Expr::Ident(name) = expression {
            self.look_up(&name.sym, name.span.lo);
        }
        self.deeper(|findings| expression.visit_children_with(findings));
    }

    fn visit_stmt(&mut self, statement: &Stmt) {
        self.deeper(|findings| statement.visit_children_with(findings));
    }

    fn visit_pat(&mut self, pattern: &Pat) {
        self.deeper(|findings| pattern.visit_children_with(findings));
    }

    fn visit_expr_stmt(&mut self, statement: &ExprStmt) {
        self.discarded(&statement.expr);
        statement.visit_children_with(self);
    }

    fn visit_prop(&mut self, property: &Prop) {
        if let Prop::Shorthand(name) = property {
            self.look_up(&name.sym, name.span.lo);
        }
        property.visit_children_with(self);
    }

    fn visit_unary_expr(&mut self, unary: &UnaryExpr) {
        // `typeof name` tests whether the name exists.
        if unary.op != UnaryOp::TypeOf || !unary.arg.is_ident() {
            unary.visit_children_with(self);
        }
    }

    fn visit_var_declarator(&mut self, declarator: &VarDeclarator) {
        if let Some(name) = calls::declared(&declarator.name)
            && let Some(value) = declarator.init.as_deref()
            && self.survey.is_forgotten(name)
        {
            self.discarded(value);
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
                let instead = &absent::module(specifier.unwrap_or_default());
                self.add(
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
                        && !self.survey.guards("require")
                        && self.told.insert("require".into()) =>
                {
                    let message = "there is no `require` here".into();
                    self.add(name.span.lo, message, &absent::module(specifier));
                }
                (Expr::Ident(name), _) if is_compiler(&name.sym, self.survey) => {
                    self.compiles(name.span.lo);
                }
                _ => {}
            },
            Callee::Super(_) => {}
        }
        call.visit_children_with(self);
    }

    fn visit_new_expr(&mut self, new: &NewExpr) {
        if let Expr::Ident(name) = &*new.callee
            && is_compiler(&name.sym, self.survey)
        {
            self.compiles(name.span.lo);
        }
        new.visit_children_with(self);
    }
}

impl Findings<'_> {
    /// Warns about `new Function("…")`: the constructor exists but throws.
    fn compiles(&mut self, place: BytePos) {
        let message = "code cannot be made from text here".into();
        self.add(place, message, absent::code());
    }
}

fn is_compiler(name: &str, survey: &Survey) -> bool {
    name == "Function" && !survey.declares(name)
}
