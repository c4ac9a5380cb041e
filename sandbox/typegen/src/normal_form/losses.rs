//! Keeps a schema from forbidding more after a part of it was left out.
//!
//! A part that allows more makes `oneOf`, `not` and `if` around it forbid more: two alternatives match where one did. A
//! schema that lost something is marked, and [`settle`] reads such an `oneOf` as `anyOf` and leaves out the others.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{
    definition_name,
    keywords::{KeywordKind, kind_of},
    references::{each_subschema, is_in_place},
};

/// The mark of a schema that lost a part. [`settle`] removes it.
pub(super) const LOST_KEYWORD: &str = "x-mux-lost";

/// Marks a schema that allows more than its server wrote.
pub fn mark_lost(schema: &mut Map<String, Value>) {
    schema.insert(LOST_KEYWORD.to_owned(), Value::Bool(true));
}

/// Widens the schemas around marked ones in a normal form.
pub fn settle(root: &mut Value) {
    let lost_definitions = lost_definitions(root);
    if lost_definitions.is_empty() {
        return;
    }
    let definitions = root.get_mut("$defs").and_then(Value::as_object_mut);
    for (_, schema) in definitions.into_iter().flatten() {
        settle_schema(schema, &lost_definitions);
    }
    settle_schema(root, &lost_definitions);
}

/// The names of definitions that lost a part or refer to such a definition. The whole schema has the empty name.
fn lost_definitions(root: &Value) -> HashSet<String> {
    let mut lost: Vec<String> = Vec::new();
    let mut referrers: HashMap<String, Vec<String>> = HashMap::new();
    let definitions = root.get("$defs").and_then(Value::as_object);
    let definitions = definitions.into_iter().flatten();
    let definitions = definitions.map(|(name, schema)| (name.as_str(), schema));
    for (name, schema) in definitions.chain([("", root)]) {
        let mut is_lost = false;
        let mut visit = |members: &Map<String, Value>| {
            is_lost |= members.contains_key(LOST_KEYWORD);
            let reference = members.get("$ref").and_then(Value::as_str);
            if let Some(target) = reference.and_then(definition_name) {
                referrers.entry(target).or_default().push(name.to_owned());
            }
        };
        each_schema(schema, &mut visit);
        if is_lost {
            lost.push(name.to_owned());
        }
    }
    let mut all: HashSet<String> = HashSet::new();
    while let Some(name) = lost.pop() {
        if let Some(referrers) = referrers.remove(&name) {
            lost.extend(referrers);
        }
        all.insert(name);
    }
    all
}

/// Calls `visit` for each schema inside, definitions excluded.
fn each_schema(schema: &Value, visit: &mut dyn FnMut(&Map<String, Value>)) {
    let Some(members) = schema.as_object() else {
        return;
    };
    visit(members);
    each_subschema(members, "", &mut |schema, pointer| {
        if !pointer.starts_with("/$defs/") {
            each_schema(schema, visit);
        }
    });
}

/// Calls `change` for each schema in a normal form, definitions included.
pub fn each_schema_mut(schema: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Value::Object(members) = schema else {
        return;
    };
    change(members);
    each_child(members, &mut |_, schema| each_schema_mut(schema, change));
    let definitions = members.get_mut("$defs").and_then(Value::as_object_mut);
    for (_, schema) in definitions.into_iter().flatten() {
        each_schema_mut(schema, change);
    }
}

/// Returns whether the schema lost something.
fn settle_schema(schema: &mut Value, lost_definitions: &HashSet<String>) -> bool {
    let Value::Object(members) = schema else {
        return false;
    };
    let own = members.shift_remove(LOST_KEYWORD).is_some();
    let reference = members.get("$ref").and_then(Value::as_str);
    let of_reference = reference
        .and_then(definition_name)
        .is_some_and(|name| lost_definitions.contains(&name));
    let mut lost_keywords: HashSet<String> = HashSet::new();
    each_child(members, &mut |keyword, schema| {
        if settle_schema(schema, lost_definitions) {
            lost_keywords.insert(keyword.to_owned());
        }
    });
    if own || of_reference || lost_keywords.iter().any(|keyword| is_in_place(keyword)) {
        members.shift_remove("unevaluatedProperties");
        members.shift_remove("unevaluatedItems");
    }
    if lost_keywords.contains("oneOf") {
        // Beside an `anyOf`, more is allowed without the second list of alternatives.
        if let Some(alternatives) = members.shift_remove("oneOf")
            && !members.contains_key("anyOf")
        {
            members.insert("anyOf".to_owned(), alternatives);
        }
    }
    if lost_keywords.contains("not") {
        members.shift_remove("not");
    }
    if lost_keywords.contains("if") {
        for keyword in ["if", "then", "else"] {
            members.shift_remove(keyword);
        }
    }
    if lost_keywords.contains("contains") {
        members.shift_remove("maxContains");
    }
    own || of_reference || !lost_keywords.is_empty()
}

fn each_child(members: &mut Map<String, Value>, visit: &mut dyn FnMut(&str, &mut Value)) {
    for (keyword, value) in members {
        match (kind_of(keyword), value) {
            (Some(KeywordKind::Schema | KeywordKind::Items), schema) => visit(keyword, schema),
            (Some(KeywordKind::Schemas), Value::Array(list)) => {
                for schema in list {
                    visit(keyword, schema);
                }
            }
            (Some(KeywordKind::SchemaMap), Value::Object(map)) => {
                for schema in map.values_mut() {
                    visit(keyword, schema);
                }
            }
            _ => {}
        }
    }
}
