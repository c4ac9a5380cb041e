//! A schema with all that it refers to, as one document: what one tool carries.
//!
//! Parts that many operations share are said anew once and copied into each that reaches them. What reaches far
//! reaches everything: a charge of Stripe's leads to nine hundred other things. So a result is told in full up to a
//! number of bytes and steps, the nearest first, and whatever is further away says nothing. Arguments are never
//! widened: where they are long, they lose words. An object of which a part is not told says nothing at all: its other
//! members would look like all that there are.
//!
//! Invariant: what an operation's schema becomes does not depend on its neighbours, but for the names of parts that
//! are called alike.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet, VecDeque},
    rc::Rc,
};

use serde_json::{Map, Value, json};

use super::{
    dialect::{Dialect, Direction, Said},
    document::Unresolved,
};

/// Of a result's schema, as JSON text. What is held of it takes several times as much, for each of a thousand tools.
const RESULT_BYTES: usize = 6 << 10;
/// References from a result's schema to a part of it.
const RESULT_STEPS: usize = 5;
/// Arguments that are longer lose the words below their first level.
const WORDY_ARGUMENTS: usize = 12 << 10;

/// All schemas of a description.
#[derive(Debug)]
pub(super) struct Closures<'a> {
    pub(super) dialect: Dialect<'a>,
    parts: RefCell<HashMap<(Direction, String), Rc<Part>>>,
    /// What parts are called in `$defs`, by their pointers.
    names: RefCell<Names>,
}

#[derive(Debug, Default)]
struct Names {
    by_pointer: HashMap<String, Rc<str>>,
    taken: HashSet<Rc<str>>,
}

#[derive(Debug)]
struct Part {
    said: Said,
    /// As JSON text.
    bytes: usize,
}

impl<'a> Closures<'a> {
    pub(super) fn new(dialect: Dialect<'a>) -> Self {
        Self {
            dialect,
            parts: RefCell::default(),
            names: RefCell::default(),
        }
    }

    /// Arguments, all of them.
    pub(super) fn arguments(&self, schema: &Value) -> Result<Value, Unresolved> {
        let root = self.dialect.say(schema, Direction::Arguments)?;
        let mut parts = Vec::new();
        let mut known: HashSet<String> = root.needs.iter().cloned().collect();
        let mut next: VecDeque<String> = root.needs.into();
        let mut bytes = length(&root.schema);
        while let Some(pointer) = next.pop_front() {
            let part = self.part(&pointer, Direction::Arguments)?;
            bytes += part.bytes;
            let needs = part.said.needs.iter();
            next.extend(needs.filter(|it| known.insert((*it).clone())).cloned());
            parts.push((pointer, part));
        }
        let wordy = bytes > WORDY_ARGUMENTS;
        let mut defs = Map::new();
        for (pointer, part) in parts {
            let mut schema = part.said.schema.clone();
            if wordy {
                silence(&mut schema);
            }
            defs.insert(self.name(&pointer).to_string(), schema);
        }
        let mut schema = root.schema;
        if wordy {
            silence_below(&mut schema, 2);
        }
        Ok(self.document(schema, defs))
    }

    /// A result, as far as it is told.
    pub(super) fn result(&self, schema: &Value) -> Value {
        let nothing = || Said {
            schema: json!({}),
            needs: Vec::new(),
        };
        let mut root = self
            .dialect
            .say(schema, Direction::Results)
            .unwrap_or_else(|_| nothing());
        let mut bytes = length(&root.schema);
        if bytes > RESULT_BYTES {
            silence(&mut root.schema);
            bytes = length(&root.schema);
        }
        if bytes > 4 * RESULT_BYTES {
            return json!({});
        }
        let mut parts: Vec<(String, Value)> = Vec::new();
        let mut known: HashSet<String> = root.needs.iter().cloned().collect();
        let mut next: VecDeque<(String, usize)> =
            root.needs.iter().map(|it| (it.clone(), 1)).collect();
        let mut untold: HashSet<String> = HashSet::new();
        while let Some((pointer, steps)) = next.pop_front() {
            let part = self.part(&pointer, Direction::Results).ok();
            let told = part.filter(|_| steps <= RESULT_STEPS).and_then(|part| {
                let mut schema = part.said.schema.clone();
                let room = RESULT_BYTES.saturating_sub(bytes);
                if part.bytes > room {
                    silence(&mut schema);
                }
                (length(&schema) <= room).then_some((part, schema))
            });
            let Some((part, mut schema)) = told else {
                untold.insert(pointer);
                continue;
            };
            bytes += length(&schema);
            let bases = bases(&mut schema);
            for need in &part.said.needs {
                if known.insert(need.clone()) {
                    // An object is nothing without those of which it is made.
                    match bases.contains(need) {
                        true => next.push_front((need.clone(), steps)),
                        false => next.push_back((need.clone(), steps + 1)),
                    }
                }
            }
            parts.push((pointer, schema));
        }
        // What is opened may be a part of another.
        let mut opened = true;
        while opened {
            opened = false;
            open(&mut root.schema, &untold);
            for (pointer, schema) in &mut parts {
                open(schema, &untold);
                if schema.as_object().is_some_and(Map::is_empty) && untold.insert(pointer.clone()) {
                    opened = true;
                }
            }
        }
        let mut defs = Map::new();
        for (pointer, schema) in parts {
            if !untold.contains(&pointer) {
                defs.insert(self.name(&pointer).to_string(), schema);
            }
        }
        let mut untold: Vec<String> = untold.into_iter().collect();
        untold.sort();
        for pointer in untold {
            let name = self.name(&pointer).to_string();
            defs.insert(name.clone(), json!({ "title": name }));
        }
        self.document(root.schema, defs)
    }

