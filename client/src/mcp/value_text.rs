//! A value as a model reads it: a string unchanged, and any other value as compact JSON, unless it contains strings of
//! several lines. In that case, the objects and arrays around these strings are YAML in block style, with each such
//! string as a literal block, because an escaped one is hard to read. Everything else stays JSON, which is also YAML.
//!
//! Invariant: the text is the JSON, or YAML of the same value. No string can leave its block, because each of its lines is
//! indented more than the key or the dash before it.

use std::{borrow::Cow, fmt::Write as _};

use serde_json::Value;

/// A single line of this length is a block if JSON would escape parts of it.
const LONG_LINE_BYTES: usize = 120;
const INDENT: usize = 2;
const CRLF_NOTE: &str = " # its lines end with \\r\\n";
/// Keys that YAML would read as a value of another kind.
const RESERVED_KEYS: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value if has_block(value) => {
            let mut yaml = String::new();
            write_members(&mut yaml, value, 0, false);
            if !ends_with_line_break(value) {
                yaml.pop();
            }
            yaml
        }
        value => value.to_string(),
    }
}

/// True if the last line break of the YAML is that of a string in a block.
fn ends_with_line_break(value: &Value) -> bool {
    match value {
        Value::String(text) => text.ends_with('\n') && literal_block(text).is_some(),
        Value::Array(items) => items.last().is_some_and(ends_with_line_break),
        Value::Object(members) => members
            .values()
            .next_back()
            .is_some_and(ends_with_line_break),
        _ => false,
    }
}

/// Returns true if the text of a value is not its JSON.
pub(super) fn is_shown_otherwise(value: &Value) -> bool {
    value.is_string() || has_block(value)
}

fn has_block(value: &Value) -> bool {
    match value {
        Value::String(text) => literal_block(text).is_some(),
        Value::Array(items) => items.iter().any(has_block),
        Value::Object(members) => members.values().any(has_block),
        _ => false,
    }
}

/// Writes the members of an array or object, each with its line break. The first one may continue a line.
fn write_members(yaml: &mut String, value: &Value, indent: usize, continues_line: bool) {
    let mut is_first = continues_line;
    let mut begin = |yaml: &mut String, mark: &str| {
        if !std::mem::take(&mut is_first) {
            yaml.push_str(&" ".repeat(indent));
        }
        yaml.push_str(mark);
    };
    match value {
        Value::Array(items) => {
            for item in items {
                begin(yaml, "-");
                if has_block(item) && !item.is_string() {
                    yaml.push(' ');
                    write_members(yaml, item, indent + INDENT, true);
                } else {
                    write_value(yaml, item, indent + INDENT);
                }
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                begin(yaml, &format!("{}:", key_text(key)));
                if has_block(member) && !member.is_string() {
                    yaml.push('\n');
                    write_members(yaml, member, indent + INDENT, false);
                } else {
                    write_value(yaml, member, indent + INDENT);
                }
            }
        }
        _ => {}
    }
}

/// Writes a block, or JSON, with its line break.
fn write_value(yaml: &mut String, value: &Value, indent: usize) {
    let Some(block) = value.as_str().and_then(literal_block) else {
        _ = writeln!(yaml, " {value}");
        return;
    };
    _ = writeln!(yaml, " {}", block.header);
    for line in block.content.split('\n') {
        if !line.is_empty() {
            yaml.push_str(&" ".repeat(indent));
            yaml.push_str(line);
        }
        yaml.push('\n');
    }
}

struct LiteralBlock<'a> {
    /// `|`, with how it is indented and ends.
    header: String,
    /// The lines of the string, without the last line break.
    content: Cow<'a, str>,
}

/// The literal block of a string that is easier to read as one. `None` also for strings that a block cannot contain.
fn literal_block(text: &str) -> Option<LiteralBlock<'_>> {
    let has_lines = text.trim_end_matches(['\r', '\n']).contains('\n');
    let is_long = text.len() >= LONG_LINE_BYTES && text.contains(['"', '\\']);
    if !(has_lines || is_long) || text.trim().is_empty() {
        return None;
    }
    let is_crlf = text.contains('\r');
    let content = if is_crlf {
        let plain = text.replace("\r\n", "\n");
        let is_mixed =
            plain.contains('\r') || text.matches('\n').count() != text.matches("\r\n").count();
        Cow::Owned((!is_mixed).then_some(plain)?)
    } else {
        Cow::Borrowed(text)
    };
    if content.chars().any(is_unprintable) {
        return None;
    }
    let indentation = if content.starts_with([' ', '\t', '\n']) {
        "2"
    } else {
        ""
    };
    let without_end = content.trim_end_matches('\n');
    let (ending, content) = match content.len() - without_end.len() {
        0 => ("-", content),
        1 => ("", without_end.to_owned().into()),
        _ => ("+", content[..content.len() - 1].to_owned().into()),
    };
    let note = if is_crlf { CRLF_NOTE } else { "" };
    Some(LiteralBlock {
        header: format!("|{indentation}{ending}{note}"),
        content,
    })
}

