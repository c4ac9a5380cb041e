//! Files and other parts of multipart bodies, however the description writes them.

use std::sync::Arc;

use mux_schema::{CompiledSchema, MistakeWording, SchemaVerdict};
use serde_json::{Value, json};

use super::{super::operation_request::request, OpenApiDescription, entry, everything, written};

const HELLO: &str = "aGVsbG8=";

fn read(version: &str, media: &str, schema: &Value, encoding: &Value) -> OpenApiDescription {
    let body = json!({ media: { "schema": schema, "encoding": encoding } });
    let text = json!({
        "openapi": version,
        "paths": { "/a": { "post": { "requestBody": { "required": true, "content": body } } } },
        "components": { "schemas": {
            "Binary": { "type": "string", "format": "binary" },
            "Wrapped": { "allOf": [{ "$ref": "#/components/schemas/Binary" }] },
            "Upload": { "type": "object", "properties": { "f": { "$ref": "#/components/schemas/Wrapped" } } },
        } },
    });
    OpenApiDescription::read(&text.to_string(), &entry(), &everything()).unwrap()
}

/// The parts that are sent, or the reason the arguments are refused.
async fn sent(description: &OpenApiDescription, arguments: Value) -> String {
    let schema = CompiledSchema::compile(&description.tools()[0]["inputSchema"]);
    let schema = Arc::new(schema.unwrap());
    let (arguments, verdict) = schema.check(arguments, MistakeWording::Author).await;
    if let SchemaVerdict::Fails(mistakes) = verdict {
        return format!("refused: {}", mistakes.join("; "));
    }
    let arguments = arguments.as_object().cloned().unwrap();
    let operation = description.operations.values().next().unwrap();
    match request(operation, arguments) {
        Ok(request) => written(&request).replacen("POST /a\n\n", "", 1),
        Err(problem) => format!("refused: {problem}"),
    }
}

#[tokio::test]
async fn file_behind_any_composition_is_a_file() {
    let binary = json!({ "type": "string", "format": "binary" });
    let nothing = json!({ "type": "null" });
    let to = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let media = json!({ "type": "string", "contentMediaType": "application/octet-stream" });
    for (version, member) in [
        ("3.0.3", binary.clone()),
        (
            "3.0.3",
            json!({ "type": "string", "format": "binary", "nullable": true }),
        ),
        (
            "3.0.3",
            json!({ "allOf": [to("Binary")], "nullable": true, "description": "D" }),
        ),
        (
            "3.0.3",
            json!({ "oneOf": [to("Wrapped"), { "type": "array", "items": binary }] }),
        ),
        ("3.1.0", json!({ "anyOf": [binary, nothing] })),
        (
            "3.1.0",
            json!({ "type": ["string", "null"], "format": "binary" }),
        ),
        (
            "3.1.0",
            json!({ "oneOf": [{ "allOf": [to("Wrapped")] }, nothing] }),
        ),
        ("3.1.0", json!({ "anyOf": [media, nothing] })),
        ("3.1.0", to("Wrapped")),
    ] {
        let schema = json!({ "type": "object", "properties": { "f": member } });
        let description = read(version, "multipart/form-data", &schema, &Value::Null);
        let plain = "f f application/octet-stream\nhello";
        assert_eq!(
            sent(&description, json!({ "f": HELLO })).await,
            plain,
            "{member}"
        );
        let named = json!({ "f": { "name": "a.txt", "type": "text/plain", "base64": HELLO } });
        assert_eq!(
            sent(&description, named).await,
            "f a.txt text/plain\nhello",
            "{member}"
        );
    }
}

#[tokio::test]
async fn list_of_files_is_sent_as_several_parts() {
    let list = json!({ "type": "array", "items": { "type": "string", "format": "binary" } });
    for member in [
        list.clone(),
        json!({ "anyOf": [list, { "type": "null" }] }),
        json!({ "type": "array", "items": { "anyOf": [{ "type": "string", "format": "binary" }] } }),
    ] {
        let schema = json!({ "type": "object", "properties": { "f": member } });
        let description = read("3.1.0", "multipart/form-data", &schema, &Value::Null);
        let files = json!({ "f": [HELLO, { "name": "b", "base64": HELLO }] });
        let expected = "f f application/octet-stream\nhello\n\nf b application/octet-stream\nhello";
        assert_eq!(sent(&description, files).await, expected, "{member}");
    }
}

