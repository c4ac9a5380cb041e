//! Short descriptions with huge closures. Each is read within its limits.

use std::{sync::mpsc, thread, time::Duration};

use serde_json::{Map, Value, json};

use super::{
    super::{
        FunctionSelection, OpenApiDescription, on_reader_thread, openapi_document::OpenApiDocument,
    },
    entry, everything,
};

/// The limit of all functions, small enough to be reached soon.
const TEST_LIST_BYTES: usize = 1 << 20;
/// Detects a hang. Does not measure speed.
const HANG_TIMEOUT: Duration = Duration::from_mins(2);

fn read(paths: &Value, components: &Value) -> OpenApiDescription {
    let text = json!({
        "openapi": "3.1.0",
        "info": { "title": "t", "version": "1" },
        "paths": paths,
        "components": components,
    })
    .to_string();
    let (done, outcome) = mpsc::channel();
    thread::spawn(move || {
        let document = OpenApiDocument::read(&text).unwrap();
        drop(done.send(OpenApiDescription::of(&document, &entry(), &selection())));
    });
    outcome.recv_timeout(HANG_TIMEOUT).unwrap().unwrap()
}

fn selection() -> FunctionSelection {
    FunctionSelection {
        max_bytes: TEST_LIST_BYTES,
        ..everything()
    }
}

