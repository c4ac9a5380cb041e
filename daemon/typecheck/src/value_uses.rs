//! Decides how a program uses a value: if it certainly fails when the value is `undefined`, and if it tests for that.
//!
//! Invariant: where the tree does not show an answer, the program is taken to run.

use super::{
    execution::is_certain,
    syntax_tree::{NameRole, SyntaxTree},
};

/// The maximum number of uses of a variable that are looked at in detail.
const MAX_USES: usize = 50;

/// The maximum number of constants through which a value is followed.
const MAX_CONSTANTS: usize = 5;

/// Built-in functions that throw without a value.
const NEEDING_A_VALUE: &[&str] = &[
    "Object.keys",
    "Object.values",
    "Object.entries",
    "Object.fromEntries",
    "Array.from",
    "JSON.parse",
    "Math.max",
];

/// The variable that a destructuring pattern binds to a member.
pub(super) struct PatternBinding {
    /// The outermost pattern.
    pub(super) pattern: usize,
    /// The name of a constant without a default.
    constant: Option<usize>,
}

/// Returns true if the program certainly fails because the member at `at` is missing.
pub(super) fn fails_without(tree: &SyntaxTree, at: usize) -> bool {
    if let Some(binding) = binding(tree, at) {
        let constant = binding.constant;
        return constant.is_some_and(|name| variable_fails(tree, tree.text(name), MAX_CONSTANTS));
    }
    let member = tree.named_value(at);
    member != at
        && !tree.is_optional(member)
        && is_certain(tree, at)
        && expression_fails(tree, member, MAX_CONSTANTS)
}

/// Returns true if some code tests if a member or variable with this name exists, or defines it.
pub(super) fn is_tested(tree: &SyntaxTree, name: &str, except: usize) -> bool {
    tree.occurrences(name).any(|at| {
        let is_member_name = tree.named_value(at) != at;
        if tree.kind(at) == "StringLiteral" && !is_member_name {
            let is_operand = tree.text(tree.parent(at).unwrap_or(at)) == "in"
                || tree.is_argument(at)
                || tree.slot(at) == "elements";
            return at != except && is_operand;
        }
        is_test(tree, at) || at != except && tree.is_assigned(at)
    })
}

/// Returns true if the value that the name at `at` completes is tested there.
pub(super) fn is_test(tree: &SyntaxTree, at: usize) -> bool {
    let member = tree.named_value(at);
    let mut value = tree.whole(member);
    if member != at && tree.is_optional(member) {
        return true;
    }
    if tree.parent_kind(value) == "AwaitExpression" {
        value = tree.whole(tree.parent(value).unwrap_or(value));
    }
    let Some(outer) = tree.parent(value) else {
        return false;
    };
    let operator = tree.text(outer);
    match (tree.kind(outer), tree.slot(value)) {
        (
            "ConditionalExpression" | "IfStatement" | "WhileStatement" | "DoWhileStatement",
            "test",
        ) => true,
        ("BinaryExpression", "left") => matches!(
            operator,
            "??" | "||" | "&&" | "===" | "!==" | "==" | "!=" | "in" | "instanceof"
        ),
        ("BinaryExpression", _) => matches!(operator, "===" | "!==" | "==" | "!=" | "in"),
        ("AssignmentExpression", "left") => matches!(operator, "??=" | "||=" | "&&="),
        ("UnaryExpression", _) => matches!(operator, "!" | "typeof" | "delete"),
        ("CallExpression" | "MemberExpression", "callee" | "object") => tree.is_optional(outer),
        ("CallExpression", "arguments") => {
            tree.callee(outer).is_some_and(|names| names == ["Boolean"])
        }
        _ => false,
    }
}

/// Returns true if the variable, or a member with this name, gets another value after its declaration.
pub(super) fn is_reassigned(tree: &SyntaxTree, name: &str) -> bool {
    tree.occurrences(name)
        .any(|at| tree.kind(at) == "Identifier" && tree.is_assigned(at))
}

/// Returns true if an object or class of the program has a member with this name.
pub(super) fn is_key(tree: &SyntaxTree, name: &str) -> bool {
    let is_pattern = |at| tree.parent_kind(at).ends_with("PatternProperty");
    tree.occurrences(name)
        .any(|at| tree.slot(at) == "key" && !is_pattern(at))
}

/// The names in the expression before the member at `at`: `["owner", "r"]` for `r.owner.login`.
pub(super) fn receiver_names(tree: &SyntaxTree, at: usize) -> Vec<&str> {
    let mut names = Vec::new();
    let mut receiver = receiver(tree, at);
    while let Some(value) = receiver {
        let value = tree.plain(value);
        receiver = match tree.kind(value) {
            "MemberExpression" => {
                names.extend(tree.member_name(value));
                tree.child(value, "object")
            }
            "CallExpression" => tree.child(value, "callee"),
            _ => {
                names.push(tree.text(value));
                None
            }
        };
    }
    names
}