#[tokio::test]
async fn text_stays_text_where_a_file_or_a_text_may_stand() {
    let either =
        json!({ "anyOf": [{ "type": "string", "format": "binary" }, { "type": "string" }] });
    let schema = json!({ "type": "object", "properties": { "f": either } });
    let description = read("3.1.0", "multipart/form-data", &schema, &Value::Null);
    assert_eq!(
        sent(&description, json!({ "f": HELLO })).await,
        format!("f - -\n{HELLO}")
    );
    let file = json!({ "f": { "base64": HELLO } });
    assert_eq!(
        sent(&description, file).await,
        "f f application/octet-stream\nhello"
    );
    let neither = sent(&description, json!({ "f": { "name": "a" } })).await;
    assert!(neither.starts_with("refused: "), "{neither}");
}

#[tokio::test]
async fn body_of_alternatives_has_files() {
    let file = json!({ "type": "object", "required": ["f"], "properties": { "f": { "type": "string", "format": "binary" } } });
    let url = json!({ "type": "object", "required": ["url"], "properties": { "url": { "type": "string" } } });
    let upload = json!({ "$ref": "#/components/schemas/Upload" });
    for schema in [
        json!({ "oneOf": [file, url] }),
        json!({ "anyOf": [url, upload] }),
        json!({ "allOf": [{ "oneOf": [upload, url] }] }),
    ] {
        let description = read("3.0.3", "multipart/form-data", &schema, &Value::Null);
        let body = json!({ "body": { "f": { "name": "a", "base64": HELLO } } });
        let expected = "f a application/octet-stream\nhello";
        assert_eq!(sent(&description, body).await, expected, "{schema}");
        let plain = json!({ "body": { "f": HELLO } });
        let expected = "f f application/octet-stream\nhello";
        assert_eq!(sent(&description, plain).await, expected, "{schema}");
        let other = json!({ "body": { "url": "https://h" } });
        assert_eq!(
            sent(&description, other).await,
            "url - -\nhttps://h",
            "{schema}"
        );
    }
}

#[tokio::test]
async fn parts_have_the_order_and_the_types_of_the_description() {
    let schema = json!({ "type": "object", "properties": {
        "attributes": { "type": "object" },
        "csv": { "type": "string", "contentMediaType": "text/csv" },
        "image": { "type": "string", "contentEncoding": "base64", "contentMediaType": "image/png" },
        "bytes": { "type": "string", "contentEncoding": "base64" },
        "note": { "type": "string" },
        "file": { "type": "string", "format": "binary" },
    } });
    let encoding = json!({ "file": { "contentType": "application/pdf, image/*" }, "note": { "contentType": "text/*" } });
    let description = read("3.1.0", "multipart/form-data", &schema, &encoding);
    let arguments = json!({
        "file": HELLO, "other": 1, "note": "n", "bytes": HELLO, "image": HELLO, "csv": "a,b",
        "attributes": { "a": 1 },
    });
    let expected = [
        "attributes - application/json\n{\"a\":1}",
        "csv - text/csv\na,b",
        "image - image/png\naGVsbG8=",
        "bytes - application/octet-stream\naGVsbG8=",
        "note - -\nn",
        "file file application/pdf\nhello",
        "other - -\n1",
    ];
    assert_eq!(sent(&description, arguments).await, expected.join("\n\n"));
}

#[test]
fn other_multipart_types_are_sent_as_they_are_described() {
    let schema = json!({ "type": "object", "properties": { "meta": { "type": "object" } } });
    for media in [
        "multipart/related",
        "multipart/mixed",
        "multipart/form-data; charset=utf-8",
    ] {
        let description = read("3.0.3", media, &schema, &Value::Null);
        let operation = description.operations.values().next().unwrap();
        let arguments = json!({ "meta": { "a": 1 } }).as_object().cloned().unwrap();
        let body = request(operation, arguments).unwrap().body;
        let Some(crate::http::RequestBody::Multipart(body)) = body else {
            panic!("{body:?}");
        };
        assert_eq!(body.media, media.split(';').next().unwrap());
    }
}

/// Each reference has as many alternatives, which makes more paths than there is time to follow.
#[test]
fn schemas_that_refer_to_each_other_are_searched_for_files_in_limited_time() {
    let to = json!({ "$ref": "#/components/schemas/A" });
    let many = vec![to; 30];
    let any = json!({ "anyOf": many, "allOf": many, "properties": { "a": { "anyOf": many }, "b": { "oneOf": many } } });
    let text = json!({
        "openapi": "3.1.0",
        "paths": { "/a": { "post": { "requestBody": { "content": { "multipart/form-data": { "schema": any } } } } } },
        "components": { "schemas": { "A": any } },
    });
    let description = OpenApiDescription::read(&text.to_string(), &entry(), &everything()).unwrap();
    assert!(description.tools().len() <= 1);
}