fn to(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn json_of(schema: &Value) -> Value {
    json!({ "content": { "application/json": { "schema": schema } } })
}

fn arguments(description: &OpenApiDescription) -> Vec<Value> {
    let tools = description.tools().into_iter();
    tools.map(|tool| tool["inputSchema"].clone()).collect()
}

#[test]
fn deepest_description_is_read_or_refused_and_does_not_end_the_daemon() {
    for depth in [60, 126, 128, 400] {
        let open = "[".repeat(depth);
        let close = "]".repeat(depth);
        for text in [
            format!("openapi: 3.1.0\npaths: {{}}\nx-deep: {open}{close}\n"),
            format!("{{ \"openapi\": \"3.1.0\", paths: {{}}, \"x-deep\": {open}{close} }}"),
        ] {
            let read = || OpenApiDescription::read(&text, &entry(), &everything());
            let read = on_reader_thread(read);
            assert_eq!(read.is_ok(), depth < 128, "{depth}: {read:?}");
        }
    }
}

#[test]
fn mutually_composed_objects_are_not_flattened() {
    let mut schemas = Map::new();
    for level in 0..17 {
        let next = to(&format!("S{}", level + 1));
        let parts = vec![next; 6];
        schemas.insert(format!("S{level}"), json!({ "allOf": parts }));
    }
    let last =
        json!({ "type": "object", "properties": { "id": { "type": "string", "readOnly": true } } });
    schemas.insert("S17".into(), last);
    let paths = json!({ "/a": { "post": {
        "operationId": "send",
        "requestBody": json_of(&to("S0")),
        "responses": { "200": json_of(&to("S0")) },
    } } });
    let description = read(&paths, &json!({ "schemas": schemas }));
    assert_eq!(description.left_out(), []);
    let arguments = &arguments(&description)[0];
    assert_eq!(arguments["properties"]["body"]["$ref"], "#/$defs/S0");
    assert_eq!(arguments["$defs"].as_object().unwrap().len(), 18);
}

#[test]
fn recursive_schema_is_searched_once() {
    let members: Map<String, Value> = (0..300)
        .map(|number| (format!("member{number}"), to("Node")))
        .chain([("list".to_owned(), json!({ "type": "array" }))])
        .collect();
    let node = json!({ "type": "object", "properties": members });
    let cursor = json!({ "name": "cursor", "in": "query", "schema": { "type": "string" } });
    let paths = json!({ "/a": { "get": {
        "parameters": [cursor, { "name": "starting_after", "in": "query", "schema": {} }],
        "responses": { "200": json_of(&to("Node")) },
    } } });
    let description = read(&paths, &json!({ "schemas": { "Node": node } }));
    assert_eq!(description.left_out(), []);
    let pages = &arguments(&description)[0]["properties"]["$pages"];
    assert_eq!(pages["default"], 1, "it is still a list with pages");
}

#[test]
fn argument_types_that_do_not_fit_are_described_by_name() {
    let mut schemas = Map::new();
    for number in 0..400 {
        let mut members = Map::new();
        for member in 0..30 {
            let name = format!("a_member_with_a_name_{member}");
            let other = to(&format!("Input{}", (number * 30 + member * 13 + 1) % 400));
            members.insert(name, other);
        }
        let input = json!({ "type": "object", "properties": members });
        schemas.insert(format!("Input{number}"), input);
    }
    let mut paths = Map::new();
    for number in 0..50 {
        let operation = json!({
            "operationId": format!("send{number}"),
            "requestBody": json_of(&json!({ "type": "array", "items": to(&format!("Input{}", number % 400)) })),
            "responses": { "204": {} },
        });
        paths.insert(format!("/{number}"), json!({ "post": operation }));
    }
    let description = read(&Value::Object(paths), &json!({ "schemas": schemas }));
    assert_eq!(description.left_out(), []);
    assert_eq!(description.tools().len(), 50);
    let bytes: usize = description
        .tools()
        .iter()
        .map(|tool| tool.to_string().len())
        .sum();
    assert!(bytes <= TEST_LIST_BYTES, "{bytes}");
    let arguments = arguments(&description);
    let definitions = arguments[7]["$defs"].as_object().unwrap();
    assert!(
        definitions["Input7"]["properties"].is_object(),
        "the nearest is there"
    );
    let by_name = definitions
        .values()
        .filter(|it| it["description"].as_str().is_some());
    assert!(by_name.count() > 0);
}

#[test]
fn functions_that_do_not_fit_are_left_out() {
    let words = "long ".repeat(50);
    let members: Map<String, Value> = (0..200)
        .map(|number| (format!("member{number}"), json!({ "enum": [words] })))
        .collect();
    let body = json!({ "type": "object", "properties": members });
    let paths: Map<String, Value> = (0..40)
        .map(|number| {
            let body = json!({ "$ref": "#/components/requestBodies/Long" });
            let operation = json!({ "requestBody": body, "responses": {} });
            (format!("/{number}"), json!({ "post": operation }))
        })
        .collect();
    let components = json!({ "requestBodies": { "Long": json_of(&body) } });
    let description = read(&Value::Object(paths), &components);
    let kept = description.tools().len();
    let left_out = description.left_out();
    assert!((15..30).contains(&kept), "{kept}");
    assert_eq!(kept + left_out.len(), 40);
    assert!(left_out[0].why.contains("no room"), "{}", left_out[0].why);
}

#[test]
fn operation_that_exceeds_the_steps_is_left_out() {
    let operation = |number: u32| {
        let body = json_of(&json!({ "type": "array", "items": to("A") }));
        json!({ "post": { "operationId": format!("send{number}"), "requestBody": body } })
    };
    let text = json!({
        "openapi": "3.1.0",
        "paths": { "/1": operation(1), "/2": operation(2), "/3": operation(3) },
        "components": { "schemas": { "A": {} } },
    });
    let document = || OpenApiDocument::read(&text.to_string()).unwrap();
    let whole = document();
    OpenApiDescription::of(&whole, &entry(), &selection()).unwrap();
    let document = document();
    // All but a few of the steps that it takes.
    document.steps(whole.left() + 3).unwrap();
    let description = OpenApiDescription::of(&document, &entry(), &selection()).unwrap();
    assert_eq!(description.tools().len() + description.left_out().len(), 3);
    let last = description.left_out().last().unwrap();
    assert_eq!(last.operation, "POST /3");
    assert!(last.why.contains("steps"), "{}", last.why);
}
