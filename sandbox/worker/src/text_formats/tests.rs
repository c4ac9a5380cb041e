use std::fmt::Write as _;

use deno_core::serde_json::{self, Value, json};
use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    test_runner::{Config, RngSeed, TestRunner},
};

use super::*;

fn parsed(text: &str) -> Value {
    parsed_as(text, None)
}

#[track_caller]
fn parsed_as(text: &str, format: Option<TextFormat>) -> Value {
    let json = parse(text, format).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

#[track_caller]
fn error(text: &str) -> String {
    parse(text, None).unwrap_err().to_string()
}

fn holds<S: Strategy>(values: S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let mut runner = TestRunner::new(Config {
        cases: 400,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x6d75_7864),
        ..Config::default()
    });
    if let Err(failure) = runner.run(&values, property) {
        panic!("{failure}");
    }
}

#[test]
fn single_line_is_a_map_if_its_key_is_a_name() {
    for (text, expected) in [
        ("a: 1", "{\"a\":1}"),
        ("name: Ann", "{\"name\":\"Ann\"}"),
        ("total_count: [4]", "{\"total_count\":[4]}"),
    ] {
        assert_eq!(parse(text, None).unwrap(), expected);
    }
    for text in ["Error: not found", "Note: see below", "my key: x"] {
        assert!(parse(text, None).is_err(), "{text}");
    }
}

#[test]
fn the_text_decides_on_its_format() {
    for (text, expected) in [
        ("", json!(null)),
        (" \n", json!(null)),
        ("null", json!(null)),
        ("None", json!(null)),
        ("True", json!(true)),
        ("12", json!(12)),
        ("\u{feff}{\"a\": [1]}", json!({ "a": [1] })),
        ("[]", json!([])),
        (
            "{\"a\":1}\n\n{\"a\":2}\r\n",
            json!([{ "a": 1 }, { "a": 2 }]),
        ),
        (
            "{'name': \"Mom's\", 'x': None, 'ok': True}",
            json!({ "name": "Mom's", "x": null, "ok": true }),
        ),
        ("('a', 1, (2,), (3), ())", json!(["a", 1, [2], 3, []])),
        (
            "- a\n- b: 1\n  c: \"x\"\n",
            json!(["a", { "b": 1, "c": "x" }]),
        ),
        (
            "# list\nname: Ann\nok: true\nid: '7'\nno: no",
            json!({ "name": "Ann", "ok": true, "id": "7", "no": "no" }),
        ),
        ("{a: 1, b: [x, y]}", json!({ "a": 1, "b": ["x", "y"] })),
        ("---\na: 1\n---\na: 2\n", json!([{ "a": 1 }, { "a": 2 }])),
        ("%YAML 1.2\n---\na: 1\n", json!({ "a": 1 })),
        ("body: |\n  one\n  two\n", json!({ "body": "one\ntwo\n" })),
        ("'a': 1\n'b': 2", json!({ "a": 1, "b": 2 })),
        (
            "name,note\nAnn,\"a, b\"\nBob,\"say \"\"hi\"\"\"\n",
            json!([{ "name": "Ann", "note": "a, b" }, { "name": "Bob", "note": "say \"hi\"" }]),
        ),
        (
            "id\tnote\n007\ta: b\n",
            json!([{ "id": "007", "note": "a: b" }]),
        ),
        ("a;b\n1;2,5\n", json!([{ "a": "1", "b": "2,5" }])),
    ] {
        assert_eq!(parsed(text), expected, "{text:?}");
    }
}

