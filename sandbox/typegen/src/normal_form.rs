//! The normal form of a JSON schema. Types, validation, typed arguments, forms and overrides all read it, which keeps
//! them from disagreeing.
//!
//! Servers send every draft of JSON Schema, OpenAPI's dialect, and whatever generators make of these. The normal form
//! is JSON Schema 2020-12 without `$schema`, `$id` and anchors: every reference is `#` or `#/$defs/NAME`, `nullable` is
//! a type, bounds are numbers, a tuple has `prefixItems`, and `type` contradicts no value of `enum`. A keyword that
//! cannot be read is left out and noted. All others stay.
//!
//! - `keywords` knows the kind of each keyword's value, `references` resolves references in the original document,
//!   `value_types` makes `type`, `enum`, `const` and `nullable` agree, `closed_parts` reads `additionalProperties`
//!   beside other schemas of the same object, `notes` lists the omissions, `losses` keeps a schema from forbidding more
//!   because of them, `lookup` answers questions about one argument.
//!
//! The daemon's reader of messages (`daemon/upstream/src/link/reader/repair_value.rs`) repairs nulls and empty lists in a
//! schema before this, because agents are sent the schema itself.
//!
//! Invariant: normalizing is total, its work is limited ([`MAX_SCHEMA_NODES`], [`MAX_COPIED_BYTES`]), and it never
//! forbids a value that the original schema allows, except where an older draft does.

mod closed_parts;
mod keywords;
mod lookup;
mod losses;
mod notes;
mod python_pattern;
mod references;
mod value_types;

use std::collections::HashMap;

use serde_json::{Map, Value};

use self::{
    keywords::{KeywordKind, kind_of},
    notes::Notes,
    references::{ReferenceTarget, SchemaDocument},
};
pub use self::{
    lookup::{JsonTypes, SchemaView},
    losses::{each_schema_mut, mark_lost, settle},
    notes::{Deviation, SchemaNote},
};

/// The keyword that replaces a reference that was left out, with the reason.
pub(crate) const UNRESOLVED_KEYWORD: &str = "x-mux-unresolved";
/// The maximum nesting depth of schemas. Anything deeper allows every value.
const MAX_SCHEMA_DEPTH: usize = 65;
/// The maximum number of schemas in one document. A larger one counts as unreadable.
const MAX_SCHEMA_NODES: usize = 100_000;

/// The maximum size of all values in one document, copies in definitions included.
const MAX_COPIED_BYTES: usize = 64 << 20;

/// A schema in normal form.
#[derive(Clone, Debug, PartialEq)]
pub struct NormalSchema {
    pub schema: Value,
    /// The parts that were left out or reinterpreted, in the order of the schema.
    pub notes: Vec<SchemaNote>,
}

/// Reads any JSON value as a schema. A value that is not a schema allows everything, with a note.
pub fn normalize(schema: &Value) -> NormalSchema {
    let document = SchemaDocument::new(schema);
    let mut normalizer = Normalizer {
        refs_have_siblings: document.refs_have_siblings(),
        document,
        notes: Notes::default(),
        definitions: HashMap::new(),
        queue: Vec::new(),
        names: HashMap::new(),
        has_parts: false,
        nodes: 0,
        copied_bytes: 0,
    };
    let mut root = normalizer.root(schema);
    if normalizer.is_too_large() {
        return NormalSchema {
            schema: Value::Bool(true),
            notes: vec![SchemaNote::new("", Deviation::TooLarge)],
        };
    }
    if normalizer.has_parts {
        references::break_cycles(&mut root, &mut normalizer.notes);
    }
    losses::settle(&mut root);
    if normalizer.has_parts {
        closed_parts::open(&mut root);
    }
    NormalSchema {
        schema: root,
        notes: normalizer.notes.into_list(),
    }
}

/// The name of the definition in a reference of a normal form; empty for the whole schema.
pub(crate) fn definition_name(reference: &str) -> Option<String> {
    if reference == "#" {
        return Some(String::new());
    }
    references::definition_of(reference).map(std::borrow::Cow::into_owned)
}