    fn part(&self, pointer: &str, direction: Direction) -> Result<Rc<Part>, Unresolved> {
        let key = (direction, pointer.to_owned());
        if let Some(part) = self.parts.borrow().get(&key) {
            return Ok(Rc::clone(part));
        }
        let found = self.dialect.document.root().pointer(pointer);
        let found = found.ok_or_else(|| Unresolved::Nothing(format!("#{pointer}")))?;
        let said = self.dialect.say(found, direction)?;
        let bytes = length(&said.schema);
        let part = Rc::new(Part { said, bytes });
        self.parts.borrow_mut().insert(key, Rc::clone(&part));
        Ok(part)
    }

    /// The last segment of the pointer, if it is free.
    fn name(&self, pointer: &str) -> Rc<str> {
        let names = &mut *self.names.borrow_mut();
        if let Some(name) = names.by_pointer.get(pointer) {
            return Rc::clone(name);
        }
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let plain = last.replace("~1", "/").replace("~0", "~");
        let plain = plain.replace(|c| !fit(c), "_");
        let numbered = (2..).map(|number: u32| format!("{plain}_{number}"));
        let mut free = std::iter::once(plain.clone()).chain(numbered);
        let name = free.find(|name| !names.taken.contains(name.as_str()));
        let name: Rc<str> = name.unwrap_or_default().into();
        names.taken.insert(Rc::clone(&name));
        names
            .by_pointer
            .insert(pointer.to_owned(), Rc::clone(&name));
        name
    }

    fn document(&self, mut schema: Value, mut defs: Map<String, Value>) -> Value {
        self.point(&mut schema);
        defs.values_mut().for_each(|part| self.point(part));
        if let Value::Object(schema) = &mut schema
            && !defs.is_empty()
        {
            schema.insert("$defs".into(), Value::Object(defs));
        }
        schema
    }

    /// References from the description's pointers to names in `$defs`.
    fn point(&self, schema: &mut Value) {
        each(schema, &mut |schema| {
            if let Some(Value::String(reference)) = schema.get_mut("$ref") {
                *reference = format!("#/$defs/{}", self.name(reference));
            }
        });
    }
}

fn length(schema: &Value) -> usize {
    crate::length::of(schema, usize::MAX).unwrap_or(usize::MAX)
}

/// The pointers of what a schema, or a schema in it, is made of.
fn bases(schema: &mut Value) -> HashSet<String> {
    let to = |schema: &Value| Some(schema.get("$ref")?.as_str()?.to_owned());
    let mut found: HashSet<String> = to(schema).into_iter().collect();
    each(schema, &mut |schema| {
        let parts = schema.get("allOf").and_then(Value::as_array);
        found.extend(parts.into_iter().flatten().filter_map(to));
    });
    found
}

/// Schemas of which a part is not told say nothing.
fn open(schema: &mut Value, untold: &HashSet<String>) {
    below(schema, &mut |schema| open(schema, untold));
    let Value::Object(map) = schema else { return };
    let is_untold = |schema: &Value| {
        let to = schema.get("$ref").and_then(Value::as_str);
        to.is_some_and(|to| untold.contains(to))
    };
    let parts = map.get("allOf").and_then(Value::as_array);
    let lacks = parts.is_some_and(|parts| {
        let says_nothing = |part: &Value| part.as_object().is_some_and(Map::is_empty);
        parts
            .iter()
            .any(|part| is_untold(part) || says_nothing(part))
    });
    if lacks {
        map.clear();
    }
}

