//! Type generation from invalid and hostile schemas.
//!
//! Invariant: any JSON value gives a declaration, the same one each time, of bounded size. No text from a server
//! escapes the comment or string that contains it.

mod random;

use mux_typegen::names::{find_collisions, is_server_name, spell, spell_flat};
use mux_typegen::{GLOBALS, ServerDecl, ToolDecl, declarations, signature, tool_declaration};
use random::Random;
use serde_json::{Map, Value, json};

/// The maximum size in bytes: 64 KiB of types, and room for a description and the enclosing text.
const MOST: usize = 64 * 1024 + 8 * 1024;

/// Declares one tool in all three forms, and returns its part of `mux.d.ts`.
fn check(input: &Value, output: Option<&Value>, words: &str) -> String {
    let tool = || ToolDecl {
        name: "t",
        title: Some(words),
        description: Some(words),
        input_schema: input.into(),
        output_schema: output.map(Into::into),
        observed: None,
    };
    let server = ServerDecl {
        name: "s",
        tools: vec![tool()],
        note: Some(words),
    };
    let text = declarations(std::slice::from_ref(&server));
    assert_eq!(text, declarations(&[server]), "not the same twice");
    let text = text
        .strip_suffix(GLOBALS)
        .expect("the globals come last")
        .to_owned();
    assert!(text.len() < MOST, "{} bytes", text.len());
    assert!(tool_declaration("s", &tool()).len() < MOST);
    let line = signature("s", &tool());
    assert!(
        !line.contains('\n') && line.len() < 4096,
        "not a line for a listing: {line}"
    );
    let unseen = |c: char| (c.is_control() && c != '\n') || ('\u{2028}'..='\u{202e}').contains(&c);
    assert!(
        !text.contains(unseen) && !line.contains(unseen),
        "unseen characters"
    );
    let code = without_comments_and_strings(&text);
    assert!(!code.contains("LEAK()"), "text became code: {code}");
    for (open, close) in ["{}", "[]", "()"].map(|pair| (&pair[..1], &pair[1..])) {
        assert_eq!(
            code.matches(open).count(),
            code.matches(close).count(),
            "{open} {close}"
        );
    }
    text
}

/// The code without comments and strings; panics if a comment or string is still open at the end.
fn without_comments_and_strings(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(at) = ["/*", "//", "\""]
        .iter()
        .filter_map(|open| rest.find(open))
        .min()
    {
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(string) = rest.strip_prefix('"') {
            let mut escaped = false;
            let end = string.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            rest = &string[end.expect("the string ends") + 1..];
        } else {
            let end = if rest.starts_with("//") { "\n" } else { "*/" };
            rest = &rest[2..];
            rest = &rest[rest.find(end).expect("the comment ends") + end.len()..];
        }
    }
    code + rest
}

#[test]
fn hostile_schemas_give_valid_declarations() {
    let deep = |key: &str, levels: usize| {
        (0..levels).fold(json!({"type": "string"}), |inner, _| match key {
            "properties" => json!({"type": "object", "properties": {"p": inner}}),
            "allOf" | "anyOf" => json!({key: [inner, {"type": "object", "required": ["LEAK()"]}]}),
            _ => json!({ key: inner }),
        })
    };
    let chain: Map<String, Value> = (0..2000)
        .map(|n| (n.to_string(), json!({"anyOf": [{"$ref": format!("#/$defs/{}", n + 1)}, {"type": "array", "items": {"$ref": format!("#/$defs/{}", n + 1)}}]})))
        .collect();
    let extends: Map<String, Value> = (0..400)
        .map(|n| (n.to_string(), json!({"allOf": [{"$ref": format!("#/$defs/{}", n + 1)}, {"properties": {n.to_string(): true}}]})))
        .collect();
    let wide: Map<String, Value> = (0..20_000)
        .map(|n| (format!("p{n}"), json!({"type": "string"})))
        .collect();
    let names: Vec<String> = (0..20_000).map(|n| format!("p{n}")).collect();
    let schemas = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!("string"),
        json!([]),
        json!([{"type": "object"}]),
        json!({"type": 1, "properties": [], "required": "a", "items": 3, "enum": {}, "anyOf": {}}),
        json!({"type": ["object", 3, null, "object"], "properties": {"a": null, "": 1}}),
        json!({"type": [], "enum": [], "anyOf": [], "allOf": [], "oneOf": []}),
        json!({"type": "object", "required": [1, "a", "a", null]}),
        json!({"$ref": "#"}),
        json!({"$ref": 1}),
        json!({"$ref": "*/ LEAK()"}),
        json!({"$ref": "http://example.com/*/LEAK()\n\u{2028}LEAK()"}),
        json!({"$ref": "#/%zz/%e2%82"}),
        json!({"$ref": "#/$defs/0", "$defs": {"0": {"$ref": "#/$defs/1"}, "1": {"$ref": "#/$defs/0"}}}),
        json!({"$ref": "#/$defs/0", "$defs": chain}),
        json!({"$ref": "#/$defs/0", "$defs": extends}),
        json!({"$ref": "#/$defs/*~1 LEAK()", "$defs": {"*/ LEAK()": {"items": {"$ref": "#"}}}}),
        json!({"type": "object", "properties": wide.clone(), "required": names}),
        json!({"enum": names}),
        json!({"const": wide}),
        json!({"const": "\"; LEAK() */ \u{0}\u{2028}\u{202e}\\"}),
        json!({"properties": {"*/ LEAK()": {"pattern": "*/ LEAK()", "default": "*/ LEAK()"}}}),
        json!({"properties": {"\u{2028}\u{202e}\u{e0041}": {"const": {"\u{7f}": ["\u{85}"]}}}}),
        json!({"patternProperties": {"*/ LEAK()": true}, "additionalProperties": {"const": "*/"}}),
        json!({"properties": {"a": {}}, "additionalProperties": {"enum": ["*/ LEAK()", 1]}}),
        json!({"prefixItems": [{}, {"anyOf": [{"type": "null"}, {"type": "string"}]}], "minItems": 1, "items": true}),
        deep("properties", 100),
        deep("items", 100),
        deep("not", 100),
        deep("additionalProperties", 100),
        deep("allOf", 100),
        deep("anyOf", 100),
    ];
    for schema in &schemas {
        check(schema, Some(schema), "plain");
    }
}

