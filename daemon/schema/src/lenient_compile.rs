//! Compiles a schema without the parts that the validator does not accept.
//!
//! Invariant: one keyword that cannot be checked costs that keyword. The rest of the schema is checked, and the notes
//! name the ignored keywords.

use jsonschema::{PatternOptions, Validator};
use mux_typegen::normal_form::{
    Deviation, NormalSchema, SchemaNote, each_schema_mut, mark_lost, normalize, settle,
};
use serde_json::{Value, json};
use thiserror::Error;

use super::{
    CompiledSchema,
    metered_json::MeteredJson,
    schema_weight::{self, SchemaWeight, WeightLimit},
};

/// The maximum number of backtracks of one regular expression on one string.
const MAX_BACKTRACKS: usize = 100_000;

/// A schema of which no part can be checked.
#[derive(Debug, Error)]
pub enum UncheckableSchema {
    #[error("it is not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    #[error("{0}")]
    TooHeavy(String),
    #[error("{0}")]
    Invalid(String),
    #[error("compiling it took longer than {0:?}")]
    Timeout(std::time::Duration),
}

pub(super) fn compile(schema: &Value) -> Result<CompiledSchema, UncheckableSchema> {
    let NormalSchema {
        mut schema,
        mut notes,
    } = normalize(schema);
    let weight = lighten(&mut schema, &mut notes)?;
    let validator = match build(&schema) {
        Ok(validator) => validator,
        Err(first) => {
            drop_patterns(&mut schema, &mut notes, &|pattern| {
                build(&json!({ "pattern": pattern })).is_err()
            });
            build(&schema).map_err(|_| first)?
        }
    };
    Ok(CompiledSchema {
        validator,
        weight,
        notes,
    })
}

fn build(schema: &Value) -> Result<Validator<MeteredJson>, UncheckableSchema> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(MAX_BACKTRACKS)
        .size_limit(schema_weight::MAX_COMPILED_PATTERN_BYTES);
    jsonschema::options_for::<MeteredJson>()
        .with_pattern_options(patterns)
        // Servers name formats that their values do not quite match, and drafts differ in the meaning of formats.
        .should_validate_formats(false)
        .build(schema)
        .map_err(|error| UncheckableSchema::Invalid(error.to_string()))
}

/// Leaves out the keywords that make a schema too heavy.
fn lighten(
    schema: &mut Value,
    notes: &mut Vec<SchemaNote>,
) -> Result<SchemaWeight, UncheckableSchema> {
    for _ in 0..2 {
        match schema_weight::of(schema) {
            Ok(weight) => return Ok(weight),
            Err(WeightLimit::Unevaluated) => {
                for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
                    drop_keyword(schema, keyword);
                    notes.push(SchemaNote::new(
                        "",
                        Deviation::Ignored {
                            keyword: keyword.to_owned(),
                        },
                    ));
                }
            }
            Err(
                WeightLimit::Patterns | WeightLimit::PatternBytes | WeightLimit::CompiledPatterns,
            ) => drop_patterns(schema, notes, &|_| true),
            Err(WeightLimit::Values | WeightLimit::References) => break,
        }
    }
    schema_weight::of(schema).map_err(|limit| UncheckableSchema::TooHeavy(limit.to_string()))
}

/// Leaves out the patterns that `is_dropped`. Members of a dropped pattern are allowed.
fn drop_patterns(
    schema: &mut Value,
    notes: &mut Vec<SchemaNote>,
    is_dropped: &dyn Fn(&str) -> bool,
) {
    each_schema_mut(schema, &mut |members| {
        let mut dropped: Vec<String> = Vec::new();
        if let Some(Value::String(pattern)) = members.get("pattern")
            && is_dropped(pattern)
        {
            dropped.push(pattern.clone());
            members.shift_remove("pattern");
        }
        if let Some(Value::Object(patterns)) = members.get_mut("patternProperties") {
            let before = patterns.len();
            patterns.retain(|pattern, _| {
                let is_kept = !is_dropped(pattern);
                if !is_kept {
                    dropped.push(pattern.clone());
                }
                is_kept
            });
            if patterns.len() < before {
                members.shift_remove("additionalProperties");
                members.shift_remove("unevaluatedProperties");
            }
        }
        if !dropped.is_empty() {
            mark_lost(members);
        }
        notes.extend(
            dropped
                .into_iter()
                .map(|pattern| SchemaNote::new("", Deviation::UnsupportedPattern { pattern })),
        );
    });
    settle(schema);
}

fn drop_keyword(schema: &mut Value, keyword: &str) {
    each_schema_mut(schema, &mut |members| {
        if members.shift_remove(keyword).is_some() {
            mark_lost(members);
        }
    });
    settle(schema);
}
