//! Reads a program into the syntax tree by which the daemon judges what the type checker found.
//!
//! Depends on `mux-wire` for the nodes. Only workers and tests link it: the daemon parses no program.
//!
//! Invariant: beyond the parser's own, the time, the stack and the memory are limited for any program. A program beyond
//! the limits has no tree. The worker limits the depth of brackets before it parses anything.

use mux_wire::{
    MAX_SYNTAX_NODES, SyntaxNode,
    program_wrapper::{WRAPPER_PREFIX, WRAPPER_SUFFIX},
};
use serde_json::{Map, Value};
use swc_common::BytePos;
use swc_ecma_ast::{ArrowFunctionBody, EsVersion, Expr, Pat, Stmt, TsType};
use swc_ecma_parser::{Parser, StringInput, Syntax, TsSyntax, lexer::Lexer};
use swc_ecma_visit::{Visit, VisitWith};

/// A longer program has no tree.
const MAX_PROGRAM_BYTES: usize = 64 << 10;
/// A program with expressions, statements, patterns or types that are nested deeper has no tree.
const MAX_NESTING: usize = 200;
/// The position of the first byte for the parser, which reserves 0.
const SOURCE_START: BytePos = BytePos(1);

/// The syntax tree of a program without its fence, outermost nodes first. Empty if the program cannot be parsed, or is
/// over a limit.
pub fn read_syntax(plain: &str) -> Vec<SyntaxNode> {
    let mut nodes = Vec::new();
    if plain.len() <= MAX_PROGRAM_BYTES
        && let Some(statements) = statements_of(plain)
        && NestingMeter::allows(&statements)
        && let Ok(value) = serde_json::to_value(&statements)
    {
        add(&value, "statements", None, &mut nodes);
    }
    if nodes.len() > MAX_SYNTAX_NODES {
        nodes.clear();
    }
    nodes
}

/// The statements of a program inside its wrapper.
fn statements_of(plain: &str) -> Option<Vec<Stmt>> {
    let text = format!("{WRAPPER_PREFIX}{plain}{WRAPPER_SUFFIX}");
    let end = SOURCE_START.0 + u32::try_from(text.len()).ok()?;
    let syntax = Syntax::Typescript(TsSyntax {
        no_early_errors: true,
        ..TsSyntax::default()
    });
    let input = StringInput::new(&text, SOURCE_START, BytePos(end));
    let lexer = Lexer::new(syntax, EsVersion::latest(), input, None);
    let script = Parser::new_from(lexer).parse_script().ok()?;
    let mut body = script.body.into_iter();
    let (Some(Stmt::Expr(wrapper)), None) = (body.next(), body.next()) else {
        return None;
    };
    let wrapper = wrapper.expr.paren()?.expr.arrow()?;
    match *wrapper.body {
        // The first statement is the wrapper's directive.
        ArrowFunctionBody::FunctionBody(body) => Some(body.stmts.into_iter().skip(1).collect()),
        ArrowFunctionBody::Expr(_) => None,
    }
}

/// Adds a part of the parser's JSON form of a tree: nodes, lists, and objects around nodes.
fn add(value: &Value, slot: &str, parent: Option<u32>, nodes: &mut Vec<SyntaxNode>) {
    let members = match value {
        Value::Array(items) => {
            return items.iter().for_each(|item| add(item, slot, parent, nodes));
        }
        Value::Object(members) => members,
        _ => return,
    };
    let Some(kind) = members.get("type").and_then(Value::as_str) else {
        // An argument or an element, which may be spread.
        if let Some(expression) = members.get("expression") {
            let is_spread = members.get("spread").is_some_and(Value::is_object);
            return add(
                expression,
                if is_spread { "spread" } else { slot },
                parent,
                nodes,
            );
        }
        return members
            .iter()
            .for_each(|(name, member)| add(member, name, parent, nodes));
    };
    let at = nodes.len();
    nodes.push(SyntaxNode {
        kind: kind.to_owned(),
        slot: slot.to_owned(),
        text: text_of(members),
        start: 0,
        end: 0,
        parent,
    });
    let me = u32::try_from(at).ok();
    for (name, member) in members {
        add(member, name, me, nodes);
    }
    let inner = nodes[at + 1..].iter().filter(|node| node.parent == me);
    let span = members.get("span");
    let bound = |name: &str| span.and_then(|span| offset(span.get(name)?));
    let start = bound("start").or_else(|| inner.clone().map(|node| node.start).min());
    let end = bound("end").or_else(|| inner.map(|node| node.end).max());
    nodes[at].start = start.unwrap_or_default();
    nodes[at].end = end.unwrap_or_default();
}

