//! Validates arguments against a tool's input schema, compiled once.
//!
//! Invariant: a schema that cannot be compiled, or takes too long, validates nothing, and the log says so.

use std::sync::Arc;

use mux_wire::{Fault, FaultKind};
use serde_json::{Map, Value, json};
use tracing::warn;

use super::Tool;
use mux_schema::{CompiledSchema, MistakeWording, SchemaSlot, SchemaVerdict, UncheckableSchema};
use mux_text::did_you_mean::suggestion;
use mux_typegen::normal_form::{JsonTypes, SchemaView};

/// The maximum number of undeclared arguments that an error names.
const MAX_UNDECLARED_NAMES: usize = 5;

/// The input schema, compiled at the first call.
#[derive(Debug, Default)]
pub(super) struct ArgumentSchema(SchemaSlot);

impl Tool {
    /// Parses arguments, which must be an object.
    pub fn read_arguments(&self, text: &str) -> Result<Map<String, Value>, Fault> {
        let value: Value = serde_json::from_str(text)
            .map_err(|e| self.refuse(&[format!("they are not JSON: {e}")]))?;
        match value {
            Value::Object(object) => Ok(object),
            other => Err(self.refuse(&[format!("they must be one object, not {}", shape(&other))])),
        }
    }

    /// Parses typed arguments: each string is read as the schema requires, however the schema expresses it.
    pub fn read_typed_arguments(
        &self,
        pairs: Vec<(String, String)>,
    ) -> Result<Map<String, Value>, Fault> {
        let mut grouped: Map<String, Value> = Map::new();
        let schema = SchemaView::new(&self.input_schema());
        for (name, text) in pairs {
            let member = schema.member(&name);
            let types = schema.types(&member);
            let is_known = types != JsonTypes::ALL;
            let takes_list =
                types.contains("array") && (is_known || schema.describes_list(&member));
            let item = || {
                let items: Vec<&Value> = member
                    .iter()
                    .flat_map(|member| schema.items(member))
                    .collect();
                read_as(&schema, &items, &text)
            };
            match grouped.get_mut(&name) {
                None => {
                    let value = read_as(&schema, &member, &text);
                    let needs_list = takes_list
                        && !value.is_array()
                        && !(is_known && types.allows_value(&value));
                    let value = if needs_list {
                        Value::Array(vec![item()])
                    } else {
                        value
                    };
                    grouped.insert(name, value);
                }
                Some(Value::Array(items)) if takes_list => items.push(item()),
                Some(only) if takes_list => {
                    *only = Value::Array(vec![only.take(), item()]);
                }
                Some(_) => return Err(self.refuse(&[format!("{name} is given twice")])),
            }
        }
        Ok(grouped)
    }

    /// Returns the arguments if they fit the schema, or an error that says what is wrong.
    pub async fn check_arguments(
        &self,
        object: Map<String, Value>,
    ) -> Result<Map<String, Value>, Fault> {
        let Some(schema) = self.schema().await else {
            return Ok(object);
        };
        let (value, verdict) = schema
            .check(Value::Object(object), MistakeWording::Author)
            .await;
        match verdict {
            SchemaVerdict::Fails(mistakes) => return Err(self.refuse(&mistakes)),
            SchemaVerdict::TooMuch => {
                warn!(
                    tool = self.path(),
                    "its input schema takes too long; these arguments are not validated"
                );
            }
            SchemaVerdict::Fits => {}
        }
        match value {
            Value::Object(object) => Ok(object),
            _ => unreachable!("made from an object above"),
        }
    }

