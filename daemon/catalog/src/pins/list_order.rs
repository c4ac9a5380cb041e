//! Definitions without the order of their lists, to distinguish a reordered set from a change.
//!
//! A server in Python may write a `set` into a description or a schema, and its order differs with each start. Only
//! three kinds of lists lose their order here: `required`, `enum` and `type` of a schema, which are sets by definition,
//! lists of single words that stand alone, such as `Commands: ls, cat`, and lines of one word each. Words within a
//! sentence keep their positions: "never delete, always ask" is not "always delete, never ask".
//!
//! Invariant: the result is for comparison only. Models and calls get the definition that the user has trusted.

use std::{ops::Range, sync::LazyLock};

use mux_text::canonical_json;
use regex::Regex;
use serde_json::{Map, Value};

/// Schema keywords whose arrays are sets.
const SETS: &[&str] = &["enum", "required", "type"];
/// Schema keywords whose values are data, in which order has a meaning.
const DATA: &[&str] = &["const", "default", "enum", "example", "examples"];
/// Words that change the meaning of their neighbors. A list with one of them keeps its order.
const WORDS_WITH_SCOPE: &[&str] = &[
    "after", "always", "and", "before", "but", "do", "else", "except", "first", "if", "last",
    "never", "next", "no", "not", "only", "or", "then", "unless", "until", "without",
];
/// Parts of words before a list that make its order matter.
const ORDER_LABELS: &[&str] = &[
    "first", "order", "preced", "priorit", "rank", "sequence", "step", "then",
];

/// One word, perhaps in quotes: a command, a flag, a path.
const WORD: &str = r#"['"`]?[A-Za-z0-9_./@+*~:-]{0,63}[A-Za-z0-9_/@+*~-]['"`]?"#;

/// A list on one line. Begins after a colon, after a bracket or at the start, and ends at a bracket, a period or the
/// end.
static LIST_IN_LINE: LazyLock<Regex> = LazyLock::new(|| {
    let listed = |separator: &str| format!(r"{WORD}(?:[ ]?{separator}[ ]?{WORD})+");
    let commas = listed(",");
    let bars = listed(r"\|");
    regex(&format!(
        r"(?:^\s*|[:=]\s*|[\[({{]\s*)(?P<list>{commas}|{bars})\s*(?:\.?$|\.\s|[\])}}])"
    ))
});
static WORD_IN_LIST: LazyLock<Regex> = LazyLock::new(|| regex(WORD));
/// A line with nothing but one word, perhaps after a bullet.
static WORD_ON_LINE: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"^(?P<mark>\s*(?:[-*•] +)?)(?P<word>{WORD})\s*$")));

#[expect(clippy::expect_used, reason = "the patterns are constants, and tested")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

/// The definition with its sets and word lists sorted.
pub(super) fn without_list_order(definition: &Value) -> Value {
    let Value::Object(members) = definition else {
        return definition.clone();
    };
    let sorted = members.iter().map(|(name, member)| {
        let sorted = match (name.as_str(), member) {
            ("description", Value::String(text)) => sort_words(text).into(),
            ("inputSchema" | "outputSchema", schema) => sort_schema(schema),
            (_, other) => other.clone(),
        };
        (name.clone(), sorted)
    });
    Value::Object(sorted.collect::<Map<_, _>>())
}

