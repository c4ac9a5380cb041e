//! Writes a type as TypeScript on as many lines as needed, with its documentation.
//!
//! Invariant: the output never exceeds its maximum length. Either it is complete, or an error is returned.

use super::ir::{Member, Object, Tuple, Type, Variant};
use super::one_line::{self, DocsMode, effective_doc, member_key, one_word_type, resolve_inline};
use super::references::SchemaDefinition;
use super::sanitize;
use super::schema_parser::{MAX_SCHEMA_DEPTH, TOO_DEEP_NOTE};

/// The maximum width of a line, in bytes. Descriptions are not wrapped.
const MAX_LINE_WIDTH: usize = 100;

const INDEX_SIGNATURE: &str = "[key: string]: ";

/// The output exceeds its maximum length.
#[derive(Debug)]
pub(super) struct TextTooLong;

pub(super) struct TypeEmitter<'a> {
    definitions: &'a [SchemaDefinition],
    cap: usize,
    /// The column at which the first line begins.
    column: usize,
    text: String,
}

impl<'a> TypeEmitter<'a> {
    /// An emitter for types that refer to `definitions`. Writes at most `cap` bytes, from `column` on.
    pub(super) fn new(definitions: &'a [SchemaDefinition], cap: usize, column: usize) -> Self {
        Self {
            definitions,
            cap,
            column,
            text: String::new(),
        }
    }

    /// Writes `ty` for a line that is indented by `pad` blanks.
    pub(super) fn ty(mut self, ty: &Type, pad: usize) -> Result<String, TextTooLong> {
        self.write(ty, pad, 0)?;
        Ok(self.text)
    }

    fn push(&mut self, text: &str) -> Result<(), TextTooLong> {
        self.text.push_str(text);
        if self.text.len() > self.cap {
            Err(TextTooLong)
        } else {
            Ok(())
        }
    }

    fn line(&mut self, pad: usize) -> Result<(), TextTooLong> {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.push("\n")?;
        self.push(&" ".repeat(pad))
    }

    fn column(&self) -> usize {
        end_column(self.column, &self.text)
    }

