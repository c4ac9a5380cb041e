//! Compiles untrusted JSON schemas and validates values against them, both within limits of time and memory.
//!
//! Depends on `mux-process`, to move work off the runtime's threads, and on the sandbox's `mux-typegen` for the normal
//! form of a schema: the validator reads the same schema as the types.
//!
//! - `lenient_compile` compiles a schema, without the keywords that the validator does not accept.
//! - `schema_weight` estimates the cost of compiling a schema. A schema that is too heavy is not compiled.
//! - `schema_cache` keeps compiled schemas up to a size limit.
//! - `metered_json` counts how often the validator accesses a value.
//!
//! Invariant: no reference is ever fetched. A check takes at most its budget of steps and CPU time, and blocks a
//! runtime thread only briefly. A check that exceeds its budget has no verdict.

#[cfg(test)]
mod fuzz;
mod lenient_compile;
mod metered_json;
mod schema_cache;
mod schema_weight;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
    time::Duration,
};

use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::{Value, json};

pub use self::{lenient_compile::UncheckableSchema, schema_cache::SchemaSlot};
use self::{
    metered_json::{BudgetExhausted, CheckBudget, MeteredJson, MeteredNode},
    schema_weight::SchemaWeight,
};
use mux_process::blocking_pool;
use mux_typegen::normal_form::SchemaNote;

/// The maximum number of accesses to values in one check. Each value of a result takes about ten.
const MAX_CHECK_STEPS: u64 = 2_000_000;
/// Checks of up to this many steps run on the current thread: switching threads would take longer.
const MAX_INLINE_STEPS: u64 = 20_000;
/// The maximum CPU time of one check. Steps differ in cost: one may compare a value with thousands.
const CHECK_CPU_TIMEOUT: Duration = Duration::from_secs(2);
/// The approximate size of one state of a compiled pattern.
const PATTERN_STATE_BYTES: usize = 256;
/// The maximum number of violations that an error lists.
const MAX_SHOWN_MISTAKES: usize = 5;
/// In larger values, violations are not located: the validator builds all its errors before it returns the first, and
/// each takes up to two kilobytes.
const MAX_SEARCHED_VALUES: usize = 10_000;

/// A compiled schema.
#[derive(Debug)]
pub struct CompiledSchema {
    validator: Validator<MeteredJson>,
    weight: SchemaWeight,
    /// The parts of the schema that are not checked or were reinterpreted.
    notes: Vec<SchemaNote>,
}

/// The result of validating a value.
#[derive(Debug, Eq, PartialEq)]
pub enum SchemaVerdict {
    Fits,
    /// The first few violations, in the requested wording.
    Fails(Vec<String>),
    /// The check exceeded its budget.
    TooMuch,
}

/// The wording of violations.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MistakeWording {
    /// For the author of the value: includes the value.
    Author,
    /// For others: only the location and the expectation. The value may be secret or hostile.
    Stranger,
}

/// Returns true if values can be checked against the schema, as far as it can be read.
pub fn can_be_checked(schema: &Value) -> bool {
    CompiledSchema::compile(schema).is_ok()
}

/// Returns whether a pattern can be compiled, and its estimated compiled size in bytes.
pub fn try_pattern(pattern: &str) -> (bool, usize) {
    let schema = json!({ "pattern": pattern });
    let weight = schema_weight::of(&schema).map_or(0, |weight| weight.largest_pattern);
    let compiled = CompiledSchema::compile(&schema);
    let is_supported = compiled.is_ok_and(|compiled| compiled.notes.is_empty());
    (is_supported, weight)
}

impl CompiledSchema {
    /// Compiles a schema, as far as it can be read.
    pub fn compile(schema: &Value) -> Result<Self, UncheckableSchema> {
        lenient_compile::compile(schema)
    }

    /// The parts of the schema that are not checked or were reinterpreted.
    pub fn notes(&self) -> &[SchemaNote] {
        &self.notes
    }

    /// Validates a value, on a blocking thread if that takes long. Returns the value with the verdict.
    pub async fn check(
        self: Arc<Self>,
        value: Value,
        words: MistakeWording,
    ) -> (Value, SchemaVerdict) {
        // Matching one pattern may already take long.
        if self.weight.largest_pattern == 0
            && let Some(verdict) = self.check_within(&value, words, MAX_INLINE_STEPS)
        {
            return (value, verdict);
        }
        let check = move || {
            let verdict = self.check_within(&value, words, MAX_CHECK_STEPS);
            (value, verdict.unwrap_or(SchemaVerdict::TooMuch))
        };
        blocking_pool::run(check).await
    }

