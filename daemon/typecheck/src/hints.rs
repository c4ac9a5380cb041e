//! Hints that name a replacement for the code of a program.
//!
//! Invariant: a hint names something that works. If no replacement works, the hint says so and names the
//! tools.

use mux_wire::{line_hints, missing_globals};

use super::printed_types;
use mux_text::did_you_mean::nearest_few;

/// The maximum number of members that the hint for a call of a non-function names.
const MAX_NAMED_MEMBERS: usize = 5;
const CALL_TOOLS_HINT: &str = "call the tools of a server: `await mux.<server>.<tool>(args)`";

/// The correction.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProgramHint {
    pub text: String,
    /// True if the hint names members with a similar spelling.
    pub is_spelling: bool,
}

impl From<String> for ProgramHint {
    fn from(text: String) -> Self {
        Self {
            text,
            is_spelling: false,
        }
    }
}

/// The diagnostic that a hint is for.
pub(super) struct HintContext<'a> {
    pub(super) code: u32,
    /// The first line of the message.
    pub(super) message: &'a str,
    /// The other lines of the message.
    pub(super) why: &'a str,
    /// The line of the program.
    pub(super) line: &'a str,
    /// The content of `mux.d.ts`.
    pub(super) types: &'a str,
}

pub(super) fn hint_for(about: &HintContext<'_>) -> Option<ProgramHint> {
    let message = about.message;
    if matches!(about.code, 2304 | 2339 | 2551 | 2552 | 18004)
        && let Some(hint) = line_hints::subtraction_hint(about.line)
    {
        return Some(hint.into());
    }
    let property = quoted_after(message, "Property '");
    if matches!(property, Some("content" | "structuredContent" | "isError"))
        && !message.contains("'Promise<")
    {
        return Some(line_hints::MCP_RESULT_HINT.to_owned().into());
    }
    if let Some(name) = quoted_after(message, "Cannot find name '") {
        return missing_name_hint(name, about.types).map(ProgramHint::from);
    }
    if let Some(specifier) = quoted_after(message, "Cannot find module '") {
        return Some(missing_globals::module_hint(specifier).into());
    }
    if quoted_after(message, "Property '") == Some("subtle") {
        return Some(line_hints::CRYPTO_HINT.to_owned().into());
    }
    if message.contains(" does not exist on type 'Promise<") || about.code == 2801 {
        return Some("a call returns a promise: `await` it".to_owned().into());
    }
    if let Some(of) = uncallable_type(about.why)
        && let Some(known) = members_of_type(about.types, of)
        && !known.is_empty()
    {
        let more = if known.len() > MAX_NAMED_MEMBERS {
            ", …"
        } else {
            ""
        };
        let named: Vec<String> = known
            .iter()
            .take(MAX_NAMED_MEMBERS)
            .map(|n| format!("`{n}`"))
            .collect();
        return Some(format!("call one of these: {}{more}", named.join(", ")).into());
    }
    if let Some((name, of)) = unknown_property(message)
        && let Some(known) = members_of_type(about.types, of)
    {
        let near = nearest_few(name, known.iter().copied(), 3);
        let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        let text = match (near.is_empty(), of) {
            (false, _) => format!("did you mean {}?", near.join(" or ")),
            (true, "Mux") => "`Object.keys(mux)` lists the servers".into(),
            (true, _) => "`Object.keys` of the server lists its tools".into(),
        };
        return Some(ProgramHint {
            text,
            is_spelling: !near.is_empty(),
        });
    }
    fix_hint(about).map(ProgramHint::from)
}

/// The hint for a diagnostic that needs only the message.
fn fix_hint(about: &HintContext<'_>) -> Option<String> {
    let text = match about.code {
        2588 => "declare the variable with `let`",
        2448 | 2449 => "move the declaration before the first use",
        2488 | 2504 if about.message.contains("'Promise<") => {
            "a call returns a promise: `await` it"
        }
        2693 => "types have no value when the program runs: write an object literal or a class",
        2339 | 2551 => return member_hint(about.message),
        _ => return None,
    };
    Some(text.to_owned())
}

