//! Estimates the time and memory that compiling a schema takes.
//!
//! Compiling cannot be interrupted, and its cost is not proportional to the schema: a pattern of twenty bytes may take
//! ten megabytes, and siblings of `unevaluatedProperties` are compiled again for each path that leads to them.
//!
//! Invariant: a schema within these limits compiles in a few seconds and takes at most a few tens of megabytes.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// The maximum number of values in a schema. The largest argument schema of a large API has half as many.
const MAX_VALUES: usize = 50_000;
/// The maximum number of `$ref`, `$dynamicRef` and `$recursiveRef`.
const MAX_REFERENCES: usize = 10_000;
/// The maximum number of `pattern` and of keys of `patternProperties`.
const MAX_PATTERNS: usize = 200;
const MAX_PATTERN_BYTES: usize = 2 << 10;
/// The maximum estimated size of all compiled patterns.
pub(crate) const MAX_COMPILED_PATTERN_BYTES: usize = 16 << 20;
/// The maximum number of schemas compiled for `unevaluatedProperties` and `unevaluatedItems`, once per path to each.
const MAX_UNEVALUATED: usize = 100_000;

/// The estimated size of a pattern's state: for a character, an explicit class, and a Unicode class.
const LETTER_STATE_BYTES: usize = 128;
const CLASS_STATE_BYTES: usize = 2 << 10;
const UNICODE_CLASS_STATE_BYTES: usize = 64 << 10;
/// The estimated compiled size of one value of the schema.
const COMPILED_VALUE_BYTES: usize = 512;

const UNEVALUATED_KEYWORDS: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];
const REFERENCE_KEYWORDS: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The estimated cost of compiling a schema.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct SchemaWeight {
    /// The estimated size of the compiled schema.
    pub(crate) bytes: usize,
    /// The estimated size of its largest compiled pattern; 0 if there are none.
    pub(crate) largest_pattern: usize,
    /// True if a pattern has lookaround or backreferences, which need a backtracking matcher.
    pub(crate) backtracks: bool,
}

/// A limit that a schema exceeds.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum WeightLimit {
    #[error("it has values over the limit of {MAX_VALUES}")]
    Values,
    #[error("it has references over the limit of {MAX_REFERENCES}")]
    References,
    #[error("it has patterns over the limit of {MAX_PATTERNS}")]
    Patterns,
    #[error("it has bytes in a pattern over the limit of {MAX_PATTERN_BYTES}")]
    PatternBytes,
    #[error("it has bytes of compiled patterns over the limit of {MAX_COMPILED_PATTERN_BYTES}")]
    CompiledPatterns,
    #[error(
        "it has schemas beside unevaluatedProperties and unevaluatedItems over the limit of {MAX_UNEVALUATED}"
    )]
    Unevaluated,
}

/// Weighs a schema. The error is the limit that it exceeds.
pub(crate) fn of(schema: &Value) -> Result<SchemaWeight, WeightLimit> {
    let mut count = WeightCounter::default();
    count.value(schema)?;
    if count.unevaluated > 0 {
        let mut expansion = ReferenceExpansion {
            schema,
            known: HashMap::new(),
        };
        let each = expansion.of(schema);
        let all = each.saturating_mul(count.unevaluated);
        within(all, MAX_UNEVALUATED, WeightLimit::Unevaluated)?;
        count.bytes += all * COMPILED_VALUE_BYTES;
    }
    Ok(SchemaWeight {
        bytes: count.values * COMPILED_VALUE_BYTES + count.bytes,
        largest_pattern: count.largest_pattern,
        backtracks: count.backtracks,
    })
}

fn within(number: usize, most: usize, limit: WeightLimit) -> Result<(), WeightLimit> {
    if number <= most { Ok(()) } else { Err(limit) }
}

