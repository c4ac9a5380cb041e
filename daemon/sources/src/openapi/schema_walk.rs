//! Visits and changes the schemas within a schema.
//!
//! Invariant: only schemas are visited, not values in them: a member may have the name of a keyword.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// The pointers of the schemas of which a schema, or a schema within it, is composed.
pub(super) fn bases(schema: &mut Value) -> HashSet<String> {
    let to = |schema: &Value| Some(schema.get("$ref")?.as_str()?.to_owned());
    let mut found: HashSet<String> = to(schema).into_iter().collect();
    each(schema, &mut |schema| {
        let parts = schema.get("allOf").and_then(Value::as_array);
        found.extend(parts.into_iter().flatten().filter_map(to));
    });
    found
}

/// Removes all constraints from schemas that are composed of a schema in `untold`.
pub(super) fn open(schema: &mut Value, untold: &HashSet<String>) {
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

/// Removes descriptions, titles and examples.
pub(super) fn silence(schema: &mut Value) {
    silence_below(schema, 0);
}

/// Removes descriptions, titles and examples from schemas that are at least `levels` deep.
pub(super) fn silence_below(schema: &mut Value, levels: usize) {
    if let (Value::Object(map), 0) = (&mut *schema, levels) {
        for words in ["description", "title", "examples"] {
            map.shift_remove(words);
        }
    }
    below(schema, &mut |schema| {
        silence_below(schema, levels.saturating_sub(1));
    });
}

pub(super) fn each(schema: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    if let Value::Object(map) = &mut *schema {
        change(map);
    }
    below(schema, &mut |schema| each(schema, change));
}

/// Visits the direct subschemas of a schema.
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
