//! Flattens an object that is composed of others into one list of members.
//!
//! Invariant: the flattened object means the same as its parts together. An object that cannot be flattened this way,
//! or that has too many parts, is not flattened: a few objects that refer to each other can have any number of parts.

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value, json};

use super::openapi_document::{OpenApiDocument, UnresolvedReference, items, members};

/// The nesting of objects that are flattened.
const MAX_JOINED_DEPTH: usize = 16;
/// The number of objects, members and limits of one object.
const MAX_OBJECT_PARTS: usize = 10_000;

/// Members, each at its first position, with its last schema.
pub(super) type MemberList<'a> = IndexMap<&'a str, &'a Value>;

/// An object as one list of members.
#[derive(Debug, Default)]
pub(super) struct FlatObject<'a> {
    properties: MemberList<'a>,
    pub(super) required: IndexSet<&'a str>,
    pub(super) limits: Vec<Value>,
    pub(super) closed: bool,
}

impl FlatObject<'_> {
    pub(super) fn properties(&self) -> Map<String, Value> {
        let owned = |(name, member): (&&str, &&Value)| ((*name).to_owned(), (*member).clone());
        self.properties.iter().map(owned).collect()
    }

    /// Removes the `readOnly` members, which only a response has.
    pub(super) fn asked(mut self, document: &OpenApiDocument) -> Self {
        let is_read_only = |(_, member): &(&str, &Value)| document.is_marked(member, "readOnly");
        let (left_out, asked): (MemberList<'_>, _) =
            self.properties.into_iter().partition(is_read_only);
        self.properties = asked;
        let is_closed = self.closed;
        // A closed object cannot have a member that it does not describe.
        self.required.retain(|name| {
            !left_out.contains_key(name) && (!is_closed || self.properties.contains_key(name))
        });
        self
    }
}

/// Flattens an object. `None` if the value is not an object, or is too complex.
pub(super) fn flat<'a>(
    document: &'a OpenApiDocument,
    schema: &'a Value,
) -> Result<Option<FlatObject<'a>>, UnresolvedReference> {
    let mut joining = ObjectFlattener {
        document,
        flat: FlatObject::default(),
        left: MAX_OBJECT_PARTS,
    };
    let joined = joining.join(schema, 0);
    document.steps(MAX_OBJECT_PARTS - joining.left)?;
    Ok(joined?.then_some(joining.flat))
}

/// The members of an object and of the objects of which it is composed.
pub(super) fn members_of<'a>(
    document: &'a OpenApiDocument,
    schema: &'a Value,
) -> Option<MemberList<'a>> {
    Some(flat(document, schema).ok()??.properties)
}

/// The state of flattening one object.
struct ObjectFlattener<'a> {
    document: &'a OpenApiDocument,
    flat: FlatObject<'a>,
    /// The number of parts that may still be added.
    left: usize,
}

impl<'a> ObjectFlattener<'a> {
    /// Adds a schema to the object. Returns `false` if that is not possible.
    fn join(&mut self, schema: &'a Value, depth: usize) -> Result<bool, UnresolvedReference> {
        let schema = self.document.resolve(schema)?;
        let Value::Object(map) = schema else {
            return Ok(false);
        };
        let is_object = match map.get("type") {
            None => true,
            Some(kind) => kind == "object",
        };
        let simple = is_object
            && depth < MAX_JOINED_DEPTH
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
        if !simple || !self.take(1) {
            return Ok(false);
        }
        self.flat.closed |= map.get("additionalProperties") == Some(&Value::Bool(false));
        for part in items(schema, "allOf") {
            if !self.join(part, depth + 1)? {
                return Ok(false);
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            let mut limits = Vec::new();
            for alternative in items(schema, keyword) {
                match only_requires(alternative).filter(|names| self.take(1 + names.len())) {
                    Some(names) => limits.push(json!({ "required": names })),
                    None => return Ok(false),
                }
            }
            if !limits.is_empty() {
                self.flat.limits.push(json!({ "anyOf": limits }));
            }
        }
        for (name, member) in members(schema, "properties") {
            if !self.take(1) {
                return Ok(false);
            }
            self.flat.properties.insert(name, member);
        }
        for name in items(schema, "required").filter_map(Value::as_str) {
            if !self.take(1) {
                return Ok(false);
            }
            self.flat.required.insert(name);
        }
        Ok(true)
    }

    fn take(&mut self, parts: usize) -> bool {
        let left = self.left.checked_sub(parts);
        self.left = left.unwrap_or(0);
        left.is_some()
    }
}

/// The required names of an alternative without other constraints.
fn only_requires(alternative: &Value) -> Option<&Vec<Value>> {
    let known = ["required", "type", "title", "description"];
    let map = alternative.as_object()?;
    let only = map.keys().all(|key| known.contains(&key.as_str()));
    only.then(|| map.get("required")?.as_array()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_listed_once_at_their_first_position() {
        let document = OpenApiDocument::read(
            &json!({
                "openapi": "3.1.0",
                "whole": {
                    "allOf": [
                        { "properties": { "a": { "type": "string" }, "b": {} }, "required": ["a"] },
                        { "$ref": "#/part" },
                    ],
                    "properties": { "a": { "type": "integer" }, "d": {} },
                    "required": ["d", "a"],
                },
                "part": {
                    "properties": { "c": { "readOnly": true } },
                    "required": ["c"],
                    "additionalProperties": false,
                    "anyOf": [{ "required": ["b"] }, { "required": ["c", "d"] }],
                },
            })
            .to_string(),
        )
        .unwrap();
        let flat = flat(&document, &document.root()["whole"]).unwrap().unwrap();
        assert!(flat.required.iter().eq(&["a", "c", "d"]));
        let flat = flat.asked(&document);
        assert_eq!(
            Value::Object(flat.properties()).to_string(),
            r#"{"a":{"type":"integer"},"b":{},"d":{}}"#
        );
        assert!(flat.required.iter().eq(&["a", "d"]));
        assert!(flat.closed);
        assert_eq!(
            flat.limits,
            [json!({ "anyOf": [{ "required": ["b"] }, { "required": ["c", "d"] }] })]
        );
    }
}