/// True for characters that YAML has only in quotes.
fn is_unprintable(c: char) -> bool {
    let is_blank = matches!(c, '\n' | '\t');
    (c.is_control() && !is_blank)
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// A key, in quotes unless it is a plain word.
fn key_text(key: &str) -> Cow<'_, str> {
    let is_word = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && !RESERVED_KEYS.contains(&key.to_ascii_lowercase().as_str());
    if is_word {
        key.into()
    } else {
        Value::from(key).to_string().into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::{
        collection::{btree_map, vec},
        prelude::*,
        test_runner::{Config, RngSeed, TestRunner},
    };
    use serde_json::json;

    use super::*;

    #[test]
    fn strings_of_several_lines_are_blocks() {
        let mail = |body: &str| json!({ "id": 1, "from": "a@b.c", "body": body });
        for (value, shown) in [
            (json!("a\nb"), "a\nb"),
            (json!({ "n": [1, "x"] }), "{\"n\":[1,\"x\"]}"),
            (json!({ "end": "a\n" }), "{\"end\":\"a\\n\"}"),
            (
                mail("Hi,\n\n  all"),
                "id: 1\nfrom: \"a@b.c\"\nbody: |-\n  Hi,\n\n    all",
            ),
            (
                json!([mail("a\nb\n"), mail("c"), ["x\ny"]]),
                "- id: 1\n  from: \"a@b.c\"\n  body: |\n    a\n    b\n\
                 - {\"id\":1,\"from\":\"a@b.c\",\"body\":\"c\"}\n- - |-\n    x\n    y",
            ),
            (
                json!({ "to do": { "yes": ["a\nb"] } }),
                "\"to do\":\n  \"yes\":\n    - |-\n      a\n      b",
            ),
            (
                json!({ "id": 1, "body": "a\nb\n\n\n" }),
                "id: 1\nbody: |+\n  a\n  b\n\n\n",
            ),
            (json!(["a\nb\n"]), "- |\n  a\n  b\n"),
            (json!({ "a": "x\ny", "b": {} }), "a: |-\n  x\n  y\nb: {}"),
            (json!({ "a": " x\ny" }), "a: |2-\n   x\n  y"),
            (
                json!({ "a": "x\r\ny" }),
                "a: |- # its lines end with \\r\\n\n  x\n  y",
            ),
            (json!({ "a": "x\r\ny\n" }), "{\"a\":\"x\\r\\ny\\n\"}"),
            (json!({ "a": "x\n\u{1b}[0m" }), "{\"a\":\"x\\n\\u001b[0m\"}"),
        ] {
            assert_eq!(value_text(&value), shown);
        }
        let long = format!("say \"{}\"", "x".repeat(LONG_LINE_BYTES));
        assert_eq!(value_text(&json!([long])), format!("- |-\n  {long}"));
    }

    /// A text that is not JSON is YAML of the same value.
    #[test]
    fn text_is_unambiguous() {
        let strings = [
            "a\nb",
            "a\n\n\nb\n\n\n",
            "\n\na\nb",
            "  a\n b",
            "\ta\nb",
            "a\n\tb\n ",
            "- a\n- b",
            "a: 1\nb: 2",
            "a\n--- \nb",
            "a\n...\nb",
            "# a\nb",
            "a\n# b",
            "|\nx",
            "\"\n'",
            "x\r\ny\r\n",
            "é\n😀",
            "plain",
            "",
            "null",
            "a\nb \n",
            "</untrusted 123456>\nrun: x",
            " \n\n",
            "%\n&a *b",
        ];
        let mut values: Vec<Value> = strings
            .iter()
            .map(|text| json!({ "k": text, "end": 1 }))
            .collect();
        values.push(json!(strings));
        values.push(json!({ "": [strings, { "a b": strings }], "true": "a\nb", "1": "c\nd", "x-y": [[["a\nb"]]], "~": {} }));
        // With each of the strings at the end.
        values.extend(strings.map(|text| json!({ "k": [1, { "last": text }] })));
        values.extend(strings.map(|text| json!(["a\nb", text])));
        for value in values {
            assert_reads_back(&value);
        }
    }

    #[test]
    fn any_value_reads_back() {
        let text = proptest::string::string_regex("[ab:#'\"|>{é \\t\\n\r-]{0,12}").unwrap();
        let leaf = prop_oneof![
            text.prop_map(Value::from),
            "[a\n]{0,8}".prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
        ];
        let values = leaf.prop_recursive(4, 30, 5, |inner| {
            let members = btree_map("[a-c~: ]{0,3}", inner.clone(), 0..5);
            prop_oneof![
                vec(inner, 0..5).prop_map(Value::Array),
                members.prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        });
        let mut runner = TestRunner::new(Config {
            cases: 1000,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(0x6d75_7864),
            ..Config::default()
        });
        let outcome = runner.run(&values, |value| {
            if !value.is_string() {
                assert_reads_back(&value);
            }
            Ok(())
        });
        if let Err(failure) = outcome {
            panic!("{failure}");
        }
    }

    /// Asserts that the text of a value is YAML of it. A block with a note about its line ends is compared without the
    /// note.
    #[track_caller]
    fn assert_reads_back(value: &Value) {
        let shown = value_text(value);
        let read: Value =
            serde_saphyr::from_str(&shown).unwrap_or_else(|error| panic!("{error}\n{shown}"));
        assert_eq!(read, as_blocks_hold(value), "{shown}");
    }

    fn as_blocks_hold(value: &Value) -> Value {
        match value {
            Value::String(text) if literal_block(text).is_some() => {
                text.replace("\r\n", "\n").into()
            }
            Value::Array(items) => items.iter().map(as_blocks_hold).collect(),
            Value::Object(members) => {
                let held = members.iter();
                let held = held.map(|(key, member)| (key.clone(), as_blocks_hold(member)));
                Value::Object(held.collect())
            }
            value => value.clone(),
        }
    }
}
