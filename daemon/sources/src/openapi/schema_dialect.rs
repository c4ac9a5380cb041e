//! Translates an OpenAPI schema to JSON Schema 2020-12, for one direction.
//!
//! Keywords of OpenAPI 3.0 are translated. Keywords without a meaning outside the description are omitted, and so are
//! invalid keywords: real descriptions contain `"required": true` and `"minimum": "1"`, which must not prevent the
//! check of all other arguments.
//!
//! Invariant: the translated schema compiles, and accepts everything that the description accepts.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use indexmap::IndexSet;
use serde_json::{Map, Value, json};

use super::{
    object_members::members_of,
    openapi_document::{OpenApiDocument, OpenApiVersion, UnresolvedReference, is_true, pointer_of},
    schema_keywords::{cut, is_schema, or_null, types},
};

/// The nesting in one schema. Anything deeper is unconstrained.
const MAX_SCHEMA_DEPTH: usize = 60;
/// The length of a description in an argument's schema, in characters.
const MAX_ARGUMENT_DESCRIPTION_CHARS: usize = 600;
/// The length of a description in a result's schema, in characters. Descriptions of results are read less often.
const MAX_RESULT_DESCRIPTION_CHARS: usize = 120;

/// The length of a pattern that is compiled in one step.
const PATTERN_BYTES_PER_STEP: usize = 64;

/// The direction of a value.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum SchemaDirection {
    /// From the caller: `readOnly` members are omitted, and all constraints count.
    Arguments,
    /// From the API: `writeOnly` members are omitted, and only constraints that affect the type count.
    Results,
}

/// The state that a description's schemas share.
#[derive(Debug)]
pub(super) struct SchemaDialect<'a> {
    pub(super) document: &'a OpenApiDocument,
    /// The patterns that were tried, with `true` for patterns that compile.
    patterns: RefCell<HashMap<String, bool>>,
}

/// A translated schema, and the definitions to which it refers.
#[derive(Debug)]
pub(super) struct TranslatedSchema {
    pub(super) schema: Value,
    /// Pointers without duplicates, in the order of their first use. The schema refers to each as `{"$ref": POINTER}`.
    pub(super) needs: Vec<String>,
}

impl<'a> SchemaDialect<'a> {
    pub(super) fn new(document: &'a OpenApiDocument) -> Self {
        Self {
            document,
            patterns: RefCell::default(),
        }
    }

    /// Translates a schema. In a result, a reference that cannot be resolved is unconstrained.
    pub(super) fn translate(
        &self,
        schema: &Value,
        direction: SchemaDirection,
    ) -> Result<TranslatedSchema, UnresolvedReference> {
        let mut translator = SchemaTranslator {
            dialect: self,
            direction,
            absent: Vec::new(),
            needs: Vec::new(),
            needed: HashSet::new(),
        };
        let schema = translator.schema(schema, 0)?;
        Ok(TranslatedSchema {
            schema,
            needs: translator.needs,
        })
    }

    /// True if a member belongs only to the other direction. References are followed.
    pub(super) fn is_left_out(&self, member: &Value, direction: SchemaDirection) -> bool {
        let mark = match direction {
            SchemaDirection::Arguments => "readOnly",
            SchemaDirection::Results => "writeOnly",
        };
        self.document.is_marked(member, mark)
    }

    /// The names of such members, in an object and in the objects of which it is composed.
    fn left_out(&self, schema: &Value, direction: SchemaDirection) -> Vec<String> {
        let members = members_of(self.document, schema).unwrap_or_default();
        let left_out = members
            .into_iter()
            .filter(|(_, member)| self.is_left_out(member, direction));
        left_out.map(|(name, _)| name.to_owned()).collect()
    }

    /// True if a pattern compiles. Compiling takes steps.
    pub(super) fn compiles(&self, pattern: &str) -> bool {
        let mut patterns = self.patterns.borrow_mut();
        if let Some(known) = patterns.get(pattern) {
            return *known;
        }
        if self.document.has_steps().is_err() {
            return false;
        }
        let (compiles, bytes) = mux_schema::try_pattern(pattern);
        // If too few steps are left, the next caller gets the error.
        let _enough = self.document.steps(bytes / PATTERN_BYTES_PER_STEP);
        patterns.insert(pattern.to_owned(), compiles);
        compiles
    }
}

