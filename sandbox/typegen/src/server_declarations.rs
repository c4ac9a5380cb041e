//! Declares servers: the properties of `mux`, one interface for each server, and one for each group of tools.
//!
//! Invariant: every property of `mux` is declared once. A badly named server therefore does not affect the
//! others.

use std::collections::HashSet;
use std::{borrow::Cow, fmt::Write as _};

use super::names::{
    SpellingCollision, find_collisions, is_path, is_reserved, is_server_name, spell, spell_flat,
};
use super::server_members::{ServerMember, ServerMembers};
use super::tool_declarations::{DeclarationPlace, ToolDeclaration, declare_tool, unused_name};
use super::{ServerDecl, ToolDecl, sanitize};

/// Global types that are used inside the namespace `Mux`, where a server's type of the same name would hide them.
const RESERVED_TYPE_NAMES: &[&str] = &[
    "AnyTool",
    "Array",
    "Closed",
    "ContentBlock",
    "Mux",
    "Promise",
    "Seen",
    "Selected",
    "Selection",
    "ToolText",
];

/// The name of a server's interface: its identifier, capitalized.
pub(super) fn type_name(server: &str) -> String {
    let mut name = spell_flat(server).into_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    if RESERVED_TYPE_NAMES.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// Declares the servers. If `marks_closed` is set, objects that cannot have other members are marked `Closed<…>`.
pub(super) fn declare_servers(servers: &[ServerDecl<'_>], marks_closed: bool, out: &mut String) {
    let mut refused = String::new();
    let mut seen = HashSet::new();
    let mut offered: Vec<&ServerDecl<'_>> = Vec::new();
    for server in servers {
        match refusal(server.name, seen.insert(server.name)) {
            Some(why) => {
                let name = sanitize::sanitize_line(&sanitize::quote_string(server.name));
                _ = writeln!(refused, "// {name} is not offered: {why}.");
            }
            None => offered.push(server),
        }
    }
    if !refused.is_empty() {
        _ = write!(out, "\n{refused}");
    }
    if offered.is_empty() {
        return;
    }
    let mut taken = HashSet::new();
    let types: Vec<String> = offered
        .iter()
        .map(|server| unused_name(&type_name(server.name), &mut taken))
        .collect();
    let colliding = find_collisions(offered.iter().map(|server| server.name));
    out.push_str("\ninterface Mux {\n");
    out.push_str(&collision_notes(&colliding, 2));
    for (server, type_name) in offered.iter().zip(&types) {
        let (key, exact) = server_keys(server.name, &colliding);
        for key in std::iter::once(key.as_ref()).chain(exact.as_deref()) {
            _ = writeln!(out, "  readonly {key}: Mux.{type_name};");
        }
    }
    out.push_str("}\n\ndeclare namespace Mux {");
    for (server, type_name) in offered.iter().zip(&types) {
        declare_server(server, type_name, marks_closed, &mut taken, out);
    }
    out.push_str("}\n");
}

fn refusal(name: &str, is_first: bool) -> Option<&'static str> {
    if !is_server_name(name) {
        Some("not a name for a server")
    } else if is_reserved(name) {
        Some("the name is taken by a built-in")
    } else if !is_first {
        Some("the name is given twice")
    } else {
        None
    }
}

fn declare_server(
    server: &ServerDecl<'_>,
    type_name: &str,
    marks_closed: bool,
    taken: &mut HashSet<String>,
    out: &mut String,
) {
    let home = format!("Mux.{type_name}");
    _ = write!(out, "\n  /** The server `{}`.", server.name);
    if let Some(note) = server.note {
        _ = write!(out, " Note: {}", sanitize::sanitize_line(note));
    }
    _ = write!(out, " */\n  interface {type_name} {{\n");
    match (server.tools.is_empty(), server.note) {
        (true, Some(_)) => {
            out.push_str("    // Its tools are currently unknown; calls fail with the reason.\n");
            out.push_str("    readonly [tool: string]: AnyTool;\n");
        }
        (true, None) => out.push_str("    // It offers no tools.\n"),
        (false, _) => {}
    }
    let mut seen = HashSet::new();
    let tools = server.tools.iter().filter(|tool| seen.insert(tool.name));
    let tools: Vec<&ToolDecl<'_>> = tools.collect();
    let names = || tools.iter().map(|tool| tool.name);
    let colliding = find_collisions(names());
    out.push_str(&collision_notes(&colliding, 4));
    let members = ServerMembers::new(names(), &colliding);
    let mut types = String::new();
    let declared = declare_tools(&tools, &members, &home, marks_closed, &mut types);
    let has_paths = names().any(is_path);
    let mut body = InterfaceWriter {
        members: &members,
        declared: &declared,
        taken,
        out,
    };
    body.write_interface(members.server(), type_name, has_paths);
    if !types.is_empty() {
        _ = write!(out, "\n  namespace {type_name} {{\n{types}  }}\n");
    }
}

/// Declares every tool, in their original order, and appends the types that they name to `types`.
fn declare_tools(
    tools: &[&ToolDecl<'_>],
    members: &ServerMembers<'_>,
    home: &str,
    marks_closed: bool,
    types: &mut String,
) -> Vec<ToolDeclaration> {
    let mut taken = HashSet::new();
    let declared = tools.iter().enumerate().map(|(at, tool)| {
        let place = DeclarationPlace {
            home,
            pad: 4,
            types_pad: 4,
            column: 4 + method_name(members.member_of_tool(at)).len(),
            taken: &mut taken,
            marks_closed,
        };
        let mut declared = declare_tool(tool, place);
        // Moved, not copied: the types of a large API are long.
        types.push_str(&std::mem::take(&mut declared.types));
        declared
    });
    declared.collect()
}

/// The method name before the arguments of a tool.
fn method_name<'a>(member: &'a ServerMember<'_>) -> Cow<'a, str> {
    match &*member.key {
        // A group that is a tool gets a call signature in its own interface.
        _ if member.is_group() => Cow::Borrowed(""),
        // An unquoted `new` in an interface is a construct signature, not a method.
        key if member.is_exact || key == "new" => Cow::Owned(sanitize::quote_string(key)),
        key => Cow::Borrowed(key),
    }
}

/// Writes the interfaces of one server and its groups.
struct InterfaceWriter<'a> {
    members: &'a ServerMembers<'a>,
    declared: &'a [ToolDeclaration],
    /// The names of types that are used in the namespace `Mux`.
    taken: &'a mut HashSet<String>,
    out: &'a mut String,
}

impl<'a> InterfaceWriter<'a> {
    /// Writes the members of a group, whose interface is already open, and then its inner groups.
    fn write_interface(&mut self, group: &ServerMember<'a>, type_name: &str, has_paths: bool) {
        let mut groups: Vec<(&ServerMember<'a>, String)> = Vec::new();
        for member in self.members.members_of(group) {
            if member.is_group() {
                let inner = unused_name(&format!("{type_name}_{}", member.key), self.taken);
                let key = property_key(member);
                _ = writeln!(self.out, "    readonly {key}: Mux.{inner};");
                groups.push((member, inner));
            } else {
                self.write_tool(member);
            }
            for written in &member.written {
                let written = sanitize::quote_string(written);
                let key = sanitize::quote_string(&member.key);
                _ = writeln!(self.out, "    readonly {written}: Mux.{type_name}[{key}];");
            }
        }
        if has_paths {
            self.out
                .push_str("    readonly [name: `${string}.${string}`]: any;\n");
        }
        self.out.push_str("  }\n");
        for (group, type_name) in groups {
            _ = write!(self.out, "\n  interface {type_name} {{\n");
            self.write_tool(group);
            self.write_interface(group, &type_name, false);
        }
    }

    /// Writes the method of a tool, or the call signature of a group that is a tool.
    fn write_tool(&mut self, member: &ServerMember<'_>) {
        if let Some(tool) = member.tool {
            let declared = &self.declared[tool];
            self.out.push_str(&declared.doc.block(4));
            let method = method_name(member);
            _ = writeln!(self.out, "    {method}{};", declared.call);
        }
    }
}

fn property_key<'a>(member: &'a ServerMember<'_>) -> Cow<'a, str> {
    if member.is_exact {
        Cow::Owned(sanitize::quote_string(&member.key))
    } else {
        Cow::Borrowed(&*member.key)
    }
}

/// The key of a server and, if it differs, that of the exact name.
fn server_keys<'a>(
    name: &'a str,
    colliding: &[SpellingCollision<'_>],
) -> (Cow<'a, str>, Option<String>) {
    let spelling = spell(name);
    if colliding
        .iter()
        .any(|collision| collision.spelling == spelling)
    {
        (Cow::Owned(sanitize::quote_string(name)), None)
    } else if spelling == name {
        (spelling, None)
    } else {
        (spelling, Some(sanitize::quote_string(name)))
    }
}

fn collision_notes(colliding: &[SpellingCollision<'_>], pad: usize) -> String {
    let note = |collision: &SpellingCollision<'_>| {
        let names: Vec<String> = collision
            .names
            .iter()
            .map(|name| sanitize::quote_string(name))
            .collect();
        let names = sanitize::sanitize_line(&names.join(", "));
        format!(
            "{:pad$}// {names} share an identifier: only their exact names work.\n",
            ""
        )
    };
    colliding.iter().map(note).collect()
}