/// Counters for a walk through a schema. Anything that looks like a keyword counts as one.
#[derive(Default)]
struct WeightCounter {
    values: usize,
    references: usize,
    patterns: usize,
    unevaluated: usize,
    /// The estimated size of patterns and of schemas for unevaluated keywords.
    bytes: usize,
    largest_pattern: usize,
    backtracks: bool,
}

impl WeightCounter {
    fn value(&mut self, value: &Value) -> Result<(), WeightLimit> {
        self.values += 1;
        within(self.values, MAX_VALUES, WeightLimit::Values)?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.value(item)),
            Value::Object(members) => self.members(members),
            _ => Ok(()),
        }
    }

    fn members(&mut self, members: &Map<String, Value>) -> Result<(), WeightLimit> {
        for (name, value) in members {
            match (name.as_str(), value) {
                ("pattern", Value::String(pattern)) => self.pattern(pattern)?,
                ("patternProperties", Value::Object(patterns)) => {
                    patterns
                        .keys()
                        .try_for_each(|pattern| self.pattern(pattern))?;
                }
                (name, Value::String(_)) if REFERENCE_KEYWORDS.contains(&name) => {
                    self.references += 1;
                    within(self.references, MAX_REFERENCES, WeightLimit::References)?;
                }
                (name, _) if UNEVALUATED_KEYWORDS.contains(&name) => self.unevaluated += 1,
                _ => {}
            }
            self.value(value)?;
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &str) -> Result<(), WeightLimit> {
        self.patterns += 1;
        within(self.patterns, MAX_PATTERNS, WeightLimit::Patterns)?;
        within(pattern.len(), MAX_PATTERN_BYTES, WeightLimit::PatternBytes)?;
        let bytes = compiled_bytes(pattern);
        self.bytes = self.bytes.saturating_add(bytes);
        self.largest_pattern = self.largest_pattern.max(bytes);
        self.backtracks |= backtracks(pattern);
        within(
            self.bytes,
            MAX_COMPILED_PATTERN_BYTES,
            WeightLimit::CompiledPatterns,
        )
    }
}

/// Returns true if a pattern needs a backtracking matcher, because it has lookaround or backreferences.
fn backtracks(pattern: &str) -> bool {
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                if let Some('1'..='9' | 'k') = letters.next() {
                    return true;
                }
            }
            '(' if letters.next_if_eq(&'?').is_some() && letters.next_if_eq(&':').is_none() => {
                return true;
            }
            _ => {}
        }
    }
    false
}

/// An upper bound of a pattern's compiled size: a repetition counts as often as its maximum.
fn compiled_bytes(pattern: &str) -> usize {
    /// An open group: all before its last atom, and that atom.
    #[derive(Default)]
    struct PatternGroup {
        before: usize,
        last: usize,
    }

    impl PatternGroup {
        fn add(&mut self, atom: usize) {
            self.before = self.whole();
            self.last = atom;
        }

        fn repeat(&mut self, times: usize) {
            self.last = self.last.saturating_mul(times.max(1));
        }

        fn whole(&self) -> usize {
            self.before.saturating_add(self.last)
        }
    }

    let mut open = vec![PatternGroup::default()];
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        // The outermost group is never closed.
        let closed = match (letter, open.len()) {
            (')', 2..) => open.pop(),
            _ => None,
        };
        let Some(group) = open.last_mut() else {
            return usize::MAX;
        };
        match letter {
            '(' => open.push(PatternGroup::default()),
            ')' => group.add(
                closed
                    .unwrap_or_default()
                    .whole()
                    .saturating_add(LETTER_STATE_BYTES),
            ),
            '{' => {
                if let Some((times, after)) = repetition(rest) {
                    group.repeat(times);
                    rest = after;
                } else {
                    group.add(LETTER_STATE_BYTES);
                }
            }
            // One loop, or one copy and a loop.
            '*' | '+' | '?' => group.repeat(2),
            '[' => {
                let (bytes, after) = class(rest);
                group.add(bytes);
                rest = after;
            }
            '\\' => {
                let escaped = rest.chars().next();
                rest = &rest[escaped.map_or(0, char::len_utf8)..];
                group.add(escape(escaped));
            }
            '.' => group.add(CLASS_STATE_BYTES),
            _ => group.add(LETTER_STATE_BYTES),
        }
    }
    open.iter()
        .fold(0, |all, group| all.saturating_add(group.whole()))
}

