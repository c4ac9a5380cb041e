//! The format of a string in a signature, such as `YYYY-MM-DD`: from the schema's `format` or a short `pattern`, and from
//! a description that names one plainly.
//!
//! Invariant: a note is short, and cannot end the comment that contains it.

use super::ir::{Member, Type};
use super::one_line::resolve_inline;
use super::references::SchemaDefinition;

/// The maximum length of a note, in bytes.
const MAX_NOTE_BYTES: usize = 24;

/// Formats that descriptions name. A format comes before the formats that it contains.
const NAMED_FORMATS: &[&str] = &[
    "YYYY-MM-DDTHH:MM:SSZ",
    "YYYY-MM-DDTHH:MM:SS",
    "YYYY-MM-DD HH:MM:SS",
    "YYYY-MM-DDTHH:MM",
    "YYYY-MM-DD HH:MM",
    "YYYY-MM-DD",
    "YYYY/MM/DD",
    "DD/MM/YYYY",
    "MM/DD/YYYY",
    "DD.MM.YYYY",
    "DD-MM-YYYY",
    "MM-DD-YYYY",
    "YYYYMMDD",
    "YYYY-MM",
    "HH:MM:SS",
    "HH:MM",
    "ISO 8601",
    "ISO-8601",
    "ISO8601",
    "RFC 3339",
    "RFC3339",
    "E.164",
];

/// JSON Schema formats of which the note shows the notation instead of the name.
const NOTED_FORMATS: &[(&str, &str)] = &[
    ("date", "YYYY-MM-DD"),
    ("date-time", "ISO 8601"),
    ("time", "HH:MM:SS"),
    ("byte", "base64"),
];

/// The comment after the type of a string, or of a list of strings.
pub(super) fn format_note(definitions: &[SchemaDefinition], member: &Member) -> Option<String> {
    if !is_text(definitions, member.written()) {
        return None;
    }
    let doc = super::one_line::effective_doc(definitions, &member.doc, &member.ty);
    let tag = |name: &str| doc.tags.iter().find_map(|tag| tag_value(tag, name));
    let format = tag("@format").filter(|format| is_format_name(format));
    let note = |format: &str| {
        let known = NOTED_FORMATS.iter().find(|(name, _)| *name == format);
        known.map_or_else(|| format.to_owned(), |(_, note)| (*note).to_owned())
    };
    let pattern = || tag("@pattern").filter(|pattern| is_short(pattern));
    let note = named_format(&doc.text)
        .map(str::to_owned)
        .or_else(|| format.map(note))
        .or_else(|| pattern().map(std::borrow::ToOwned::to_owned))?;
    Some(format!(" /* {note} */"))
}

/// True for a string, a list of strings, and null instead of either.
fn is_text(definitions: &[SchemaDefinition], ty: &Type) -> bool {
    match resolve_inline(definitions, ty) {
        Type::String => true,
        Type::Array(items) => *resolve_inline(definitions, items) == Type::String,
        Type::Union(variants) => {
            let mut types = variants.iter().map(|variant| &variant.ty);
            let is_text_or_null = |ty: &Type| match resolve_inline(definitions, ty) {
                Type::Array(items) => *resolve_inline(definitions, items) == Type::String,
                ty => matches!(ty, Type::String | Type::Null),
            };
            types.all(is_text_or_null)
        }
        _ => false,
    }
}

/// The value of a tag, or of the same tag of the items of a list.
fn tag_value<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let value = match tag.strip_prefix("@items ") {
        Some(items) => items.split_once(name)?.1.split(" @").next(),
        None => tag.strip_prefix(name),
    };
    value?.strip_prefix(' ')
}

