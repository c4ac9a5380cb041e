//! Answers questions about the members of an object and their types.

use serde_json::{Map, Value};

use super::{
    closed_parts::target,
    normalize,
    references::each_schema_in_place,
    value_types::{TYPES, declared_types, is_of_type},
};

/// How many schemas are visited to answer one question.
const MAX_VISITED_SCHEMAS: usize = 1_000;

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonTypes(u8);

impl JsonTypes {
    /// No type.
    pub const NONE: Self = Self(0);
    /// Every type.
    pub const ALL: Self = Self((1 << TYPES.len()) - 1);

    /// One type by the name that JSON Schema has for it.
    pub fn of_name(name: &str) -> Self {
        match TYPES.iter().position(|known| *known == name) {
            Some(_) if name == "number" => Self::of_name("integer") | Self::bit("number"),
            Some(_) => Self::bit(name),
            None => Self::ALL,
        }
    }

    fn bit(name: &str) -> Self {
        let position = TYPES.iter().position(|known| *known == name);
        position.map_or(Self::NONE, |position| Self(1 << position))
    }

    pub fn of_value(value: &Value) -> Self {
        let name = TYPES.iter().find(|name| is_of_type(value, name));
        name.map_or(Self::NONE, |name| Self::bit(name))
    }

    pub fn contains(self, name: &str) -> bool {
        self.allows(Self::bit(name))
    }

    /// Returns true if a value of this type is allowed.
    pub fn allows_value(self, value: &Value) -> bool {
        self.allows(Self::of_value(value))
    }

    fn allows(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The type names, with `number` for both kinds of numbers.
    pub fn names(self) -> Vec<&'static str> {
        let is_number = self.contains("number");
        TYPES
            .into_iter()
            .filter(|name| self.contains(name) && !(is_number && *name == "integer"))
            .collect()
    }
}

impl std::ops::BitOr for JsonTypes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::BitAnd for JsonTypes {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// A schema in normal form that can be asked.
#[derive(Debug)]
pub struct SchemaView {
    root: Value,
}

impl SchemaView {
    /// Normalizes any JSON value.
    pub fn new(schema: &Value) -> Self {
        Self {
            root: normalize(schema).schema,
        }
    }

    pub fn root(&self) -> &Value {
        &self.root
    }

    /// The schemas of one member of the object, wherever they occur in the schema. Empty if the member is not
    /// mentioned.
    pub fn member(&self, name: &str) -> Vec<&Value> {
        let mut found = Vec::new();
        let mut left = MAX_VISITED_SCHEMAS;
        self.collect(&self.root, &mut left, &mut |schema| {
            found.extend(schema.get("properties").and_then(|all| all.get(name)));
        });
        if found.is_empty() {
            let mut has_patterns = false;
            self.collect(&self.root, &mut left, &mut |schema| {
                has_patterns |= schema.get("patternProperties").is_some();
                for keyword in ["additionalProperties", "unevaluatedProperties"] {
                    found.extend(schema.get(keyword).filter(|schema| schema.is_object()));
                }
            });
            // A pattern may match the name, and is not tried here.
            if has_patterns {
                found.clear();
            }
        }
        found
    }

    /// The schemas of the items of a list.
    pub fn items<'a>(&'a self, schema: &'a Value) -> Vec<&'a Value> {
        let mut found = Vec::new();
        let mut left = MAX_VISITED_SCHEMAS;
        self.collect(schema, &mut left, &mut |schema| {
            let prefix = schema.get("prefixItems").and_then(Value::as_array);
            found.extend(prefix.into_iter().flatten());
            found.extend(schema.get("items"));
        });
        found
    }

    /// Returns true if one of the schemas describes items.
    pub fn describes_list(&self, schemas: &[&Value]) -> bool {
        schemas.iter().any(|schema| !self.items(schema).is_empty())
    }

    /// The types of the values that one of the schemas allows, as far as their keywords say.
    pub fn types(&self, schemas: &[&Value]) -> JsonTypes {
        let mut left = MAX_VISITED_SCHEMAS;
        let types = schemas
            .iter()
            .map(|schema| self.types_of(schema, &mut left));
        types
            .reduce(|one, other| one | other)
            .unwrap_or(JsonTypes::ALL)
    }

