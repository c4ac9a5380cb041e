//! Tests of types that are learned from results: each rule, and properties for any results.
//!
//! Invariant: every test uses a shape as its callers do, as a declaration and as bytes.

mod properties;

use mux_typegen::{
    GLOBALS, ObservedResult, ResultShape, ServerDecl, ToolDecl, declarations, signature,
};
use serde_json::{Value, json};

/// The whole declaration of a tool with this shape.
fn text(shape: &ResultShape) -> String {
    let tools = vec![tool(shape)];
    let server = ServerDecl {
        name: "s",
        tools,
        note: None,
    };
    let text = declarations(&[server]);
    text.strip_suffix(GLOBALS)
        .expect("the globals come last")
        .to_owned()
}

fn tool(shape: &ResultShape) -> ToolDecl<'_> {
    ToolDecl {
        name: "t",
        title: None,
        description: None,
        input_schema: (&Value::Null).into(),
        output_schema: None,
        observed: Some(ObservedResult { shape, calls: None }),
    }
}

fn shape_of(results: &[Value]) -> ResultShape {
    let mut shape = ResultShape::new();
    for result in results {
        shape.add(result);
    }
    shape
}

/// The type of the result in the one-line signature.
#[track_caller]
fn learned(results: &[Value]) -> String {
    let shape = shape_of(results);
    assert_eq!(shape.calls(), results.len() as u64);
    let line = signature("s", &tool(&shape));
    let Some((_, result)) = line.split_once("): Promise<") else {
        return "nothing".to_owned();
    };
    let result = result.strip_suffix('>').expect("a type in brackets");
    result.trim_start_matches("/* observed */ ").to_owned()
}

#[test]
fn kinds_and_unions() {
    for (results, expected) in [
        (vec![], "nothing"),
        (vec![json!(null)], "null"),
        (vec![json!(null), json!("a")], "string | null"),
        (vec![json!(1), json!(2.5)], "number"),
        (
            vec![json!(true), json!("a"), json!(1)],
            "string | number | boolean",
        ),
        (vec![json!([])], "any[]"),
        (vec![json!([null])], "any[]"),
        (vec![json!([1, "a", null])], "Array<string | number | null>"),
        (vec![json!([[1], ["a"]])], "Array<string | number>[]"),
        (vec![json!({})], "{ [key: string]: any }"),
        (vec![json!({}), json!({"a": 1})], "{ a?: number }"),
        (
            vec![json!({"a": 1, "b": null}), json!({"a": "x"})],
            "{ a: string | number; b?: any }",
        ),
        (
            vec![json!([{"a": 1}, {"b": 2}]), json!("none")],
            "string | Array<{ a?: number; b?: number }>",
        ),
        (
            vec![json!({"a": {"b": 1}}), json!({"a": {"c": 1}})],
            "{ a: { b?: number; c?: number } }",
        ),
    ] {
        assert_eq!(learned(&results), expected, "{results:?}");
    }
}

#[test]
fn many_members_make_a_map() {
    let object = |count: usize, value: fn(usize) -> Value| -> Value {
        let members = (0..count).map(|n| (name(n), value(n)));
        Value::Object(members.collect())
    };
    let one_kind = |_| json!(1);
    let kinds = |n| if n % 2 == 0 { json!(1) } else { json!("a") };
    assert_eq!(
        learned(&[object(25, one_kind)]),
        "{ [key: string]: number }"
    );
    assert_eq!(
        learned(&[object(65, kinds)]),
        "{ [key: string]: string | number }"
    );
    for fields in [object(24, one_kind), object(64, kinds)] {
        let text = text(&shape_of(&[fields]));
        assert!(text.contains(&name(0)), "the fields have names: {text}");
    }
    // A map stays a map, and later objects lose their keys.
    let later = learned(&[object(25, one_kind), json!({"late": "a"})]);
    assert_eq!(later, "{ [key: string]: string | number }");
}

/// A name of letters only, different for each number.
fn name(mut n: usize) -> String {
    let mut name = "name_".to_owned();
    loop {
        name.extend(('a'..='z').nth(n % 26));
        n /= 26;
        if n == 0 {
            return name;
        }
    }
}

