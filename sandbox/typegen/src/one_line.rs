//! Writes a type on one line, if it fits: inner types of declarations, and whole signatures.
//!
//! Invariant: the work is bounded by the available width, not by the size of the type, because the writer gives up as
//! soon as the line is full.

use std::borrow::Cow;

use super::format_note::format_note;
use super::ir::{Member, Object, Tuple, Type, Variant};
use super::jsdoc::ValueDoc;
use super::references::SchemaDefinition;
use super::sanitize;
use super::schema_parser::MAX_SCHEMA_DEPTH;

/// The type is longer than the line, or has documentation that does not fit on a line.
#[derive(Debug)]
pub(super) struct DoesNotFit;

/// The treatment of documentation inside the type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DocsMode {
    /// Documentation must be shown, so a type with documentation does not fit on a line.
    Keep,
    /// Documentation is left out.
    Drop,
    /// Documentation is left out, except for the formats of strings.
    Formats,
}

pub(super) fn type_on_one_line(
    definitions: &[SchemaDefinition],
    ty: &Type,
    room: usize,
    docs: DocsMode,
) -> Result<String, DoesNotFit> {
    let mut writer = LineWriter {
        definitions,
        docs,
        room,
        line: String::new(),
    };
    writer.write(ty, 0)?;
    Ok(writer.line)
}

/// Follows inline definitions to the type that will be written.
pub(super) fn resolve_inline<'a>(
    definitions: &'a [SchemaDefinition],
    mut ty: &'a Type,
) -> &'a Type {
    while let Type::Named(index) = ty
        && definitions[*index].inline
    {
        ty = &definitions[*index].body;
    }
    ty
}

/// The documentation of a value: its own, completed by that of the inline definition that it names.
pub(super) fn effective_doc<'a>(
    definitions: &'a [SchemaDefinition],
    own: &'a ValueDoc,
    ty: &Type,
) -> Cow<'a, ValueDoc> {
    match ty {
        Type::Named(index) if definitions[*index].inline && !definitions[*index].doc.is_empty() => {
            let mut doc = own.clone();
            doc.absorb(definitions[*index].doc.clone());
            Cow::Owned(doc)
        }
        _ => Cow::Borrowed(own),
    }
}

/// A type that is written as one word, with its note if there is one.
pub(super) fn one_word_type<'a>(
    definitions: &'a [SchemaDefinition],
    ty: &'a Type,
) -> Option<Cow<'a, str>> {
    Some(match ty {
        Type::Unknown(Some(note)) => Cow::Owned(format!("unknown /* {note} */")),
        Type::Unknown(None) => "unknown".into(),
        Type::Any => "any".into(),
        Type::Never => "never".into(),
        Type::Null => "null".into(),
        Type::Boolean => "boolean".into(),
        Type::Number => "number".into(),
        Type::String => "string".into(),
        Type::Literal(literal) => literal.as_str().into(),
        Type::Global(name) => (*name).into(),
        Type::Named(index) if !definitions[*index].inline => {
            definitions[*index].name.as_str().into()
        }
        _ => return None,
    })
}

/// The key of a member, up to its type.
pub(super) fn member_key(member: &Member) -> String {
    let mark = if member.optional { "?" } else { "" };
    format!("{}{mark}: ", sanitize::property_name(&member.name))
}

struct LineWriter<'a> {
    definitions: &'a [SchemaDefinition],
    docs: DocsMode,
    room: usize,
    line: String,
}