/// The state of translating one schema.
pub(super) struct SchemaTranslator<'a> {
    pub(super) dialect: &'a SchemaDialect<'a>,
    direction: SchemaDirection,
    /// Members of the enclosing objects that are not for this direction.
    absent: Vec<String>,
    needs: Vec<String>,
    /// The elements of `needs`, for lookups.
    needed: HashSet<String>,
}

impl SchemaTranslator<'_> {
    pub(super) fn schema(
        &mut self,
        schema: &Value,
        depth: usize,
    ) -> Result<Value, UnresolvedReference> {
        self.dialect.document.steps(1)?;
        let map = match schema {
            Value::Object(map) if depth <= MAX_SCHEMA_DEPTH => map,
            Value::Bool(translated) => return Ok(Value::Bool(*translated)),
            _ => return Ok(json!({})),
        };
        let refers = map.get("$ref").and_then(Value::as_str);
        let mut translated = Map::new();
        if let Some(reference) = refers {
            match self.reference(reference) {
                Ok(pointer) => drop(translated.insert("$ref".into(), pointer.into())),
                Err(_) if self.direction == SchemaDirection::Results => {}
                Err(unresolved) => return Err(unresolved),
            }
        }
        let known = self.absent.len();
        if map.contains_key("allOf") {
            self.absent
                .extend(self.dialect.left_out(schema, self.direction));
        }
        let alone = refers.is_some() && self.dialect.document.version == OpenApiVersion::V3_0;
        for (keyword, value) in map {
            // In 3.0 a reference has no siblings, but a description does no harm.
            if !alone || keyword == "description" {
                self.keyword(keyword, value, map, &mut translated, depth)?;
            }
        }
        if !alone {
            self.without_members(map, &mut translated)?;
        }
        self.absent.truncate(known);
        if is_true(schema, "nullable") {
            return Ok(or_null(translated));
        }
        Ok(Value::Object(translated))
    }

    fn reference(&mut self, reference: &str) -> Result<String, UnresolvedReference> {
        let pointer = pointer_of(reference)?;
        self.dialect.document.at(reference)?;
        let pointer = pointer.into_owned();
        if self.needed.insert(pointer.clone()) {
            self.needs.push(pointer.clone());
        }
        Ok(pointer)
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: &Value,
        map: &Map<String, Value>,
        translated: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), UnresolvedReference> {
        let asked = self.direction == SchemaDirection::Arguments;
        if matches!(keyword, "enum" | "const" | "default") {
            // These are copied, so their length counts.
            self.dialect.document.steps(parts(value))?;
        }
        let kept = match keyword {
            "type" => types(value),
            "enum" => value
                .as_array()
                .filter(|list| !list.is_empty())
                .map(|_| value.clone()),
            "const" => Some(value.clone()),
            "properties" | "patternProperties" => Some(self.by_name(keyword, value, depth)?),
            "items" | "additionalProperties" if !is_schema(value) => match (keyword, value) {
                ("items", Value::Array(_)) => {
                    let items = self.several(value, depth)?;
                    translated.extend(items.map(|items| ("prefixItems".to_owned(), items)));
                    None
                }
                _ => None,
            },
            // A result may get further members later.
            "additionalProperties" if !asked && *value == Value::Bool(false) => None,
            "items" | "additionalProperties" => Some(self.schema(value, depth + 1)?),
            // A value that matches two alternatives may be valid for the API, so it must not be refused here.
            "oneOf" if !map.contains_key("anyOf") => {
                let alternatives = self.several(value, depth)?;
                translated.extend(alternatives.map(|several| ("anyOf".to_owned(), several)));
                None
            }
            "oneOf" => {
                if let Some(alternatives) = self.several(value, depth)? {
                    let all = translated.entry("allOf").or_insert_with(|| json!([]));
                    if let Value::Array(all) = all {
                        all.push(json!({ "anyOf": alternatives }));
                    }
                }
                None
            }
            "allOf" => {
                let parts = self.several(value, depth)?;
                match (translated.get_mut("allOf"), parts) {
                    (Some(Value::Array(all)), Some(Value::Array(parts))) => {
                        all.extend(parts);
                        None
                    }
                    (_, parts) => parts,
                }
            }
            "anyOf" | "prefixItems" => self.several(value, depth)?,
            "description" | "title" => self.words(keyword, value),
            "deprecated" => Some(value)
                .filter(|value| **value == Value::Bool(true))
                .cloned(),
            _ if asked => self.constraint(keyword, value, map, translated, depth)?,
            _ => None,
        };
        translated.extend(kept.map(|kept| (keyword.to_owned(), kept)));
        Ok(())
    }

    fn by_name(
        &mut self,
        keyword: &str,
        value: &Value,
        depth: usize,
    ) -> Result<Value, UnresolvedReference> {
        let mut named = Map::new();
        for (name, schema) in value.as_object().into_iter().flatten() {
            let kept = match keyword {
                "properties" => !self.dialect.is_left_out(schema, self.direction),
                _ => self.dialect.compiles(name),
            };
            if kept && is_schema(schema) {
                named.insert(name.clone(), self.schema(schema, depth + 1)?);
            }
        }
        Ok(Value::Object(named))
    }

    fn several(
        &mut self,
        value: &Value,
        depth: usize,
    ) -> Result<Option<Value>, UnresolvedReference> {
        let Some(list) = value.as_array().filter(|list| !list.is_empty()) else {
            return Ok(None);
        };
        let schemas = list.iter().map(|schema| self.schema(schema, depth + 1));
        Ok(Some(Value::Array(schemas.collect::<Result<_, _>>()?)))
    }

    fn words(&self, keyword: &str, value: &Value) -> Option<Value> {
        let most = match (self.direction, keyword) {
            (SchemaDirection::Arguments, _) => MAX_ARGUMENT_DESCRIPTION_CHARS,
            (SchemaDirection::Results, "description") => MAX_RESULT_DESCRIPTION_CHARS,
            (SchemaDirection::Results, _) => return None,
        };
        Some(cut(value.as_str()?, most).into())
    }

    /// Adds `required`, without members of the other direction and members that a closed object cannot have: some
    /// descriptions require a member under its former name.
    fn without_members(
        &self,
        map: &Map<String, Value>,
        translated: &mut Map<String, Value>,
    ) -> Result<(), UnresolvedReference> {
        let Some(required) = map.get("required").and_then(Value::as_array) else {
            return Ok(());
        };
        let document = self.dialect.document;
        document.steps(required.len() + self.absent.len())?;
        let is_closed = is_closed(map);
        let absent: HashSet<&str> = self.absent.iter().map(String::as_str).collect();
        let mut names = IndexSet::new();
        for name in required.iter().filter_map(Value::as_str) {
            let member = map.get("properties").and_then(|all| all.get(name));
            let left_out = match member {
                Some(member) => self.dialect.is_left_out(member, self.direction),
                None => is_closed || absent.contains(name),
            };
            if !left_out {
                names.insert(name);
            }
        }
        if !names.is_empty() {
            translated.insert("required".into(), names.into_iter().collect());
        }
        Ok(())
    }
}