/// The members of an object without the property, or how to convert the value to a type that has it.
fn member_hint(message: &str) -> Option<String> {
    const LIST_METHODS: &[&str] = &[
        "every", "filter", "find", "flatMap", "forEach", "join", "map", "pop", "push", "reduce",
        "some", "sort",
    ];
    let (name, of) = unknown_property(message)?;
    match of {
        "string" if LIST_METHODS.contains(&name) => {
            return Some("it is a string: `.split(\"\\n\")` makes a list of it".into());
        }
        "string" if name.starts_with("get") || name.starts_with("toLocale") => {
            return Some("it is a string: `new Date(…)` makes a date of it".into());
        }
        "number" => return Some("it is a number: `String(…)` makes a string of it".into()),
        _ => {}
    }
    let members = printed_types::members(of);
    let (shown, more) = members.split_at(members.len().min(MAX_NAMED_MEMBERS));
    let named: Vec<String> = shown
        .iter()
        .map(|member| format!("`{}`", member.name))
        .collect();
    let end = if more.is_empty() { "" } else { ", …" };
    (!named.is_empty()).then(|| format!("it has {}{end}", named.join(", ")))
}

/// The hint for an unknown name.
fn missing_name_hint(name: &str, types: &str) -> Option<String> {
    if let Some(instead) = missing_globals::global_hint(name) {
        return Some(instead.into());
    }
    let text = match name {
        "exec" | "execSync" | "spawn" | "readFile" | "readFileSync" | "writeFile"
        | "writeFileSync" => {
            format!("a program has no files or processes of its own; {CALL_TOOLS_HINT}")
        }
        "input" | "args" | "argv" | "params" | "parameters" | "inputs" => {
            "the caller's input is `mux.input`".into()
        }
        "print" | "println" | "log" | "puts" => "write `console.log(…)`".into(),
        "nextTick" => "use `setTimeout(run, 0)` or `queueMicrotask(run)`".into(),
        "sleep" | "delay" | "wait" => {
            "write `await new Promise((resolve) => setTimeout(resolve, ms))`".into()
        }
        "tools" | "tool" | "callTool" | "call_tool" | "mcp" | "client" | "server" | "servers" => {
            format!("tools are functions: {CALL_TOOLS_HINT}")
        }
        "emit" | "search" | "describe" | "discover" | "catalog" | "read" | "call"
            if types.contains(&format!("  readonly {name}: ")) =>
        {
            format!("it is a property of `mux`: `mux.{name}`")
        }
        // The declaration of a server.
        name if types.contains(&format!("\n  readonly {name}: Mux.")) => {
            format!("servers are properties of `mux`: `mux.{name}`")
        }
        _ => return None,
    };
    Some(text)
}

/// The name and the type of `Property 'name' does not exist on type 'Type'.`
fn unknown_property(message: &str) -> Option<(&str, &str)> {
    let (name, rest) = message.strip_prefix("Property '")?.split_once('\'')?;
    let of = rest.strip_prefix(" does not exist on type '")?;
    Some((name, of.strip_suffix("'.")?))
}

/// The type of `Type 'Type' has no call signatures.`
fn uncallable_type(why: &str) -> Option<&str> {
    let of = why.trim_start().strip_prefix("Type '")?;
    let (of, rest) = of.split_once('\'')?;
    rest.starts_with(" has no call signatures").then_some(of)
}

/// The servers of `Mux`, or the members of the type of a server or a group, as written in the declarations.
pub(super) fn members_of_type<'a>(types: &'a str, of: &str) -> Option<Vec<&'a str>> {
    let is_mux = of == "Mux";
    let (head, end) = if is_mux {
        ("\ninterface Mux {\n".to_owned(), "\n}")
    } else {
        (format!("\n  interface {of} {{\n"), "\n  }")
    };
    let (_, rest) = types.split_once(&head)?;
    let (body, _) = rest.split_once(end)?;
    let names = body.lines().filter_map(|line| {
        if is_mux {
            Some(line.strip_prefix("  readonly ")?.split_once(": Mux.")?.0)
        } else {
            let member = line.strip_prefix("    ")?;
            let group = member.strip_prefix("readonly ");
            let group = group.and_then(|group| group.split_once(": Mux."));
            Some(group.or_else(|| member.split_once('('))?.0)
        }
    });
    Some(names.filter(|name| is_name(name)).collect())
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
}

