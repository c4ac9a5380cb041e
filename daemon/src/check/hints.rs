//! What a program has here in place of what it looked for.
//!
//! Invariant: a hint names something that works. Where nothing does, it says so and names the tools.

use super::calls;
use crate::nearest::nearest_few;

const TOOLS: &str = "call the tools of a server: `await mux.<server>.<tool>(args)`";

/// What a hint is made from.
pub(super) struct About<'a> {
    pub(super) code: u32,
    /// The first line.
    pub(super) message: &'a str,
    pub(super) tool: Option<&'a calls::Path>,
    /// The `mux.d.ts`.
    pub(super) types: &'a str,
}

pub(super) fn hint(about: &About<'_>) -> Option<String> {
    let message = about.message;
    if let Some(name) = quoted(message, "Cannot find name '") {
        return missing(name, about.types);
    }
    if message.starts_with("Cannot find module '") {
        return Some(format!("programs import nothing; {TOOLS}"));
    }
    if message.contains(" does not exist on type 'Promise<") || about.code == 2801 {
        return Some("a call gives a promise: `await` it".into());
    }
    if let Some((name, of)) = unknown_property(message)
        && let Some(known) = members(about.types, of)
    {
        let near = nearest_few(name, known.iter().copied(), 3);
        let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        return match (near.is_empty(), of) {
            (false, _) => Some(format!("did you mean {}?", near.join(" or "))),
            (true, "Mux") => Some("`Object.keys(mux)` lists the servers".into()),
            (true, _) => Some("`Object.keys` of the server lists its tools".into()),
        };
    }
    if let Some((server, tool)) = about.tool {
        return Some(format!(
            "`mux types {server}.{tool}` shows what `mux.{server}.{tool}` takes"
        ));
    }
    None
}

/// What to write instead of a name that is not there.
fn missing(name: &str, types: &str) -> Option<String> {
    let text = match name.strip_prefix("node:").unwrap_or(name) {
        "fetch" | "XMLHttpRequest" | "WebSocket" | "EventSource" | "axios" | "http" | "https"
        | "Headers" | "Request" | "Response" => {
            format!("a program has no network of its own; {TOOLS}")
        }
        "require" | "module" | "exports" | "import" | "importScripts" => {
            format!("there are no modules here; {TOOLS}")
        }
        "process" | "Deno" | "Bun" | "fs" | "path" | "os" | "child_process" | "exec"
        | "execSync" | "spawn" | "readFile" | "readFileSync" | "writeFile" | "writeFileSync"
        | "__dirname" | "__filename" => {
            format!("a program has no files or processes of its own; {TOOLS}")
        }
        "Buffer" => {
            "bytes are a Uint8Array here; see TextEncoder, TextDecoder, atob and btoa".into()
        }
        "window" | "document" | "self" | "global" | "navigator" | "location" | "localStorage"
        | "sessionStorage" | "alert" => {
            "this is not a browser; the global object is `globalThis`, and `console` is shown to the caller".into()
        }
        "WebAssembly" | "SharedArrayBuffer" | "Atomics" | "eval" | "Function" => {
            "compiling code and shared memory are switched off here".into()
        }
        "input" | "args" | "argv" | "params" | "parameters" | "inputs" => {
            "what the caller passed is `mux.input`".into()
        }
        "print" | "println" | "log" | "puts" => "write `console.log(…)`".into(),
        "setImmediate" | "nextTick" => "use `setTimeout(run, 0)` or `queueMicrotask(run)`".into(),
        "sleep" | "delay" | "wait" => {
            "write `await new Promise((resolve) => setTimeout(resolve, ms))`".into()
        }
        "tools" | "tool" | "callTool" | "call_tool" | "mcp" | "client" | "server" | "servers" => {
            format!("tools are functions: {TOOLS}")
        }
        "emit" | "search" | "describe" | "read" | "call"
            if types.contains(&format!("  readonly {name}: ")) =>
        {
            format!("it is a property of `mux`: `mux.{name}`")
        }
        // As the types declare a server.
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

/// The servers of `Mux`, or the tools of a server's type, as the declarations spell them.
fn members<'a>(types: &'a str, of: &str) -> Option<Vec<&'a str>> {
    let is_mux = of == "Mux";
    let (head, end) = match is_mux {
        true => ("\ninterface Mux {\n".to_owned(), "\n}"),
        false => (format!("\n  interface {of} {{\n"), "\n  }"),
    };
    let (_, rest) = types.split_once(&head)?;
    let (body, _) = rest.split_once(end)?;
    let names = body.lines().filter_map(|line| match is_mux {
        true => Some(line.strip_prefix("  readonly ")?.split_once(": Mux.")?.0),
        false => Some(line.strip_prefix("    ")?.split_once('(')?.0),
    });
    Some(names.filter(|name| is_name(name)).collect())
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
}

/// What stands between a beginning that ends with a quote and the next quote.
pub(super) fn quoted<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    text.strip_prefix(beginning)?.split('\'').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: &str = "declare const mux: Mux;\n\ninterface Mux {\n  readonly github: Mux.Github;\n}\n\n\
        declare namespace Mux {\n  /** It. */\n  interface Github {\n    /** Lists (all). */\n    list_repos(args: {\n      \
        all?: boolean;\n    }): Promise<ToolText>;\n  }\n}\n";

    fn told(code: u32, message: &str) -> String {
        let tool = ("files".to_owned(), "read".to_owned());
        let about = About {
            code,
            message,
            tool: message.contains("assignable").then_some(&tool),
            types: TYPES,
        };
        hint(&about).unwrap_or_default()
    }

    #[test]
    fn habits_from_elsewhere_are_answered_with_what_is_here() {
        for (name, part) in [
            ("fetch", "no network"),
            ("axios", "mux.<server>.<tool>"),
            ("require", "no modules"),
            ("process", "no files or processes"),
            ("node:fs", "no files or processes"),
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
            let hint = told(2304, &format!("Cannot find name '{name}'."));
            assert!(hint.contains(part), "{name}: {hint}");
            assert_eq!(hint.is_empty(), part.is_empty(), "{name}: {hint}");
        }
    }

    #[test]
    fn other_mistakes_are_answered_too() {
        for (code, message, part) in [
            (
                2307,
                "Cannot find module 'x' or its corresponding type declarations.",
                "import nothing",
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
                2322,
                "Type 'number' is not assignable to type 'string'.",
                "`mux types files.read`",
            ),
        ] {
            assert!(told(code, message).contains(part), "{message}");
        }
    }
}