    /// Validates a value within `steps`. `None` if the steps or the time were used up.
    fn check_within(
        &self,
        value: &Value,
        words: MistakeWording,
        steps: u64,
    ) -> Option<SchemaVerdict> {
        if self.run_within_budget(steps, || self.validator.is_valid(MeteredNode(value)))? {
            return Some(SchemaVerdict::Fits);
        }
        let count = count_values(value);
        if count > MAX_SEARCHED_VALUES {
            if steps < MAX_CHECK_STEPS {
                return None;
            }
            return Some(SchemaVerdict::Fails(vec![format!(
                "one of their {count} values does not match; with more than {MAX_SEARCHED_VALUES} it is not located"
            )]));
        }
        let describe = |error: ValidationError<'_>| match words {
            MistakeWording::Author => mistake_with_value(&error),
            MistakeWording::Stranger => mistake_without_value(&error),
        };
        let found = self.run_within_budget(steps, || {
            let errors = self.validator.iter_errors(MeteredNode(value));
            errors.take(MAX_SHOWN_MISTAKES).map(describe).collect()
        });
        match found {
            // The caller tries again with more steps.
            None if steps < MAX_CHECK_STEPS => None,
            found => Some(SchemaVerdict::Fails(
                found.unwrap_or_else(|| vec!["somewhere".into()]),
            )),
        }
    }

    /// Runs `work` within a budget. `None` if the steps or the time were used up.
    fn run_within_budget<T>(&self, steps: u64, work: impl FnOnce() -> T) -> Option<T> {
        let budget = CheckBudget {
            steps,
            cpu_time: CHECK_CPU_TIMEOUT,
            states: self.weight.largest_pattern.div_ceil(PATTERN_STATE_BYTES),
        };
        match catch_unwind(AssertUnwindSafe(|| metered_json::within(budget, work))) {
            Ok(done) => Some(done),
            Err(cause) if cause.is::<BudgetExhausted>() => None,
            Err(cause) => resume_unwind(cause),
        }
    }
}

fn mistake_with_value(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let place = place.trim_start_matches('/').replace('/', ".");
    let message = shorten_message(&error.to_string());
    if place.is_empty() {
        message
    } else {
        format!("{place}: {message}")
    }
}

fn mistake_without_value(error: &ValidationError<'_>) -> String {
    let place = shorten_message(&error.instance_path().to_string());
    let what = match error.kind() {
        ValidationErrorKind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(one) => one.to_string(),
                TypeKind::Multiple(several) => {
                    let several: Vec<String> = several.iter().map(|t| t.to_string()).collect();
                    several.join(" or ")
                }
            };
            format!(
                "expected {expected}, got {}",
                json_type_name(error.instance())
            )
        }
        ValidationErrorKind::Required { property } => {
            format!(
                "the property {} is missing",
                shorten_message(&property.to_string())
            )
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let count = unexpected.len();
            format!("{count} of its properties are not in the schema")
        }
        kind => {
            let got = json_type_name(error.instance());
            format!("`{}` does not hold for this {got}", kind.keyword())
        }
    };
    format!("{}: {what}", if place.is_empty() { "/" } else { &place })
}

/// The number of values in a value, including itself. Recursive: the caller has checked the depth.
pub fn count_values(value: &Value) -> usize {
    let inside: usize = match value {
        Value::Array(items) => items.iter().map(count_values).sum(),
        Value::Object(fields) => fields.values().map(count_values).sum(),
        _ => 0,
    };
    inside + 1
}

/// The JSON Schema name of a value's type.
fn json_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Cuts the middle of a long message: a value in it may be a whole file.
fn shorten_message(message: &str) -> String {
    const MAX_MESSAGE_BYTES: usize = 300;
    if message.len() <= MAX_MESSAGE_BYTES {
        return message.to_owned();
    }
    let head = &message[..message.floor_char_boundary(MAX_MESSAGE_BYTES / 2)];
    let tail = &message[message.ceil_char_boundary(message.len() - MAX_MESSAGE_BYTES / 2)..];
    format!("{head} … {tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(schema: &Value, value: &Value) -> SchemaVerdict {
        let schema = CompiledSchema::compile(schema).unwrap();
        let verdict = schema.check_within(value, MistakeWording::Stranger, MAX_CHECK_STEPS);
        verdict.unwrap_or(SchemaVerdict::TooMuch)
    }

    #[test]
    fn mistakes_for_strangers_omit_the_value() {
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
            let SchemaVerdict::Fails(mistakes) = verdict(&schema, &value) else {
                panic!("{value}");
            };
            assert!(mistakes[0].starts_with(expected), "{value}: {mistakes:?}");
            assert!(!mistakes[0].contains("secret"), "{mistakes:?}");
        }
        assert_eq!(
            verdict(&schema, &json!({ "id": 1, "tags": ["x", null] })),
            SchemaVerdict::Fits
        );
    }

    #[test]
    fn format_withholds_nothing_under_any_draft() {
        for draft in [
            "http://json-schema.org/draft-04/schema#",
            "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft/2019-09/schema",
            "https://json-schema.org/draft/2020-12/schema",
        ] {
            let schema = json!({ "$schema": draft, "type": "string", "format": "date-time" });
            let local = json!("2026-11-27T10:00:00");
            assert_eq!(verdict(&schema, &local), SchemaVerdict::Fits, "{draft}");
        }
    }

    #[test]
    fn exponential_schema_exceeds_the_budget() {
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
        // Any verdict but `Fits` is right, as long as the check ends.
        assert_ne!(verdict(&schema, &value), SchemaVerdict::Fits);

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
        assert_eq!(verdict(&schema, &json!(1)), SchemaVerdict::TooMuch);
    }

    #[test]
    fn long_simple_values_are_checked() {
        let schema = json!({ "type": "array", "items": { "type": "object", "required": ["a"],
            "properties": { "a": { "type": "integer" } } } });
        let mut rows = vec![json!({ "a": 1 }); 100_000];
        assert_eq!(verdict(&schema, &json!(rows)), SchemaVerdict::Fits);
        rows.push(json!({}));
        assert!(matches!(
            verdict(&schema, &json!(rows)),
            SchemaVerdict::Fails(_)
        ));
    }
}