/// The expression before the member at `at`.
pub(super) fn receiver(tree: &SyntaxTree, at: usize) -> Option<usize> {
    tree.child(tree.named_value(at), "object")
}

/// Returns true if a value is written literally.
pub(super) fn is_written_out(tree: &SyntaxTree, value: usize) -> bool {
    (value..tree.inside(value).end).all(|at| match tree.kind(at) {
        "Identifier" => tree.slot(at) == "key" || tree.text(at) == "undefined",
        "UnaryExpression" => tree.text(at) == "-",
        "ArrayExpression" | "KeyValueProperty" | "ObjectExpression" | "TsConstAssertion" => true,
        kind => kind.ends_with("Literal") || kind == "TemplateElement",
    })
}

/// The object literal that a constant stands for, if the program uses the constant only as an argument of a tool.
pub(super) fn constant_object(tree: &SyntaxTree, name: &str) -> Option<usize> {
    let mut literal = None;
    for at in tree.names(name) {
        if let NameRole::Variable(declarator) = tree.role(at) {
            let value = tree.child(declarator, "init")?;
            let is_object = tree.kind(value) == "ObjectExpression" && tree.slot(at) == "id";
            // A type that the program gives may be wider than the literal.
            let has_type = tree.child(at, "typeAnnotation").is_some();
            if literal.is_some() || has_type || !is_object || !tree.is_constant(declarator) {
                return None;
            }
            literal = Some(value);
            continue;
        }
        let call = tree.parent(at)?;
        if tree.arguments(call) != [at] || tree.callee(call)?.first()? != "mux" {
            return None;
        }
    }
    literal
}

/// Returns true if an object literal lists all of its members.
pub(super) fn lists_members(tree: &SyntaxTree, object: usize) -> bool {
    tree.kind(object) == "ObjectExpression"
        && tree.children(Some(object)).into_iter().all(|member| {
            let key = tree.child(member, "key");
            tree.kind(member) != "SpreadElement"
                && key.is_none_or(|key| tree.kind(key) != "Computed")
        })
}

/// The names of the members of an object literal.
pub(super) fn member_names(tree: &SyntaxTree, object: usize) -> Vec<&str> {
    let members = tree.children(Some(object)).into_iter();
    let keys = members.map(|member| tree.child(member, "key").unwrap_or(member));
    keys.map(|key| tree.text(key)).collect()
}

/// The variable that a destructuring pattern binds to the member at `at`.
pub(super) fn binding(tree: &SyntaxTree, at: usize) -> Option<PatternBinding> {
    let property = tree.parent(at).filter(|_| tree.slot(at) == "key")?;
    let local = match tree.kind(property) {
        "KeyValuePatternProperty" => tree.child(property, "value")?,
        "AssignmentPatternProperty" => at,
        _ => return None,
    };
    let pattern = tree.parent(property)?;
    let declarator = tree.parent(pattern)?;
    if !matches!(tree.slot(pattern), "id" | "left") {
        return None;
    }
    let (_, has_default) = tree.pattern(at);
    let is_constant = tree.is_constant(declarator)
        && tree.kind(local) == "Identifier"
        && tree.slot(pattern) == "id"
        && !has_default;
    Some(PatternBinding {
        pattern,
        constant: is_constant.then_some(local),
    })
}

/// Returns true if the program certainly fails because this variable is `undefined`.
fn variable_fails(tree: &SyntaxTree, name: &str, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let mut declarations = 0;
    let mut uses = 0;
    let mut fails = false;
    for at in tree.names(name) {
        if tree.role(at) != NameRole::Used {
            declarations += 1;
        } else if is_test(tree, at) {
            return false;
        } else {
            uses += 1;
            fails |= uses <= MAX_USES && is_certain(tree, at) && expression_fails(tree, at, depth);
        }
    }
    fails && declarations <= 1
}

/// Returns true if evaluating the code around an expression throws if the expression is `undefined`.
fn expression_fails(tree: &SyntaxTree, value: usize, depth: usize) -> bool {
    let mut value = tree.whole(value);
    if let Some(outer) = tree.parent(value)
        && matches!(tree.slot(value), "object" | "callee")
    {
        return !tree.is_optional(outer);
    }
    if tree.parent_kind(value) == "AwaitExpression" {
        value = tree.whole(tree.parent(value).unwrap_or(value));
    }
    let Some(outer) = tree.parent(value) else {
        return false;
    };
    match (tree.kind(outer), tree.slot(value)) {
        ("ForOfStatement", "right") | (_, "spread") => true,
        ("VariableDeclarator", "init") => match tree.child(outer, "id") {
            Some(name) if tree.kind(name) == "Identifier" => {
                tree.is_constant(outer) && variable_fails(tree, tree.text(name), depth)
            }
            pattern => pattern.is_some(),
        },
        ("CallExpression", "arguments") => {
            let callee = tree.callee(outer).unwrap_or_default().join(".");
            tree.arguments(outer).first() == Some(&value)
                && NEEDING_A_VALUE.contains(&callee.as_str())
        }
        _ => false,
    }
}
