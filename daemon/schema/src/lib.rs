//! A JSON schema of a stranger, compiled, and values held against it, both within bounds.
//!
//! Invariant: no reference is ever fetched, and no schema, however it is made, takes longer than its steps and its time,
//! nor more than a moment of a thread of the runtime. What is too heavy is not compiled ([`weight`]); what cannot be
//! decided in those steps is not decided.

mod kept;
mod metered;
mod weight;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
    time::Duration,
};

use jsonschema::{
    PatternOptions, ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::{Value, json};

pub use self::kept::SchemaSlot;
use self::{
    metered::{Budget, Exhausted, Metered, Node},
    weight::Weight,
};
use mux_process::blocking_pool;

/// Looks at values, over one check. A value of a result is looked at some ten times.
const STEPS: u64 = 2_000_000;
/// So many take less time than to have another thread go on.
const INLINE_STEPS: u64 = 20_000;
/// Of one check. Steps are not all alike: one may compare a value with thousands.
const CPU_TIME: Duration = Duration::from_secs(2);
/// What a state of a compiled pattern takes, about.
const STATE_BYTES: usize = 256;
/// Of one regular expression on one text.
const BACKTRACKS: usize = 100_000;
/// How many mistakes are named.
const SHOWN: usize = 5;
/// Among more values none is named: the validator makes all its errors before it gives the first, and
/// one takes up to two kilobytes.
const SEARCHED: usize = 10_000;

/// A schema, compiled.
#[derive(Debug)]
pub struct Schema {
    validator: Validator<Metered>,
    weight: Weight,
}

/// What a schema says of a value.
#[derive(Debug, Eq, PartialEq)]
pub enum Verdict {
    Fits,
    /// With the first few places, in the words that were asked for.
    Fails(Vec<String>),
    /// It would take too long to know.
    TooMuch,
}

/// How a mistake is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Words {
    /// To whoever wrote the value: with the value itself.
    Author,
    /// To somebody else: where, and what was expected; the value may be secret or poisoned.
    Stranger,
}

/// Whether values can be held against it.
pub fn can_be_checked(schema: &Value) -> bool {
    Schema::compile(schema).is_ok()
}

/// Whether a pattern can be compiled, and what it takes then or would take, in bytes.
pub fn try_pattern(pattern: &str) -> (bool, usize) {
    let schema = json!({ "pattern": pattern });
    match Schema::compile(&schema) {
        Ok(compiled) => (true, compiled.weight.largest_pattern),
        Err(_) => (
            false,
            weight::of(&schema).map_or(0, |it| it.largest_pattern),
        ),
    }
}

impl Schema {
    /// An error tells a person why it cannot be used.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        let weight = weight::of(schema)?;
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(BACKTRACKS)
            .size_limit(weight::MAX_COMPILED_PATTERN_BYTES);
        let validator = jsonschema::options_for::<Metered>()
            .with_pattern_options(patterns)
            .build(schema)
            .map_err(|error| error.to_string())?;
        Ok(Self { validator, weight })
    }

    /// Holds a value against it, on another thread if that takes more than a moment. Gives the value back.
    pub async fn check(self: Arc<Self>, value: Value, words: Words) -> (Value, Verdict) {
        // What one pattern does with one text is no moment.
        if self.weight.largest_pattern == 0
            && let Some(verdict) = self.check_within(&value, words, INLINE_STEPS)
        {
            return (value, verdict);
        }
        let check = move || {
            let verdict = self.check_within(&value, words, STEPS);
            (value, verdict.unwrap_or(Verdict::TooMuch))
        };
        blocking_pool::run(check).await
    }

    /// `None` if the steps or the time were used up.
    fn check_within(&self, value: &Value, words: Words, steps: u64) -> Option<Verdict> {
        if self.bounded(steps, || self.validator.is_valid(Node(value)))? {
            return Some(Verdict::Fits);
        }
        if !is_searched(value) {
            if steps < STEPS {
                return None;
            }
            let count = count(value);
            return Some(Verdict::Fails(vec![format!(
                "one of their {count} values is wrong, and among more than {SEARCHED} none is looked for"
            )]));
        }
        let told = |error: ValidationError<'_>| match words {
            Words::Author => with_its_value(&error),
            Words::Stranger => without_its_value(&error),
        };
        let found = self.bounded(steps, || {
            let errors = self.validator.iter_errors(Node(value));
            errors.take(SHOWN).map(told).collect()
        });
        match found {
            // Whoever has more steps looks once more.
            None if steps < STEPS => None,
            found => Some(Verdict::Fails(
                found.unwrap_or_else(|| vec!["somewhere".into()]),
            )),
        }
    }

    /// `None` if the steps or the time were used up.
    fn bounded<T>(&self, steps: u64, work: impl FnOnce() -> T) -> Option<T> {
        let budget = Budget {
            steps,
            cpu_time: CPU_TIME,
            states: self.weight.largest_pattern.div_ceil(STATE_BYTES),
        };
        match catch_unwind(AssertUnwindSafe(|| metered::within(budget, work))) {
            Ok(done) => Some(done),
            Err(cause) if cause.is::<Exhausted>() => None,
            Err(cause) => resume_unwind(cause),
        }
    }
}

/// Whether it has so few values that the wrong one is looked for.
fn is_searched(value: &Value) -> bool {
    fn left(value: &Value, most: usize) -> Option<usize> {
        let most = most.checked_sub(1)?;
        match value {
            Value::Array(items) => items.iter().try_fold(most, |most, item| left(item, most)),
            Value::Object(fields) => fields
                .values()
                .try_fold(most, |most, field| left(field, most)),
            _ => Some(most),
        }
    }
    left(value, SEARCHED).is_some()
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
pub fn count(value: &Value) -> usize {
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
    use super::*;

    fn verdict(schema: Value, value: Value) -> Verdict {
        let schema = Schema::compile(&schema).unwrap();
        let verdict = schema.check_within(&value, Words::Stranger, STEPS);
        verdict.unwrap_or(Verdict::TooMuch)
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