struct Normalizer<'a> {
    document: SchemaDocument<'a>,
    /// Up to draft 7, the keywords beside a reference are ignored.
    refs_have_siblings: bool,
    notes: Notes,
    /// The names under `$defs` by the pointers into the original document.
    definitions: HashMap<String, String>,
    /// Definitions that were referenced and not yet read.
    queue: Vec<(String, &'a Value, String)>,
    /// How often a definition name was asked for.
    names: HashMap<String, usize>,
    /// A schema refers to another, or combines several.
    has_parts: bool,
    nodes: usize,
    /// The approximate size of the values that were copied. Definitions inside each other are copied several times.
    copied_bytes: usize,
}

impl<'a> Normalizer<'a> {
    fn root(&mut self, schema: &'a Value) -> Value {
        let mut root = match schema {
            Value::Object(_) | Value::Bool(_) => self.schema(schema, "", 0),
            _ => {
                self.notes.add("", Deviation::Unreadable);
                return Value::Bool(true);
            }
        };
        let mut definitions = Map::new();
        while let Some((pointer, target, name)) = self.queue.pop() {
            let read = self.schema(target, &pointer, 1);
            definitions.insert(name, read);
        }
        if let Value::Object(members) = &mut root
            && !definitions.is_empty()
        {
            members.insert("$defs".to_owned(), Value::Object(definitions));
        }
        root
    }

    /// The normal form of the schema at `pointer`.
    fn schema(&mut self, schema: &'a Value, pointer: &str, depth: usize) -> Value {
        self.nodes += 1;
        if depth > MAX_SCHEMA_DEPTH {
            return self.lost_schema(pointer, Deviation::TooDeep);
        }
        if self.is_too_large() {
            return Value::Bool(true);
        }
        match schema {
            Value::Bool(_) => schema.clone(),
            Value::Object(members) => self.members(members, pointer, depth),
            // `"path": "string"` instead of `"path": {"type": "string"}`.
            Value::String(name) if value_types::type_name(name).is_some() => {
                self.notes.add(pointer, Deviation::ShortType);
                let mut members = Map::new();
                value_types::read_type(schema, pointer, &mut members, &mut self.notes);
                Value::Object(members)
            }
            // PHP writes an empty object as an empty list.
            Value::Array(list) if list.is_empty() => Value::Bool(true),
            _ => self.lost_schema(pointer, Deviation::Unreadable),
        }
    }

    fn is_too_large(&self) -> bool {
        self.nodes > MAX_SCHEMA_NODES || self.copied_bytes > MAX_COPIED_BYTES
    }

    fn lost_schema(&mut self, pointer: &str, deviation: Deviation) -> Value {
        let mut schema = Map::new();
        self.notes.lose(pointer, deviation, &mut schema);
        Value::Object(schema)
    }

