//! Finds the tool call that encloses a position in a program.
//!
//! Invariant: a path is only found where it begins with `mux`, or with a constant that is a part of `mux`.

use mux_typegen::names::BUILTIN_NAMES;

use super::program_tokens::{ProgramTokens, TokenKind};

/// Server and tool.
pub(super) type ToolCallPath = (String, String);

/// The maximum number of constants through which a path is followed.
const MAX_ALIASES: usize = 3;

/// The innermost tool call whose arguments contain the token at `at`, or, if `or_name` is set, whose name does.
pub(super) fn around(
    program: &ProgramTokens<'_>,
    at: usize,
    or_name: bool,
) -> Option<ToolCallPath> {
    let named = || {
        let end = end_of_chain(program, at);
        let chain = chain_before(program, end + 1)?;
        let called = next_after_chain(program, end + 1);
        program
            .is_open(called, "(")
            .then(|| mux_path(program, &chain))?
    };
    let path = if or_name { named() } else { None };
    path.and_then(|names| tool_path(&names))
        .or_else(|| around_arguments(program, at).and_then(|names| tool_path(&names)))
}

/// The names after `mux` of the innermost call of a function of `mux` whose arguments contain `at`.
pub(super) fn around_arguments(program: &ProgramTokens<'_>, at: usize) -> Option<Vec<String>> {
    let mut open = program.parent(at.min(program.len().checked_sub(1)?));
    while let Some(bracket) = open {
        let end = match program.before(bracket) {
            "?." => bracket - 1,
            _ => bracket,
        };
        if program.is_open(bracket, "(")
            && let Some(chain) = chain_before(program, end)
            && let Some(names) = mux_path(program, &chain)
            && tool_path(&names).is_some() | is_builtin(&names)
        {
            return Some(names);
        }
        open = program.parent(bracket);
    }
    None
}

/// A function of `mux` itself, such as `mux.search`.
pub(super) fn is_builtin(names: &[String]) -> bool {
    matches!(names, [name] if BUILTIN_NAMES.contains(&name.as_str()))
}

/// The names of the chain of members that ends before the token at `end`, such as `mux.files["read"]`. The first is a
/// variable.
pub(super) fn chain_before(program: &ProgramTokens<'_>, end: usize) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut at = end;
    loop {
        at = at.checked_sub(1)?;
        while program.text(at) == "!" {
            at = at.checked_sub(1)?;
        }
        match program.kind(at)? {
            TokenKind::Word => names.push(program.text(at).to_owned()),
            TokenKind::Close if program.text(at) == "]" => {
                let open = program.partner(at)?;
                if at != open + 2 || program.kind(open + 1) != Some(TokenKind::String) {
                    return None;
                }
                names.push(program.text(open + 1).trim_matches(['"', '\'']).to_owned());
                at = open;
                if program.before(at) != "?." {
                    continue;
                }
            }
            _ => return None,
        }
        match program.before(at) {
            "." | "?." => at -= 1,
            _ if program.is_word(at) => break,
            _ => return None,
        }
    }
    names.reverse();
    Some(names)
}

/// The last token of the chain of members that the token at `at` belongs to.
pub(super) fn end_of_chain(program: &ProgramTokens<'_>, at: usize) -> usize {
    let mut end = at;
    loop {
        let next = next_after_chain(program, end + 1);
        end = match program.text(next) {
            "." | "?." if program.is_word(next + 1) => next + 1,
            "?." if program.is_open(next + 1, "[") => next,
            "[" if program.kind(next + 1) == Some(TokenKind::String)
                && program.text(next + 2) == "]" =>
            {
                next + 2
            }
            _ => return end,
        };
    }
}

/// The token after a chain that ends before `at`, without the `!` of TypeScript.
pub(super) fn next_after_chain(program: &ProgramTokens<'_>, mut at: usize) -> usize {
    while program.text(at) == "!" {
        at += 1;
    }
    at
}

/// The names after `mux`, if the chain begins with `mux` or with a constant that is a part of it.
pub(super) fn mux_path(program: &ProgramTokens<'_>, chain: &[String]) -> Option<Vec<String>> {
    let mut names = chain.to_vec();
    for _ in 0..MAX_ALIASES {
        let first = names.first()?;
        if first == "mux" {
            names.remove(0);
            return (!names.is_empty()).then_some(names);
        }
        let replaced = aliased_chain(program, first)?;
        names.splice(..1, replaced);
    }
    None
}

/// The names of the chain that a constant stands for: `const github = mux.github`, `const { read } = mux.files`.
fn aliased_chain(program: &ProgramTokens<'_>, name: &str) -> Option<Vec<String>> {
    let is_constant = |at: usize| program.before(at) == "const";
    let chain_after = |equals: usize| {
        let end = end_of_chain(program, equals + 1);
        let after = program.text(end + 1);
        let ends = after.is_empty()
            || matches!(after, ";" | ",")
            || program.get(end + 1).is_some_and(|token| token.begins_line);
        let is_value = ends && program.text(equals) == "=";
        is_value.then(|| chain_before(program, end + 1)).flatten()
    };
    program.names(name).find_map(|at| {
        if is_constant(at) {
            return chain_after(at + 1);
        }
        let open = program.parent(at)?;
        if !program.is_open(open, "{") || !is_constant(open) {
            return None;
        }
        let mut names = chain_after(program.partner(open)? + 1)?;
        let member = match (program.before(at), program.text(at + 1)) {
            ("{" | ",", "," | "}") => name,
            (":", "," | "}") => program.text(at.checked_sub(2)?),
            _ => return None,
        };
        names.push(member.to_owned());
        Some(names)
    })
}

fn tool_path(names: &[String]) -> Option<ToolCallPath> {
    let joined = names.join(".");
    let (server, tool) = joined.split_once('.')?;
    (!BUILTIN_NAMES.contains(&server)).then(|| (server.to_owned(), tool.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The call around the mark, which is removed from the program.
    fn at_mark(marked: &str, or_name: bool) -> Option<String> {
        let at = marked.find('¦').expect("a mark");
        let source = marked.replace('¦', "");
        let program = ProgramTokens::of(&source);
        let at = program.at_byte(at);
        around(&program, at, or_name).map(|(server, tool)| format!("{server}|{tool}"))
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

    #[test]
    fn unterminated_tokens_end_with_the_program() {
        for source in [
            "`",
            "\"",
            "/*",
            "/x",
            "`${",
            "mux.a.b(\\",
            "mux.",
            "mux[\"",
            "'\\",
            "))}]",
        ] {
            let padded = format!("{source} ");
            let program = ProgramTokens::of(&padded);
            let found = around(&program, program.len(), false);
            assert_eq!(found.is_some(), source.starts_with("mux.a.b("), "{source}");
        }
    }
}