/// The first of the formats that a description names, in their order.
fn named_format(description: &str) -> Option<&'static str> {
    let description = description.to_ascii_uppercase();
    let names = |format: &&&str| {
        let mut found = description.match_indices(**format);
        found.any(|(at, format)| {
            let after = description[at + format.len()..].chars().next();
            let before = description[..at].chars().next_back();
            let is_part = |c: char| c.is_alphanumeric() || c == '-';
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
    };
    NAMED_FORMATS.iter().find(names).copied()
}

fn is_format_name(format: &str) -> bool {
    is_short(format)
        && format
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_short(note: &str) -> bool {
    !note.is_empty() && note.len() <= MAX_NOTE_BYTES && !note.contains("*/")
}

#[cfg(test)]
mod tests {
    use crate::{ToolDecl, signature};
    use serde_json::{Value, json};

    fn args(properties: &Value) -> String {
        let schema = json!({ "type": "object", "properties": properties, "required": ["a"] });
        let line = signature(
            "s",
            &ToolDecl {
                name: "t",
                title: None,
                description: None,
                input_schema: (&schema).into(),
                output_schema: None,
                observed: None,
            },
        );
        line.strip_prefix("s.t(args: ")
            .unwrap()
            .strip_suffix(')')
            .unwrap()
            .to_owned()
    }

    #[test]
    fn strings_have_the_format_that_schema_or_description_names() {
        for (schema, shown) in [
            (json!({ "format": "date" }), "string /* YYYY-MM-DD */"),
            (json!({ "format": "date-time" }), "string /* ISO 8601 */"),
            (json!({ "format": "email" }), "string /* email */"),
            (json!({ "format": "uuid" }), "string /* uuid */"),
            (json!({ "format": "*/ now */" }), "string"),
            (
                json!({ "pattern": "^[A-Z]{3}$" }),
                "string /* ^[A-Z]{3}$ */",
            ),
            (
                json!({ "pattern": "^[A-Z]{3}-[0-9]{4}-[0-9]{4}$" }),
                "string",
            ),
            (json!({ "pattern": "a*/" }), "string /* a*\\/ */"),
            (
                json!({ "description": "The day, as YYYY-MM-DD." }),
                "string /* YYYY-MM-DD */",
            ),
            (
                json!({ "description": "(yyyy-mm-dd hh:mm)" }),
                "string /* YYYY-MM-DD HH:MM */",
            ),
            (
                json!({ "description": "In ISO 8601 format" }),
                "string /* ISO 8601 */",
            ),
            (json!({ "description": "A date" }), "string"),
            (
                json!({ "format": "date", "enum": ["a", "b"] }),
                "\"a\" | \"b\"",
            ),
        ] {
            let mut schema = schema;
            schema["type"] = "string".into();
            let note = args(&json!({ "a": schema }));
            assert_eq!(note, format!("{{ a: {shown} }}"), "{schema}");
        }
        for (schema, shown) in [
            (
                json!({ "anyOf": [{ "type": "string", "format": "date" }, { "type": "null" }] }),
                "string | null /* YYYY-MM-DD */",
            ),
            (
                json!({ "type": "array", "items": { "type": "string", "format": "email" } }),
                "string[] /* email */",
            ),
            (
                json!({ "type": "integer", "description": "YYYY-MM-DD" }),
                "number",
            ),
        ] {
            assert_eq!(args(&json!({ "a": schema })), format!("{{ a: {shown} }}"));
        }
    }

    #[test]
    fn formats_displace_no_argument() {
        let day = json!({ "type": "string", "format": "date-time" });
        let names = [
            "a",
            "begin",
            "end",
            "remind_me_at",
            "repeat_until",
            "cancelled_at",
            "updated_at",
            "deleted_at",
        ];
        let with = |schema: &Value| {
            let properties = names
                .iter()
                .map(|name| ((*name).to_owned(), schema.clone()));
            args(&Value::Object(properties.collect()))
        };
        let plain = with(&json!({ "type": "string" }));
        let noted = with(&day);
        for name in names {
            assert_eq!(
                plain.contains(&format!("{name}?: ")),
                noted.contains(&format!("{name}?: ")),
                "{noted}"
            );
        }
        assert!(
            noted.contains("/* ISO 8601 */") && noted.len() < 400,
            "{noted}"
        );
    }
}