fn escape(escaped: Option<char>) -> usize {
    match escaped {
        Some('w' | 'W' | 'p' | 'P') => UNICODE_CLASS_STATE_BYTES,
        Some('d' | 'D' | 's' | 'S') => 4 * CLASS_STATE_BYTES,
        _ => LETTER_STATE_BYTES,
    }
}

/// Parses `n}`, `n,}` or `n,m}`. Returns the larger number and the rest of the pattern.
fn repetition(text: &str) -> Option<(usize, &str)> {
    let (inside, after) = text.split_once('}')?;
    let numbers = inside.split(',').map(str::trim);
    let mut most = 0;
    for (index, number) in numbers.enumerate() {
        match number {
            "" if index == 1 => most += 1,
            // A number that overflows is over any limit.
            number if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
                most = most.max(number.parse().unwrap_or(usize::MAX));
            }
            _ => return None,
        }
    }
    Some((most, after))
}

/// Parses a bracketed class. Returns its estimated size and the rest of the pattern.
fn class(text: &str) -> (usize, &str) {
    let mut bytes = CLASS_STATE_BYTES;
    let mut letters = text.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            ']' if index > 0 => return (bytes, &text[index + 1..]),
            '\\' => bytes = bytes.saturating_add(escape(letters.next().map(|(_, c)| c))),
            '[' => bytes = bytes.saturating_add(UNICODE_CLASS_STATE_BYTES),
            letter if letter.is_ascii() => {}
            _ => bytes = bytes.saturating_add(CLASS_STATE_BYTES),
        }
    }
    (bytes, "")
}

/// Counts the schemas that result if every reference is expanded in place.
struct ReferenceExpansion<'a> {
    schema: &'a Value,
    /// Counts by the address of a value. `None` while the value is being counted, which ends a cycle.
    known: HashMap<*const Value, Option<usize>>,
}

impl<'a> ReferenceExpansion<'a> {
    fn of(&mut self, value: &'a Value) -> usize {
        let at = std::ptr::from_ref(value);
        if let Some(known) = self.known.get(&at) {
            return known.unwrap_or(1);
        }
        let inside = match value {
            Value::Array(items) => items
                .iter()
                .fold(0, |all: usize, item| all.saturating_add(self.of(item))),
            Value::Object(members) => {
                self.known.insert(at, None);
                let expanded = members.iter().fold(0, |all: usize, (name, value)| {
                    all.saturating_add(self.member(name, value))
                });
                self.known.insert(at, Some(expanded.saturating_add(1)));
                expanded
            }
            _ => 0,
        };
        inside.saturating_add(1)
    }