/// The offset in the program of a position of the parser.
fn offset(position: &Value) -> Option<u32> {
    let position = u32::try_from(position.as_u64()?).ok()?;
    let before = SOURCE_START.0 + u32::try_from(WRAPPER_PREFIX.len()).ok()?;
    Some(position.saturating_sub(before))
}

/// The name, the text or the operator of a node, or what kind of function, declaration or chain it is.
fn text_of(members: &Map<String, Value>) -> String {
    let named = ["operator", "kind", "value"]
        .iter()
        .find_map(|name| members.get(*name).and_then(Value::as_str));
    let marked = ["generator", "async", "optional"]
        .iter()
        .find(|mark| members.get(**mark) == Some(&Value::Bool(true)));
    named.or(marked.copied()).unwrap_or_default().to_owned()
}

/// Measures how deep a program nests, without going deeper than the limit.
#[derive(Default)]
struct NestingMeter {
    depth: usize,
    is_over: bool,
}

impl NestingMeter {
    fn allows(statements: &[Stmt]) -> bool {
        let mut meter = Self::default();
        statements.visit_with(&mut meter);
        !meter.is_over
    }

    fn nested(&mut self, node: &impl VisitWith<Self>) {
        self.is_over |= self.depth == MAX_NESTING;
        if !self.is_over {
            self.depth += 1;
            node.visit_children_with(self);
            self.depth -= 1;
        }
    }
}

impl Visit for NestingMeter {
    fn visit_expr(&mut self, node: &Expr) {
        self.nested(node);
    }

    fn visit_stmt(&mut self, node: &Stmt) {
        self.nested(node);
    }

    fn visit_pat(&mut self, node: &Pat) {
        self.nested(node);
    }

    fn visit_ts_type(&mut self, node: &TsType) {
        self.nested(node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_their_kind_position_and_slot() {
        let program = "const { a: b } = await mux.x[\"y\"]?.(...c, { d });";
        let nodes: Vec<String> = read_syntax(program)
            .iter()
            .map(|node| {
                let source = &program[node.start as usize..node.end as usize];
                let SyntaxNode {
                    kind,
                    slot,
                    text,
                    parent,
                    ..
                } = node;
                format!(
                    "{} {kind} {slot} {text} {source}",
                    parent.map_or(-1, i64::from)
                )
            })
            .collect();
        assert_eq!(
            nodes,
            [
                "-1 VariableDeclaration statements const const { a: b } = await mux.x[\"y\"]?.(...c, { d });",
                "0 VariableDeclarator declarations  { a: b } = await mux.x[\"y\"]?.(...c, { d })",
                "1 ObjectPattern id  { a: b }",
                "2 KeyValuePatternProperty properties  a: b",
                "3 Identifier key a a",
                "3 Identifier value b b",
                "1 AwaitExpression init  await mux.x[\"y\"]?.(...c, { d })",
                "6 OptionalChainingExpression argument optional mux.x[\"y\"]?.(...c, { d })",
                "7 CallExpression base  mux.x[\"y\"]?.(...c, { d })",
                "8 MemberExpression callee  mux.x[\"y\"]",
                "9 MemberExpression object  mux.x",
                "10 Identifier object mux mux",
                "10 Identifier property x x",
                "9 Computed property  [\"y\"]",
                "13 StringLiteral expression y \"y\"",
                "8 Identifier spread c c",
                "8 ObjectExpression arguments  { d }",
                "16 Identifier properties d d",
            ]
        );
    }

    #[test]
    fn program_over_a_limit_or_with_an_error_has_no_tree() {
        for program in [
            "f(".to_owned(),
            "}); (() => {".to_owned(),
            format!("/*{}*/ f()", "x".repeat(MAX_PROGRAM_BYTES)),
            format!("f({}1)", "1 + ".repeat(MAX_NESTING)),
            format!("let x: {}1", "1 extends 1 ? 1 : ".repeat(MAX_NESTING)),
        ] {
            assert!(read_syntax(&program).is_empty());
        }
        assert!(!read_syntax("let x; let x = 5").is_empty());
    }
}
