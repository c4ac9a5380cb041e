//! Closed parts of an object: `additionalProperties` beside other schemas of the same object.
//!
//! By the standard, `additionalProperties` sees only the `properties` beside it. A closed part of `allOf` would forbid the
//! members of all other parts, and a part that types further members would demand that type of them. No generator means
//! that. The normal form has the keyword on the whole object: `unevaluatedProperties` sees the members of
//! all parts.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::references::{self, definition_of, each_schema_in_place, each_subschema};

/// The work for one document: schemas and names that are read, and values that are copied. Beyond, closed parts stay
/// closed.
const MAX_WORK: usize = 200_000;
/// With more parts, closed ones stay closed: each is compared with all others.
const MAX_PARTS: usize = 64;
/// How deep parts of parts are searched for names.
const MAX_PART_DEPTH: usize = 100;
/// The maximum number of references that lead from a part to its schema.
const MAX_FOLLOWED_REFERENCES: usize = 64;

/// Opens closed parts of all objects.
pub(super) fn open(root: &mut Value) {
    let mut pointers = Vec::new();
    collect_affected(root, String::new(), &mut pointers);
    let mut work_left = MAX_WORK;
    let mut is_changed = false;
    for pointer in pointers {
        let Some(schema) = root.pointer(&pointer).and_then(Value::as_object) else {
            continue;
        };
        let opened = open_object(schema, root, &mut work_left);
        if let (Some(opened), Some(schema)) = (opened, root.pointer_mut(&pointer)) {
            *schema = Value::Object(opened);
            is_changed = true;
        }
        if work_left == 0 {
            break;
        }
    }
    if is_changed {
        // A part that was copied to be opened may have been the only one.
        references::drop_unused_definitions(root);
    }
}

/// The pointers of objects that consist of several parts, the innermost first.
fn collect_affected(schema: &Value, pointer: String, found: &mut Vec<String>) {
    let Some(members) = schema.as_object() else {
        return;
    };
    each_subschema(members, &pointer, &mut |schema, pointer| {
        collect_affected(schema, pointer, found);
    });
    let is_closed = members.contains_key("additionalProperties");
    let has_parts = ["allOf", "anyOf", "oneOf", "$ref", "if", "dependentSchemas"]
        .iter()
        .any(|keyword| members.contains_key(*keyword));
    if has_parts && (is_closed || members.contains_key("allOf") || members.contains_key("$ref")) {
        found.push(pointer);
    }
}

