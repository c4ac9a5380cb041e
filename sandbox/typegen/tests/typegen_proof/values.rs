//! Guesses values for a schema and keeps those that a validator accepts.
//!
//! Invariant: every returned value is accepted by the schema, as written and as read.

use jsonschema::Draft;
use serde_json::{Map, Value, json};

use crate::readings::{as_read, validator};

const WORDS: &[&str] = &["a", "b", "", "2026-11-21", "a@b.c", "x y"];

/// The guesses, one for each seed, that a validator accepts.
pub(crate) fn accepted(schema: &Value, seeds: &[u64]) -> Vec<Value> {
    let draft = Draft::Draft202012;
    let valid = |schema: &Value| {
        validator(schema, draft).unwrap_or_else(|| panic!("this is not a schema: {schema}"))
    };
    let written = valid(schema);
    let read = valid(&as_read(schema));
    let mut accepted: Vec<Value> = Vec::new();
    for seed in seeds {
        let mut guess = Guess {
            document: schema,
            seed: *seed | 1,
        };
        let value = guess.value(schema, 6);
        let is_right = written.is_valid(&value) && read.is_valid(&value);
        if is_right && !accepted.contains(&value) {
            accepted.push(value);
        }
    }
    accepted
}

/// Values with one error that a type can express: a required member is missing, or a scalar is a list. Only members
/// that a plain object schema describes are changed, to make sure that no other part allows the change.
pub(crate) fn broken(schema: &Value, value: &Value) -> Vec<Value> {
    let is_plain = |schema: &Map<String, Value>| {
        schema.get("type") == Some(&json!("object"))
            && PARTS.iter().all(|keyword| !schema.contains_key(*keyword))
    };
    let (Some(map), Value::Object(members)) = (schema.as_object(), value) else {
        return Vec::new();
    };
    if !is_plain(map) {
        return Vec::new();
    }
    let properties = map.get("properties").and_then(Value::as_object);
    let required = map.get("required").and_then(Value::as_array);
    let mut broken = Vec::new();
    for (name, schema) in properties.into_iter().flatten() {
        let Some(present) = members
            .get(name)
            .filter(|_| !INHERITED.contains(&name.as_str()))
        else {
            continue;
        };
        let mut changed = |new: Option<Value>| {
            let mut members = members.clone();
            match new {
                Some(new) => members.insert(name.clone(), new),
                None => members.remove(name),
            };
            broken.push(Value::Object(members));
        };
        if required.is_some_and(|names| names.contains(&json!(name))) {
            changed(None);
        }
        let is_scalar = matches!(
            schema.get("type").and_then(Value::as_str),
            Some("string" | "number" | "integer" | "boolean")
        );
        if is_scalar && PARTS.iter().all(|keyword| schema.get(*keyword).is_none()) {
            changed(Some(json!([present])));
        }
        broken_inside(schema, present, &mut changed);
    }
    broken
}

fn broken_inside(schema: &Value, value: &Value, changed: &mut impl FnMut(Option<Value>)) {
    for inside in broken(schema, value) {
        changed(Some(inside));
    }
}

/// Keywords that combine schemas or list values.
const PARTS: &[&str] = &[
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "dependentSchemas",
    "enum",
    "const",
    "patternProperties",
    "x-mux-unless",
];
/// Members that every object has.
const INHERITED: &[&str] = &[
    "constructor",
    "toString",
    "valueOf",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "__proto__",
];

struct Guess<'a> {
    document: &'a Value,
    seed: u64,
}

impl<'a> Guess<'a> {
    /// A number below `most`; xorshift64.
    fn below(&mut self, most: usize) -> usize {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        usize::try_from(self.seed % most.max(1) as u64).unwrap_or_default()
    }

