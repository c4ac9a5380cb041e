//! Hostile schemas: their content stays out of queries and within limits.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    super::{
        parse_schema,
        tool_list::{self, GeneratedTools},
    },
    tools,
};

#[test]
fn invalid_names_of_a_schema_are_left_out() {
    let named = |name: &str| json!({ "kind": "SCALAR", "name": name });
    let field = |name: &str, ty: Value| json!({ "name": name, "args": [], "type": ty });
    let answer = json!({ "__schema": {
        "queryType": { "name": "Query" },
        "types": [
            { "kind": "OBJECT", "name": "Query", "fields": [
                field("ok", named("Int")),
                field("__proto__", named("Int")),
                field("a } evil {", named("Int")),
                field("gone", named("Nowhere")),
                { "name": "b", "type": named("Int"), "args": [
                    { "name": "x) { y", "type": named("Int") },
                    { "name": "fine", "type": named("Int"), "defaultValue": "1) } evil { (" },
                ] },
            ] },
            { "kind": "ENUM", "name": "E", "enumValues": [{ "name": "A B" }] },
            { "kind": "UNION", "name": "U", "possibleTypes": [{ "name": "V } x" }] },
            { "kind": "FUTURE", "name": "constructor" },
        ],
    } });
    let (schema, left_out) = parse_schema(&answer.to_string(), "s").unwrap();
    assert_eq!(left_out, 6);
    let fields = schema.fields("Query").unwrap();
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["ok", "b"]);
    assert_eq!(fields[1].arguments.len(), 1);
}

#[test]
fn tool_list_of_ten_thousand_cyclic_types_stays_within_its_limits() {
    let mut text = String::from("type Query {");
    for n in 0..10_000 {
        _ = write!(
            text,
            "f{n}(where: I{n}, deep: {}Int{}): T{n} ",
            "[".repeat(90),
            "]".repeat(90)
        );
    }
    text.push_str("} ");
    let words = "word ".repeat(100);
    for n in 0..10_000 {
        let next = (n + 1) % 10_000;
        _ = write!(
            text,
            "\"{words}\" type T{n} {{ id: ID! next: T{next} all: [T{next}] }} \
             input I{n} {{ and: [I{n}!] next: I{next} of: String }} "
        );
    }
    let (schema, left_out) = parse_schema(&text, "s").unwrap();
    assert_eq!((left_out, schema.types.len()), (0, 20_001));
    let GeneratedTools {
        tools,
        room,
        complete,
    } = tool_list::all(&schema, 6);
    let length: usize = tools.iter().map(|tool| tool.to_string().len()).sum();
    assert!(length < 8 << 20, "{length}");
    assert!(
        !complete && tools.len() > 1_000,
        "{} in {room:?}",
        tools.len()
    );
}

#[test]
fn input_types_that_do_not_fit_are_described_by_name() {
    let mut text = String::from("type Query { f(in: I0!): Int } ");
    for n in 0..500 {
        let next = n + 1;
        _ = write!(text, "input I{n} {{ next: I{next} again: I0 }} ");
    }
    text.push_str("input I500 { end: Int }");
    let tool = &tools(&text, 2)["query.f"];
    let definitions = tool["inputSchema"]["$defs"].as_object().unwrap();
    assert!(definitions.len() < 500, "{}", definitions.len());
    for definition in definitions.values() {
        for property in definition["properties"].as_object().into_iter().flatten() {
            let target = &property.1["anyOf"][0]["$ref"];
            let name = target.as_str().unwrap().rsplit('/').next().unwrap();
            assert!(definitions.contains_key(name), "{name}");
        }
    }
    let last = definitions.values().next_back().unwrap();
    assert!(
        last["description"].as_str().unwrap().contains("too large"),
        "{last}"
    );
}
