//! Parses JSON Schema in normal form to types: combines the keywords of one schema.
//!
//! Invariant: parsing is total. Any JSON value gives a type. Schemas that are not understood or nested too deeply
//! give `unknown`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::inline_definitions::mark_inline_definitions;
use super::ir::{Member, Object, Tuple, Type, Variant};
use super::jsdoc::ValueDoc;
use super::normal_form::UNRESOLVED_KEYWORD;
use super::references::{SchemaDefinition, SchemaReferences};
use super::sanitize;

/// The maximum nesting depth of schemas and of written types. Anything deeper is `unknown`.
pub(super) const MAX_SCHEMA_DEPTH: usize = 64;

/// The maximum number of conditional schemas of one document that are searched for members.
const MAX_BRANCHES: usize = 2_000;

/// Keywords that imply that a value is an object if `type` is missing.
const OBJECT_KEYWORDS: [&str; 4] = [
    "properties",
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
];

/// The note on an `unknown` that is nested too deeply.
pub(super) const TOO_DEEP_NOTE: &str = "nested deeper than 64 levels";

/// Parses a schema to its definitions. The first is the schema itself, called `name` if it needs a name.
pub(super) fn parse_schema(schema: &Value, name: &str) -> Vec<SchemaDefinition> {
    let mut parser = SchemaParser {
        references: SchemaReferences::new(schema, name),
        branches_left: MAX_BRANCHES,
    };
    let mut definitions = Vec::new();
    while let Some((name, target)) = parser.references.target(definitions.len()) {
        let name = name.to_owned();
        let (body, doc) = parser.schema(target, 0);
        // The title of the whole schema is usually generated from the tool's name.
        let doc = if definitions.is_empty() {
            doc.untitled()
        } else {
            doc.resolve_title(&name)
        };
        definitions.push(SchemaDefinition {
            name,
            body,
            doc,
            inline: false,
        });
    }
    mark_inline_definitions(&mut definitions);
    definitions
}

pub(super) struct SchemaParser<'a> {
    references: SchemaReferences<'a>,
    /// How many more conditional schemas are searched for members. Each reference to one is followed again.
    pub(super) branches_left: usize,
}

impl<'a> SchemaParser<'a> {
    pub(super) fn definition(&self, index: usize) -> Option<&'a Value> {
        let (_, target) = self.references.target(index)?;
        Some(target)
    }

    pub(super) fn schema(&mut self, schema: &Value, depth: usize) -> (Type, ValueDoc) {
        let map = match schema {
            _ if depth > MAX_SCHEMA_DEPTH => {
                return (
                    Type::Unknown(Some(TOO_DEEP_NOTE.to_owned())),
                    ValueDoc::default(),
                );
            }
            Value::Bool(false) => return (Type::Never, ValueDoc::default()),
            Value::Object(map) => map,
            _ => return (Type::Unknown(None), ValueDoc::default()),
        };
        let mut doc = ValueDoc::of(map);
        let mut parts = Vec::new();
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            parts.push(self.references.resolve(reference));
        }
        parts.push(if let Some(constant) = map.get("const") {
            literal_type(constant, depth)
        } else if let Some(values) = non_empty_list(map, "enum") {
            Type::union(
                values
                    .iter()
                    .map(|value| variant(literal_type(value, depth), ValueDoc::default())),
            )
        } else {
            self.typed(map, depth, &mut doc)
        });
        for part in non_empty_list(map, "allOf").into_iter().flatten() {
            let (ty, inner) = self.schema(part, depth + 1);
            doc.absorb(inner);
            parts.push(ty);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(schemas) = non_empty_list(map, keyword) {
                parts.push(self.alternatives(schemas, depth, &mut doc));
            }
        }
        (Type::all(parts), doc)
    }

    /// A union. If only one alternative is not null, its documentation moves to the union.
    fn alternatives(&mut self, schemas: &[Value], depth: usize, doc: &mut ValueDoc) -> Type {
        let variants = schemas.iter().map(|schema| {
            let (ty, doc) = self.schema(schema, depth + 1);
            let name = match &ty {
                Type::Literal(literal) => literal,
                _ => "",
            };
            let doc = doc.resolve_title(name);
            variant(ty, doc)
        });
        let mut variants: Vec<Variant> = variants.collect();
        let mut described = variants
            .iter_mut()
            .filter(|variant| variant.ty != Type::Null);
        if let (Some(only), None) = (described.next(), described.next()) {
            doc.absorb(std::mem::take(&mut only.doc));
        }
        Type::union(variants)
    }

    /// The type by the keyword `type`, or guessed from other keywords if that is missing.
    fn typed(&mut self, map: &Map<String, Value>, depth: usize, doc: &mut ValueDoc) -> Type {
        let has = |keywords: &[&str]| keywords.iter().any(|keyword| map.contains_key(*keyword));
        let names: Vec<&str> = match map.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) if !names.is_empty() => names
                .iter()
                .map(|name| name.as_str().unwrap_or_default())
                .collect(),
            _ if has(&OBJECT_KEYWORDS) => vec!["object"],
            _ if has(&["items", "prefixItems"]) => vec!["array"],
            _ => {
                if let Some(note) = map.get(UNRESOLVED_KEYWORD).and_then(Value::as_str) {
                    return Type::Unknown(Some(sanitize::sanitize_line(note)));
                }
                return self.conditional_type(map, depth);
            }
        };
        // A list that repeats a name would parse the same properties over and over.
        let mut seen = HashSet::new();
        let names: Vec<&str> = names
            .into_iter()
            .filter(|name| seen.insert(*name))
            .collect();
        let types = names.into_iter().map(|name| match name {
            "string" => Type::String,
            "number" | "integer" => Type::Number,
            "boolean" => Type::Boolean,
            "null" => Type::Null,
            "object" => Type::Object(self.object(map, depth)),
            "array" => self.array(map, depth, doc),
            _ => Type::Unknown(None),
        });
        Type::union(
            types
                .map(|ty| variant(ty, ValueDoc::default()))
                .collect::<Vec<_>>(),
        )
    }
}

/// The literal type whose only value is `value`.
fn literal_type(value: &Value, depth: usize) -> Type {
    match value {
        _ if depth > MAX_SCHEMA_DEPTH => Type::Unknown(Some(TOO_DEEP_NOTE.to_owned())),
        Value::Null => Type::Null,
        Value::String(string) => Type::Literal(sanitize::quote_string(string)),
        Value::Bool(_) | Value::Number(_) => Type::Literal(value.to_string()),
        Value::Array(values) => {
            let items: Vec<Type> = values
                .iter()
                .map(|value| literal_type(value, depth + 1))
                .collect();
            Type::Tuple(Tuple {
                required: items.len(),
                items,
                rest: None,
            })
        }
        Value::Object(map) => {
            let member = |(name, value): (&String, &Value)| Member {
                name: name.clone(),
                optional: false,
                is_conditional: false,
                ty: literal_type(value, depth + 1),
                doc: ValueDoc::default(),
            };
            Type::Object(Object {
                members: map.iter().map(member).collect(),
                index: None,
                is_closed: false,
            })
        }
    }
}

pub(super) fn variant(ty: Type, doc: ValueDoc) -> Variant {
    Variant { ty, doc }
}

/// The list under `keyword`. An empty list counts as missing, contrary to the standard.
pub(super) fn non_empty_list<'a>(
    map: &'a Map<String, Value>,
    keyword: &str,
) -> Option<&'a [Value]> {
    map.get(keyword)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .filter(|list| !list.is_empty())
}