/// The text between `beginning`, which ends with a quote, and the next quote.
pub(super) fn quoted_after<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    text.strip_prefix(beginning)?.split('\'').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: &str = "declare const mux: Mux;\n\ninterface Mux {\n  readonly github: Mux.Github;\n}\n\n\
        declare namespace Mux {\n  /** It. */\n  interface Github {\n    /** Lists (all). */\n    list_repos(args: {\n      \
        all?: boolean;\n    }): Promise<ToolText>;\n    readonly issues: Mux.Github_issues;\n    readonly \"a-b\": Mux.Github[\"issues\"];\n  \
        }\n\n  interface Github_issues {\n    (args?: {}): Promise<any>;\n    close(args: { id: number }): Promise<any>;\n  }\n}\n";

    fn hint_of(code: u32, message: &str) -> String {
        let about = HintContext {
            code,
            message,
            why: "",
            line: "",
            types: TYPES,
        };
        hint_for(&about).map_or_else(String::new, |hint| hint.text)
    }

    #[test]
    fn unknown_globals_have_hints() {
        for (name, part) in [
            ("fetch", "no network"),
            ("axios", "mux.<server>.<tool>"),
            ("require", "cannot import"),
            ("process", "mux.input"),
            ("fs", "no files of its own"),
            ("__dirname", "no files"),
            ("Buffer", "Uint8Array"),
            ("window", "globalThis"),
            ("document", "globalThis"),
            ("WebAssembly", "switched off"),
            ("input", "`mux.input`"),
            ("print", "console.log"),
            ("setImmediate", "setTimeout"),
            ("github", "`mux.github`"),
            ("hubgit", ""),
        ] {
            let hint = hint_of(2304, &format!("Cannot find name '{name}'."));
            assert!(hint.contains(part), "{name}: {hint}");
            assert_eq!(hint.is_empty(), part.is_empty(), "{name}: {hint}");
        }
    }

    #[test]
    fn other_diagnostics_have_hints() {
        for (code, message, part) in [
            (
                2307,
                "Cannot find module 'x' or its corresponding type declarations.",
                "cannot import",
            ),
            (
                2339,
                "Property 'a' does not exist on type 'Promise<B>'.",
                "await",
            ),
            (2801, "This condition will always return true", "await"),
            (
                2339,
                "Property 'x' does not exist on type 'Mux'.",
                "Object.keys(mux)",
            ),
            (
                2339,
                "Property 'gihtub' does not exist on type 'Mux'.",
                "did you mean `github`?",
            ),
            (
                2339,
                "Property 'listRepo' does not exist on type 'Github'.",
                "did you mean `list_repos`?",
            ),
            (
                2339,
                "Property 'issue' does not exist on type 'Github'.",
                "did you mean `issues`?",
            ),
            (
                2339,
                "Property 'closed' does not exist on type 'Github_issues'.",
                "did you mean `close`?",
            ),
        ] {
            assert!(hint_of(code, message).contains(part), "{message}");
        }
    }

    #[test]
    fn missing_members_have_hints() {
        for (of, expected) in [
            (
                "{ a: { b: string; }[]; c?: number; \"d-e\": 1; }",
                "it has `a`, `c`, `d-e`",
            ),
            ("number", "it is a number: `String(…)` makes a string of it"),
            (
                "string",
                "it is a string: `.split(\"\\n\")` makes a list of it",
            ),
            ("Date", ""),
        ] {
            let message = format!("Property 'map' does not exist on type '{of}'.");
            assert_eq!(hint_of(2339, &message), expected, "{of}");
        }
        assert!(hint_of(2588, "Cannot assign to 'a' because it is a constant.").contains("`let`"));
    }

    #[test]
    fn calling_a_server_or_group_hints_at_its_members() {
        for (of, expected) in [
            ("Github", Some("call one of these: `list_repos`, `issues`")),
            ("Github_issues", Some("call one of these: `close`")),
            ("Number", None),
        ] {
            let about = HintContext {
                code: 2349,
                message: "This expression is not callable.",
                why: &format!("  Type '{of}' has no call signatures."),
                line: "",
                types: TYPES,
            };
            let hint = hint_for(&about).map(|hint| hint.text);
            assert_eq!(hint.as_deref(), expected, "{of}");
        }
    }
}