    fn pick<'b, T>(&mut self, from: &'b [T]) -> Option<&'b T> {
        let at = self.below(from.len());
        from.get(at)
    }

    /// A value that follows the keywords that are easy to follow.
    fn value(&mut self, schema: &'a Value, levels: usize) -> Value {
        let Some(map) = schema.as_object().filter(|_| levels > 0) else {
            return self.any(levels);
        };
        if let Some(constant) = map.get("const") {
            return constant.clone();
        }
        if let Some(values) = map.get("enum").and_then(Value::as_array) {
            return self.pick(values).cloned().unwrap_or_default();
        }
        if let Some(reference) = map.get("$ref").and_then(Value::as_str)
            && let Some(target) = self.document.pointer(reference.trim_start_matches('#'))
        {
            return self.value(target, levels - 1);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(schemas) = map.get(keyword).and_then(Value::as_array)
                && let Some(schema) = self.pick(schemas)
            {
                return self.value(schema, levels - 1);
            }
        }
        if let Some(parts) = map.get("allOf").and_then(Value::as_array) {
            return self.of_all(map, parts, levels);
        }
        self.typed(map, levels)
    }

    /// The members of all parts together, if the parts are objects.
    fn of_all(&mut self, map: &'a Map<String, Value>, parts: &'a [Value], levels: usize) -> Value {
        let mut all = Map::new();
        let mut last = self.typed(map, levels);
        for part in parts {
            if let Value::Object(members) = last {
                all.extend(members);
            }
            last = self.value(part, levels - 1);
        }
        match last {
            Value::Object(members) => {
                all.extend(members);
                Value::Object(all)
            }
            scalar => scalar,
        }
    }

    fn typed(&mut self, map: &'a Map<String, Value>, levels: usize) -> Value {
        let name = match map.get("type") {
            Some(Value::String(name)) => name.as_str(),
            Some(Value::Array(names)) => {
                self.pick(names).and_then(Value::as_str).unwrap_or_default()
            }
            _ if map.contains_key("properties") => "object",
            _ if map.contains_key("items") || map.contains_key("prefixItems") => "array",
            _ => "",
        };
        match name {
            "string" => json!(self.pick(WORDS)),
            "number" => json!(self.below(9) as f64 / 2.0 - 2.0),
            "integer" => json!(self.below(5)),
            "boolean" => json!(self.below(2) == 0),
            "null" => Value::Null,
            "object" => self.object(map, levels),
            "array" => self.array(map, levels),
            _ => self.any(levels),
        }
    }

    fn object(&mut self, map: &'a Map<String, Value>, levels: usize) -> Value {
        let required = map.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|n| n == name));
        let mut members = Map::new();
        for (name, schema) in map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            if is_required(name) || self.below(2) == 0 {
                members.insert(name.clone(), self.value(schema, levels - 1));
            }
        }
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                members.insert(name.to_owned(), self.any(levels - 1));
            }
        }
        for keyword in ["additionalProperties", "patternProperties"] {
            let schema = match map.get(keyword) {
                Some(Value::Object(schemas)) if keyword == "patternProperties" => {
                    schemas.values().next()
                }
                schema => schema,
            };
            if let Some(schema) = schema
                && schema != &json!(false)
                && self.below(2) == 0
            {
                members.insert("other".to_owned(), self.value(schema, levels - 1));
            }
        }
        Value::Object(members)
    }

    fn array(&mut self, map: &'a Map<String, Value>, levels: usize) -> Value {
        let prefix = map.get("prefixItems").and_then(Value::as_array);
        let mut items: Vec<Value> = Vec::new();
        for schema in prefix.into_iter().flatten() {
            items.push(self.value(schema, levels - 1));
        }
        if let Some(schema) = map.get("items").filter(|items| *items != &json!(false)) {
            for _ in 0..self.below(3) {
                items.push(self.value(schema, levels - 1));
            }
        }
        Value::Array(items)
    }

    fn any(&mut self, levels: usize) -> Value {
        match self.below(if levels > 1 { 7 } else { 5 }) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(self.below(5)),
            3 | 4 => json!(self.pick(WORDS)),
            5 => json!([self.any(levels - 1)]),
            _ => json!({ "a": self.any(levels - 1) }),
        }
    }
}