    /// Rejects names that the schema does not declare, unless the schema allows others. Agrees with a program's type
    /// check: a schema that says nothing about other names has a type without them.
    pub fn check_argument_names(&self, object: &Map<String, Value>) -> Result<(), Fault> {
        let schema: Value = serde_json::from_str(self.sent_schema_text()).unwrap_or_default();
        let Some(declared) = declared_names(&schema) else {
            return Ok(());
        };
        let unknown = object
            .keys()
            .filter(|name| !declared.contains(&name.as_str()));
        let mistakes: Vec<String> = unknown
            .take(MAX_UNDECLARED_NAMES)
            .map(|name| {
                let suggestion = suggestion(name, declared.iter().copied());
                format!("there is no argument {name:?}{suggestion}")
            })
            .collect();
        if mistakes.is_empty() {
            Ok(())
        } else {
            Err(self.refuse(&mistakes))
        }
    }

    async fn schema(&self) -> Option<Arc<CompiledSchema>> {
        let refused = |error: &UncheckableSchema| {
            warn!(tool = self.path(), %error, "the input schema cannot be compiled; arguments are not validated");
        };
        let text = || self.sent_schema_text().to_owned();
        self.arguments.0.get(text, refused).await
    }

    /// The parts of its schemas that are not checked, as far as its calls have shown.
    pub(super) fn unchecked_parts(&self) -> Vec<String> {
        let input = self.arguments.0.notes().into_iter();
        let output = self.results.notes().into_iter();
        let input = input.map(|note| format!("{}: {note}", self.name));
        input
            .chain(output.map(|note| format!("{} (result): {note}", self.name)))
            .collect()
    }

    fn arguments_hint(&self) -> String {
        let signature = self.signature();
        let overridden = self.overridden.as_ref();
        match overridden.and_then(|overridden| overridden.note(&self.server)) {
            Some(note) => format!("{signature}\n{note}"),
            None => signature.to_owned(),
        }
    }

    pub(super) fn refuse(&self, mistakes: &[String]) -> Fault {
        let mut fault = Fault::new(
            FaultKind::Validation,
            format!(
                "the arguments of {} do not fit: {}",
                self.path(),
                mistakes.join("; ")
            ),
        )
        .hint(self.arguments_hint())
        .path(self.path());
        fault.details = Some(json!({ "mistakes": mistakes }).to_string());
        fault
    }
}

/// The names of an object's properties, or `None` if it may have others, or if they depend on more than these keywords.
pub(super) fn declared_names(schema: &Value) -> Option<Vec<&str>> {
    const OPENING: [&str; 10] = [
        "patternProperties",
        "$ref",
        "$dynamicRef",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "dependentSchemas",
        "dependencies",
        "nullable",
    ];
    let schema = schema.as_object()?;
    if OPENING.iter().any(|keyword| schema.contains_key(*keyword)) {
        return None;
    }
    for keyword in ["additionalProperties", "unevaluatedProperties"] {
        match schema.get(keyword) {
            None | Some(Value::Bool(false)) => {}
            Some(_) => return None,
        }
    }
    let properties = schema.get("properties")?.as_object()?;
    // Without properties, the type is `{}`, to which every object fits.
    if properties.is_empty() {
        return None;
    }
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    Some(
        properties
            .keys()
            .map(String::as_str)
            .chain(required)
            .collect(),
    )
}