    fn member(&mut self, name: &str, value: &'a Value) -> usize {
        let Some(reference) = value
            .as_str()
            .filter(|_| REFERENCE_KEYWORDS.contains(&name))
        else {
            return self.of(value);
        };
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| self.schema.pointer(pointer));
        match target {
            Some(target) => self.of(target),
            // A named anchor, which may be anywhere in the schema. Several of them may lead to each other.
            None => MAX_UNEVALUATED / 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pattern_size_grows_with_repetitions() {
        for (pattern, at_least, at_most) in [
            (
                "^[0-9a-f]{8}$",
                8 * CLASS_STATE_BYTES,
                9 * CLASS_STATE_BYTES,
            ),
            (
                r"(?=a)(\w{40}){4}x",
                160 * UNICODE_CLASS_STATE_BYTES,
                161 * UNICODE_CLASS_STATE_BYTES,
            ),
            (
                r"\w{64}",
                64 * UNICODE_CLASS_STATE_BYTES,
                64 * UNICODE_CLASS_STATE_BYTES,
            ),
            ("a{2,}", 3 * LETTER_STATE_BYTES, 3 * LETTER_STATE_BYTES),
            ("a{2,b}", 6 * LETTER_STATE_BYTES, 6 * LETTER_STATE_BYTES),
            (
                "((a{100}){100}){100}",
                LETTER_STATE_BYTES * 1_000_000,
                LETTER_STATE_BYTES * 1_100_000,
            ),
            (
                "((((((a{999}){999}){999}){999}){999}){999}){999}",
                usize::MAX / 2,
                usize::MAX,
            ),
            (
                r"[\w-]{9}",
                9 * UNICODE_CLASS_STATE_BYTES,
                10 * UNICODE_CLASS_STATE_BYTES,
            ),
            (r"\(a{3}\)", 5 * LETTER_STATE_BYTES, 5 * LETTER_STATE_BYTES),
            ("]})", 3 * LETTER_STATE_BYTES, 3 * LETTER_STATE_BYTES),
            ("[]a]", CLASS_STATE_BYTES, CLASS_STATE_BYTES),
            ("[", CLASS_STATE_BYTES, CLASS_STATE_BYTES),
        ] {
            let bytes = compiled_bytes(pattern);
            assert!(
                (at_least..=at_most).contains(&bytes),
                "{pattern}: {bytes}, not {at_least} to {at_most}"
            );
        }
    }

    #[test]
    fn backtracking_patterns_are_detected() {
        for pattern in ["(?=a)", "(?<!a)b", r"(a)\1", r"(?<n>a)\k<n>"] {
            assert!(backtracks(pattern), "{pattern}");
        }
        for pattern in ["(?:a)", r"\(?=", r"\\d", "a+b"] {
            assert!(!backtracks(pattern), "{pattern}");
        }
    }

    #[test]
    fn error_names_the_exceeded_limit() {
        let properties = |count: usize, schema: fn(usize) -> Value| {
            let named = (0..count).map(|n| (format!("p{n}"), schema(n)));
            json!({ "type": "object", "properties": named.collect::<Map<_, _>>() })
        };
        for (schema, limit) in [
            (properties(50_000, |_| json!({})), "values"),
            (
                properties(201, |n| json!({ "pattern": format!("{n}") })),
                "patterns",
            ),
            (properties(10_001, |_| json!({ "$ref": "#" })), "references"),
            (
                json!({ "pattern": "x".repeat(3_000) }),
                "bytes in a pattern",
            ),
            (
                json!({ "patternProperties": { r"(?=a)(\w{40}){4}x": {}, r"(?=a)(\w{40}){4}y": {} } }),
                "bytes of compiled patterns",
            ),
        ] {
            let refused = of(&schema).unwrap_err().to_string();
            assert!(
                refused.contains(limit) && refused.contains("limit"),
                "{refused}"
            );
        }
        assert!(of(&properties(5_000, |_| json!({ "type": "string" }))).is_ok());
    }

    #[test]
    fn doubling_references_count_only_with_unevaluated_keywords() {
        let level = |n: usize| match n {
            0 => json!({ "type": "object" }),
            n => {
                let next = format!("#/$defs/l{}", n - 1);
                json!({ "allOf": [{ "$ref": next }, { "$ref": next }] })
            }
        };
        let definitions: Map<String, Value> =
            (0..60).map(|n| (format!("l{n}"), level(n))).collect();
        let mut schema = json!({ "$defs": definitions, "$ref": "#/$defs/l59" });
        assert!(of(&schema).is_ok());
        schema["unevaluatedProperties"] = json!(false);
        assert_eq!(of(&schema), Err(WeightLimit::Unevaluated));
        let cycle = json!({
            "properties": { "child": { "$ref": "#" } },
            "unevaluatedProperties": false,
        });
        assert!(of(&cycle).is_ok());
    }
}