impl LineWriter<'_> {
    fn push(&mut self, text: &str) -> Result<(), DoesNotFit> {
        self.line.push_str(text);
        if self.line.len() > self.room {
            Err(DoesNotFit)
        } else {
            Ok(())
        }
    }

    fn write(&mut self, ty: &Type, depth: usize) -> Result<(), DoesNotFit> {
        if depth > MAX_SCHEMA_DEPTH {
            return Err(DoesNotFit);
        }
        let ty = resolve_inline(self.definitions, ty);
        if self.docs != DocsMode::Keep && matches!(ty, Type::Unknown(_)) {
            return self.push("unknown");
        }
        if let Some(word) = one_word_type(self.definitions, ty) {
            return self.push(&word);
        }
        match ty {
            // Where documentation is left out, the caller marks observed types itself.
            Type::Seen(ty) | Type::Closed(ty) if self.docs != DocsMode::Keep => {
                self.write(ty, depth)
            }
            Type::Seen(ty) => {
                self.push("Seen<")?;
                self.write(ty, depth)?;
                self.push(">")
            }
            Type::Closed(ty) => {
                self.push("Closed<")?;
                self.write(ty, depth)?;
                self.push(">")
            }
            Type::Array(items) => self.array(items, depth + 1),
            Type::Tuple(tuple) => self.tuple(tuple, depth + 1),
            Type::Object(object) => self.object(object, depth + 1),
            Type::Union(variants) => self.union(variants, depth + 1),
            Type::All(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    self.push(if at > 0 { " & " } else { "" })?;
                    self.operand(part, depth + 1)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A type before `[]`, `?` or beside `&`.
    fn operand(&mut self, ty: &Type, depth: usize) -> Result<(), DoesNotFit> {
        if !matches!(
            resolve_inline(self.definitions, ty),
            Type::Union(_) | Type::All(_)
        ) {
            return self.write(ty, depth);
        }
        self.push("(")?;
        self.write(ty, depth)?;
        self.push(")")
    }

    fn array(&mut self, items: &Type, depth: usize) -> Result<(), DoesNotFit> {
        let simple = resolve_inline(self.definitions, items);
        if matches!(simple, Type::Array(_)) || one_word_type(self.definitions, simple).is_some() {
            self.write(simple, depth)?;
            return self.push("[]");
        }
        self.push("Array<")?;
        self.write(items, depth)?;
        self.push(">")
    }

    fn tuple(&mut self, tuple: &Tuple, depth: usize) -> Result<(), DoesNotFit> {
        self.push("[")?;
        for (at, item) in tuple.items.iter().enumerate() {
            self.push(if at > 0 { ", " } else { "" })?;
            if at < tuple.required {
                self.write(item, depth)?;
            } else {
                self.operand(item, depth)?;
                self.push("?")?;
            }
        }
        if let Some(rest) = &tuple.rest {
            self.push(if tuple.items.is_empty() {
                "..."
            } else {
                ", ..."
            })?;
            self.operand(rest, depth)?;
            self.push("[]")?;
        }
        self.push("]")
    }

    fn object(&mut self, object: &Object, depth: usize) -> Result<(), DoesNotFit> {
        if object.members.is_empty() && object.index.is_none() {
            return self.push("{}");
        }
        self.push("{ ")?;
        for (at, member) in object.members.iter().enumerate() {
            self.push(if at > 0 { "; " } else { "" })?;
            self.check_docs(&member.doc, &member.ty)?;
            self.push(&member_key(member))?;
            self.write(member.written(), depth)?;
            if self.docs == DocsMode::Formats
                && let Some(note) = format_note(self.definitions, member)
            {
                self.push(&note)?;
            }
        }
        if let Some(index) = &object.index {
            self.check_docs(&index.doc, &index.ty)?;
            if object.members.is_empty() {
                self.push("[key: string]: ")?;
                self.write(&index.ty, depth)?;
            } else {
                self.push("; [key: string]: unknown")?;
                let said = matches!(
                    resolve_inline(self.definitions, &index.ty),
                    Type::Unknown(_)
                );
                if !said && self.docs == DocsMode::Keep {
                    return Err(DoesNotFit);
                }
            }
        }
        self.push(" }")
    }

    fn union(&mut self, variants: &[Variant], depth: usize) -> Result<(), DoesNotFit> {
        for (at, variant) in variants.iter().enumerate() {
            self.push(if at > 0 { " | " } else { "" })?;
            self.check_docs(&variant.doc, &variant.ty)?;
            self.write(&variant.ty, depth)?;
        }
        Ok(())
    }

    fn check_docs(&self, doc: &ValueDoc, ty: &Type) -> Result<(), DoesNotFit> {
        match self.docs {
            DocsMode::Keep if !effective_doc(self.definitions, doc, ty).is_empty() => {
                Err(DoesNotFit)
            }
            _ => Ok(()),
        }
    }
}
