//! Parses JSON Schema to types: objects, arrays and tuples.
//!
//! Invariant: where a schema does not mention further members or items, there are none. JSON Schema would allow them,
//! but a checker that finds misspelled arguments is worth more.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::ir::{Member, Object, Tuple, Type, Variant};
use super::jsdoc::ValueDoc;
use super::sanitize;
use super::schema_parser::{SchemaParser, non_empty_list, variant};

impl SchemaParser<'_> {
    pub(super) fn object(&mut self, map: &Map<String, Value>, depth: usize) -> Object {
        let properties = map.get("properties").and_then(Value::as_object);
        let required = non_empty_list(map, "required").unwrap_or_default();
        let required: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
        let is_required: HashSet<&str> = required.iter().copied().collect();
        let mut listed: HashSet<&str> = HashSet::new();
        let mut members = Vec::new();
        for (name, schema) in properties.into_iter().flatten() {
            let (ty, doc) = self.schema(schema, depth + 1);
            // Before draft 4, `required: true` was inside the property.
            let said_inside = schema.get("required") == Some(&Value::Bool(true));
            let optional = !said_inside && !is_required.contains(name.as_str());
            listed.insert(name);
            members.push(Member {
                optional,
                ..required_member(name, ty, doc.resolve_title(name))
            });
        }
        let index = self.index(map, depth);
        // Only one-word types are repeated for every name, to bound the size of the text.
        let unlisted = match index.as_ref().map(|index| &index.ty) {
            Some(ty @ (Type::Boolean | Type::Number | Type::String | Type::Named(_))) => ty.clone(),
            _ => Type::Unknown(None),
        };
        for name in required {
            if listed.insert(name) {
                members.push(required_member(name, unlisted.clone(), ValueDoc::default()));
            }
        }
        if members.is_empty() && index.is_none() && properties.is_none() {
            return Object::open();
        }
        let index = index.filter(|index| members.is_empty() || index.ty != Type::Never);
        Object {
            members,
            index: index.map(Box::new),
        }
    }

    /// The type of the members that `properties` does not list.
    fn index(&mut self, map: &Map<String, Value>, depth: usize) -> Option<Member> {
        let mut variants: Vec<Variant> = Vec::new();
        let mut doc = ValueDoc::default();
        for (pattern, schema) in map
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let (ty, inner) = self.schema(schema, depth + 1);
            doc.absorb(inner.resolve_title(""));
            doc.tags
                .push(format!("@keyPattern {}", sanitize::sanitize_line(pattern)));
            variants.push(variant(ty, ValueDoc::default()));
        }
        match map.get("additionalProperties") {
            None => {}
            Some(Value::Bool(false)) if !variants.is_empty() => {}
            Some(schema) => {
                let (ty, inner) = self.schema(schema, depth + 1);
                doc.absorb(inner.resolve_title(""));
                variants.push(variant(ty, ValueDoc::default()));
            }
        }
        if variants.is_empty() {
            return None;
        }
        Some(Member {
            optional: true,
            ..required_member("", Type::union(variants), doc)
        })
    }

    /// An array or tuple. Documentation of the items is added to `doc`, that of the array.
    pub(super) fn array(
        &mut self,
        map: &Map<String, Value>,
        depth: usize,
        doc: &mut ValueDoc,
    ) -> Type {
        let items = map.get("items");
        let (prefix, rest) = match (non_empty_list(map, "prefixItems"), items) {
            (Some(prefix), rest) => (prefix, rest),
            (None, Some(Value::Array(prefix))) => (prefix.as_slice(), map.get("additionalItems")),
            (None, items) => {
                let (ty, inner) = match items {
                    Some(items) => self.schema(items, depth + 1),
                    None => (Type::Unknown(None), ValueDoc::default()),
                };
                let inner = inner.resolve_title("items");
                if !inner.is_empty() {
                    doc.tags.push(format!("@items {}", inner.one_line()));
                }
                return Type::Array(Box::new(ty));
            }
        };
        let items: Vec<Type> = prefix
            .iter()
            .map(|item| self.schema(item, depth + 1).0)
            .collect();
        let rest = match rest {
            None | Some(Value::Bool(false)) => None,
            Some(rest) => Some(Box::new(self.schema(rest, depth + 1).0)),
        };
        let least = map.get("minItems").and_then(Value::as_u64);
        let required = least
            .map_or(items.len(), |least| {
                usize::try_from(least).unwrap_or(usize::MAX)
            })
            .min(items.len());
        Type::Tuple(Tuple {
            items,
            required,
            rest,
        })
    }
}

fn required_member(name: &str, ty: Type, doc: ValueDoc) -> Member {
    Member {
        name: name.to_owned(),
        optional: false,
        ty,
        doc,
    }
}