    fn types_of(&self, schema: &Value, left: &mut usize) -> JsonTypes {
        if *left == 0 {
            return JsonTypes::ALL;
        }
        *left -= 1;
        let Some(members) = schema.as_object() else {
            return match schema {
                Value::Bool(false) => JsonTypes::NONE,
                _ => JsonTypes::ALL,
            };
        };
        let declared = declared_types(members).into_iter().map(JsonTypes::of_name);
        let mut types = declared
            .reduce(|one, other| one | other)
            .unwrap_or(JsonTypes::ALL);
        let constants = members.get("const").into_iter();
        let listed = members.get("enum").and_then(Value::as_array);
        let listed = constants.chain(listed.into_iter().flatten());
        if let Some(listed) = listed
            .map(JsonTypes::of_value)
            .reduce(|one, other| one | other)
        {
            types = types & listed;
        }
        let reference = members.get("$ref").and_then(Value::as_str);
        if let Some(target) = reference.and_then(|reference| target(reference, &self.root)) {
            types = types & self.types_of(target, left);
        }
        for part in members
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            types = types & self.types_of(part, left);
        }
        for keyword in ["anyOf", "oneOf"] {
            let Some(variants) = members.get(keyword).and_then(Value::as_array) else {
                continue;
            };
            let any = variants.iter().map(|variant| self.types_of(variant, left));
            types = types & any.fold(JsonTypes::NONE, |one, other| one | other);
        }
        types
    }

    /// A schema merged with the schemas that it refers to or combines, for forms and overrides, which read plain schemas. An
    /// alternative of null is left out.
    pub fn flattened(&self, schema: &Value) -> Map<String, Value> {
        let mut flat = Map::new();
        let mut left = MAX_VISITED_SCHEMAS;
        self.flatten(schema, &mut left, &mut flat);
        if let Some(Value::Array(types)) = flat.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = &types[..] {
                let only = only.clone();
                flat.insert("type".to_owned(), only);
            }
        }
        flat
    }

    fn flatten(&self, schema: &Value, left: &mut usize, flat: &mut Map<String, Value>) {
        let Some(members) = schema.as_object().filter(|_| *left > 0) else {
            return;
        };
        *left -= 1;
        let mut parts: Vec<&Value> = Vec::new();
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("$ref", Value::String(reference)) => parts.extend(target(reference, &self.root)),
                ("allOf", Value::Array(all)) => parts.extend(all),
                ("anyOf" | "oneOf", Value::Array(variants)) => {
                    let is_null =
                        |variant: &&Value| self.types(&[variant]) == JsonTypes::bit("null");
                    let mut others = variants.iter().filter(|variant| !is_null(variant));
                    match (others.next(), others.next()) {
                        (Some(only), None) => parts.push(only),
                        _ => {
                            flat.entry(keyword).or_insert_with(|| value.clone());
                        }
                    }
                }
                ("properties", Value::Object(properties)) => {
                    let known = flat
                        .entry("properties")
                        .or_insert_with(|| Map::new().into());
                    for (name, schema) in properties {
                        if let Value::Object(known) = known {
                            known.entry(name).or_insert_with(|| schema.clone());
                        }
                    }
                }
                ("required", Value::Array(names)) => {
                    let known = flat
                        .entry("required")
                        .or_insert_with(|| Value::Array(vec![]));
                    if let Value::Array(known) = known {
                        known.extend(names.iter().cloned());
                    }
                }
                _ => {
                    flat.entry(keyword).or_insert_with(|| value.clone());
                }
            }
        }
        for part in parts {
            self.flatten(part, left, flat);
        }
    }

    /// The values of `enum` and `const` of the schemas.
    pub fn listed_values<'a>(&'a self, schemas: &[&'a Value]) -> Vec<&'a Value> {
        let mut listed = Vec::new();
        let mut left = MAX_VISITED_SCHEMAS;
        for schema in schemas {
            self.collect(schema, &mut left, &mut |schema| {
                listed.extend(schema.get("const"));
                listed.extend(
                    schema
                        .get("enum")
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten(),
                );
            });
        }
        listed
    }

    /// Calls `visit` for the schema and all that apply to the same value.
    fn collect<'a>(
        &'a self,
        schema: &'a Value,
        left: &mut usize,
        visit: &mut dyn FnMut(&'a Value),
    ) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        visit(schema);
        let reference = schema.get("$ref").and_then(Value::as_str);
        if let Some(target) = reference.and_then(|reference| target(reference, &self.root)) {
            self.collect(target, left, visit);
        }
        if let Value::Object(members) = schema {
            each_schema_in_place(members, &mut |_, part| self.collect(part, left, visit));
        }
    }
}
