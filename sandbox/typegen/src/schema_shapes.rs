//! Parses JSON Schema to types: objects, arrays and tuples.
//!
//! Members that only some values may have (`then`, `else`, `dependentSchemas`) are optional members of all.
//!
//! Invariant: where a schema does not mention further members or items, there are none. JSON Schema would allow them,
//! but a checker that finds misspelled arguments is worth more.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::ir::{Member, Object, Tuple, Type, Variant};
use super::jsdoc::ValueDoc;
use super::sanitize;
use super::schema_parser::{MAX_SCHEMA_DEPTH, SchemaParser, non_empty_list, variant};

/// Keywords whose schemas describe the same object.
const PART_KEYWORDS: [&str; 6] = ["$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];

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
            let optional = !is_required.contains(name.as_str());
            listed.insert(name);
            members.push(Member {
                optional,
                ..required_member(name, ty, doc.resolve_title(name))
            });
        }
        for member in self.conditional_members(map, depth) {
            if !listed.contains(member.name.as_str()) {
                members.push(member);
            }
        }
        let index = self.index(map, depth);
        // Only one-word types are repeated for every name, to bound the size of the output.
        let unlisted = match index.as_ref().map(|index| &index.ty) {
            Some(ty @ (Type::Boolean | Type::Number | Type::String | Type::Named(_))) => ty.clone(),
            _ => Type::Unknown(None),
        };
        for name in required {
            if listed.insert(name) {
                members.push(required_member(name, unlisted.clone(), ValueDoc::default()));
            }
        }
        let has_parts = PART_KEYWORDS.iter().any(|part| map.contains_key(*part));
        let is_closed = has_parts && closing_schema(map) == Some(&Value::Bool(false));
        if members.is_empty() && index.is_none() && properties.is_none() && !is_closed {
            return Object::open();
        }
        let index = index.filter(|index| members.is_empty() || index.ty != Type::Never);
        let forbids_others = map.get("additionalProperties") == Some(&Value::Bool(false));
        Object {
            is_closed: forbids_others && index.is_none(),
            members,
            index: index.map(Box::new),
        }
    }

    /// The type of a schema that says something about conditional members only.
    pub(super) fn conditional_type(&mut self, map: &Map<String, Value>, depth: usize) -> Type {
        let members = self.conditional_members(map, depth);
        if members.is_empty() {
            return Type::Unknown(None);
        }
        Type::Object(Object {
            members,
            ..Object::default()
        })
    }

    /// The members that `if`, `then`, `else` and `dependentSchemas` mention.
    fn conditional_members(&mut self, map: &Map<String, Value>, depth: usize) -> Vec<Member> {
        let mut found: Vec<Member> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let condition = map.get("if").into_iter().map(|schema| (schema, true));
        let branches = ["then", "else"].map(|keyword| map.get(keyword));
        let branches = branches.into_iter().flatten();
        let branches = branches.filter(|_| map.contains_key("if"));
        let dependent = map.get("dependentSchemas").and_then(Value::as_object);
        let dependent = dependent.into_iter().flatten().map(|(_, schema)| schema);
        let applied = branches.chain(dependent).map(|schema| (schema, false));
        for (schema, is_condition) in condition.chain(applied) {
            for mut member in self.branch_members(schema, depth) {
                // A condition does not describe the values that fail it.
                if is_condition {
                    member.ty = Type::Unknown(None);
                }
                match places.get(&member.name) {
                    Some(&at) if matches!(found[at].ty, Type::Unknown(_)) => found[at] = member,
                    Some(&at) => found[at].narrow(member),
                    None => {
                        places.insert(member.name.clone(), found.len());
                        found.push(member);
                    }
                }
            }
        }
        found
    }

    /// The members that a conditional schema mentions. The members of a constant do not describe other values.
    fn branch_members(&mut self, schema: &Value, depth: usize) -> Vec<Member> {
        let is_constant = schema.get("const").is_some() || schema.get("enum").is_some();
        if is_constant || self.branches_left == 0 {
            return Vec::new();
        }
        self.branches_left -= 1;
        let (ty, _) = self.schema(schema, depth + 1);
        self.members_of(ty, depth + 1)
    }

    /// The members of an object type or of its alternatives, as conditional ones.
    fn members_of(&mut self, ty: Type, depth: usize) -> Vec<Member> {
        match ty {
            _ if depth > MAX_SCHEMA_DEPTH => Vec::new(),
            Type::Object(object) => {
                let members = object.members.into_iter();
                members.map(Member::conditional).collect()
            }
            Type::Named(index) => match self.definition(index) {
                Some(target) => self.branch_members(target, depth),
                None => Vec::new(),
            },
            Type::All(parts) => {
                let members = parts.into_iter().map(|part| self.members_of(part, depth));
                members.flatten().collect()
            }
            Type::Union(variants) => {
                let members = variants.into_iter();
                let members = members.map(|variant| self.members_of(variant.ty, depth));
                members.flatten().collect()
            }
            _ => Vec::new(),
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
        let has_parts = PART_KEYWORDS.iter().any(|part| map.contains_key(*part));
        match closing_schema(map) {
            None => {}
            // Other parts of the object may have more members.
            Some(Value::Bool(false)) if has_parts || !variants.is_empty() => {}
            Some(schema) => {
                let (ty, inner) = self.schema(schema, depth + 1);
                doc.absorb(inner.resolve_title(""));
                // TypeScript requires the members of other parts to fit an index signature.
                let ty = if has_parts { Type::Unknown(None) } else { ty };
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

/// The schema of members that no other keyword mentions.
fn closing_schema(map: &Map<String, Value>) -> Option<&Value> {
    let additional = map.get("additionalProperties");
    additional.or_else(|| map.get("unevaluatedProperties"))
}

fn required_member(name: &str, ty: Type, doc: ValueDoc) -> Member {
    Member {
        name: name.to_owned(),
        optional: false,
        is_conditional: false,
        ty,
        doc,
    }
}