#[test]
fn exceeded_limits_are_named_in_the_type() {
    let deep = (0..100).fold(json!({}), |inner, _| json!({"properties": {"p": inner}}));
    assert!(check(&deep, None, "plain").contains("unknown /* nested deeper than 64 levels */"));
    let names: Vec<String> = (0..20_000).map(|n| format!("p{n}")).collect();
    let small = json!({"type": "object", "properties": {"kept": {}}});
    let text = check(&json!({ "enum": names }), Some(&small), "plain");
    let most = "{ [key: string]: unknown } /* the schema takes more than 64 KiB */";
    assert!(text.contains(most) && text.contains("kept"), "{text}");
}

#[test]
fn text_of_a_server_cannot_end_its_comment() {
    let hidden = "*\u{200b}/ LEAK() *\u{2028}/ LEAK() **//LEAK()";
    let long = "*/".repeat(100_000);
    for words in [
        "*/ LEAK()",
        "a\n*/\nLEAK() /*",
        "//",
        "*",
        "/",
        hidden,
        &long,
        "ends with *",
        "\r\n\r\n",
    ] {
        let schema = json!({
            "type": "object", "description": words, "title": words,
            "properties": {"a": {"description": words, "title": words, "examples": [words], "format": words}},
        });
        let text = check(&schema, Some(&schema), words);
        assert!(
            text.lines().all(|line| line.len() < 6000),
            "a description is too long"
        );
    }
}

#[test]
fn random_json_gives_valid_declarations() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..3000 {
        let schema = random.schema(6);
        check(&schema, Some(&random.schema(4)), "plain");
    }
}

#[test]
fn names_are_spelled_as_identifiers() {
    for (name, spelling) in [
        ("read_file", "read_file"),
        ("get-thing", "get_thing"),
        ("repos.get", "repos.get"),
        ("repos.list-all.2", "repos.list_all._2"),
        ("a -.b", "a_.b"),
        ("a..b", "a_b"),
        (".a", "_a"),
        ("a.", "a_"),
        (".", "_"),
        (
            "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17",
            "_1_2_3_4_5_6_7_8_9_10_11_12_13_14_15_16_17",
        ),
        ("then", "then_"),
        ("a.toJSON.then", "a.toJSON_.then_"),
        ("a-_b", "a__b"),
        ("2fa", "_2fa"),
        ("-2", "_2"),
        ("", "_"),
        ("größe", "gr_e"),
        ("delete", "delete"),
        ("$x", "$x"),
    ] {
        assert_eq!(spell(name), spelling, "{name}");
        assert_eq!(
            spell(&spell(name)),
            spelling,
            "a spelling is its own spelling"
        );
    }
    let names = ["a-b", "c", "a_b", "a.b", "c", "x.y", "a-b"];
    let found = find_collisions(names.into_iter());
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].spelling.as_ref(), &found[0].names[..]),
        ("a_b", &["a-b", "a_b"][..])
    );
    let found = find_collisions(["a.b-c", "a-b.c", "a.b_c", "a_b_c"].into_iter());
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].spelling.as_ref(), &found[0].names[..]),
        ("a.b_c", &["a.b-c", "a.b_c"][..])
    );
    assert_eq!(spell_flat("repos.list-all"), "repos_list_all");
    let allowed = ["a", "my-server", "A9_"].map(is_server_name);
    let refused = ["", "9a", "_a", "a.b", "é", "a b", "-"].map(is_server_name);
    assert!(allowed.iter().all(|yes| *yes) && refused.iter().all(|yes| !*yes));
}
