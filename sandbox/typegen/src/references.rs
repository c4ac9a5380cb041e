//! Resolves the references of a schema in normal form to definitions.
//!
//! Invariant: every definition is parsed once, so a recursive schema is a finite table, and nothing is ever fetched.

use std::collections::HashMap;

use serde_json::Value;

use super::ir::Type;
use super::jsdoc::ValueDoc;
use super::{normal_form::definition_name, sanitize};

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
    by_name: HashMap<String, usize>,
    targets: Vec<(String, &'a Value)>,
}

impl<'a> SchemaReferences<'a> {
    /// References into `document`. The document itself is definition 0, called `name` if it is recursive.
    pub(super) fn new(document: &'a Value, name: &str) -> Self {
        Self {
            document,
            by_name: HashMap::from([(String::new(), 0)]),
            targets: vec![(name.to_owned(), document)],
        }
    }

    pub(super) fn target(&self, index: usize) -> Option<(&str, &'a Value)> {
        self.targets
            .get(index)
            .map(|(name, target)| (name.as_str(), *target))
    }

    /// The type of `reference` in a schema in normal form: a definition, or unknown with the reason.
    pub(super) fn resolve(&mut self, reference: &str) -> Type {
        let unknown = |why: &str| {
            Type::Unknown(Some(format!(
                "{why}: {}",
                sanitize::sanitize_line(reference)
            )))
        };
        let Some(name) = definition_name(reference) else {
            return unknown("reference to nothing");
        };
        if let Some(&known) = self.by_name.get(&name) {
            return Type::Named(known);
        }
        let definitions = self.document.get("$defs");
        let Some(target) = definitions.and_then(|all| all.get(&name)) else {
            return unknown("reference to nothing");
        };
        if self.targets.len() == MAX_DEFINITIONS {
            return unknown("too many references");
        }
        self.targets.push((name.clone(), target));
        self.by_name.insert(name, self.targets.len() - 1);
        Type::Named(self.targets.len() - 1)
    }
}