fn sort_schema(schema: &Value) -> Value {
    match schema {
        Value::Array(schemas) => schemas.iter().map(sort_schema).collect(),
        Value::Object(members) => {
            let sorted = members.iter().map(|(name, member)| {
                let sorted = match (name.as_str(), member) {
                    ("description", Value::String(text)) => sort_words(text).into(),
                    (name, Value::Array(items)) if SETS.contains(&name) => sort_set(items),
                    (name, data) if DATA.contains(&name) => data.clone(),
                    (_, other) => sort_schema(other),
                };
                (name.clone(), sorted)
            });
            Value::Object(sorted.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn sort_set(items: &[Value]) -> Value {
    let mut items = items.to_vec();
    items.sort_by_cached_key(canonical_json::to_text);
    items.into()
}

/// The text with the words of each list sorted.
fn sort_words(text: &str) -> String {
    let mut lines: Vec<String> = text.split('\n').map(sort_line).collect();
    let mut start = 0;
    while start < lines.len() {
        let end = end_of_word_lines(&lines, start);
        let label = lines[..start]
            .iter()
            .rev()
            .find(|line| !line.trim().is_empty());
        let words: Vec<&str> = lines[start..end].iter().map(|line| line.trim()).collect();
        if words.len() > 1 && is_set(label.map_or("", String::as_str), &words) {
            lines[start..end].sort_unstable();
        }
        start = end.max(start + 1);
    }
    lines.join("\n")
}

/// The end of the lines from `start` that are one word each, after the same bullet.
fn end_of_word_lines(lines: &[String], start: usize) -> usize {
    let mark = |line: &String| Some(WORD_ON_LINE.captures(line)?["mark"].to_owned());
    let first = mark(&lines[start]);
    let alike = lines[start..]
        .iter()
        .take_while(|line| first.is_some() && mark(line) == first);
    start + alike.count()
}

fn sort_line(line: &str) -> String {
    let mut sorted = String::with_capacity(line.len());
    let mut rest = 0;
    for found in LIST_IN_LINE.captures_iter(line) {
        let list = found.name("list").map_or(0..0, |list| list.range());
        sorted.push_str(&line[rest..list.start]);
        sorted.push_str(&sort_list(&line[..list.start], &line[list.clone()]));
        rest = list.end;
    }
    sorted.push_str(&line[rest..]);
    sorted
}

/// Sorts the words of a list, and leaves the separators in place.
fn sort_list(label: &str, list: &str) -> String {
    let ranges: Vec<Range<usize>> = WORD_IN_LIST
        .find_iter(list)
        .map(|word| word.range())
        .collect();
    let mut words: Vec<&str> = ranges.iter().map(|range| &list[range.clone()]).collect();
    if !is_set(label, &words) {
        return list.to_owned();
    }
    words.sort_unstable();
    let mut sorted = String::with_capacity(list.len());
    let mut rest = 0;
    for (range, word) in ranges.iter().zip(words) {
        sorted.push_str(&list[rest..range.start]);
        sorted.push_str(word);
        rest = range.end;
    }
    sorted
}

/// True if the order of a list has no meaning, judged by its words and the text before it.
fn is_set(label: &str, words: &[&str]) -> bool {
    let label = label.to_ascii_lowercase();
    let has_scope = |word: &str| {
        let word = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
        WORDS_WITH_SCOPE.contains(&word.to_ascii_lowercase().as_str())
    };
    !words.iter().any(|word| has_scope(word))
        && !ORDER_LABELS.iter().any(|part| label.contains(part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str, same: bool) {
        assert_eq!(
            sort_words(one) == sort_words(other),
            same,
            "{one} / {other}"
        );
    }

    #[test]
    fn sets_in_another_order_are_the_same() {
        for (one, other) in [
            (
                "Run it\nAllowed commands: pwd, echo, ls, cat",
                "Run it\nAllowed commands: cat, pwd, ls, echo",
            ),
            (
                "Available commands: ls, cat\nAvailable flags: --help, -l, -a\n\nNote: (&&, |, >) are not supported.",
                "Available commands: cat, ls\nAvailable flags: -a, --help, -l\n\nNote: (&&, |, >) are not supported.",
            ),
            ("One of {'b', 'a'}.", "One of {'a', 'b'}."),
            ("Formats (png|svg|pdf) only", "Formats (svg|pdf|png) only"),
            (
                "Commands: ls, cat. Runs one.",
                "Commands: cat, ls. Runs one.",
            ),
            (
                "Commands:\n- ls\n- cat\n\nDone.",
                "Commands:\n- cat\n- ls\n\nDone.",
            ),
            ("Commands:\nls\ncat", "Commands:\ncat\nls"),
        ] {
            check(one, other, true);
        }
    }

    #[test]
    fn words_with_another_meaning_are_a_change() {
        for (one, other) in [
            ("never delete, always ask", "always delete, never ask"),
            (
                "Rules: never delete, always ask",
                "Rules: always delete, never ask",
            ),
            ("Delete: never, read: always", "Delete: always, read: never"),
            (
                "Rules: never, delete, always, ask",
                "Rules: always, delete, never, ask",
            ),
            (
                "Rules:\n- never\n- delete\n- ask",
                "Rules:\n- ask\n- never\n- delete",
            ),
            ("Steps: backup, delete", "Steps: delete, backup"),
            (
                "Runs in this order: backup, delete",
                "Runs in this order: delete, backup",
            ),
            (
                "Sends mail to alice, not to bob",
                "Sends mail to bob, not to alice",
            ),
            ("Copies source, target", "Copies target, source"),
            (
                "Allowed: ls, cat\nDenied: rm, dd",
                "Allowed: rm, dd\nDenied: ls, cat",
            ),
            ("Allowed: ls, cat", "Allowed: ls, cat, rm"),
            ("Allowed: ls, cat", "Allowed: ls, cat, cat"),
            ("1. ask\n2. delete", "1. delete\n2. ask"),
            ("Ask the user\nDelete it", "Delete it\nAsk the user"),
            ("(a, b) then (c, d)", "(c, d) then (a, b)"),
        ] {
            check(one, other, false);
        }
    }

    #[test]
    fn only_schema_sets_lose_their_order() {
        let schema = |required: Value, mode: Value, default: Value, prefix: Value| {
            json!({ "name": "t", "inputSchema": {
                "type": "object",
                "required": required,
                "properties": { "mode": { "type": ["string", "null"], "enum": mode, "default": default, "prefixItems": prefix } },
            }})
        };
        let base = schema(
            json!(["a", "b"]),
            json!(["x", "y", null]),
            json!(["p", "q"]),
            json!([{ "type": "string" }, {}]),
        );
        let same = schema(
            json!(["b", "a"]),
            json!([null, "y", "x"]),
            json!(["p", "q"]),
            json!([{ "type": "string" }, {}]),
        );
        assert_eq!(without_list_order(&base), without_list_order(&same));
        for other in [
            schema(
                json!(["a"]),
                json!(["x", "y", null]),
                json!(["p", "q"]),
                json!([{ "type": "string" }, {}]),
            ),
            schema(
                json!(["a", "b"]),
                json!(["x", "y"]),
                json!(["p", "q"]),
                json!([{ "type": "string" }, {}]),
            ),
            schema(
                json!(["a", "b"]),
                json!(["x", "y", null]),
                json!(["q", "p"]),
                json!([{ "type": "string" }, {}]),
            ),
            schema(
                json!(["a", "b"]),
                json!(["x", "y", null]),
                json!(["p", "q"]),
                json!([{}, { "type": "string" }]),
            ),
        ] {
            assert_ne!(
                without_list_order(&base),
                without_list_order(&other),
                "{other}"
            );
        }
    }
}