    fn members(&mut self, members: &'a Map<String, Value>, pointer: &str, depth: usize) -> Value {
        let reference = members.get("$ref").filter(|_| !self.refs_have_siblings);
        let is_ref_alone = reference.is_some_and(Value::is_string);
        let mut normal = Map::new();
        for (keyword, value) in members {
            if is_ref_alone && keyword != "$ref" && !keywords::is_annotation(keyword) {
                continue;
            }
            self.keyword(keyword, value, members, pointer, depth, &mut normal);
        }
        keywords::open_where_lost(members, &mut normal);
        Self::require_marked_properties(members, &mut normal);
        value_types::reconcile(&mut normal, pointer, &mut self.notes);
        value_types::make_nullable(members, normal)
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: &'a Value,
        members: &'a Map<String, Value>,
        pointer: &str,
        depth: usize,
        normal: &mut Map<String, Value>,
    ) {
        let kind = kind_of(keyword);
        if kind.is_none_or(KeywordKind::is_copied) {
            self.copied_bytes += keywords::approximate_bytes(value);
            if self.is_too_large() {
                return;
            }
        }
        let Some(kind) = kind else {
            if !keywords::is_identity(keyword) && !keywords::is_mark(keyword) {
                normal.insert(keyword.to_owned(), value.clone());
            }
            return;
        };
        self.has_parts |= references::is_part(keyword);
        let at = || references::join(pointer, keyword);
        let read = match kind {
            KeywordKind::Schema => self.one_schema(value, &at(), depth),
            KeywordKind::Schemas => self.schema_list(value, &at(), depth),
            KeywordKind::SchemaMap => self.schema_map(value, &at(), depth),
            KeywordKind::Items => return self.items(value, members, pointer, depth, normal),
            KeywordKind::AdditionalItems => return,
            KeywordKind::Dependencies => {
                return self.dependencies(value, &at(), depth, normal);
            }
            KeywordKind::Reference => return self.reference(keyword, value, pointer, normal),
            KeywordKind::Type => {
                return value_types::read_type(value, pointer, normal, &mut self.notes);
            }
            KeywordKind::Bound { inclusive } => match value {
                // Up to draft 4, a boolean beside the inclusive bound.
                Value::Bool(is_exclusive) => {
                    let bound = members.get(inclusive).and_then(keywords::to_number);
                    if let (true, Some(bound)) = (is_exclusive, bound) {
                        normal.insert(keyword.to_owned(), bound);
                    }
                    return;
                }
                value => keywords::to_number(value),
            },
            KeywordKind::Number { exclusive } => {
                if members.get(exclusive) == Some(&Value::Bool(true)) {
                    return;
                }
                keywords::to_number(value)
            }
            KeywordKind::Divisor => keywords::to_divisor(value),
            KeywordKind::Count => keywords::to_count(value),
            KeywordKind::Boolean => keywords::to_boolean(value),
            KeywordKind::Values => keywords::to_values(value),
            KeywordKind::Names => match value {
                // Read at the object that has this property.
                Value::Bool(_) => return,
                value => keywords::to_names(value),
            },
            KeywordKind::NameMap => keywords::to_name_map(value),
            KeywordKind::Pattern => value
                .as_str()
                .map(|pattern| Value::String(python_pattern::translate(pattern))),
            KeywordKind::Ignored => return,
        };
        match read {
            Some(read) => {
                normal.insert(keyword.to_owned(), read);
            }
            None if keywords::says_nothing(value) => {
                // In the standard, an empty list of alternatives or values allows nothing.
                if value.is_array() && matches!(keyword, "enum" | "anyOf" | "oneOf" | "type") {
                    mark_lost(normal);
                }
            }
            None => self
                .notes
                .lose(pointer, Deviation::ignored(keyword), normal),
        }
    }

    fn one_schema(&mut self, value: &'a Value, at: &str, depth: usize) -> Option<Value> {
        let is_schema = match value {
            Value::Bool(_) | Value::Object(_) => true,
            Value::String(name) => value_types::type_name(name).is_some(),
            _ => false,
        };
        is_schema.then(|| self.schema(value, at, depth + 1))
    }

    /// An empty list is ignored, contrary to the standard. A single schema counts as a list.
    fn schema_list(&mut self, value: &'a Value, at: &str, depth: usize) -> Option<Value> {
        let list: Vec<Value> = match value {
            Value::Array(list) => {
                let schemas = list.iter().enumerate();
                schemas
                    .map(|(n, schema)| {
                        self.schema(schema, &references::join_index(at, n), depth + 1)
                    })
                    .collect()
            }
            Value::Object(_) => vec![self.schema(value, at, depth + 1)],
            _ => Vec::new(),
        };
        Some(list).filter(|list| !list.is_empty()).map(Value::Array)
    }

    fn schema_map(&mut self, value: &'a Value, at: &str, depth: usize) -> Option<Value> {
        let members = value.as_object()?;
        let is_pattern = at.ends_with("/patternProperties");
        let read = members.iter().map(|(name, schema)| {
            let read = self.schema(schema, &references::join(at, name), depth + 1);
            let name = if is_pattern {
                python_pattern::translate(name)
            } else {
                name.clone()
            };
            (name, read)
        });
        Some(Value::Object(read.collect()))
    }

