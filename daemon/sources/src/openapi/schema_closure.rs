//! A schema with everything to which it refers, as one document that a tool carries.
//!
//! Schemas that many operations share are translated once and copied into each tool that reaches them. The closure of a
//! schema may be the whole description: Stripe's charge refers to nine hundred other types. A result is described up to
//! a number of bytes and references, the nearest first. Anything further away is unknown. Long arguments lose their
//! descriptions, and definitions beyond an operation's budget are described only by name. In a result, an object with
//! an undescribed part becomes unknown as a whole, because its other members would look complete.
//!
//! Invariant: the schema of one operation does not depend on other operations, except for definitions that would
//! otherwise have the same name.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet, VecDeque},
    rc::Rc,
};

use serde_json::{Map, Value, json};

use super::{
    openapi_document::UnresolvedReference,
    schema_dialect::{SchemaDialect, SchemaDirection, TranslatedSchema},
    schema_walk::{bases, each, open, silence, silence_below},
};

/// The size of a result's schema as JSON. In memory it takes several times as much, for each of a thousand tools.
const MAX_RESULT_SCHEMA_BYTES: usize = 6 << 10;
/// The number of references from a result's schema to a definition.
const MAX_RESULT_REF_DEPTH: usize = 5;
/// Longer arguments lose the descriptions below their first level.
const MAX_WORDY_ARGUMENTS_BYTES: usize = 12 << 10;
/// Bytes that are copied in one step of reading a description.
const SCHEMA_BYTES_PER_STEP: usize = 32;

/// The schemas of a description, with the definitions that they share.
#[derive(Debug)]
pub(super) struct SchemaClosures<'a> {
    pub(super) dialect: SchemaDialect<'a>,
    parts: RefCell<HashMap<(SchemaDirection, String), Rc<ClosurePart>>>,
    /// The names of definitions in `$defs`, by their pointers.
    names: RefCell<DefinitionNames>,
}

#[derive(Debug, Default)]
struct DefinitionNames {
    by_pointer: HashMap<String, Rc<str>>,
    taken: HashSet<Rc<str>>,
    /// How often each name was requested.
    wanted: HashMap<String, u32>,
}

#[derive(Debug)]
struct ClosurePart {
    translated: TranslatedSchema,
    /// The length as JSON.
    bytes: usize,
    /// The length without descriptions.
    silent: usize,
}

impl<'a> SchemaClosures<'a> {
    pub(super) fn new(dialect: SchemaDialect<'a>) -> Self {
        Self {
            dialect,
            parts: RefCell::default(),
            names: RefCell::default(),
        }
    }

    /// The schema of arguments, with as many of the referenced definitions as fit `room`, the nearest first.
    pub(super) fn arguments(
        &self,
        schema: &Value,
        mut room: usize,
    ) -> Result<Value, UnresolvedReference> {
        let root = self.dialect.translate(schema, SchemaDirection::Arguments)?;
        let mut described = Vec::new();
        let mut untold = Vec::new();
        let mut known: HashSet<String> = root.needs.iter().cloned().collect();
        let mut next: VecDeque<String> = root.needs.into();
        let mut bytes = length(&root.schema);
        self.costs(bytes)?;
        while let Some(pointer) = next.pop_front() {
            let part = self.part(&pointer, SchemaDirection::Arguments)?;
            if part.silent > room {
                self.costs(SCHEMA_BYTES_PER_STEP)?;
                untold.push((pointer, part));
                continue;
            }
            self.costs(part.bytes)?;
            room -= part.silent;
            bytes += part.bytes;
            let needs = part.translated.needs.iter();
            next.extend(needs.filter(|it| known.insert((*it).clone())).cloned());
            described.push((pointer, part));
        }
        let wordy = bytes > MAX_WORDY_ARGUMENTS_BYTES;
        let mut defs = Map::new();
        for (pointer, part) in described {
            let mut schema = part.translated.schema.clone();
            if wordy {
                silence(&mut schema);
            }
            defs.insert(self.name(&pointer).to_string(), schema);
        }
        for (pointer, part) in untold {
            let name = self.name(&pointer).to_string();
            let schema = by_name(&name, &part.translated.schema);
            defs.insert(name, schema);
        }
        let mut schema = root.schema;
        if wordy {
            silence_below(&mut schema, 2);
        }
        Ok(self.document(schema, defs))
    }

