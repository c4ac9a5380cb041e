//! Closed parts of an object: `additionalProperties` beside other schemas of the same object.
//!
//! By the standard, `additionalProperties` sees only the `properties` beside it, so that a part of `allOf` that is closed
//! forbids the members of all other parts. No generator means that. The normal form closes the whole object:
//! `unevaluatedProperties` sees the members of all parts.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::references::{definition_of, each_schema_in_place, each_subschema};

/// How many schemas are visited to find the members of one object.
const MAX_VISITED_SCHEMAS: usize = 500;
/// With more parts, closed ones stay closed: each is compared with all others.
const MAX_PARTS: usize = 64;
/// The maximum size of all opened copies of definitions, in schemas and values.
const MAX_COPIED_VALUES: usize = 20_000;

/// Opens closed parts of all objects.
pub(super) fn open(root: &mut Value) {
    let mut pointers = Vec::new();
    collect_affected(root, String::new(), &mut pointers);
    let mut copied = 0;
    for pointer in pointers {
        let Some(schema) = root.pointer(&pointer).and_then(Value::as_object) else {
            continue;
        };
        let opened = open_object(schema, root, &mut copied);
        if let (Some(opened), Some(schema)) = (opened, root.pointer_mut(&pointer)) {
            *schema = Value::Object(opened);
        }
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
    copied: &mut usize,
) -> Option<Map<String, Value>> {
    let mut opened = schema.clone();
    let mut is_changed = false;
    if let Some(additional) = schema.get("additionalProperties")
        && *additional != Value::Bool(true)
        && !schema.contains_key("unevaluatedProperties")
        && parts_name_members(schema, root)
    {
        opened.shift_remove("additionalProperties");
        opened.insert("unevaluatedProperties".to_owned(), additional.clone());
        is_changed = true;
    }
    let parts = schema.get("allOf").and_then(Value::as_array);
    let count = parts.map_or(0, Vec::len);
    let is_searched = count <= MAX_PARTS;
    for index in (0..=count).filter(|_| is_searched) {
        let part = match parts.and_then(|parts| parts.get(index)) {
            Some(part) => part,
            None if index == count && schema.contains_key("$ref") => {
                &json!({ "$ref": schema["$ref"] })
            }
            None => continue,
        };
        let Some(part) = closed_part(part, root) else {
            continue;
        };
        let own = names_of(part, root);
        let mut others = opened.clone();
        match others.get_mut("allOf").and_then(Value::as_array_mut) {
            Some(parts) if index < count => parts[index] = Value::Bool(true),
            _ => drop(others.shift_remove("$ref")),
        }
        let all = names_of(&Value::Object(others), root);
        *copied += size_of(part);
        if all.is_subset(&own) || *copied > MAX_COPIED_VALUES {
            continue;
        }
        let mut part = part.clone();
        if let Value::Object(part) = &mut part {
            part.shift_remove("additionalProperties");
            part.shift_remove("unevaluatedProperties");
        }
        let parts = opened.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(parts) = parts {
            match parts.get_mut(index).filter(|_| index < count) {
                Some(place) => *place = part,
                None => parts.push(part),
            }
        }
        if index == count {
            opened.shift_remove("$ref");
        }
        if !opened.contains_key("additionalProperties") {
            opened
                .entry("unevaluatedProperties")
                .or_insert(Value::Bool(false));
        }
        is_changed = true;
    }
    is_changed.then_some(opened)
}

/// The schema of a part that allows no members besides its own.
fn closed_part<'a>(part: &'a Value, root: &'a Value) -> Option<&'a Value> {
    let mut part = part;
    for _ in 0..MAX_VISITED_SCHEMAS {
        let is_closed = ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .any(|keyword| part.get(*keyword) == Some(&Value::Bool(false)));
        if is_closed {
            return Some(part);
        }
        part = target(part.get("$ref")?.as_str()?, root)?;
    }
    None
}

fn parts_name_members(schema: &Map<String, Value>, root: &Value) -> bool {
    let mut parts = schema.clone();
    parts.shift_remove("properties");
    parts.shift_remove("patternProperties");
    !names_of(&Value::Object(parts), root).is_empty()
}

/// The names and patterns of members that a schema and its parts mention.
fn names_of(schema: &Value, root: &Value) -> HashSet<String> {
    let mut names = HashSet::new();
    let mut left = MAX_VISITED_SCHEMAS;
    collect_names(schema, root, &mut left, &mut names);
    names
}

fn collect_names(schema: &Value, root: &Value, left: &mut usize, names: &mut HashSet<String>) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    for keyword in ["properties", "patternProperties"] {
        let members = schema.get(keyword).and_then(Value::as_object);
        names.extend(members.into_iter().flatten().map(|(name, _)| name.clone()));
    }
    each_schema_in_place(schema, "", &mut |part, _| {
        collect_names(part, root, left, names);
    });
    let reference = schema.get("$ref").and_then(Value::as_str);
    if let Some(target) = reference.and_then(|reference| target(reference, root)) {
        collect_names(target, root, left, names);
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