    /// Up to 2019-09, a list is that of a tuple, and `additionalItems` is the rest.
    fn items(
        &mut self,
        value: &'a Value,
        members: &'a Map<String, Value>,
        pointer: &str,
        depth: usize,
        normal: &mut Map<String, Value>,
    ) {
        let at = references::join(pointer, "items");
        let Value::Array(_) = value else {
            match self.one_schema(value, &at, depth) {
                Some(items) => drop(normal.insert("items".to_owned(), items)),
                None if keywords::says_nothing(value) => {}
                None => self
                    .notes
                    .lose(pointer, Deviation::ignored("items"), normal),
            }
            return;
        };
        if let Some(prefix) = self.schema_list(value, &at, depth) {
            normal.insert("prefixItems".to_owned(), prefix);
        }
        let at = references::join(pointer, "additionalItems");
        let rest = members.get("additionalItems");
        if let Some(rest) = rest.and_then(|rest| self.one_schema(rest, &at, depth)) {
            normal.insert("items".to_owned(), rest);
        }
    }

    /// Up to draft 7, each name is followed by the names or by the schema that it demands.
    fn dependencies(
        &mut self,
        value: &'a Value,
        at: &str,
        depth: usize,
        normal: &mut Map<String, Value>,
    ) {
        let Value::Object(dependencies) = value else {
            return;
        };
        for (name, dependency) in dependencies {
            let at = references::join(at, name);
            let (keyword, read) = match dependency {
                Value::Object(_) | Value::Bool(_) => (
                    "dependentSchemas",
                    Some(self.schema(dependency, &at, depth + 1)),
                ),
                names => ("dependentRequired", keywords::to_names(names)),
            };
            let Some(read) = read else {
                let ignored = Deviation::ignored("dependencies");
                self.notes.lose(&at, ignored, normal);
                continue;
            };
            let entry = normal.entry(keyword).or_insert_with(|| Map::new().into());
            if let Value::Object(entry) = entry {
                entry.insert(name.clone(), read);
            }
        }
    }

    fn reference(
        &mut self,
        keyword: &str,
        value: &Value,
        pointer: &str,
        normal: &mut Map<String, Value>,
    ) {
        let Some(reference) = value.as_str() else {
            if !keywords::says_nothing(value) {
                let ignored = Deviation::ignored(keyword);
                self.notes.lose(pointer, ignored, normal);
            }
            return;
        };
        let target = self.document.resolve(keyword, reference, pointer);
        let written = match target {
            ReferenceTarget::Root => "#".to_owned(),
            ReferenceTarget::Schema { pointer, target } => {
                references::to_definition(&self.definition_name(pointer, target))
            }
            ReferenceTarget::None(deviation) => {
                let unresolved = Value::String(deviation.to_string());
                normal.insert(UNRESOLVED_KEYWORD.to_owned(), unresolved);
                return self.notes.lose(pointer, deviation, normal);
            }
        };
        // Both `$ref` and `$dynamicRef` in one schema.
        if normal.contains_key("$ref") {
            let parts = normal
                .entry("allOf")
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(parts) = parts {
                parts.push(serde_json::json!({ "$ref": written }));
            }
            return;
        }
        normal.insert("$ref".to_owned(), Value::String(written));
    }

    /// The name of the definition at `pointer`, which is read later if it is new.
    fn definition_name(&mut self, pointer: String, target: &'a Value) -> String {
        if let Some(name) = self.definitions.get(&pointer) {
            return name.clone();
        }
        let wanted = references::last_segment(&pointer);
        let name = loop {
            let count = self.names.entry(wanted.clone()).or_default();
            *count += 1;
            let name = match *count {
                1 => wanted.clone(),
                count => format!("{wanted}_{count}"),
            };
            let is_new = name == wanted || !self.names.contains_key(&name);
            if is_new {
                break name;
            }
        };
        self.names.entry(name.clone()).or_insert(1);
        self.definitions.insert(pointer.clone(), name.clone());
        self.queue.push((pointer, target, name.clone()));
        name
    }

    /// Up to draft 3, a property says itself that it is required.
    fn require_marked_properties(members: &Map<String, Value>, normal: &mut Map<String, Value>) {
        let properties = members.get("properties").and_then(Value::as_object);
        let marked: Vec<&String> = properties
            .into_iter()
            .flatten()
            .filter(|(_, schema)| schema.get("required") == Some(&Value::Bool(true)))
            .map(|(name, _)| name)
            .collect();
        if marked.is_empty() {
            return;
        }
        let required = normal
            .entry("required")
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(required) = required {
            for name in marked {
                let name = Value::String(name.clone());
                if !required.contains(&name) {
                    required.push(name);
                }
            }
        }
    }
}
