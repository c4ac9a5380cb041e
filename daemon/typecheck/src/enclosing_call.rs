//! Finds the tool call that encloses a position in a program.
//!
//! Invariant: a path is only found where it begins with `mux`, or with a constant that is a part of `mux`.

use mux_typegen::names::MUX_MEMBERS;

use super::syntax_tree::{NameRole, SyntaxTree};

/// Server and tool.
pub(super) type ToolCallPath = (String, String);

/// The maximum number of constants through which a path is followed.
const MAX_ALIASES: usize = 3;

/// The innermost tool call whose arguments contain the node at `at`, or, if `or_name` is set, whose name does.
pub(super) fn around(tree: &SyntaxTree, at: usize, or_name: bool) -> Option<ToolCallPath> {
    let named = || {
        let chain = tree.whole_chain(at);
        let is_called = tree.slot(chain) == "callee" && tree.parent_kind(chain) == "CallExpression";
        mux_path(tree, tree.chain(chain).filter(|_| is_called)?)
    };
    let path = if or_name { named() } else { None };
    path.and_then(|names| tool_path(&names))
        .or_else(|| around_arguments(tree, at).and_then(|names| tool_path(&names)))
}

/// The names after `mux` of the innermost call of a function of `mux` whose arguments contain `at`.
fn around_arguments(tree: &SyntaxTree, at: usize) -> Option<Vec<String>> {
    let mut inner = at;
    while let Some(outer) = tree.parent(inner) {
        if tree.is_argument(inner)
            && let Some(names) = called_function(tree, outer)
        {
            return Some(names);
        }
        inner = outer;
    }
    None
}

/// The names after `mux` of the tool, or of the function of `mux` itself, that a call calls.
pub(super) fn called_function(tree: &SyntaxTree, call: usize) -> Option<Vec<String>> {
    let names = mux_path(tree, tree.callee(call)?)?;
    (tool_path(&names).is_some() || is_builtin(&names)).then_some(names)
}

/// A function of `mux` itself, such as `mux.search`.
pub(super) fn is_builtin(names: &[String]) -> bool {
    matches!(names, [name] if MUX_MEMBERS.contains(&name.as_str()))
}

/// The names after `mux`, if the chain begins with `mux` or with a constant that is a part of it.
pub(super) fn mux_path(tree: &SyntaxTree, mut names: Vec<String>) -> Option<Vec<String>> {
    for _ in 0..MAX_ALIASES {
        let first = names.first()?;
        if first == "mux" {
            names.remove(0);
            return (!names.is_empty()).then_some(names);
        }
        let replaced = aliased_chain(tree, first)?;
        names.splice(..1, replaced);
    }
    None
}

/// The names of the chain that a constant stands for: `const github = mux.github`, `const { read } = mux.files`.
fn aliased_chain(tree: &SyntaxTree, name: &str) -> Option<Vec<String>> {
    tree.names(name).find_map(|at| {
        let NameRole::Variable(declarator) = tree.role(at) else {
            return None;
        };
        let pattern = tree.child(declarator, "id")?;
        let value = tree.child(declarator, "init")?;
        let mut names = tree.chain(value).filter(|_| tree.is_constant(declarator))?;
        if at == pattern {
            return Some(names);
        }
        let property = tree.parent(at)?;
        if tree.parent(property) != Some(pattern) || tree.pattern(at).1 {
            return None;
        }
        names.push(tree.text(tree.child(property, "key")?).to_owned());
        Some(names)
    })
}

fn tool_path(names: &[String]) -> Option<ToolCallPath> {
    let joined = names.join(".");
    let (server, tool) = joined.split_once('.')?;
    (!MUX_MEMBERS.contains(&server)).then(|| (server.to_owned(), tool.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The call around the mark, which is removed from the program.
    fn at_mark(marked: &str, or_name: bool) -> Option<String> {
        let at = marked.find('¦').expect("a mark");
        let source = marked.replace('¦', "");
        let tree = SyntaxTree::new(mux_syntax::read_syntax(&source));
        around(&tree, tree.at_byte(at), or_name).map(|(server, tool)| format!("{server}|{tool}"))
    }

    #[test]
    fn innermost_enclosing_call_is_found() {
        for (marked, expected) in [
            ("mux.a.b({ ¦x: 1 })", Some("a|b")),
            ("mux.a.b({ x: [1, { ¦y: 2 }] })", Some("a|b")),
            ("mux.a.b({ x: f(¦1) })", Some("a|b")),
            ("mux.a.b({ x: await mux.c.d({ ¦y: 1 }) })", Some("c|d")),
            (
                "mux.a.b({ x: await mux.c.d({ y: 1 }), ¦z: 1 })",
                Some("a|b"),
            ),
            ("mux.a.b({}); ¦x", None),
            (
                "mux[\"my-server\"]['get-thing'](¦1)",
                Some("my-server|get-thing"),
            ),
            ("mux[\"a.b.c\"](¦1)", Some("a|b.c")),
            ("mux.a.b.c({ ¦x: 1 })", Some("a|b.c")),
            ("mux.a[\"b.c\"].d({ ¦x: 1 })", Some("a|b.c.d")),
            ("mux\n  .a\n  ?.b?.(¦1)", Some("a|b")),
            ("mux.a.b.then(x => ¦x)", Some("a|b.then")),
            ("mux.a.b(x).then(x => ¦x)", None),
            ("mux.call(\"a.b\", { ¦x: 1 })", None),
            ("mux.emit.x(¦1)", None),
            ("other.mux.a.b(¦1)", None),
            ("mux.a.b(\"(\", ')', /[(]\\(/, ¦1)", Some("a|b")),
            ("\"mux.a.b(\"; ¦x", None),
            ("// mux.a.b(\n¦x", None),
            ("/* mux.a.b( */ ¦x", None),
            ("`${mux.a.b(¦1)}`", Some("a|b")),
            ("mux.a.b(`${1} ( ${`}`}`, ¦1)", Some("a|b")),
            ("const x = 1 / 2; mux.a.b(¦1); y / 2", Some("a|b")),
            ("return /mux.a.b(/; ¦x", None),
            ("mux.ä.b(¦1)", Some("ä|b")),
            ("¦mux.a.b", None),
        ] {
            assert_eq!(at_mark(marked, false).as_deref(), expected, "{marked}");
        }
    }

    #[test]
    fn call_is_found_from_its_name_if_requested() {
        assert_eq!(at_mark("await mux.a.¦b()", true).as_deref(), Some("a|b"));
        assert_eq!(at_mark("await mux.a.¦b()", false), None);
        assert_eq!(at_mark("mux.a.b(); ¦f()", true), None);
    }
}
