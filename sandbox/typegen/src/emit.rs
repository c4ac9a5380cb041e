//! Writes a type as TypeScript on as many lines as needed, with its documentation.
//!
//! Invariant: the text never exceeds its maximum length: it is complete, or an error is returned.

use super::flat::{self, Docs, key, resolve, word, words};
use super::ir::{Member, Object, Tuple, Type, Variant};
use super::parse::{MAX_DEPTH, TOO_DEEP};
use super::refs::Definition;
use super::text;

/// The maximum width of a line, in bytes. Descriptions are not wrapped.
const WIDTH: usize = 100;

const INDEX: &str = "[key: string]: ";

/// The text exceeds its maximum length.
#[derive(Debug)]
pub(super) struct TooLong;

pub(super) struct Emitter<'a> {
    definitions: &'a [Definition],
    cap: usize,
    /// The column at which the first line begins.
    column: usize,
    text: String,
}

impl<'a> Emitter<'a> {
    /// An emitter for types that refer to `definitions`. Writes at most `cap` bytes, from `column` on.
    pub(super) fn new(definitions: &'a [Definition], cap: usize, column: usize) -> Self {
        Self {
            definitions,
            cap,
            column,
            text: String::new(),
        }
    }

    /// The text of `ty`, in a line that is indented by `pad` blanks.
    pub(super) fn ty(mut self, ty: &Type, pad: usize) -> Result<String, TooLong> {
        self.write(ty, pad, 0)?;
        Ok(self.text)
    }

    fn push(&mut self, text: &str) -> Result<(), TooLong> {
        self.text.push_str(text);
        if self.text.len() > self.cap {
            Err(TooLong)
        } else {
            Ok(())
        }
    }

    fn line(&mut self, pad: usize) -> Result<(), TooLong> {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.push("\n")?;
        self.push(&" ".repeat(pad))
    }

    fn column(&self) -> usize {
        end_column(self.column, &self.text)
    }

    fn write(&mut self, ty: &Type, pad: usize, depth: usize) -> Result<(), TooLong> {
        let ty = resolve(self.definitions, ty);
        if let Some(word) = word(self.definitions, ty) {
            return self.push(&word);
        }
        if depth > MAX_DEPTH {
            return self.push(&format!("unknown /* {TOO_DEEP} */"));
        }
        let room = WIDTH.saturating_sub(self.column());
        if let Ok(line) = flat::line(self.definitions, ty, room, Docs::Keep) {
            return self.push(&line);
        }
        match ty {
            Type::Seen(ty) => {
                self.push("Seen<")?;
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

    fn operand(&mut self, ty: &Type, pad: usize, depth: usize) -> Result<(), TooLong> {
        if !matches!(resolve(self.definitions, ty), Type::Union(_) | Type::All(_)) {
            return self.write(ty, pad, depth);
        }
        self.push("(")?;
        self.write(ty, pad, depth)?;
        self.push(")")
    }

    fn array(&mut self, items: &Type, pad: usize, depth: usize) -> Result<(), TooLong> {
        self.push("Array<")?;
        let start = self.text.len();
        self.write(items, pad, depth)?;
        // Alternatives are on lines of their own, and so is what follows them.
        if self.text[start..].starts_with('\n') {
            self.line(pad)?;
        }
        self.push(">")
    }

    fn tuple(&mut self, tuple: &Tuple, pad: usize, depth: usize) -> Result<(), TooLong> {
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

    fn object(&mut self, object: &Object, pad: usize, depth: usize) -> Result<(), TooLong> {
        self.push("{\n")?;
        for member in &object.members {
            self.member(member, &key(member), pad + 2, depth)?;
        }
        match object.index.as_deref() {
            Some(index) if object.members.is_empty() => {
                self.member(index, INDEX, pad + 2, depth)?;
            }
            Some(index) => self.member(&self.beside_members(index), INDEX, pad + 2, depth)?,
            None => {}
        }
        self.push(&" ".repeat(pad))?;
        self.push("}")
    }

    /// The index signature beside listed members. TypeScript requires these to fit it, so its type is `unknown`, and
    /// the real type becomes documentation.
    fn beside_members(&self, index: &Member) -> Member {
        let mut doc = index.doc.clone();
        let ty = resolve(self.definitions, &index.ty);
        if !matches!(ty, Type::Unknown(_))
            && let Ok(ty) = flat::line(self.definitions, ty, WIDTH, Docs::Drop)
        {
            doc.tags
                .insert(0, text::line(&format!("(other members: {ty})")));
        }
        Member {
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
    ) -> Result<(), TooLong> {
        let doc = words(self.definitions, &member.doc, &member.ty).block(pad);
        self.push(&doc)?;
        self.push(&" ".repeat(pad))?;
        self.push(key)?;
        self.write(member.written(), pad, depth)?;
        self.push(";\n")
    }

    /// Puts several one-word alternatives on a line, and others on lines of their own, under their documentation.
    fn union(&mut self, variants: &[Variant], pad: usize, depth: usize) -> Result<(), TooLong> {
        let mut in_words = false;
        for variant in variants {
            let doc = words(self.definitions, &variant.doc, &variant.ty).block(pad + 2);
            let is_word = doc.is_empty()
                && word(self.definitions, resolve(self.definitions, &variant.ty)).is_some();
            if is_word && in_words && self.column() < WIDTH - 20 {
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

/// The column at which `text` ends that began at `column`.
pub(super) fn end_column(column: usize, text: &str) -> usize {
    text.rfind('\n')
        .map_or(column + text.len(), |at| text.len() - at - 1)
}
