//! Collects the declarations and uses in a program that the warnings need.

use std::collections::{HashMap, HashSet};

use swc_common::BytePos;
use swc_ecma_ast::{
    ArrowExpr, BindingIdent, CallExpr, ClassDecl, ClassExpr, Expr, FnDecl, FnExpr, Function, Ident,
    OptChainExpr, Pat, Prop, Stmt, UnaryExpr, UnaryOp, VarDeclarator,
};
use swc_ecma_visit::{Visit, VisitWith};

use super::{MAX_VISIT_DEPTH, tool_calls};

/// Facts about the whole program, regardless of scopes.
#[derive(Default)]
pub(super) struct ProgramSurvey {
    /// How often a name is declared or assigned.
    declared: HashMap<String, usize>,
    /// How often a name is read.
    read: HashMap<String, usize>,
    /// Names that are tested with `typeof`, as programs do with names that may be missing.
    guarded: HashSet<String>,
    /// The positions of functions that call tools, or contain functions that do.
    acting: HashSet<BytePos>,
    /// Functions of the program that call tools and return a promise.
    promising: HashSet<String>,
    /// For each function that encloses the present node, whether it calls a tool.
    around: Vec<bool>,
    depth: usize,
}

impl ProgramSurvey {
    pub(super) fn declares(&self, name: &str) -> bool {
        self.declared.contains_key(name)
    }

    pub(super) fn is_guarded(&self, name: &str) -> bool {
        self.guarded.contains(name)
    }

    /// Returns true if a variable is assigned once and never read.
    pub(super) fn is_never_read(&self, name: &str) -> bool {
        self.declared.get(name) == Some(&1) && !self.read.contains_key(name)
    }

    pub(super) fn calls_tools(&self, function: BytePos) -> bool {
        self.acting.contains(&function)
    }

    /// Returns true if this function of the program returns a promise that its caller must await.
    pub(super) fn returns_promise(&self, name: &str) -> bool {
        self.promising.contains(name) && self.declared.get(name) == Some(&1)
    }

    fn declare(&mut self, name: &Ident) {
        *self.declared.entry(name.sym.to_string()).or_default() += 1;
    }

    fn record_read(&mut self, name: &Ident) {
        *self.read.entry(name.sym.to_string()).or_default() += 1;
    }

    fn record_tool_call(&mut self) {
        if let Some(function) = self.around.last_mut() {
            *function = true;
        }
    }

    /// Visits a function that begins at `begin`.
    fn visit_function_at(&mut self, begin: BytePos, look: impl FnOnce(&mut Self)) {
        self.around.push(false);
        look(self);
        if self.around.pop() == Some(true) {
            self.acting.insert(begin);
            self.record_tool_call();
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

impl Visit for ProgramSurvey {
    fn visit_expr(&mut self, expression: &Expr) {
        if let Expr::Ident(name) = expression {
            self.record_read(name);
        }
        self.with_depth(|survey| expression.visit_children_with(survey));
    }

    fn visit_stmt(&mut self, statement: &Stmt) {
        self.with_depth(|survey| statement.visit_children_with(survey));
    }

    fn visit_pat(&mut self, pattern: &Pat) {
        self.with_depth(|survey| pattern.visit_children_with(survey));
    }

    fn visit_prop(&mut self, property: &Prop) {
        if let Prop::Shorthand(name) = property {
            self.record_read(name);
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
            let called = tool_calls::CallExpression {
                callee,
                arguments: &call.args,
            };
            if tool_calls::tool_callee(&called).is_some() {
                self.record_tool_call();
            }
        }
        call.visit_children_with(self);
    }

    fn visit_opt_chain_expr(&mut self, chain: &OptChainExpr) {
        if let Some(call) = chain.base.as_call() {
            let called = tool_calls::CallExpression {
                callee: &call.callee,
                arguments: &call.args,
            };
            if tool_calls::tool_callee(&called).is_some() {
                self.record_tool_call();
            }
        }
        chain.visit_children_with(self);
    }

    fn visit_function(&mut self, function: &Function) {
        self.visit_function_at(function.span.lo, |survey| {
            function.visit_children_with(survey);
        });
    }

    fn visit_arrow_expr(&mut self, arrow: &ArrowExpr) {
        self.visit_function_at(arrow.span.lo, |survey| arrow.visit_children_with(survey));
    }

    fn visit_fn_decl(&mut self, declaration: &FnDecl) {
        self.declare(&declaration.ident);
        declaration.visit_children_with(self);
        let function = &declaration.function;
        if function.is_async && !function.is_generator && self.calls_tools(function.span.lo) {
            self.promising.insert(declaration.ident.sym.to_string());
        }
    }

    fn visit_var_declarator(&mut self, declarator: &VarDeclarator) {
        declarator.visit_children_with(self);
        if let Some(name) = tool_calls::declared_name(&declarator.name)
            && let Some((begin, true)) =
                declarator.init.as_deref().and_then(tool_calls::as_function)
            && self.calls_tools(begin)
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