/// Without words for readers.
fn silence(schema: &mut Value) {
    silence_below(schema, 0);
}

/// The same for what is so many schemas deep.
fn silence_below(schema: &mut Value, levels: usize) {
    if let (Value::Object(map), 0) = (&mut *schema, levels) {
        for words in ["description", "title", "examples"] {
            map.shift_remove(words);
        }
    }
    below(schema, &mut |schema| {
        silence_below(schema, levels.saturating_sub(1));
    });
}

fn each(schema: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    if let Value::Object(map) = &mut *schema {
        change(map);
    }
    below(schema, &mut |schema| each(schema, change));
}

/// The schemas that stand right in a schema.
fn below(schema: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    let Value::Object(map) = schema else { return };
    for (keyword, value) in map.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties", Value::Object(named)) => {
                named.values_mut().for_each(&mut *visit);
            }
            ("allOf" | "anyOf" | "prefixItems", Value::Array(several)) => {
                several.iter_mut().for_each(&mut *visit);
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "propertyNames"
                | "contains"
                | "if"
                | "then"
                | "else",
                one,
            ) => visit(one),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::document::Document, *};

    fn document(schemas: &Value) -> Document {
        let text = json!({ "openapi": "3.1.0", "components": { "schemas": schemas } });
        Document::read(&text.to_string()).unwrap()
    }

    #[test]
    fn a_tool_carries_what_it_reaches() {
        let to = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        let document = document(&json!({
            "Pet": { "type": "object", "properties": { "owner": to("Owner"), "odd": to("a~1b%20c") } },
            "Owner": { "type": "object", "properties": { "pets": { "type": "array", "items": to("Pet") } } },
            "a/b c": { "type": "string" },
            "Other": { "type": "string" },
        }));
        let closures = Closures::new(Dialect::new(&document));
        let whole = closures.arguments(&to("Pet")).unwrap();
        assert_eq!(whole["$ref"], "#/$defs/Pet");
        let defs: Vec<&String> = whole["$defs"].as_object().unwrap().keys().collect();
        assert_eq!(defs, ["Pet", "Owner", "a_b_c"]);
        assert_eq!(
            whole["$defs"]["Owner"]["properties"]["pets"]["items"]["$ref"],
            "#/$defs/Pet"
        );
        assert_eq!(closures.result(&to("Pet")), whole);
    }

    #[test]
    fn an_object_is_told_with_all_its_parts_or_not_at_all() {
        let to = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        let long: Map<String, Value> = (0..600)
            .map(|number| (format!("member{number}"), json!({ "type": "string" })))
            .collect();
        let document = document(&json!({
            "Whole": { "allOf": [to("Base"), { "type": "object", "properties": { "own": to("Odd") } }] },
            "Base": { "type": "object", "properties": { "id": { "type": "string" } } },
            "Odd": { "allOf": [to("Long"), { "type": "object", "properties": { "a": {} } }] },
            "Long": { "type": "object", "properties": long },
        }));
        let closures = Closures::new(Dialect::new(&document));
        let told = closures.result(&to("Whole"));
        assert_eq!(
            told["$defs"]["Base"]["properties"]["id"],
            json!({ "type": "string" })
        );
        assert_eq!(told["$defs"]["Odd"], json!({ "title": "Odd" }));
        assert_eq!(told["$defs"]["Long"], json!({ "title": "Long" }));
    }

    #[test]
    fn a_result_that_reaches_far_is_told_up_to_a_limit() {
        let mut schemas = Map::new();
        for number in 0..400 {
            let next = format!("#/components/schemas/S{}", number + 1);
            let after = format!("#/components/schemas/S{}", number * 2 % 400);
            schemas.insert(
                format!("S{number}"),
                json!({
                    "type": "object",
                    "properties": { "next": { "$ref": next }, "after": { "$ref": after }, "text": { "type": "string" } },
                }),
            );
        }
        schemas.insert("S400".into(), json!({}));
        let document = document(&Value::Object(schemas));
        let closures = Closures::new(Dialect::new(&document));
        let root = json!({ "$ref": "#/components/schemas/S1" });
        let told = closures.result(&root);
        let text = told.to_string();
        assert!(text.len() < 2 * RESULT_BYTES, "{}", text.len());
        assert!(text.contains("\"title\":\"S"), "{text}");
        let asked = closures.arguments(&root).unwrap();
        assert_eq!(asked["$defs"].as_object().unwrap().len(), 401);
    }
}
