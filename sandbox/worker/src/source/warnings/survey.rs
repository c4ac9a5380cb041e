//! Collects what a program declares and uses, as far as the warnings need it.

use std::collections::{HashMap, HashSet};

use swc_common::BytePos;
use swc_ecma_ast::{
    ArrowExpr, BindingIdent, CallExpr, ClassDecl, ClassExpr, Expr, FnDecl, FnExpr, Function, Ident,
    OptChainExpr, Pat, Prop, Stmt, UnaryExpr, UnaryOp, VarDeclarator,
};
use swc_ecma_visit::{Visit, VisitWith};

use super::{DEEPEST, calls};

/// Facts about the whole program, regardless of scopes.
#[derive(Default)]
pub(super) struct Survey {
    /// How often a name is declared or assigned.
    declared: HashMap<String, usize>,
    /// How often a name is read.
    read: HashMap<String, usize>,
    /// Names that are tested with `typeof`, as is usual for names that may be missing.
    guarded: HashSet<String>,
    /// The positions of functions that call tools, or contain functions that do.
    acting: HashSet<BytePos>,
    /// Functions of the program that call tools and return a promise.
    promising: HashSet<String>,
    /// For each function that encloses the present node, whether it calls a tool.
    around: Vec<bool>,
    depth: usize,
}

impl Survey {
    pub(super) fn declares(&self, name: &str) -> bool {
        self.declared.contains_key(name)
    }

    pub(super) fn guards(&self, name: &str) -> bool {
        self.guarded.contains(name)
    }

    /// Whether a variable is assigned once and never read.
    pub(super) fn is_forgotten(&self, name: &str) -> bool {
        self.declared.get(name) == Some(&1) && !self.read.contains_key(name)
    }

    pub(super) fn acts(&self, function: BytePos) -> bool {
        self.acting.contains(&function)
    }

    /// Whether this function of the program returns a promise that its caller has to await.
    pub(super) fn promises(&self, name: &str) -> bool {
        self.promising.contains(name) && self.declared.get(name) == Some(&1)
    }

    fn declare(&mut self, name: &Ident) {
        *self.declared.entry(name.sym.to_string()).or_default() += 1;
    }

    fn is_read(&mut self, name: &Ident) {
        *self.read.entry(name.sym.to_string()).or_default() += 1;
    }

    fn calls_a_tool(&mut self) {
        if let Some(function) = self.around.last_mut() {
            *function = true;
        }
    }

    /// Visits a function that begins at `begin`.
    fn enter(&mut self, begin: BytePos, look: impl FnOnce(&mut Self)) {
        self.around.push(false);
        look(self);
        if self.around.pop() == Some(true) {
            self.acting.insert(begin);
            self.calls_a_tool();
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

impl Visit for Survey {
    fn visit_expr(&mut self, expression: &Expr) {
        if let Expr::Ident(name) = expression {
            self.is_read(name);
        }
        self.deeper(|survey| expression.visit_children_with(survey));
    }

    fn visit_stmt(&mut self, statement: &Stmt) {
        self.deeper(|survey| statement.visit_children_with(survey));
    }

    fn visit_pat(&mut self, pattern: &Pat) {
        self.deeper(|survey| pattern.visit_children_with(survey));
    }

    fn visit_prop(&mut self, property: &Prop) {
        if let Prop::Shorthand(name) = property {
            self.is_read(name);
        }
        property.visit_children_with(self);
    }

    fn visit_binding_ident(&mut self, name: &BindingIdent) {
        self.declare(&name.id);
    }

    fn visit_unary_expr(&mut self, unary: &UnaryExpr) {
        if unary.op == UnaryOp::TypeOf
            && let Expr::Ident(name) = &*unary.arg
        {
            self.guarded.insert(name.sym.to_string());
        }
        unary.visit_children_with(self);
    }

    fn visit_call_expr(&mut self, call: &CallExpr) {
        if let Some(callee) = call.callee.as_expr() {
            let called = calls::Call {
                callee,
                arguments: &call.args,
            };
            if calls::tool(&called).is_some() {
                self.calls_a_tool();
            }
        }
        call.visit_children_with(self);
    }

    fn visit_opt_chain_expr(&mut self, chain: &OptChainExpr) {
        if let Some(call) = chain.base.as_call() {
            let called = calls::Call {
                callee: &call.callee,
                arguments: &call.args,
            };
            if calls::tool(&called).is_some() {
                self.calls_a_tool();
            }
        }
        chain.visit_children_with(self);
    }

    fn visit_function(&mut self, function: &Function) {
        self.enter(function.span.lo, |survey| {
            function.visit_children_with(survey);
        });
    }

    fn visit_arrow_expr(&mut self, arrow: &ArrowExpr) {
        self.enter(arrow.span.lo, |survey| arrow.visit_children_with(survey));
    }

    fn visit_fn_decl(&mut self, declaration: &FnDecl) {
        self.declare(&declaration.ident);
        declaration.visit_children_with(self);
        let function = &declaration.function;
        if function.is_async && !function.is_generator && self.acts(function.span.lo) {
            self.promising.insert(declaration.ident.sym.to_string());
        }
    }

    fn visit_var_declarator(&mut self, declarator: &VarDeclarator) {
        declarator.visit_children_with(self);
        if let Some(name) = calls::declared(&declarator.name)
            && let Some((begin, true)) = declarator.init.as_deref().and_then(calls::function)
            && self.acts(begin)
        {
            self.promising.insert(name.to_owned());
        }
    }

    fn visit_fn_expr(&mut self, function: &FnExpr) {
        if let Some(name) = &function.ident {
            self.declare(name);
        }
        function.visit_children_with(self);
    }

    fn visit_class_decl(&mut self, class: &ClassDecl) {
        self.declare(&class.ident);
        class.visit_children_with(self);
    }

    fn visit_class_expr(&mut self, class: &ClassExpr) {
        if let Some(name) = &class.ident {
            self.declare(name);
        }
        class.visit_children_with(self);
    }
}
