//! An object that is made of others, as one list of members.
//!
//! Invariant: what is joined says what its parts say together; what cannot be joined so is not.

use serde_json::{Map, Value, json};

use super::document::{Document, Unresolved, is_true, items, members};

/// Objects in objects that are joined to one.
const MAX_DEPTH: usize = 16;

/// An object as one list of members.
#[derive(Default)]
pub(super) struct Flat {
    pub(super) properties: Map<String, Value>,
    pub(super) required: Vec<String>,
    pub(super) limits: Vec<Value>,
    pub(super) closed: bool,
}

impl Flat {
    /// Without the members that only an answer has.
    pub(super) fn asked(mut self, document: &Document) -> Self {
        self.properties.retain(|name, member| {
            let read_only = is_true(member, "readOnly")
                || document
                    .resolve(member)
                    .is_ok_and(|found| is_true(found, "readOnly"));
            if read_only {
                self.required.retain(|required| required != name);
            }
            !read_only
        });
        self
    }
}

/// An object whose members can stand beside others; `None` if it is none, or not simply one.
pub(super) fn flat(
    document: &Document,
    schema: &Value,
    depth: usize,
) -> Result<Option<Flat>, Unresolved> {
    let schema = document.resolve(schema)?;
    let Value::Object(map) = schema else {
        return Ok(None);
    };
    let is_object = match map.get("type") {
        None => true,
        Some(kind) => kind == "object",
    };
    let simple = is_object
        && depth < MAX_DEPTH
        && ![
            "not",
            "if",
            "patternProperties",
            "discriminator",
            "$dynamicRef",
        ]
        .iter()
        .any(|keyword| map.contains_key(*keyword))
        && !matches!(map.get("additionalProperties"), Some(Value::Object(it)) if !it.is_empty());
    if !simple {
        return Ok(None);
    }
    let mut whole = Flat {
        closed: map.get("additionalProperties") == Some(&Value::Bool(false)),
        ..Flat::default()
    };
    for part in items(schema, "allOf") {
        let Some(part) = flat(document, part, depth + 1)? else {
            return Ok(None);
        };
        whole.properties.extend(part.properties);
        whole.required.extend(part.required);
        whole.limits.extend(part.limits);
        whole.closed |= part.closed;
    }
    for keyword in ["anyOf", "oneOf"] {
        let alternatives: Vec<&Value> = items(schema, keyword).collect();
        if alternatives.is_empty() {
            continue;
        }
        let mut limits = Vec::new();
        for alternative in alternatives {
            match only_requires(alternative) {
                Some(limit) => limits.push(limit),
                None => return Ok(None),
            }
        }
        whole.limits.push(json!({ "anyOf": limits }));
    }
    for (name, member) in members(schema, "properties") {
        whole.properties.insert(name.clone(), member.clone());
    }
    let required = items(schema, "required").filter_map(Value::as_str);
    for name in required {
        if !whole.required.iter().any(|known| known == name) {
            whole.required.push(name.to_owned());
        }
    }
    Ok(Some(whole))
}

/// The members of an object, with those of the objects of which it is made.
pub(super) fn members_of(document: &Document, schema: &Value) -> Option<Map<String, Value>> {
    Some(flat(document, schema, 0).ok()??.properties)
}

/// An alternative that says nothing but which members it needs.
fn only_requires(alternative: &Value) -> Option<Value> {
    let known = ["required", "type", "title", "description"];
    let map = alternative.as_object()?;
    let only = map.keys().all(|key| known.contains(&key.as_str()));
    let required = map.get("required").filter(|it| it.is_array())?;
    only.then(|| json!({ "required": required }))
}
