//! A JSON schema of a stranger, compiled, and values held against it in a bounded number of steps.
//!
//! Invariant: no reference is ever fetched, and no schema, however it is made, takes longer than its steps. What
//! cannot be decided in them is not decided.

mod metered;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jsonschema::{
    PatternOptions, ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::Value;

use self::metered::{Exhausted, Metered, Node, with_steps};

/// Looks at values, over one check. A value of a result is looked at some ten times.
const STEPS: u64 = 2_000_000;
/// Of one regular expression on one text.
const BACKTRACKS: usize = 100_000;
/// How many mistakes are named.
const SHOWN: usize = 5;
/// Among more values none is named: the validator makes all its errors before it gives the first, and
/// one takes up to two kilobytes.
const SEARCHED: usize = 10_000;

/// A schema, compiled.
#[derive(Debug)]
pub(super) struct Schema(Validator<Metered>);

/// What a schema says of a value.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    Fits,
    /// With the first few places, in the words that were asked for.
    Fails(Vec<String>),
    /// It would take too long to know.
    TooMuch,
}

/// How a mistake is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Words {
    /// To whoever wrote the value: with the value itself.
    Author,
    /// To somebody else: where, and what was expected; the value may be secret or poisoned.
    Stranger,
}

/// Whether values can be held against it.
pub fn can_be_checked(schema: &Value) -> bool {
    Schema::compile(schema).is_ok()
}

impl Schema {
    /// An error tells a person why it cannot be used.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        let compile = || {
            jsonschema::options_for::<Metered>()
                .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS))
                .build(schema)
                .map_err(|error| error.to_string())
        };
        compile().map(Self)
    }

    pub(super) fn check(&self, value: &Value, words: Words) -> Verdict {
        match bounded(|| self.0.is_valid(Node(value))) {
            None => return Verdict::TooMuch,
            Some(true) => return Verdict::Fits,
            Some(false) => {}
        }
        let count = count(value);
        if count > SEARCHED {
            return Verdict::Fails(vec![format!(
                "one of their {count} values is wrong, and among more than {SEARCHED} none is looked for"
            )]);
        }
        let told = |error: ValidationError<'_>| match words {
            Words::Author => with_its_value(&error),
            Words::Stranger => without_its_value(&error),
        };
        let found = bounded(|| {
            let errors = self.0.iter_errors(Node(value));
            errors.take(SHOWN).map(told).collect()
        });
        Verdict::Fails(found.unwrap_or_else(|| vec!["somewhere".into()]))
    }
}

/// `None` if the steps were used up.
fn bounded<T>(work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(|| with_steps(STEPS, work))) {
        Ok(done) => Some(done),
        Err(cause) if cause.is::<Exhausted>() => None,
        Err(cause) => resume_unwind(cause),
    }
}

fn with_its_value(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let place = place.trim_start_matches('/').replace('/', ".");
    let message = shortened(&error.to_string());
    match place.is_empty() {
        true => message,
        false => format!("{place}: {message}"),
    }
}

fn without_its_value(error: &ValidationError<'_>) -> String {
    let place = shortened(&error.instance_path().to_string());
    let what = match error.kind() {
        ValidationErrorKind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(one) => one.to_string(),
                TypeKind::Multiple(several) => {
                    let several: Vec<String> = several.iter().map(|t| t.to_string()).collect();
                    several.join(" or ")
                }
            };
            format!("expected {expected}, got {}", shape(error.instance()))
        }
        ValidationErrorKind::Required { property } => {
            format!(
                "the property {} is missing",
                shortened(&property.to_string())
            )
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let count = unexpected.len();
            format!("{count} of its properties are not in the schema")
        }
        kind => {
            let got = shape(error.instance());
            format!("`{}` does not hold for this {got}", kind.keyword())
        }
    };
    format!("{}: {what}", if place.is_empty() { "/" } else { &place })
}

/// The values in a value, itself included. It is not nested deep: that was asked before.
pub(super) fn count(value: &Value) -> usize {
    let inside: usize = match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    };
    inside + 1
}