/// A typed string as a value that the schemas allow: a listed value, a string where one is allowed, otherwise JSON if
/// it parses. JSON objects and lists are never meant as strings where they are allowed themselves.
fn read_as(schema: &SchemaView, member: &[&Value], text: &str) -> Value {
    let string = || Value::String(text.to_owned());
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    let types = schema.types(member);
    let listed = schema.listed_values(member);
    if listed.contains(&&string()) {
        return string();
    }
    match parsed {
        Some(parsed) if listed.contains(&&parsed) => parsed,
        Some(parsed) if types == JsonTypes::ALL => parsed,
        Some(parsed) if !types.contains("string") => parsed,
        Some(parsed) if !is_scalar(&parsed) && types.allows_value(&parsed) => parsed,
        _ => string(),
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use crate::{ToolDescription, ToolSet};

    use mux_settings::ToolOverrides;

    use super::*;

    async fn check(schema: Value, arguments: &str) -> Result<Map<String, Value>, Fault> {
        let described = ToolDescription {
            name: "add".into(),
            input_schema: schema.into(),
            ..ToolDescription::default()
        };
        let set = ToolSet::new("m", vec![described], &[], &ToolOverrides::default());
        let tool = set.find("add").unwrap();
        tool.check_arguments(tool.read_arguments(arguments)?).await
    }

    fn numbers() -> Value {
        json!({
            "type": "object",
            "properties": { "a": { "type": "number", "minimum": 0 }, "b": { "type": "number" } },
            "required": ["a", "b"],
        })
    }

    #[tokio::test]
    async fn error_names_the_mistakes_and_the_signature() {
        let fault = check(numbers(), r#"{"a": -1}"#).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Validation);
        assert!(
            fault.message.contains("a: -1 is less than the minimum"),
            "{}",
            fault.message
        );
        assert!(
            fault.message.contains("\"b\" is a required property"),
            "{}",
            fault.message
        );
        assert!(fault.hint.unwrap().contains("m.add("));
    }

    #[tokio::test]
    async fn error_in_very_many_values_names_no_position() {
        let texts = json!({ "type": "array", "items": { "anyOf": [{ "type": "string" }, { "type": "null" }] } });
        let schema = json!({ "type": "object", "properties": { "texts": texts } });
        let many = |value: Value, count| json!({ "texts": vec![value; count] }).to_string();
        assert!(
            check(schema.clone(), &many(json!("x"), 1_000_000))
                .await
                .is_ok()
        );
        let fault = check(schema.clone(), &many(json!(1), 1_000_000))
            .await
            .unwrap_err();
        assert!(
            fault.message.contains("one of their 1000002 values"),
            "{}",
            fault.message
        );
        let fault = check(schema, &many(json!(1), 1_000)).await.unwrap_err();
        assert!(fault.message.contains("texts.4: "), "{}", fault.message);
    }

    #[tokio::test]
    async fn arguments_must_be_an_object() {
        for (text, word) in [
            ("[1]", "an array"),
            ("\"x\"", "a string"),
            ("null", "null"),
            ("{", "not JSON"),
        ] {
            let fault = check(numbers(), text).await.unwrap_err();
            assert!(fault.message.contains(word), "{text}: {}", fault.message);
        }
    }

    #[tokio::test]
    async fn typed_text_is_read_by_its_schema() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "count": { "type": "integer" },
                "deep": { "type": "boolean" },
                "tags": { "type": "array", "items": { "type": "string" } },
                "since": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                "code": { "allOf": [{ "type": "string" }] },
                "labels": { "$ref": "#/$defs/Labels" },
                "level": { "enum": [1, "2"] },
                "filter": { "anyOf": [{ "type": "string" }, { "type": "object" }] },
                "any": {},
            },
            "$defs": { "Labels": { "anyOf": [
                { "type": "array", "items": { "type": "string" } }, { "type": "null" },
            ] } },
        });
        let read = async |pairs: &[(&str, &str)]| {
            let described = ToolDescription {
                name: "t".into(),
                input_schema: schema.clone().into(),
                ..ToolDescription::default()
            };
            let set = ToolSet::new("s", vec![described], &[], &ToolOverrides::default());
            let pairs = pairs
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                .collect();
            let tool = set.find("t").unwrap();
            let read = tool.read_typed_arguments(pairs);
            tool.check_arguments(read?).await.map(Value::Object)
        };
        assert_eq!(
            read(&[
                ("name", "12"),
                ("count", "12"),
                ("deep", "true"),
                ("tags", "1"),
                ("tags", "b")
            ])
            .await
            .unwrap(),
            json!({ "name": "12", "count": 12, "deep": true, "tags": ["1", "b"] })
        );
        assert_eq!(
            read(&[
                ("since", "2024"),
                ("code", "5"),
                ("labels", "1"),
                ("labels", "b"),
                ("level", "2"),
                ("filter", "{\"a\": 1}"),
                ("any", "7"),
            ])
            .await
            .unwrap(),
            json!({ "since": "2024", "code": "5", "labels": ["1", "b"], "level": "2",
                "filter": { "a": 1 }, "any": 7 })
        );
        assert_eq!(
            read(&[("level", "1"), ("filter", "12"), ("labels", "null")])
                .await
                .unwrap(),
            json!({ "level": 1, "filter": "12", "labels": null })
        );
        assert_eq!(
            read(&[("tags", "[\"x\"]"), ("new", "a=b")]).await.unwrap(),
            json!({ "tags": ["x"], "new": "a=b" })
        );
        assert!(
            read(&[("count", "many")])
                .await
                .unwrap_err()
                .message
                .contains("count")
        );
        assert!(
            read(&[("name", "a"), ("name", "b")])
                .await
                .unwrap_err()
                .message
                .contains("twice")
        );
    }

    #[test]
    fn undeclared_names_are_rejected_unless_the_schema_allows_others() {
        let names = |schema: Value, arguments: Value| {
            let described = ToolDescription {
                name: "add".into(),
                input_schema: schema.into(),
                ..ToolDescription::default()
            };
            let set = ToolSet::new("m", vec![described], &[], &ToolOverrides::default());
            let arguments = arguments.as_object().unwrap().clone();
            set.find("add").unwrap().check_argument_names(&arguments)
        };
        let read = json!({ "type": "object", "properties": { "path": {}, "head": {} }, "required": ["path", "mode"] });
        assert!(names(read.clone(), json!({ "path": 1, "mode": 2 })).is_ok());
        let fault = names(read.clone(), json!({ "pth": 1, "zzz": 2 })).unwrap_err();
        assert_eq!(
            fault.message,
            "the arguments of m.add do not fit: there is no argument \"pth\" (did you mean \"path\"?); \
             there is no argument \"zzz\""
        );
        assert!(fault.hint.unwrap().starts_with("m.add("));
        for (keyword, value) in [
            ("additionalProperties", json!(true)),
            ("additionalProperties", json!({ "type": "string" })),
            ("patternProperties", json!({ "^x-": {} })),
            ("allOf", json!([{ "properties": { "pth": {} } }])),
            ("properties", json!({})),
        ] {
            let mut open = read.clone();
            open[keyword] = value;
            assert!(names(open.clone(), json!({ "pth": 1 })).is_ok(), "{open}");
        }
        let closed = json!({ "properties": { "path": {} }, "additionalProperties": false });
        assert!(names(closed, json!({ "pth": 1 })).is_err());
    }

    #[tokio::test]
    async fn one_odd_keyword_costs_that_keyword() {
        for (schema, wrong) in [
            (json!({ "type": "nonsense", "enum": ["a"] }), "1"),
            (json!({ "type": "string", "pattern": "(" }), "1"),
            (json!({ "type": "string", "minLength": "many" }), "1"),
            (
                json!({ "type": "integer", "minimum": 0, "exclusiveMinimum": true }),
                "0",
            ),
            (
                json!({ "type": "string", "items": null, "enum": null, "anyOf": [] }),
                "1",
            ),
            (
                json!({ "allOf": [{ "$ref": "#/nowhere" }, { "type": "string" }] }),
                "1",
            ),
            (json!({ "type": "float" }), "\"x\""),
        ] {
            let object = json!({ "properties": { "x": schema } });
            let wrong = format!("{{\"x\": {wrong}}}");
            assert!(check(object, &wrong).await.is_err(), "{schema}");
        }
    }

    #[tokio::test]
    async fn invalid_schema_accepts_everything() {
        for schema in [
            json!({ "type": "nonsense" }),
            json!({ "$ref": "https://example.com/schema.json" }),
        ] {
            assert!(check(schema, "{\"x\": 1}").await.is_ok());
        }
    }
}