#[test]
fn python_literals_are_read_as_python_reads_them() {
    for (text, expected) in [
        (r"'a\n\t\x41\u00e9\101\q'", json!("a\n\tA\u{e9}A\\q")),
        (r"r'\d' 'b'", json!("\\db")),
        ("'''it's\nlong'''", json!("it's\nlong")),
        (r#"b'\xff"'"#, json!("\u{ff}\"")),
        ("{1, 2}", json!([1, 2])),
        ("{(1, 2), (3,)}", json!([[1, 2], [3]])),
        ("{}", json!({})),
        ("set()", json!([])),
        (
            "{1: 'a', (1, 2): 'b', None: 'c', True : 'd'}",
            json!({ "1": "a", "(1, 2)": "b", "None": "c", "True": "d" }),
        ),
        (
            "[1_000, 0x1F, -.5, 1., +2e3, --4]",
            json!([1000, 31, -0.5, 1.0, 2000.0, 4]),
        ),
        ("[nan, -inf, 1.5]", json!([null, null, 1.5])),
        (
            "[NaN, Infinity, -Infinity, +nan, {'a': null}, true, false]",
            json!([null, null, null, null, { "a": null }, true, false]),
        ),
        (
            r"'\ud83d\ude00 \ud83d \ude00\ud83d\ud83d\ude00'",
            json!("\u{1f600} \u{fffd} \u{fffd}\u{fffd}\u{1f600}"),
        ),
        ("[0, 0.5, 0e1, 10]", json!([0, 0.5, 0.0, 10])),
        ("[1, 2,]", json!([1, 2])),
        ("{'a': [{'b': ('c',)}],}", json!({ "a": [{ "b": ["c"] }] })),
        (
            "12345678901234567890123",
            json!(12_345_678_901_234_567_890_123_f64),
        ),
    ] {
        assert_eq!(
            parsed_as(text, Some(TextFormat::Python)),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn sentences_and_letters_are_plain_text() {
    for text in [
        "Error: not found",
        "Error: 404",
        "Note:\tsee below",
        "Hello, Bob\nThanks, Al",
        "Total; nothing\nSum; nothing",
        "Found 2 hotels:\n- Ritz\n- Savoy",
        "Please note: it failed\n  for a reason",
        "!important",
        "? what",
        "--- a/x\n+++ b/x",
        "007",
        "-007",
        "1__0",
    ] {
        let told = error(text);
        assert!(told.contains("plain text"), "{text:?}: {told}");
    }
    assert!(error("{'zip': 02134}").contains("`02134` is not a number"));
    let zeros = parse("[1, 00]", Some(TextFormat::Python)).unwrap_err();
    assert_eq!(zeros.problem, "`00` is not a number");
}

#[test]
fn a_second_sign_makes_a_map_or_a_table() {
    for (text, expected) in [
        ("a: 1\nb: x", json!({ "a": 1, "b": "x" })),
        (
            "full name: Al\nage: 3",
            json!({ "full name": "Al", "age": 3 }),
        ),
        ("key:\tvalue\nb:\t1", json!({ "key": "value", "b": 1 })),
        ("items:\n- a\n- b", json!({ "items": ["a", "b"] })),
        ("a:\n  b: 1", json!({ "a": { "b": 1 } })),
        ("'a': x", json!({ "a": "x" })),
        ("a,b\n1,2", json!([{ "a": "1", "b": "2" }])),
        (
            "a, b\n1, 2\n3, 4\n5, 6",
            json!([{ "a": "1", " b": " 2" }, { "a": "3", " b": " 4" }, { "a": "5", " b": " 6" }]),
        ),
    ] {
        assert_eq!(parsed(text), expected, "{text:?}");
    }
}

#[test]
fn yaml_is_read_by_the_core_schema_of_yaml_1_2() {
    for (text, expected) in [
        (
            "[1_000, 0b11, -0x1F, 0X1F, 007, -007, 0x1F, 0o17, +5, 1e3, .5]",
            json!([
                "1_000", "0b11", "-0x1F", "0X1F", "007", "-007", 31, 15, 5, 1000, 0.5
            ]),
        ),
        ("a: &x 0b11\nb: *x", json!({ "a": "0b11", "b": "0b11" })),
        (
            "é: 0b11 # c\nb: \"0b11\"",
            json!({ "é": "0b11", "b": "0b11" }),
        ),
        ("~: 1", json!({ "null": 1 })),
        ("? [a, b]\n: 1", json!({ "[\"a\",\"b\"]": 1 })),
        ("? {a: 1}\n: {b: 2}", json!({ "{\"a\":1}": { "b": 2 } })),
        (": 1", json!({ "null": 1 })),
        (
            "1.10: a\n0x10: b\ntrue: c\n'2': d",
            json!({ "1.10": "a", "0x10": "b", "true": "c", "2": "d" }),
        ),
        (
            "- 12345678901234567890",
            json!([12_345_678_901_234_567_890_u64]),
        ),
        (r#"- "\ud83d\ude00""#, json!(["\u{1f600}"])),
        (
            "a: &m {x: 1}\nb: {<<: *m, y: 2}",
            json!({ "a": { "x": 1 }, "b": { "x": 1, "y": 2 } }),
        ),
    ] {
        assert_eq!(
            parsed_as(text, Some(TextFormat::Yaml)),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn blank_text_is_null_in_every_format() {
    for format in FORMATS {
        for text in ["", " \n", "\u{feff}"] {
            assert_eq!(parsed_as(text, Some(format)), json!(null), "{format:?}");
        }
    }
}

#[test]
fn errors_count_blank_lines() {
    for (text, line) in [
        ("\n\na,b\n1,2\n3,4,5\n", 5),
        (" \n\r\na,b\r\n1,2\r\n3,4,5\r\n", 5),
        ("a,b\n1,2\n\n\n3,4,5\n", 5),
        ("a,b\n\"1\n1\",2\n3,4,5\n", 4),
        ("\n\na,a\n1,2\n", 3),
    ] {
        let error = parse(text, Some(TextFormat::Csv)).unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
    }
}

#[test]
fn error_names_the_place_and_the_format() {
    for (text, expected) in [
        (
            "No hotels were found.",
            "line 1, column 1: this is plain text",
        ),
        ("\n  Nothing, sorry", "line 2, column 3: this is plain text"),
        (
            "{\"a\": 1,\n \"b\" 2}",
            "line 2, column 6, read as JSON: expected `:`",
        ),
        (
            "{\"a\":1}\n{\"a\":}\n",
            "line 2, column 6, read as JSON Lines: expected value",
        ),
        (
            "{'a': 1,\n 'é': <Status.ok: 1>}",
            "line 2, column 7, read as a Python literal: a value",
        ),
        (
            "{'d': datetime.datetime(2024, 5, 1)}",
            "line 1, column 7, read as a Python literal: `datetime` is not a literal",
        ),
        ("a: 1\nb: [1, 2\nc: 3", ", read as YAML: "),
        ("a: 1\na: 2", "line 2, column 1, read as YAML: "),
        ("a,b\n1,2\n3\n4,5\n6,7\n8,9", "plain text"),
        (
            "a,b\n1,2\n3,4,5\n",
            "line 3, column 1, read as CSV: this row has 3 fields, and there are 2 columns",
        ),
        (
            "a,a\n1,2\n",
            "line 1, column 1, read as CSV: two columns are named \"a\"",
        ),
    ] {
        let told = error(text);
        assert!(told.contains(expected), "{text:?}: {told}");
    }
    let named = parse("plain", Some(TextFormat::Json)).unwrap_err();
    assert_eq!(named.format, Some(TextFormat::Json));
    assert_eq!(parsed_as("plain", Some(TextFormat::Yaml)), "plain");
    assert!(TextFormat::named("toml").is_none());
}

#[test]
fn text_that_stands_for_too_much_is_an_error() {
    // As much stack as the script's thread has beside that of the engine.
    let thread = std::thread::Builder::new().stack_size(8 << 20);
    let ended = thread.spawn(parse_what_stands_for_too_much).unwrap().join();
    assert!(ended.is_ok());
}

fn parse_what_stands_for_too_much() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let alias = vec![format!("*a{}", n - 1); 10].join(", ");
        _ = writeln!(laughs, "a{n}: &a{n} [{alias}]");
    }
    let alias_of_a_long_string = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(1 << 20),
        vec!["*a"; 99].join(", ")
    );
    let long_name = format!("{},b\n{}", "x".repeat(1 << 20), "1,2\n".repeat(100));
    for text in [laughs, alias_of_a_long_string, long_name] {
        let told = error(&text);
        assert!(told.len() < 400, "{told}");
    }
    for open in ["[", "(", "{'a':", "{", "- ", "? "] {
        let deep = open.repeat(100_000);
        for format in FORMATS {
            // CSV has no depth.
            drop(parse(&deep, Some(format)));
        }
        assert!(parse(&deep, None).is_err(), "{open}");
    }
    // Each level is read once.
    let tuples = format!("{}1{}", "(".repeat(90), ",)".repeat(90));
    assert!(parsed(&tuples).is_array());
    let sets = format!("{}1{}", "{".repeat(90), "}".repeat(90));
    assert!(parsed_as(&sets, Some(TextFormat::Python)).is_array());
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i64>().prop_map(|n| json!(n)),
        any::<f64>().prop_filter_map("no JSON", |n| n.is_finite().then(|| json!(n))),
        any::<String>().prop_map(|s| json!(s)),
        "[a-z:,#'\"\\n -]{0,8}".prop_map(|s| json!(s)),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A value as Python prints it.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            let escaped = text
                .replace('\\', "\\\\")
                .replace('\'', "\\'")
                .replace('\n', "\\n");
            format!("'{escaped}'")
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(python).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}: {}", python(&key.as_str().into()), python(value))
            };
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

#[test]
fn values_come_back_as_they_were_written() {
    holds(value(), |value| {
        prop_assert_eq!(&parsed(&value.to_string()), &value);
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(&parsed(&pretty), &value);
        let printed = python(&value);
        prop_assert_eq!(&parsed_as(&printed, Some(TextFormat::Python)), &value);
        let lines = [json!({ "value": value }), json!([value])];
        let text = format!("{}\n{}", lines[0], lines[1]);
        prop_assert_eq!(parsed(&text), Value::from(lines.to_vec()));
        Ok(())
    });
}

#[test]
fn hostile_text_is_a_value_or_an_error() {
    let pieces = proptest::sample::select(vec![
        "{", "}", "[", "]", "(", ")", "'", "\"", "'''", "\\", ":", ": ", ",", "-", "- ", "\n",
        "\n  ", "&a ", "*a", "!!int ", "|", ">", "?", "#", "---", "...", "<<: ", "None", "True",
        "nan", "1", "1e", "0x", "\\u12", "\\N{", "b'", "\t", "\u{feff}", "\u{0}", "\u{85}", "é",
        "😀", ";", "%", "~", "set()", "=",
    ]);
    let texts = prop_oneof![
        vec(pieces, 0..40).prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ];
    holds(texts, |text| {
        for format in FORMATS.into_iter().map(Some).chain([None]) {
            match parse(&text, format) {
                Ok(json) => {
                    let value = serde_json::from_str::<Value>(&json);
                    let is_deep = format == Some(TextFormat::Json);
                    prop_assert!(value.is_ok() || is_deep, "{text:?} as {format:?}: {json}");
                }
                Err(error) => prop_assert!(error.line > 0 && error.column > 0, "{text:?}: {error}"),
            }
        }
        Ok(())
    });
}
