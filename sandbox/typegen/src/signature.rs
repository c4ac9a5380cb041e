//! A tool on one line, for listings and errors: its required arguments and an outline of its result. A result that is
//! neither declared nor observed is left out.
//!
//! Invariant: every required argument is named, up to a hard limit; details and optional arguments are left out first.

use super::ir::{Object, Type};
use super::names::spell;
use super::one_line::{self, DocsMode, member_key, one_word_type, resolve_inline};
use super::references::SchemaDefinition;
use super::schema_parser::parse_schema;
use super::selected_result;
use super::tool_declarations::{accepts_empty, observed_type};
use super::{SchemaSource, ToolDecl};

/// Bytes for the members of the arguments, beyond which optional ones are replaced by `…`.
const MAX_ARGS_BYTES: usize = 160;

/// Bytes for the members of the result, beyond which they are replaced by `…`.
const MAX_RESULT_BYTES: usize = 120;

/// Bytes for the members of the arguments, beyond which even required ones are left out.
const MAX_REQUIRED_ARGS_BYTES: usize = 1024;

/// Bytes for the type of one member, beyond which only its outline is shown.
const MAX_MEMBER_BYTES: usize = 60;

/// The maximum number of alternatives in an outline.
const MAX_SHOWN_VARIANTS: usize = 3;

/// The type of an object without members.
pub(super) const EMPTY_OBJECT_TYPE: &str = "{ [key: string]: never }";

pub(super) fn signature(server: &str, tool: &ToolDecl<'_>) -> String {
    let output = tool.output_schema.map(SchemaSource::to_normal_form);
    let usual = output.as_ref().map(selected_result::unselected_schema);
    let mut input = parse_schema(&tool.input_schema.to_normal_form(), "Args");
    let unless = usual.as_ref().and_then(|usual| usual.unless);
    let is_known =
        unless.is_none_or(|argument| selected_result::name_argument_type(&mut input, argument));
    let root = Type::Named(0);
    let mark = if accepts_empty(&input, &root) {
        "?"
    } else {
        ""
    };
    let args = match root_type(&input) {
        Type::Unknown(_) => "{ [key: string]: unknown }".to_owned(),
        ty => match format_type(&input, ty, MAX_ARGS_BYTES, MAX_REQUIRED_ARGS_BYTES) {
            none if none == EMPTY_OBJECT_TYPE => "{}".to_owned(),
            args => args,
        },
    };
    let result = match (usual, observed_type(tool)) {
        (Some(_), _) if !is_known => Some(selected_result::UNKNOWN_RESULT.to_owned()),
        (Some(usual), _) => {
            let output = parse_schema(&usual.schema, "Result");
            Some(format_type(
                &output,
                root_type(&output),
                MAX_RESULT_BYTES,
                MAX_RESULT_BYTES,
            ))
        }
        (None, Some((_, ty))) => {
            let ty = format_type(&[], &ty, MAX_RESULT_BYTES, MAX_RESULT_BYTES);
            Some(format!("/* observed */ {ty}"))
        }
        (None, None) => None,
    };
    let result = result.map_or_else(String::new, |result| format!(": Promise<{result}>"));
    let (server, tool) = (spell(server), spell(tool.name));
    format!("{server}.{tool}(args{mark}: {args}){result}")
}

/// The type of the whole schema, even if it has a name, which a signature does not declare.
fn root_type(definitions: &[SchemaDefinition]) -> &Type {
    resolve_inline(definitions, &definitions[0].body)
}

fn format_type(definitions: &[SchemaDefinition], ty: &Type, room: usize, most: usize) -> String {
    let ty = strip_seen(ty);
    match (
        one_line::type_on_one_line(definitions, ty, room, DocsMode::Drop),
        ty,
    ) {
        (Ok(line), _) => line,
        (Err(_), Type::Object(object)) => fold_object(definitions, object, room, most),
        (Err(_), ty) => outline_type(definitions, ty),
    }
}

/// Strips the mark of an observed type, which a signature shows only once.
fn strip_seen(ty: &Type) -> &Type {
    match ty {
        Type::Seen(ty) => ty,
        ty => ty,
    }
}

/// An object with as many of its members as fit.
fn fold_object(
    definitions: &[SchemaDefinition],
    object: &Object,
    room: usize,
    most: usize,
) -> String {
    let mut members: Vec<String> = Vec::new();
    let mut used = 0;
    let required = object.members.iter().filter(|member| !member.optional);
    let mut reserved: usize = required.map(|member| member.name.len()).sum();
    let mut left_out = object.index.is_some();
    for member in &object.members {
        let ty = member.written();
        let ty = one_line::type_on_one_line(definitions, ty, MAX_MEMBER_BYTES, DocsMode::Drop)
            .unwrap_or_else(|_| outline_type(definitions, ty));
        let text = member_key(member) + &ty;
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
fn outline_type(definitions: &[SchemaDefinition], ty: &Type) -> String {
    let ty = strip_seen(resolve_inline(definitions, ty));
    if matches!(ty, Type::Unknown(_)) {
        return "unknown".to_owned();
    }
    if let Some(word) = one_word_type(definitions, ty) {
        return if word.len() > MAX_MEMBER_BYTES {
            "…".to_owned()
        } else {
            word.into_owned()
        };
    }
    match ty {
        Type::Object(_) => "{ … }".to_owned(),
        Type::Array(items) => match strip_seen(resolve_inline(definitions, items)) {
            Type::Object(_) => "Array<{ … }>".to_owned(),
            _ => "Array<…>".to_owned(),
        },
        Type::Tuple(_) => "[…]".to_owned(),
        Type::Union(variants) => {
            let shown = variants.iter().take(MAX_SHOWN_VARIANTS);
            let mut shown: Vec<String> = shown
                .map(|variant| outline_variant(definitions, &variant.ty))
                .collect();
            shown.dedup();
            if variants.len() > MAX_SHOWN_VARIANTS {
                shown.push("…".to_owned());
            }
            shown.join(" | ")
        }
        _ => "…".to_owned(),
    }
}

/// Like `outline`, but does not expand unions inside unions, which only named types can cause.
fn outline_variant(definitions: &[SchemaDefinition], ty: &Type) -> String {
    match resolve_inline(definitions, ty) {
        Type::Union(_) => "…".to_owned(),
        ty => outline_type(definitions, ty),
    }
}