    /// The schema of a result, as far as it is described.
    pub(super) fn result(&self, schema: &Value) -> Value {
        let nothing = || TranslatedSchema {
            schema: json!({}),
            needs: Vec::new(),
        };
        let mut root = self
            .dialect
            .translate(schema, SchemaDirection::Results)
            .unwrap_or_else(|_| nothing());
        let mut bytes = length(&root.schema);
        if bytes > MAX_RESULT_SCHEMA_BYTES {
            silence(&mut root.schema);
            bytes = length(&root.schema);
        }
        if bytes > 4 * MAX_RESULT_SCHEMA_BYTES {
            return json!({});
        }
        let mut parts: Vec<(String, Value)> = Vec::new();
        let mut known: HashSet<String> = root.needs.iter().cloned().collect();
        let mut next: VecDeque<(String, usize)> =
            root.needs.iter().map(|it| (it.clone(), 1)).collect();
        let mut untold: HashSet<String> = HashSet::new();
        while let Some((pointer, steps)) = next.pop_front() {
            let part = self.part(&pointer, SchemaDirection::Results).ok();
            let room = MAX_RESULT_SCHEMA_BYTES.saturating_sub(bytes);
            let near =
                |part: &Rc<ClosurePart>| steps <= MAX_RESULT_REF_DEPTH && part.silent <= room;
            let near_part = part.filter(near).map(|part| {
                let mut schema = part.translated.schema.clone();
                if part.bytes > room {
                    silence(&mut schema);
                }
                (part, schema)
            });
            let Some((part, mut schema)) = near_part else {
                untold.insert(pointer);
                continue;
            };
            bytes += length(&schema);
            let bases = bases(&mut schema);
            for need in &part.translated.needs {
                if known.insert(need.clone()) {
                    // An object is useless without its parts.
                    if bases.contains(need) {
                        next.push_front((need.clone(), steps));
                    } else {
                        next.push_back((need.clone(), steps + 1));
                    }
                }
            }
            parts.push((pointer, schema));
        }
        // A definition that became unknown may be part of another.
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

    fn part(
        &self,
        pointer: &str,
        direction: SchemaDirection,
    ) -> Result<Rc<ClosurePart>, UnresolvedReference> {
        let key = (direction, pointer.to_owned());
        if let Some(part) = self.parts.borrow().get(&key) {
            return Ok(Rc::clone(part));
        }
        let found = self.dialect.document.root().pointer(pointer);
        let found = found.ok_or_else(|| UnresolvedReference::Nothing(format!("#{pointer}")))?;
        let translated = self.dialect.translate(found, direction)?;
        let bytes = length(&translated.schema);
        let mut wordless = translated.schema.clone();
        silence(&mut wordless);
        let silent = length(&wordless);
        let part = Rc::new(ClosurePart {
            translated,
            bytes,
            silent,
        });
        self.parts.borrow_mut().insert(key, Rc::clone(&part));
        Ok(part)
    }

    /// The name of a definition: the last segment of its pointer, numbered if it is taken.
    fn name(&self, pointer: &str) -> Rc<str> {
        let names = &mut *self.names.borrow_mut();
        if let Some(name) = names.by_pointer.get(pointer) {
            return Rc::clone(name);
        }
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let plain = last.replace("~1", "/").replace("~0", "~");
        let plain = plain.replace(|c| !fit(c), "_");
        // Continues the count, because thousands of definitions may have one name.
        let wanted = names.wanted.entry(plain.clone()).or_insert(0);
        let mut numbered = std::iter::from_fn(|| {
            *wanted += 1;
            Some(match *wanted {
                1 => plain.clone(),
                number => format!("{plain}_{number}"),
            })
        });
        let name = numbered.find(|name| !names.taken.contains(name.as_str()));
        let name: Rc<str> = name.unwrap_or_default().into();
        names.taken.insert(Rc::clone(&name));
        names
            .by_pointer
            .insert(pointer.to_owned(), Rc::clone(&name));
        name
    }

    fn costs(&self, bytes: usize) -> Result<(), UnresolvedReference> {
        self.dialect
            .document
            .steps(1 + bytes / SCHEMA_BYTES_PER_STEP)
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

    /// Changes references from pointers in the description to names in `$defs`.
    fn point(&self, schema: &mut Value) {
        each(schema, &mut |schema| {
            if let Some(Value::String(reference)) = schema.get_mut("$ref") {
                *reference = format!("#/$defs/{}", self.name(reference));
            }
        });
    }
}

fn length(schema: &Value) -> usize {
    mux_text::json_length::of(schema, usize::MAX).unwrap_or(usize::MAX)
}

/// A placeholder for a definition that does not fit: its type and its name.
fn by_name(name: &str, schema: &Value) -> Value {
    let mut members = Map::new();
    let kind = schema.get("type").cloned();
    members.extend(kind.map(|kind| ("type".to_owned(), kind)));
    let words = format!("`{name}` of the description; it is too large to be shown here");
    members.insert("description".into(), words.into());
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    use super::{super::openapi_document::OpenApiDocument, *};

    fn document(schemas: &Value) -> OpenApiDocument {
        let text = json!({ "openapi": "3.1.0", "components": { "schemas": schemas } });
        OpenApiDocument::read(&text.to_string()).unwrap()
    }

    #[test]
    fn closure_holds_all_reachable_definitions() {
        let to = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        let document = document(&json!({
            "Pet": { "type": "object", "properties": { "owner": to("Owner"), "odd": to("a~1b%20c") } },
            "Owner": { "type": "object", "properties": { "pets": { "type": "array", "items": to("Pet") } } },
            "a/b c": { "type": "string" },
            "Other": { "type": "string" },
        }));
        let closures = SchemaClosures::new(SchemaDialect::new(&document));
        let whole = closures.arguments(&to("Pet"), usize::MAX).unwrap();
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
    fn composed_object_is_unknown_if_one_of_its_parts_is() {
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
        let closures = SchemaClosures::new(SchemaDialect::new(&document));
        let schema = closures.result(&to("Whole"));
        assert_eq!(
            schema["$defs"]["Base"]["properties"]["id"],
            json!({ "type": "string" })
        );
        assert_eq!(schema["$defs"]["Odd"], json!({ "title": "Odd" }));
        assert_eq!(schema["$defs"]["Long"], json!({ "title": "Long" }));
    }

    #[test]
    fn result_closure_is_limited() {
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
        let closures = SchemaClosures::new(SchemaDialect::new(&document));
        let root = json!({ "$ref": "#/components/schemas/S1" });
        let schema = closures.result(&root);
        let text = schema.to_string();
        assert!(text.len() < 2 * MAX_RESULT_SCHEMA_BYTES, "{}", text.len());
        assert!(text.contains("\"title\":\"S"), "{text}");
        let asked = closures.arguments(&root, usize::MAX).unwrap();
        assert_eq!(asked["$defs"].as_object().unwrap().len(), 401);
    }
    #[test]
    fn argument_definitions_are_included_as_far_as_they_fit() {
        let to = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        let document = document(&json!({
            "Near": { "type": "object", "properties": { "far": to("Far"), "id": { "type": "string" } } },
            "Far": { "type": ["object", "null"], "properties": { "further": to("Further") }, "required": ["further"] },
            "Further": { "type": "string" },
        }));
        let closures = SchemaClosures::new(SchemaDialect::new(&document));
        let arguments = |room| closures.arguments(&to("Near"), room).unwrap();
        let names = |arguments: &Value| -> Vec<String> {
            arguments["$defs"]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect()
        };
        assert_eq!(names(&arguments(1000)), ["Near", "Far", "Further"]);
        let near = arguments(120);
        assert_eq!(names(&near), ["Near", "Far"]);
        assert_eq!(near["$defs"]["Near"], arguments(1000)["$defs"]["Near"]);
        assert_eq!(
            near["$defs"]["Far"],
            json!({
                "type": ["object", "null"],
                "description": "`Far` of the description; it is too large to be shown here",
            })
        );
        assert_eq!(names(&arguments(0)), ["Near"]);
    }

    #[test]
    fn definitions_of_one_name_are_numbered() {
        let document = document(&json!({}));
        let closures = SchemaClosures::new(SchemaDialect::new(&document));
        let name = |pointer: &str| closures.name(pointer).to_string();
        assert_eq!(name("/x/a_2"), "a_2");
        assert_eq!(name("/x/a"), "a");
        assert_eq!(name("/y/a"), "a_3");
        assert_eq!(name("/z/a"), "a_4");
        assert_eq!(name("/y/a"), "a_3");
    }
}
