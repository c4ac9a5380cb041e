//! Resolves `$ref` to definitions inside the same document.
//!
//! Invariant: every definition is parsed once, so a recursive schema is a finite table, and nothing is ever fetched.

use std::{borrow::Cow, collections::HashMap};

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::ir::Type;
use super::jsdoc::ValueDoc;
use super::sanitize;

/// The maximum number of definitions in one schema.
const MAX_DEFINITIONS: usize = 512;

/// A part of a schema that may be given a name.
#[derive(Debug)]
pub(super) struct SchemaDefinition {
    pub(super) name: String,
    pub(super) body: Type,
    pub(super) doc: ValueDoc,
    /// Whether the body is written instead of the name where the definition is mentioned.
    pub(super) inline: bool,
}

/// The definitions of a document that were referenced so far, in that order.
pub(super) struct SchemaReferences<'a> {
    document: &'a Value,
    by_pointer: HashMap<String, usize>,
    targets: Vec<(String, &'a Value)>,
}

impl<'a> SchemaReferences<'a> {
    /// References into `document`. The document itself is definition 0, called `name` if it is recursive.
    pub(super) fn new(document: &'a Value, name: &str) -> Self {
        Self {
            document,
            by_pointer: HashMap::from([(String::new(), 0)]),
            targets: vec![(name.to_owned(), document)],
        }
    }

    pub(super) fn target(&self, index: usize) -> Option<(&str, &'a Value)> {
        self.targets
            .get(index)
            .map(|(name, target)| (name.as_str(), *target))
    }

    /// The type of `reference`: a definition, or unknown with the reason.
    pub(super) fn resolve(&mut self, reference: &str) -> Type {
        let unknown = |why: &str| {
            Type::Unknown(Some(format!(
                "{why}: {}",
                sanitize::sanitize_line(reference)
            )))
        };
        let Some(fragment) = reference.strip_prefix('#') else {
            return unknown("reference to another document, not fetched");
        };
        let decoded = percent_decode_str(fragment).decode_utf8();
        let pointer = decoded.map_or_else(|_| fragment.to_owned(), Cow::into_owned);
        if let Some(&known) = self.by_pointer.get(&pointer) {
            return Type::Named(known);
        }
        let Some(target) = self.document.pointer(&pointer) else {
            return unknown("reference to nothing");
        };
        if self.targets.len() == MAX_DEFINITIONS {
            return unknown("too many references");
        }
        let name = pointer.rsplit('/').next().unwrap_or_default();
        let name = name.replace("~1", "/").replace("~0", "~");
        self.targets.push((name, target));
        self.by_pointer.insert(pointer, self.targets.len() - 1);
        Type::Named(self.targets.len() - 1)
    }
}