#[test]
fn keys_that_are_data_are_forgotten() {
    let secret = json!({"users": {"ann@example.com": 1, "nick": 2}, "by": {"AKIAIOSFODNN7EXAMPLE": {"x": 1}}});
    let shape = shape_of(&[secret]);
    let kept = String::from_utf8(shape.to_bytes()).expect("JSON");
    for hidden in ["ann", "nick", "AKIA"] {
        assert!(
            !kept.contains(hidden) && !text(&shape).contains(hidden),
            "{hidden}: {kept}"
        );
    }
    let long = json!({"x".repeat(129): 1});
    assert_eq!(learned(&[long]), "{ [key: string]: number }");
}

#[test]
fn keys_that_keep_changing_are_forgotten() {
    let mut shape = ResultShape::new();
    for n in 0..8 {
        assert!(shape.add(&json!({name(n): 1})), "a new name is news");
    }
    assert!(text(&shape).contains(&name(7)), "a few names may be fields");
    assert!(shape.add(&json!({name(8): 1})));
    assert!(
        !text(&shape).contains("name_"),
        "many are none: {}",
        text(&shape)
    );
    assert!(
        !shape.add(&json!({name(9): 1})),
        "another key of a map is no news"
    );
}

#[test]
fn shape_stays_within_its_budgets() {
    let deep = (0..100).fold(json!("bottom"), |inner, _| json!({ "a": inner }));
    let text_of_deep = text(&shape_of(&[deep]));
    assert_eq!(text_of_deep.matches("a: ").count(), 12);
    assert!(text_of_deep.contains("a: any"), "{text_of_deep}");

    // 60 fields of 60 fields of 60 fields: the deepest level is dropped.
    let level = |inner: Value| -> Value {
        let members = (0..60).map(|n| (name(n), if n % 2 == 0 { json!(1) } else { inner.clone() }));
        Value::Object(members.collect())
    };
    let wide = shape_of(&[level(level(level(json!("bottom"))))]);
    let text = text(&wide);
    assert!(
        text.contains("name_b: any") && !text.contains("bottom"),
        "{text}"
    );
    assert!(wide.to_bytes().len() < 128 * 1024);

    // Of a long array, the beginning and some of the rest are read.
    let mut items: Vec<Value> = vec![json!(1); 100_000];
    items[99] = json!("a");
    assert_eq!(learned(&[json!(items)]), "Array<string | number>");
}

#[test]
fn invalid_bytes_are_refused() {
    let good = shape_of(&[json!({"a": [1]})]);
    let text = String::from_utf8(good.to_bytes()).expect("JSON");
    assert_eq!(ResultShape::from_bytes(text.as_bytes()), Some(good));
    let deep = format!("{}{}", "{\"i\":".repeat(13), "}".repeat(13)).replace(":}", ":{}}");
    let bad = [
        String::new(),
        "{}".into(),
        "null".into(),
        text.replace("\"version\":2", "\"version\":3"),
        text.replace("\"depth\":12", "\"depth\":13"),
        text.replace("\"depth\":12", "\"depth\":1"),
        text.replace("\"a\":", "\"ann@example.com\":"),
        text.replace("\"k\":4", "\"k\":64"),
        text.replace("\"k\":4", "\"k\":36"),
        text.replace("\"k\":4", "\"value\":4"),
        text.replace("\"version\":2", "\"version\":1"),
        text[..text.len() - 1].to_owned(),
        format!(r#"{{"version":2,"calls":1,"depth":12,"node":{deep}}}"#),
        format!(
            r#"{{"version":2,"calls":1,"depth":12,"node":{}"#,
            "{\"i\":".repeat(10_000)
        ),
        format!("{text}{}", " ".repeat(512 * 1024)),
    ];
    for bytes in bad {
        assert_ne!(bytes, text, "the case changes nothing");
        let shown: String = bytes.chars().take(200).collect();
        assert_eq!(ResultShape::from_bytes(bytes.as_bytes()), None, "{shown}");
    }
}
