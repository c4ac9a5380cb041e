//! A tool on one line, for listings and errors: its required arguments and an outline of its result. A result that is
//! neither declared nor observed is left out. Strings have their formats, such as `string /* YYYY-MM-DD */`.
//!
//! Invariant: every required argument is named, up to a hard limit. Details and optional arguments are left out first.

use super::format_note::format_note;
use super::ir::{Object, Type};
use super::names::spell;
use super::one_line::{self, DocsMode, member_key, one_word_type, resolve_inline};
use super::references::SchemaDefinition;
use super::schema_parser::parse_schema;
use super::selected_result;
use super::tool_declarations::{accepts_empty, observed_type};
use super::{SchemaSource, ToolDecl};

/// The maximum length of the parts of a type, in bytes.
#[derive(Clone, Copy)]
struct TypeRoom {
    /// Beyond it, optional members are replaced by `…`.
    members: usize,
    /// Beyond it, even required members are left out.
    required: usize,
    /// The formats of strings beside the members.
    formats: usize,
}

const ARGS_ROOM: TypeRoom = TypeRoom {
    members: 160,
    required: 1024,
    formats: 160,
};
const RESULT_ROOM: TypeRoom = TypeRoom {
    members: 120,
    required: 120,
    formats: 0,
};

/// Bytes for the type of one member, beyond which only its outline is shown.
const MAX_MEMBER_BYTES: usize = 60;

/// The maximum number of alternatives in an outline.
const MAX_SHOWN_VARIANTS: usize = 3;

/// The type of an object without members.
pub(super) const EMPTY_OBJECT_TYPE: &str = "{ [key: string]: never }";

/// How a learned result is shown.
#[derive(Clone, Copy, PartialEq)]
enum LearnedDetail {
    Names,
    Kinds,
}

pub(super) fn signature(server: &str, tool: &ToolDecl<'_>) -> String {
    signature_in_detail(server, tool, LearnedDetail::Names)
}

pub(super) fn signature_with_kinds(server: &str, tool: &ToolDecl<'_>) -> String {
    signature_in_detail(server, tool, LearnedDetail::Kinds)
}

fn signature_in_detail(server: &str, tool: &ToolDecl<'_>, detail: LearnedDetail) -> String {
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
        ty => format_type(&input, ty, ARGS_ROOM),
    };
    let parameter = if args == EMPTY_OBJECT_TYPE || args == "{}" {
        String::new()
    } else {
        format!("args{mark}: {args}")
    };
    let result = match (usual, observed_type(tool)) {
        (Some(_), _) if !is_known => Some(selected_result::UNKNOWN_RESULT.to_owned()),
        (Some(usual), _) => {
            let output = parse_schema(&usual.schema, "Result");
            Some(format_type(&output, root_type(&output), RESULT_ROOM))
        }
        (None, Some((observed, ty))) => {
            let has_names = !observed.shape.names().is_empty();
            let text = if detail == LearnedDetail::Kinds && has_names {
                outline_type(&[], &ty)
            } else {
                format_type(&[], &ty, RESULT_ROOM)
            };
            // A tool that returns text is assumed to keep doing so.
            let is_rule = observed.shape.texts().is_text() && is_text_or_null(&ty);
            let mark = if is_rule { "" } else { "/* observed */ " };
            Some(format!("{mark}{text}"))
        }
        (None, None) => {
            let is_void = tool
                .observed
                .is_some_and(|observed| observed.shape.is_void());
            is_void.then(|| "/* observed */ null".to_owned())
        }
    };
    let result = result.map_or_else(String::new, |result| format!(": Promise<{result}>"));
    let server = spell(server);
    let tool = spell(tool.name);
    format!("{server}.{tool}({parameter}){result}")
}

/// Returns true for a string, and for null instead of one.
fn is_text_or_null(ty: &Type) -> bool {
    match strip_seen(ty) {
        Type::Union(variants) => variants.iter().all(|variant| is_text_or_null(&variant.ty)),
        ty => matches!(ty, Type::String | Type::Null),
    }
}

/// The type of the whole schema, even if it has a name, which a signature does not declare.
fn root_type(definitions: &[SchemaDefinition]) -> &Type {
    resolve_inline(definitions, &definitions[0].body)
}

/// The type with the formats of strings, if these displace no member.
fn format_type(definitions: &[SchemaDefinition], ty: &Type, room: TypeRoom) -> String {
    let ty = strip_seen(ty);
    let line = |room, docs| one_line::type_on_one_line(definitions, ty, room, docs);
    match (line(room.members, DocsMode::Drop), ty) {
        (Ok(plain), _) if room.formats == 0 => plain,
        (Ok(plain), _) => line(room.members + room.formats, DocsMode::Formats).unwrap_or(plain),
        (Err(_), Type::Object(object)) => fold_object(definitions, object, room),
        (Err(_), ty) => outline_type(definitions, ty),
    }
}

/// Strips the mark of an observed type, which a signature shows only once.
fn strip_seen(ty: &Type) -> &Type {
    match ty {
        Type::Seen(ty) | Type::Closed(ty) => ty,
        ty => ty,
    }
}

/// An object with as many of its members as fit.
fn fold_object(definitions: &[SchemaDefinition], object: &Object, room: TypeRoom) -> String {
    let mut members: Vec<String> = Vec::new();
    let mut used = 0;
    let mut formats_room = room.formats;
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
            room.members.saturating_sub(reserved)
        } else {
            room.required
        };
        if used + text.len() > limit {
            left_out = true;
            continue;
        }
        used += text.len() + 2;
        let note = format_note(definitions, member).filter(|note| note.len() <= formats_room);
        formats_room -= note.as_ref().map_or(0, String::len);
        members.push(text + &note.unwrap_or_default());
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
