//! Resolves `$ref` to definitions inside the same document.
//!
//! Invariant: every definition is parsed once, so a recursive schema is a finite table, and nothing is ever fetched.

use std::collections::HashMap;

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
        let pointer = percent_decoded(fragment);
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

/// Decodes percent-encoding in a URI fragment. Invalid sequences are kept as they are.
fn percent_decoded(fragment: &str) -> String {
    if !fragment.contains('%') {
        return fragment.to_owned();
    }
    let bytes = fragment.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%')
            .then(|| fragment.get(at + 1..at + 3))
            .flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| fragment.to_owned())
}