    fn write(&mut self, ty: &Type, pad: usize, depth: usize) -> Result<(), TextTooLong> {
        let ty = resolve_inline(self.definitions, ty);
        if let Some(word) = one_word_type(self.definitions, ty) {
            return self.push(&word);
        }
        if depth > MAX_SCHEMA_DEPTH {
            return self.push(&format!("unknown /* {TOO_DEEP_NOTE} */"));
        }
        let room = MAX_LINE_WIDTH.saturating_sub(self.column());
        if let Ok(line) = one_line::type_on_one_line(self.definitions, ty, room, DocsMode::Keep) {
            return self.push(&line);
        }
        match ty {
            Type::Seen(ty) => {
                self.push("Seen<")?;
                self.write(ty, pad, depth)?;
                self.push(">")
            }
            Type::Closed(ty) => {
                self.push("Closed<")?;
                self.write(ty, pad, depth)?;
                self.push(">")
            }
            Type::Array(items) => self.array(items, pad, depth + 1),
            Type::Tuple(tuple) => self.tuple(tuple, pad, depth + 1),
            Type::Object(object) => self.object(object, pad, depth + 1),
            Type::Union(variants) => self.union(variants, pad, depth + 1),
            Type::All(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    self.push(if at > 0 { " & " } else { "" })?;
                    self.operand(part, pad, depth + 1)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn operand(&mut self, ty: &Type, pad: usize, depth: usize) -> Result<(), TextTooLong> {
        if !matches!(
            resolve_inline(self.definitions, ty),
            Type::Union(_) | Type::All(_)
        ) {
            return self.write(ty, pad, depth);
        }
        self.push("(")?;
        self.write(ty, pad, depth)?;
        self.push(")")
    }

    fn array(&mut self, items: &Type, pad: usize, depth: usize) -> Result<(), TextTooLong> {
        self.push("Array<")?;
        let start = self.text.len();
        self.write(items, pad, depth)?;
        // Alternatives are on separate lines, and so is the text after them.
        if self.text[start..].starts_with('\n') {
            self.line(pad)?;
        }
        self.push(">")
    }

    fn tuple(&mut self, tuple: &Tuple, pad: usize, depth: usize) -> Result<(), TextTooLong> {
        self.push("[")?;
        for (at, item) in tuple.items.iter().enumerate() {
            self.line(pad + 2)?;
            if at < tuple.required {
                self.write(item, pad + 2, depth)?;
            } else {
                self.operand(item, pad + 2, depth)?;
                self.push("?")?;
            }
            self.push(",")?;
        }
        if let Some(rest) = &tuple.rest {
            self.line(pad + 2)?;
            // `...Array<T>` would be resolved eagerly, and a recursive `T` refused.
            self.push("...")?;
            self.operand(rest, pad + 2, depth)?;
            self.push("[],")?;
        }
        self.line(pad)?;
        self.push("]")
    }

    fn object(&mut self, object: &Object, pad: usize, depth: usize) -> Result<(), TextTooLong> {
        self.push("{\n")?;
        for member in &object.members {
            self.member(member, &member_key(member), pad + 2, depth)?;
        }
        match object.index.as_deref() {
            Some(index) if object.members.is_empty() => {
                self.member(index, INDEX_SIGNATURE, pad + 2, depth)?;
            }
            Some(index) => {
                self.member(&self.beside_members(index), INDEX_SIGNATURE, pad + 2, depth)?;
            }
            None => {}
        }
        self.push(&" ".repeat(pad))?;
        self.push("}")
    }

    /// The index signature beside listed members. TypeScript requires these to fit it, so its type is `unknown`, and
    /// the real type becomes documentation.
    fn beside_members(&self, index: &Member) -> Member {
        let mut doc = index.doc.clone();
        let ty = resolve_inline(self.definitions, &index.ty);
        if !matches!(ty, Type::Unknown(_))
            && let Ok(ty) =
                one_line::type_on_one_line(self.definitions, ty, MAX_LINE_WIDTH, DocsMode::Drop)
        {
            doc.tags.insert(
                0,
                sanitize::sanitize_line(&format!("(other members: {ty})")),
            );
        }
        Member {
            is_conditional: false,
            name: String::new(),
            optional: true,
            ty: Type::Unknown(None),
            doc,
        }
    }

    fn member(
        &mut self,
        member: &Member,
        key: &str,
        pad: usize,
        depth: usize,
    ) -> Result<(), TextTooLong> {
        let doc = effective_doc(self.definitions, &member.doc, &member.ty).block(pad);
        self.push(&doc)?;
        self.push(&" ".repeat(pad))?;
        self.push(key)?;
        self.write(member.written(), pad, depth)?;
        self.push(";\n")
    }

    /// Puts several one-word alternatives on a line, and each other alternative on a separate line, below its
    /// documentation.
    fn union(&mut self, variants: &[Variant], pad: usize, depth: usize) -> Result<(), TextTooLong> {
        let mut in_words = false;
        for variant in variants {
            let doc = effective_doc(self.definitions, &variant.doc, &variant.ty).block(pad + 2);
            let is_word = doc.is_empty()
                && one_word_type(
                    self.definitions,
                    resolve_inline(self.definitions, &variant.ty),
                )
                .is_some();
            if is_word && in_words && self.column() < MAX_LINE_WIDTH - 20 {
                self.push(" ")?;
            } else if doc.is_empty() {
                self.line(pad + 2)?;
            } else {
                self.line(0)?;
                self.push(&doc)?;
                self.push(&" ".repeat(pad + 2))?;
            }
            self.push("| ")?;
            self.write(&variant.ty, pad + 4, depth)?;
            in_words = is_word;
        }
        Ok(())
    }
}

/// The end column of `text`, which began at `column`.
pub(super) fn end_column(column: usize, text: &str) -> usize {
    text.rfind('\n')
        .map_or(column + text.len(), |at| text.len() - at - 1)
}
