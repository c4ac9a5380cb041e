//! Recognizes tool calls and related call expressions in the syntax tree.
//!
//! Invariant: no function here recurses, because a program can have chains of any length.

use swc_common::{BytePos, Spanned as _};
use swc_ecma_ast::{
    ArrowFunctionBody, CallExpr, Callee, Expr, ExprOrSpread, Lit, MemberExpr, MemberProp,
    OptChainBase, Pat,
};

/// The maximum length of a name in a message, in characters.
const MAX_NAME_CHARS: usize = 60;

/// Functions of `mux` itself that return a promise.
const ASYNC_BUILTINS: [&str; 5] = ["call", "read", "search", "describe", "discover"];
/// Members of `mux` that are neither servers nor functions that return a promise.
const NON_ASYNC_MEMBERS: [&str; 2] = ["input", "emit"];

/// `callee(arguments)`, with or without `?.`.
pub(super) struct CallExpression<'a> {
    pub(super) callee: &'a Expr,
    pub(super) arguments: &'a [ExprOrSpread],
}

pub(super) fn as_call(expression: &Expr) -> Option<CallExpression<'_>> {
    match expression {
        Expr::Call(CallExpr {
            callee: Callee::Expr(callee),
            args: arguments,
            ..
        }) => Some(CallExpression { callee, arguments }),
        Expr::OptChain(chain) => match &*chain.base {
            OptChainBase::Call(call) => Some(CallExpression {
                callee: &call.callee,
                arguments: &call.args,
            }),
            OptChainBase::Member(_) => None,
        },
        _ => None,
    }
}

fn as_member(expression: &Expr) -> Option<&MemberExpr> {
    match expression {
        Expr::Member(member) => Some(member),
        Expr::OptChain(chain) => match &*chain.base {
            OptChainBase::Member(member) => Some(member),
            OptChainBase::Call(_) => None,
        },
        _ => None,
    }
}

/// One member access in a chain such as `mux.server["tool"]`.
enum MemberAccess<'a> {
    Name(&'a str),
    /// A string literal in brackets.
    Text(&'a str),
    /// Any other expression in brackets, known only at run time.
    Unknown,
}

impl<'a> MemberAccess<'a> {
    fn of(property: &'a MemberProp) -> Self {
        match property {
            MemberProp::Ident(name) => Self::Name(&name.sym),
            MemberProp::PrivateName(_) => Self::Unknown,
            MemberProp::Computed(computed) => match &*computed.expr {
                Expr::Lit(Lit::Str(text)) => text.value.as_str().map_or(Self::Unknown, Self::Text),
                _ => Self::Unknown,
            },
        }
    }

    fn text(&self) -> Option<&'a str> {
        match self {
            Self::Name(text) | Self::Text(text) => Some(text),
            Self::Unknown => None,
        }
    }
}

/// The object and the name of a method call, and the position of the name.
pub(super) fn called_method<'a>(call: &CallExpression<'a>) -> Option<(&'a Expr, &'a str, BytePos)> {
    let member = as_member(call.callee)?;
    let name = MemberAccess::of(&member.prop).text()?;
    Some((&member.obj, name, member.prop.span_lo()))
}

/// The callee of a tool call as written, shortened; `None` for other calls.
pub(super) fn tool_callee(call: &CallExpression<'_>) -> Option<String> {
    let mut steps = Vec::new();
    let mut object = call.callee;
    while let Some(member) = as_member(object) {
        if steps.len() == 3 {
            return None;
        }
        steps.push(MemberAccess::of(&member.prop));
        object = &member.obj;
    }
    let Expr::Ident(root) = object else {
        return None;
    };
    steps.reverse();
    let first = steps.first()?;
    let is_tool = match (first.text(), steps.len()) {
        (Some(name), _) if NON_ASYNC_MEMBERS.contains(&name) => false,
        (Some(name), 1) => name.contains('.') || ASYNC_BUILTINS.contains(&name),
        (Some(name), 3) => matches!(name, "resources" | "prompts"),
        (None, 3) => false,
        _ => true,
    };
    (is_tool && root.sym == *"mux").then(|| {
        let steps = steps.iter().map(|step| match step {
            MemberAccess::Name(name) => format!(".{}", truncate_name(name)),
            MemberAccess::Text(text) => format!("[\"{}\"]", truncate_name(text)),
            MemberAccess::Unknown => "[…]".into(),
        });
        format!("mux{}", steps.collect::<String>())
    })
}

/// The call at the beginning of `call().then(…).catch(…)`, or the expression itself.
pub(super) fn first_in_promise_chain(mut expression: &Expr) -> &Expr {
    loop {
        expression = strip_parens(expression);
        match as_call(expression).as_ref().and_then(called_method) {
            Some((object, "then" | "catch" | "finally", _)) => expression = object,
            _ => return expression,
        }
    }
}

/// The argument of `Promise.all(…)` and the like.
pub(super) fn promise_combinator_argument<'a>(call: &CallExpression<'a>) -> Option<&'a Expr> {
    let (object, name, _) = called_method(call)?;
    let root = object.as_ident()?;
    let gathers = matches!(name, "all" | "allSettled" | "any" | "race") && root.sym == *"Promise";
    call.arguments
        .first()
        .filter(|_| gathers)
        .map(|first| &*first.expr)
}

/// Strips parentheses around an expression.
pub(super) fn strip_parens(mut expression: &Expr) -> &Expr {
    while let Expr::Paren(paren) = expression {
        expression = &paren.expr;
    }
    expression
}

/// If the expression is a function: its position, and whether it returns a promise.
pub(super) fn as_function(expression: &Expr) -> Option<(BytePos, bool)> {
    match strip_parens(expression) {
        Expr::Arrow(arrow) => {
            let gives = match &*arrow.body {
                ArrowFunctionBody::Expr(body) => as_call(first_in_promise_chain(body))
                    .is_some_and(|call| tool_callee(&call).is_some()),
                ArrowFunctionBody::FunctionBody(_) => false,
            };
            Some((arrow.span.lo, arrow.is_async || gives))
        }
        Expr::Fn(expression) => {
            let function = &expression.function;
            Some((
                function.span.lo,
                function.is_async && !function.is_generator,
            ))
        }
        _ => None,
    }
}

/// The name that a pattern declares, if it is a plain identifier.
pub(super) fn declared_name(pattern: &Pat) -> Option<&str> {
    pattern.as_ident().map(|name| &*name.id.sym)
}

pub(super) fn truncate_name(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
