//! Translates single keywords of a schema: the valid values of each, and the constraints that only arguments keep.
//!
//! Invariant: a keyword is kept only with a valid value.

use serde_json::{Map, Value, json};

use super::{openapi_document::UnresolvedReference, schema_dialect::SchemaTranslator};

/// The length of an example as JSON.
const MAX_EXAMPLE_BYTES: usize = 120;

const SCHEMA_TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "null", "object", "array",
];

impl SchemaTranslator<'_> {
    /// Translates a keyword that only arguments keep.
    pub(super) fn constraint(
        &mut self,
        keyword: &str,
        value: &Value,
        map: &Map<String, Value>,
        translated: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<Option<Value>, UnresolvedReference> {
        Ok(match (keyword, value) {
            ("not" | "propertyNames" | "contains" | "if" | "then" | "else", _)
                if is_schema(value) =>
            {
                Some(self.schema(value, depth + 1)?)
            }
            ("minimum", Value::Number(_)) if is_true_in(map, "exclusiveMinimum") => {
                translated.insert("exclusiveMinimum".into(), value.clone());
                None
            }
            ("maximum", Value::Number(_)) if is_true_in(map, "exclusiveMaximum") => {
                translated.insert("exclusiveMaximum".into(), value.clone());
                None
            }
            ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum", Value::Number(_)) => {
                Some(value.clone())
            }
            ("multipleOf", Value::Number(number)) if number.as_f64() > Some(0.0) => {
                Some(value.clone())
            }
            (
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
                | "maxProperties" | "minContains" | "maxContains",
                Value::Number(number),
            ) => number.as_u64().map(Value::from),
            ("pattern", Value::String(pattern)) => {
                self.dialect.compiles(pattern).then(|| value.clone())
            }
            ("uniqueItems", Value::Bool(_)) => Some(value.clone()),
            ("format" | "contentEncoding" | "contentMediaType", Value::String(_)) => {
                Some(value.clone())
            }
            ("default", _) => Some(value.clone()),
            ("example", _) if is_short(value) => {
                translated
                    .entry("examples")
                    .or_insert_with(|| json!([value]));
                None
            }
            ("examples", Value::Array(_)) if is_short(value) => Some(value.clone()),
            _ => None,
        })
    }
}

/// The first `most` characters of a text, up to the end of a sentence if there is one.
pub(super) fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let head = &text[..end];
    match head.rfind(". ") {
        Some(stop) if stop > end / 3 => head[..=stop].to_owned(),
        _ => format!("{}…", head.trim_end()),
    }
}

pub(super) fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Bool(_))
}

fn is_short(value: &Value) -> bool {
    value.to_string().len() <= MAX_EXAMPLE_BYTES
}

fn is_true_in(map: &Map<String, Value>, member: &str) -> bool {
    map.get(member) == Some(&Value::Bool(true))
}

/// The value of `type`, without duplicates. `None` if it contains an unknown type.
pub(super) fn types(value: &Value) -> Option<Value> {
    let is_type = |value: &&Value| {
        value
            .as_str()
            .is_some_and(|name| SCHEMA_TYPES.contains(&name))
    };
    match value {
        Value::Array(several) => {
            let mut known: Vec<&Value> = Vec::new();
            for name in several.iter().filter(is_type) {
                if !known.contains(&name) {
                    known.push(name);
                }
            }
            (!known.is_empty() && several.iter().all(|name| is_type(&name)))
                .then(|| known.into_iter().cloned().collect())
        }
        one => Some(one).filter(is_type).cloned(),
    }
}

/// Adds null to a schema.
pub(super) fn or_null(mut translated: Map<String, Value>) -> Value {
    let composed = ["$ref", "allOf", "anyOf", "not", "const"];
    if composed
        .iter()
        .any(|keyword| translated.contains_key(*keyword))
    {
        let words = translated.shift_remove("description");
        let mut either = Map::new();
        either.extend(words.map(|words| ("description".to_owned(), words)));
        either.insert("anyOf".into(), json!([translated, { "type": "null" }]));
        return Value::Object(either);
    }
    if let Some(kind) = translated.get_mut("type") {
        let mut kinds = match kind.take() {
            Value::Array(kinds) => kinds,
            one => vec![one],
        };
        if !kinds.iter().any(|kind| kind == "null") {
            kinds.push("null".into());
        }
        *kind = Value::Array(kinds);
    }
    if let Some(Value::Array(values)) = translated.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    Value::Object(translated)
}