fn open_object(
    schema: &Map<String, Value>,
    root: &Value,
    work_left: &mut usize,
) -> Option<Map<String, Value>> {
    let reference = schema
        .get("$ref")
        .map(|reference| json!({ "$ref": reference }));
    let parts = schema.get("allOf").and_then(Value::as_array);
    let parts: Vec<&Value> = parts.into_iter().flatten().chain(&reference).collect();
    if parts.len() > MAX_PARTS {
        return None;
    }
    let mut names_of = |schema: &Value| {
        let mut names = HashSet::new();
        collect_names(schema, root, MAX_PART_DEPTH, work_left, &mut names);
        names
    };
    let part_names: Vec<HashSet<String>> = parts.iter().map(|part| names_of(part)).collect();
    let mut of_parts: HashSet<String> = part_names.iter().flatten().cloned().collect();
    each_schema_in_place(schema, &mut |keyword, part| {
        if keyword != "allOf" {
            of_parts.extend(names_of(part));
        }
    });
    let own = ["properties", "patternProperties"].map(|keyword| schema.get(keyword));
    let own = own.into_iter().flatten().filter_map(Value::as_object);
    let mut all = of_parts.clone();
    all.extend(own.flatten().map(|(name, _)| name.clone()));
    *work_left = work_left.saturating_sub(2 * all.len());

    let mut opened = schema.clone();
    let mut is_changed = false;
    if let Some(additional) = schema.get("additionalProperties")
        && *additional != Value::Bool(true)
        && !schema.contains_key("unevaluatedProperties")
        && !of_parts.is_empty()
    {
        opened.shift_remove("additionalProperties");
        opened.insert("unevaluatedProperties".to_owned(), additional.clone());
        is_changed = true;
    }
    let mut additional_of_parts: Vec<Value> = Vec::new();
    for (index, (part, names)) in parts.iter().zip(&part_names).enumerate() {
        let found = closed_part(part, root).filter(|_| names.len() < all.len());
        let Some((part, additional)) = found else {
            continue;
        };
        if !additional_of_parts.contains(additional) {
            additional_of_parts.push(additional.clone());
        }
        *work_left = work_left.saturating_sub(size_of(part));
        if *work_left == 0 {
            return None;
        }
        let mut part = part.clone();
        if let Value::Object(part) = &mut part {
            part.shift_remove("additionalProperties");
            part.shift_remove("unevaluatedProperties");
        }
        let place = opened.entry("allOf").or_insert_with(|| json!([]));
        let place = place.as_array_mut()?;
        if let Some(place) = place.get_mut(index) {
            *place = part;
        } else {
            place.push(part);
            opened.shift_remove("$ref");
        }
        is_changed = true;
    }
    if !additional_of_parts.is_empty() && !opened.contains_key("additionalProperties") {
        opened
            .entry("unevaluatedProperties")
            .or_insert_with(|| all_of(additional_of_parts));
    }
    is_changed.then_some(opened)
}

/// The schema of a part that limits members other than its own, and the schema for them.
fn closed_part<'a>(part: &'a Value, root: &'a Value) -> Option<(&'a Value, &'a Value)> {
    let mut part = part;
    for _ in 0..MAX_FOLLOWED_REFERENCES {
        let additional = ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .find_map(|keyword| part.get(*keyword).filter(|it| is_limit(it)));
        if let Some(additional) = additional {
            return Some((part, additional));
        }
        part = target(part.get("$ref")?.as_str()?, root)?;
    }
    None
}

fn is_limit(additional: &Value) -> bool {
    match additional {
        Value::Object(schema) => !schema.is_empty(),
        other => *other == Value::Bool(false),
    }
}

/// The schema that matches the values that all of these match.
fn all_of(mut schemas: Vec<Value>) -> Value {
    if schemas.contains(&Value::Bool(false)) {
        return Value::Bool(false);
    }
    match schemas.len() {
        1 => schemas.swap_remove(0),
        _ => json!({ "allOf": schemas }),
    }
}

/// Collects the names and patterns of members that a schema and its parts mention.
fn collect_names(
    schema: &Value,
    root: &Value,
    depth_left: usize,
    work_left: &mut usize,
    names: &mut HashSet<String>,
) {
    if *work_left == 0 || depth_left == 0 {
        return;
    }
    *work_left -= 1;
    for keyword in ["properties", "patternProperties"] {
        let members = schema.get(keyword).and_then(Value::as_object);
        for (name, _) in members.into_iter().flatten().take(*work_left) {
            names.insert(name.clone());
        }
        *work_left = work_left.saturating_sub(members.map_or(0, Map::len));
    }
    if let Value::Object(members) = schema {
        each_schema_in_place(members, &mut |_, part| {
            collect_names(part, root, depth_left - 1, work_left, names);
        });
    }
    let reference = schema.get("$ref").and_then(Value::as_str);
    if let Some(target) = reference.and_then(|reference| target(reference, root)) {
        collect_names(target, root, depth_left - 1, work_left, names);
    }
}

/// The target of a reference of a normal form.
pub(super) fn target<'a>(reference: &str, root: &'a Value) -> Option<&'a Value> {
    if reference == "#" {
        return Some(root);
    }
    root.get("$defs")?.get(definition_of(reference)?.as_ref())
}

fn size_of(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(size_of).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(size_of).sum::<usize>(),
        _ => 1,
    }
}