/// Returns true if an object has no members besides its own `properties`.
fn is_closed(map: &Map<String, Value>) -> bool {
    let opens = ["patternProperties", "allOf", "anyOf", "oneOf", "$ref"];
    map.get("additionalProperties") == Some(&Value::Bool(false))
        && !opens.iter().any(|keyword| map.contains_key(*keyword))
}

/// The number of values in a value, including itself.
fn parts(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(parts).sum(),
        Value::Object(members) => members.values().map(parts).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(
        version: &str,
        direction: SchemaDirection,
        schema: &Value,
    ) -> Result<Value, UnresolvedReference> {
        let text = json!({
            "openapi": version,
            "components": { "schemas": { "Id": { "type": "integer", "readOnly": true } } },
        });
        let document = OpenApiDocument::read(&text.to_string()).unwrap();
        let translated = SchemaDialect::new(&document).translate(schema, direction)?;
        Ok(translated.schema)
    }

    #[test]
    fn openapi_3_0_keywords_are_translated() {
        for (schema, expected) in [
            (
                json!({ "type": "string", "nullable": true, "enum": ["a"], "example": "a", "xml": {} }),
                json!({ "type": ["string", "null"], "enum": ["a", null], "examples": ["a"] }),
            ),
            (
                json!({ "type": "number", "minimum": 1, "exclusiveMinimum": true, "maximum": 2, "exclusiveMaximum": false }),
                json!({ "type": "number", "exclusiveMinimum": 1, "maximum": 2 }),
            ),
            (
                json!({ "$ref": "#/components/schemas/Id", "nullable": true, "description": "D", "type": "string" }),
                json!({ "description": "D", "anyOf": [{ "$ref": "/components/schemas/Id" }, { "type": "null" }] }),
            ),
            (
                json!({ "type": "file", "required": true, "minimum": "1", "pattern": "(", "items": [], "enum": [], "maxLength": -1 }),
                json!({}),
            ),
            (
                json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }], "discriminator": { "propertyName": "a" } }),
                json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
            ),
        ] {
            let found = translated("3.0.3", SchemaDirection::Arguments, &schema).unwrap();
            assert_eq!(found, expected, "{schema}");
        }
    }

    #[test]
    fn member_that_a_closed_object_cannot_have_is_not_required() {
        let object = |more: Value| {
            let mut schema = json!({ "properties": { "a": {} }, "required": ["a", "b"] });
            schema
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().cloned().unwrap());
            translated("3.0.3", SchemaDirection::Arguments, &schema).unwrap()
        };
        let closed = object(json!({ "additionalProperties": false }));
        assert_eq!(closed["required"], json!(["a"]));
        for open in [
            json!({}),
            json!({ "additionalProperties": false, "allOf": [{ "properties": { "b": {} } }] }),
        ] {
            assert_eq!(object(open)["required"], json!(["a", "b"]));
        }
    }

    #[test]
    fn read_only_and_write_only_members_are_for_one_direction() {
        let schema = json!({
            "type": "object",
            "required": ["id", "key", "name"],
            "additionalProperties": false,
            "properties": {
                "id": { "$ref": "#/components/schemas/Id" },
                "key": { "type": "string", "writeOnly": true, "minLength": 3 },
                "name": { "type": "string", "minLength": 3 },
            },
        });
        let asked = translated("3.1.0", SchemaDirection::Arguments, &schema).unwrap();
        assert_eq!(asked["required"], json!(["key", "name"]));
        assert_eq!(
            asked["properties"]["key"],
            json!({ "type": "string", "minLength": 3 })
        );
        let promised = translated("3.1.0", SchemaDirection::Results, &schema).unwrap();
        assert_eq!(promised["required"], json!(["id", "name"]));
        assert_eq!(promised["properties"]["name"], json!({ "type": "string" }));
        assert_eq!(promised.get("additionalProperties"), None);
    }

    #[test]
    fn required_omits_members_that_another_part_leaves_out() {
        let schema = json!({ "allOf": [
            { "type": "object", "properties": { "id": { "$ref": "#/components/schemas/Id" } } },
            { "required": ["id", "name"] },
        ] });
        let asked = translated("3.0.3", SchemaDirection::Arguments, &schema).unwrap();
        assert_eq!(asked["allOf"][1], json!({ "required": ["name"] }));
    }

    #[test]
    fn external_reference_is_an_error_in_arguments_and_unconstrained_in_results() {
        let schema = json!({ "type": "array", "items": { "$ref": "other.json#/a" } });
        assert_eq!(
            translated("3.1.0", SchemaDirection::Arguments, &schema),
            Err(UnresolvedReference::Elsewhere("other.json#/a".into()))
        );
        assert_eq!(
            translated("3.1.0", SchemaDirection::Results, &schema),
            Ok(json!({ "type": "array", "items": {} }))
        );
    }
}
