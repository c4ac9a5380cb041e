//! Servers: the properties of `mux`, and one interface of methods for each.
//!
//! Invariant: every property of `mux` is declared once, so that a badly named server costs itself
//! and not the others.

use std::borrow::Cow;
use std::collections::HashSet;

use super::names::{Collision, RESERVED_SERVERS, collisions, is_server_name, spell};
use super::tool::{Place, declare, unused};
use super::{ServerDecl, ToolDecl, text};

/// Global types that are used inside the namespace `Mux`, where a server's type would hide them.
const TYPES_IN_USE: &[&str] = &[
    "Array",
    "ContentBlock",
    "Mux",
    "Promise",
    "Seen",
    "ToolText",
];

/// The name of a server's interface: its spelling with a capital, as types are written.
pub(super) fn type_name(server: &str) -> String {
    let mut name = spell(server).into_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    if TYPES_IN_USE.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

pub(super) fn declare_all(servers: &[ServerDecl<'_>], out: &mut String) {
    let mut refused = String::new();
    let mut seen = HashSet::new();
    let mut offered: Vec<&ServerDecl<'_>> = Vec::new();
    for server in servers {
        match refusal(server.name, seen.insert(server.name)) {
            Some(why) => {
                let name = text::line(&text::quoted(server.name));
                refused.push_str(&format!("// {name} is not offered: {why}.\n"));
            }
            None => offered.push(server),
        }
    }
    if !refused.is_empty() {
        out.push_str(&format!("\n{refused}"));
    }
    if offered.is_empty() {
        return;
    }
    let mut taken = HashSet::new();
    let types: Vec<String> = offered
        .iter()
        .map(|server| unused(&type_name(server.name), &mut taken))
        .collect();
    let colliding = collisions(offered.iter().map(|server| server.name));
    out.push_str("\ninterface Mux {\n");
    out.push_str(&collision_notes(&colliding, 2));
    for (server, type_name) in offered.iter().zip(&types) {
        let (key, exact) = keys(server.name, &colliding);
        for key in std::iter::once(key.as_ref()).chain(exact.as_deref()) {
            out.push_str(&format!("  readonly {key}: Mux.{type_name};\n"));
        }
    }
    out.push_str("}\n\ndeclare namespace Mux {");
    for (server, type_name) in offered.iter().zip(&types) {
        declare_server(server, type_name, out);
    }
    out.push_str("}\n");
}

fn refusal(name: &str, is_first: bool) -> Option<&'static str> {
    if !is_server_name(name) {
        Some("not a name for a server")
    } else if RESERVED_SERVERS.contains(&name) {
        Some("the name is taken by a built-in")
    } else if !is_first {
        Some("the name is given twice")
    } else {
        None
    }
}

fn declare_server(server: &ServerDecl<'_>, type_name: &str, out: &mut String) {
    let home = format!("Mux.{type_name}");
    out.push_str(&format!("\n  /** The server `{}`.", server.name));
    if let Some(note) = server.note {
        out.push_str(&format!(" Note: {}", text::line(note)));
    }
    out.push_str(&format!(" */\n  interface {type_name} {{\n"));
    match (server.tools.is_empty(), server.note) {
        (true, Some(_)) => {
            out.push_str("    // Its tools are not known now; a call fails with the reason.\n");
            out.push_str("    readonly [tool: string]: (args?: object) => Promise<any>;\n");
        }
        (true, None) => out.push_str("    // It offers no tools.\n"),
        (false, _) => {}
    }
    let colliding = collisions(server.tools.iter().map(|tool| tool.name));
    out.push_str(&collision_notes(&colliding, 4));
    let mut types = String::new();
    let mut taken = HashSet::new();
    let mut seen = HashSet::new();
    for tool in server.tools.iter().filter(|tool| seen.insert(tool.name)) {
        types.push_str(&declare_tool(tool, &home, &mut taken, &colliding, out));
    }
    out.push_str("  }\n");
    if !types.is_empty() {
        out.push_str(&format!("\n  namespace {type_name} {{\n{types}  }}\n"));
    }
}

/// Writes the method, and returns the types that it names.
fn declare_tool(
    tool: &ToolDecl<'_>,
    home: &str,
    taken: &mut HashSet<String>,
    colliding: &[Collision<'_>],
    out: &mut String,
) -> String {
    let (key, exact) = keys(tool.name, colliding);
    // A bare `new` in an interface is not a method but a constructor.
    let method = if key == "new" { "\"new\"" } else { &key };
    let place = Place {
        home,
        pad: 4,
        types_pad: 4,
        column: 4 + method.len(),
        taken,
    };
    let declared = declare(tool, place);
    out.push_str(&declared.doc.block(4));
    out.push_str(&format!("    {method}{};\n", declared.call));
    if let Some(exact) = exact {
        out.push_str(&format!("    readonly {exact}: {home}[\"{key}\"];\n"));
    }
    declared.types
}

/// The key under which a name is offered and, if it is another one, that of the exact name.
fn keys<'a>(name: &'a str, colliding: &[Collision<'_>]) -> (Cow<'a, str>, Option<String>) {
    let spelling = spell(name);
    if colliding
        .iter()
        .any(|collision| collision.spelling == spelling)
    {
        (Cow::Owned(text::quoted(name)), None)
    } else if spelling == name {
        (spelling, None)
    } else {
        (spelling, Some(text::quoted(name)))
    }
}

fn collision_notes(colliding: &[Collision<'_>], pad: usize) -> String {
    let note = |collision: &Collision<'_>| {
        let names: Vec<String> = collision
            .names
            .iter()
            .map(|name| text::quoted(name))
            .collect();
        let names = text::line(&names.join(", "));
        format!(
            "{:pad$}// {names} share a spelling: each goes by its exact name only.\n",
            ""
        )
    };
    colliding.iter().map(note).collect()
}