/// The word of JSON Schema for it.
fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value in an error is cut: it may be a whole file.
fn shortened(message: &str) -> String {
    const MOST: usize = 300;
    if message.len() <= MOST {
        return message.to_owned();
    }
    let head = &message[..message.floor_char_boundary(MOST / 2)];
    let tail = &message[message.ceil_char_boundary(message.len() - MOST / 2)..];
    format!("{head} … {tail}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn verdict(schema: Value, value: Value) -> Verdict {
        Schema::compile(&schema)
            .unwrap()
            .check(&value, Words::Stranger)
    }

    #[test]
    fn what_is_wrong_is_told_without_the_value() {
        let schema = json!({
            "type": "object",
            "properties": {
                "id": { "type": "integer" },
                "tags": { "type": "array", "items": { "type": ["string", "null"] } },
                "kind": { "enum": ["a", "b"] },
            },
            "required": ["id"],
            "additionalProperties": false,
        });
        for (value, expected) in [
            (
                json!({ "id": "secret" }),
                "/id: expected integer, got string",
            ),
            (json!({ "id": 1, "tags": ["x", 2] }), "/tags/1: expected "),
            (json!({ "tags": [] }), "/: the property \"id\" is missing"),
            (
                json!({ "id": 1, "secret": 1 }),
                "/: 1 of its properties are not in the schema",
            ),
            (
                json!({ "id": 1, "kind": "secret" }),
                "/kind: `enum` does not hold for this string",
            ),
            (json!(["secret"]), "/: expected object, got array"),
        ] {
            let Verdict::Fails(told) = verdict(schema.clone(), value.clone()) else {
                panic!("{value}");
            };
            assert!(told[0].starts_with(expected), "{value}: {told:?}");
            assert!(!told[0].contains("secret"), "{told:?}");
        }
        assert_eq!(
            verdict(schema, json!({ "id": 1, "tags": ["x", null] })),
            Verdict::Fits
        );
    }

    #[test]
    fn a_schema_that_grows_without_end_is_given_up() {
        let level = |n: usize| match n {
            0 => json!({ "type": "string" }),
            n => {
                let next = json!({ "$ref": format!("#/$defs/l{}", n - 1) });
                json!({ "anyOf": [{ "items": next }, { "items": next.clone(), "minItems": 1 }] })
            }
        };
        let definitions: serde_json::Map<String, Value> =
            (0..60).map(|n| (format!("l{n}"), level(n))).collect();
        let schema = json!({ "$defs": definitions, "$ref": "#/$defs/l59" });
        let value = (0..59).fold(json!(1), |inside, _| json!([inside]));
        // With or without an answer, it comes: a test that hangs has failed.
        assert_ne!(verdict(schema, value), Verdict::Fits);

        let twice = json!({ "anyOf": [{ "$ref": "#/$defs/a" }, { "$ref": "#/$defs/a" }] });
        let mut definitions = serde_json::Map::new();
        for n in 0..60 {
            let next = format!("#/$defs/{}", n + 1);
            let both =
                json!({ "anyOf": [{ "$ref": next }, { "not": { "not": { "$ref": next } } }] });
            definitions.insert(n.to_string(), both);
        }
        definitions.insert("60".into(), json!({ "type": "string" }));
        definitions.insert("a".into(), json!({ "$ref": "#/$defs/0" }));
        let mut schema = twice;
        schema["$defs"] = Value::Object(definitions);
        assert_eq!(verdict(schema, json!(1)), Verdict::TooMuch);
    }

    #[test]
    fn what_is_long_and_simple_is_looked_at() {
        let schema = json!({ "type": "array", "items": { "type": "object", "required": ["a"],
            "properties": { "a": { "type": "integer" } } } });
        let mut rows = vec![json!({ "a": 1 }); 100_000];
        assert_eq!(verdict(schema.clone(), json!(rows)), Verdict::Fits);
        rows.push(json!({}));
        assert!(matches!(verdict(schema, json!(rows)), Verdict::Fails(_)));
    }
}
