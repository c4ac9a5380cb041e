//! A tool on one line, for listings and errors: its required arguments and an outline of its result. A result that is
//! neither declared nor observed is left out.
//!
//! Invariant: every required argument is named, up to a hard limit; details and optional arguments are left out first.

use super::chosen;
use super::flat::{self, Docs, key, resolve, word};
use super::ir::{Object, Type};
use super::names::spell;
use super::parse::parse;
use super::refs::Definition;
use super::tool::{accepts_empty, observed};
use super::{Json, ToolDecl};

/// Bytes for the members of the arguments, beyond which optional ones are replaced by `…`.
const ARGS_ROOM: usize = 160;

/// Bytes for the members of the result, beyond which they are replaced by `…`.
const RESULT_ROOM: usize = 120;

/// Bytes for the members of the arguments, beyond which even required ones are left out.
const MOST: usize = 1024;

/// Bytes for the type of one member, beyond which only its outline is shown.
const MEMBER_ROOM: usize = 60;

/// The maximum number of alternatives in an outline.
const MAX_VARIANTS: usize = 3;

/// The type of an object without members.
pub(super) const NO_MEMBERS: &str = "{ [key: string]: never }";

pub(super) fn signature(server: &str, tool: &ToolDecl<'_>) -> String {
    let output = tool.output_schema.map(Json::read);
    let usual = output.as_deref().map(chosen::usual);
    let mut input = parse(&tool.input_schema.read(), "Args");
    let unless = usual.as_ref().and_then(|usual| usual.unless);
    let is_known = unless.is_none_or(|argument| chosen::name(&mut input, argument));
    let root = Type::Named(0);
    let mark = if accepts_empty(&input, &root) {
        "?"
    } else {
        ""
    };
    let args = match resolve_root(&input) {
        Type::Unknown(_) => "{ [key: string]: unknown }".to_owned(),
        ty => match shown(&input, ty, ARGS_ROOM, MOST) {
            none if none == NO_MEMBERS => "{}".to_owned(),
            args => args,
        },
    };
    let result = match (usual, observed(tool)) {
        (Some(_), _) if !is_known => Some(chosen::ANYTHING.to_owned()),
        (Some(usual), _) => {
            let output = parse(&usual.schema, "Result");
            Some(shown(
                &output,
                resolve_root(&output),
                RESULT_ROOM,
                RESULT_ROOM,
            ))
        }
        (None, Some((_, ty))) => {
            let ty = shown(&[], &ty, RESULT_ROOM, RESULT_ROOM);
            Some(format!("/* observed */ {ty}"))
        }
        (None, None) => None,
    };
    let result = result.map_or_else(String::new, |result| format!(": Promise<{result}>"));
    let (server, tool) = (spell(server), spell(tool.name));
    format!("{server}.{tool}(args{mark}: {args}){result}")
}

/// The type of the whole schema, even if it has a name, which a signature does not declare.
fn resolve_root(definitions: &[Definition]) -> &Type {
    resolve(definitions, &definitions[0].body)
}

fn shown(definitions: &[Definition], ty: &Type, room: usize, most: usize) -> String {
    let ty = unmarked(ty);
    match (flat::line(definitions, ty, room, Docs::Drop), ty) {
        (Ok(line), _) => line,
        (Err(_), Type::Object(object)) => folded(definitions, object, room, most),
        (Err(_), ty) => outline(definitions, ty),
    }
}

/// Strips the mark of an observed type, which a signature shows only once.
fn unmarked(ty: &Type) -> &Type {
    match ty {
        Type::Seen(ty) => ty,
        ty => ty,
    }
}

/// An object with as many of its members as fit.
fn folded(definitions: &[Definition], object: &Object, room: usize, most: usize) -> String {
    let mut members: Vec<String> = Vec::new();
    let mut used = 0;
    let required = object.members.iter().filter(|member| !member.optional);
    let mut reserved: usize = required.map(|member| member.name.len()).sum();
    let mut left_out = object.index.is_some();
    for member in &object.members {
        let ty = member.written();
        let ty = flat::line(definitions, ty, MEMBER_ROOM, Docs::Drop)
            .unwrap_or_else(|_| outline(definitions, ty));
        let text = key(member) + &ty;
        reserved -= if member.optional {
            0
        } else {
            member.name.len()
        };
        let limit = if member.optional {
            room.saturating_sub(reserved)
        } else {
            most
        };
        if used + text.len() > limit {
            left_out = true;
            continue;
        }
        used += text.len() + 2;
        members.push(text);
    }
    if left_out {
        members.push("…".to_owned());
    }
    format!("{{ {} }}", members.join("; "))
}

/// The kind of a type that is too long to show.
fn outline(definitions: &[Definition], ty: &Type) -> String {
    let ty = unmarked(resolve(definitions, ty));
    if matches!(ty, Type::Unknown(_)) {
        return "unknown".to_owned();
    }
    if let Some(word) = word(definitions, ty) {
        return if word.len() > MEMBER_ROOM {
            "…".to_owned()
        } else {
            word.into_owned()
        };
    }
    match ty {
        Type::Object(_) => "{ … }".to_owned(),
        Type::Array(items) => match unmarked(resolve(definitions, items)) {
            Type::Object(_) => "Array<{ … }>".to_owned(),
            _ => "Array<…>".to_owned(),
        },
        Type::Tuple(_) => "[…]".to_owned(),
        Type::Union(variants) => {
            let shown = variants.iter().take(MAX_VARIANTS);
            let mut shown: Vec<String> = shown
                .map(|variant| outline_of_part(definitions, &variant.ty))
                .collect();
            shown.dedup();
            if variants.len() > MAX_VARIANTS {
                shown.push("…".to_owned());
            }
            shown.join(" | ")
        }
        _ => "…".to_owned(),
    }
}

/// Like `outline`, but does not expand unions inside unions, which only named types can cause.
fn outline_of_part(definitions: &[Definition], ty: &Type) -> String {
    match resolve(definitions, ty) {
        Type::Union(_) => "…".to_owned(),
        ty => outline(definitions, ty),
    }
}
