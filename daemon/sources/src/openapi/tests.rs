//! Arguments as requests, paging detection, and properties of every description.

mod files;
mod hostile;
mod patches;
mod places;
mod repetition;
mod selection;

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{FunctionSelection, OpenApiDescription, ServerOverrides, operation_request::request};
use crate::http::{ApiRequest, CursorParameter, RequestBody};

const EVERY_WAY: &str = include_str!("../../../../tests/data/openapi/every-way.yaml");

fn entry() -> ServerOverrides {
    ServerOverrides {
        base_url: Some("https://h".into()),
        ..ServerOverrides::default()
    }
}

/// All functions, within the limits.
fn everything() -> FunctionSelection {
    FunctionSelection::new(&[], 20_000)
}

fn asked(function: &str, arguments: &Value) -> Result<ApiRequest, String> {
    let description = OpenApiDescription::read(EVERY_WAY, &entry(), &everything()).unwrap();
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let operation = &description.operations[function];
    request(operation, arguments).map_err(|misfit| misfit.to_string())
}

/// A request as text, as it is sent.
fn written(request: &ApiRequest) -> String {
    let pairs = |pairs: &[(String, String)], between: &str| {
        let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join(between)
    };
    let mut lines = format!("{} {}", request.method, request.path);
    if !request.query.is_empty() {
        _ = write!(lines, "?{}", pairs(&request.query, "&"));
    }
    for (name, value) in request.headers.iter().filter(|(name, _)| name != "accept") {
        _ = write!(lines, "\n{name}: {value}");
    }
    if !request.cookies.is_empty() {
        _ = write!(lines, "\ncookie: {}", pairs(&request.cookies, "; "));
    }
    match &request.body {
        None => {}
        Some(RequestBody::Json(value)) => _ = write!(lines, "\n\n{value}"),
        Some(RequestBody::Form(form)) => _ = write!(lines, "\n\n{}", pairs(form, "&")),
        Some(RequestBody::Multipart(body)) => {
            for part in &body.parts {
                let text = String::from_utf8_lossy(&part.bytes);
                let file = part.file_name.as_deref();
                let media = part.media.as_deref();
                _ = write!(
                    lines,
                    "\n\n{} {} {}\n{text}",
                    part.name,
                    file.unwrap_or("-"),
                    media.unwrap_or("-")
                );
            }
        }
        Some(RequestBody::Bytes { media, bytes }) => {
            _ = write!(lines, "\n\n{media}\n{}", String::from_utf8_lossy(bytes));
        }
    }
    lines
}

#[test]
fn arguments_become_requests() {
    let color = json!({ "R": 1, "G": 2 });
    for (function, arguments, expected) in [
        (
            "way.simple",
            json!({ "list": [1, 2], "object": color }),
            "GET /simple/1,2/R=1,G=2",
        ),
        (
            "way.label",
            json!({ "list": [1, 2], "object": color }),
            "GET /label/.1.2/.R,1,G,2",
        ),
        (
            "way.matrix",
            json!({ "list": [1, 2], "object": color }),
            "GET /matrix/;list=1;list=2/;object=R,1,G,2",
        ),
        (
            "way.query",
            json!({
                "form": ["a b", "c"], "flat": ["a", "b"], "space": [1, 2], "pipe": [1, 2], "deep": { "a": { "b": [1] } },
                "object": color, "reserved": "a/b?c&d", "filter[name]": "x", "json": { "a": 1 }, "none": null, "no": false,
            }),
            "GET /query?form=a%20b&form=c&flat=a,b&space=1%202&pipe=1%7C2&deep%5Ba%5D%5Bb%5D%5B0%5D=1&R=1&G=2\
             &reserved=a/b?c%26d&filter%5Bname%5D=x&json=%7B%22a%22%3A1%7D&no=false",
        ),
        (
            "way.others",
            json!({ "id": "p", "id_header": "h", "id_cookie": "c d", "X-List": ["a", "b"] }),
            "GET /others/p\nid: h\nX-List: a,b\ncookie: id=c%20d",
        ),
        (
            "way.deep",
            json!({ "path": "a b/c/d?" }),
            "GET /deep/a%20b/c/d%3F",
        ),
        (
            "way.deep",
            json!({ "path": "../x" }),
            "`path` would lead to another path",
        ),
        (
            "way.simple",
            json!({ "list": "..", "object": {} }),
            "`list` would lead to another path",
        ),
        (
            "way.simple",
            json!({ "list": "a/../b?#", "object": "x" }),
            "`list` would lead to another path",
        ),
        (
            "way.simple",
            json!({ "list": "../admin/1", "object": "x" }),
            "`list` would lead to another path",
        ),
        (
            "way.simple",
            json!({ "list": "a\\..\\b", "object": "x" }),
            "`list` would lead to another path",
        ),
        (
            "way.simple",
            json!({ "list": "%2e%2e%2fadmin", "object": "x" }),
            "`list` would lead to another path",
        ),
        (
            "way.simple",
            json!({ "list": "src/main.rs?#", "object": "..foo" }),
            "GET /simple/src%2Fmain.rs%3F%23/..foo",
        ),
        (
            "way.simple",
            json!({ "list": "", "object": "x" }),
            "`list` is a part of the path and must not be empty",
        ),
        (
            "way.others",
            json!({ "id": "p", "id_header": "a\r\nb: c" }),
            "`id_header` contains a line break or another control character, which headers cannot contain",
        ),
        (
            "way.merged",
            json!({ "id": 1, "name": "n", "more": true }),
            "PUT /merged/1\n\n{\"name\":\"n\",\"more\":true}",
        ),
        (
            "way.clash",
            json!({ "id": 1, "body": { "id": 2 } }),
            "PUT /clash/1\n\n{\"id\":2}",
        ),
        ("way.clash", json!({ "id": 1 }), "PUT /clash/1"),
        (
            "way.patched",
            json!({ "body": [{ "op": "remove" }] }),
            "PATCH /patched\n\napplication/json-patch+json\n[{\"op\":\"remove\"}]",
        ),
        (
            "way.form",
            json!({ "name": "a&b", "tags": ["x", "y"], "plain": { "k": 1 }, "meta": { "k": ["v"] } }),
            "POST /form\n\nname=a%26b&tags=x&tags=y&plain=%7B%22k%22%3A1%7D&meta%5Bk%5D%5B0%5D=v",
        ),
        (
            "way.parts",
            json!({
                "note": "n", "meta": { "a": 1 }, "file": "aGk=",
                "images": [{ "name": "a.png", "type": "image/png", "base64": "aGk" }, "data:image/gif;base64,aGk="],
            }),
            "POST /parts\n\nnote - -\nn\n\nmeta - application/json\n{\"a\":1}\n\nfile file application/octet-stream\nhi\n\n\
             images a.png image/png\nhi\n\nimages images application/octet-stream\nhi",
        ),
        ("way.parts", json!({ "file": "%" }), "`file` is not base64"),
        (
            "way.text",
            json!({ "body": "hello" }),
            "POST /text\n\ntext/plain\nhello",
        ),
        (
            "way.bytes",
            json!({ "body": "aGk=" }),
            "POST /bytes\n\napplication/octet-stream\nhi",
        ),
        (
            "way.told",
            json!({ "extra": 1 }),
            "GET /told?action=list&extra=1",
        ),
    ] {
        let found = match asked(function, &arguments) {
            Ok(request) => written(&request),
            Err(problem) => problem,
        };
        assert_eq!(found, expected, "{function} {arguments}");
    }
}

#[test]
fn paging_is_detected_by_names() {
    let list = json!({ "type": "array", "items": { "type": "object" } });
    let of = |members: Value| json!({ "type": "object", "properties": members });
    let cursors = of(json!({ "next_cursor": { "type": ["string", "null"] } }));
    for (parameters, schema, expected) in [
        (json!(["page", "per_page"]), list.clone(), "[] page=1"),
        (
            json!(["offset", "limit"]),
            of(json!({ "results": list, "count": {} })),
            "[results] offset=1",
        ),
        (
            json!(["cursor"]),
            of(json!({ "channels": list, "response_metadata": cursors })),
            "[channels] cursor declared",
        ),
        (
            json!(["pageToken"]),
            of(json!({ "items": list, "other": list, "nextPageToken": {} })),
            "[items] pageToken declared",
        ),
        (
            json!(["starting_after", "limit"]),
            of(json!({ "data": list, "has_more": {} })),
            "[data] starting_after",
        ),
        (
            json!(["page[number]"]),
            of(json!({ "data": list })),
            "[data] page%5Bnumber%5D=1",
        ),
        (
            json!(["$skip", "$top"]),
            of(json!({ "value": list, "@odata.nextLink": {} })),
            "[value] %24skip=1 declared",
        ),
        (
            json!(["page"]),
            of(json!({ "_embedded": of(json!({ "orders": list })), "_links": {} })),
            "[_embedded.orders] page=1",
        ),
        // Only a `Link` header can continue the list.
        (json!(["q"]), list.clone(), "[]"),
        (json!(["after"]), list.clone(), "[] after"),
        // The response shows its list.
        (json!(["page"]), json!({ "type": "object" }), "- page=1"),
        (json!(["q"]), json!({ "type": "object" }), "none"),
        (json!(["q"]), of(json!({ "tags": list })), "none"),
        (json!(["page"]), of(json!({ "a": list, "b": list })), "none"),
        (json!(["page"]), json!({ "type": "string" }), "none"),
    ] {
        let parameters = parameters.as_array().unwrap().iter().map(|name| {
            json!({ "name": name, "in": "query", "schema": { "type": "integer", "default": 1 } })
        });
        let operation = json!({
            "parameters": parameters.collect::<Vec<_>>(),
            "responses": { "200": { "content": { "application/json": { "schema": schema } } } },
        });
        assert_eq!(paging("get", &operation), expected, "{schema}");
    }
}

#[test]
fn post_is_paged_if_its_body_takes_the_cursor_of_its_response() {
    let list = json!({ "type": "array", "items": {} });
    let operation = |name: &str, response: Value| {
        let body =
            json!({ "type": "object", "properties": { name: { "type": "string" }, "q": {} } });
        let response = json!({ "type": "object", "properties": response });
        json!({
            "requestBody": { "content": { "application/json": { "schema": body } } },
            "responses": { "200": { "content": { "application/json": { "schema": response } } } },
        })
    };
    let page = json!({ "results": list, "next_cursor": {}, "has_more": {} });
    assert_eq!(
        paging("post", &operation("start_cursor", page.clone())),
        "[results] body.start_cursor declared"
    );
    assert_eq!(paging("post", &operation("other", page.clone())), "none");
    assert_eq!(paging("put", &operation("start_cursor", page)), "none");
    assert_eq!(
        paging("post", &operation("NextToken", json!({ "Items": list }))),
        "none"
    );
}

#[test]
fn first_page_is_known_from_the_parameter() {
    for (parameter, expected) in [
        (
            json!({ "schema": { "default": 0, "minimum": 1 } }),
            "[] page=0",
        ),
        (json!({ "schema": { "minimum": 0 } }), "[] page=0"),
        (json!({ "schema": { "minimum": 1 } }), "[] page=1"),
        (
            json!({ "schema": {}, "description": "Zero-based page index (0..N)" }),
            "[] page=0",
        ),
        (
            json!({ "schema": { "minimum": 0 }, "description": "Page number, starting at 1." }),
            "[] page=1",
        ),
        (json!({ "schema": {} }), "[] page"),
    ] {
        let mut described = parameter.clone();
        described["name"] = "page".into();
        described["in"] = "query".into();
        let content = json!({ "application/json": { "schema": { "type": "array" } } });
        let operation =
            json!({ "parameters": [described], "responses": { "200": { "content": content } } });
        assert_eq!(paging("get", &operation), expected, "{parameter}");
    }
}

/// The pagination plan of an operation: the path of the list, the parameters with their first numbers, and the
/// declaration of the next page, if any.
fn paging(verb: &str, operation: &Value) -> String {
    let text = json!({ "openapi": "3.1.0", "paths": { "/a": { verb: operation } } });
    let description = OpenApiDescription::read(&text.to_string(), &entry(), &everything()).unwrap();
    let operation = description.operations.values().next().unwrap();
    let asks = description.tools()[0]["inputSchema"]["properties"]
        .get("$pages")
        .is_some();
    assert_eq!(asks, operation.paged.is_some());
    let Some(plan) = &operation.paged else {
        return "none".into();
    };
    let mut parts = vec![match &plan.items {
        Some(path) => format!("[{}]", path.join(".")),
        None => "-".into(),
    }];
    for parameter in [&plan.page, &plan.offset].into_iter().flatten() {
        let name = &parameter.name;
        parts.push(match parameter.first {
            Some(first) => format!("{name}={first}"),
            None => name.clone(),
        });
    }
    parts.extend(plan.cursor.as_ref().map(|cursor| match cursor {
        CursorParameter::Query(name) => name.clone(),
        CursorParameter::Body(name) => format!("body.{name}"),
    }));
    parts.extend(plan.after.clone());
    parts.extend(plan.declares_next.then(|| "declared".to_owned()));
    parts.join(" ")
}

/// Values that resemble parts of a description.
fn anything() -> impl Strategy<Value = Value> {
    const KEYS: &[&str] = &[
        "paths",
        "/a/{b}",
        "get",
        "post",
        "parameters",
        "name",
        "in",
        "schema",
        "type",
        "properties",
        "required",
        "items",
        "allOf",
        "oneOf",
        "$ref",
        "requestBody",
        "content",
        "application/json",
        "multipart/form-data",
        "responses",
        "200",
        "default",
        "servers",
        "url",
        "security",
        "components",
        "securitySchemes",
        "schemas",
        "nullable",
        "enum",
        "minimum",
        "exclusiveMinimum",
        "pattern",
        "tags",
        "operationId",
        "style",
    ];
    const WORDS: &[&str] = &[
        "path",
        "query",
        "b",
        "object",
        "array",
        "string",
        "#/components/schemas/a",
        "#/paths",
        "x.yaml",
        "https://h/{v}",
        "deepObject",
        "(",
        "apiKey",
        "pet",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 96, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(KEYS), inner), 0..6).prop_map(|members| {
                let members = members
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value));
                Value::Object(members.collect::<Map<_, _>>())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_is_a_description_or_an_error(paths in anything(), components in anything(), operation in anything(), schema in anything()) {
        let text = json!({
            "openapi": "3.0.1",
            "paths": { "/a": paths, "/b/{c}": { "get": operation, "post": {
                "requestBody": { "content": { "application/json": { "schema": schema } } },
                "responses": { "200": { "content": { "application/json": { "schema": schema } } } },
            } } },
            "components": { "schemas": { "a": schema, "b": components } },
        }).to_string();
        let read = |text: &str| OpenApiDescription::read(text, &entry(), &everything()).map(|it| (it.tools(), it.left_out().to_vec()));
        let first = read(&text);
        prop_assert_eq!(&first, &read(&text));
        let (tools, _) = first.unwrap();
        for tool in tools {
            for side in ["inputSchema", "outputSchema"] {
                if let Some(schema) = tool.get(side) {
                    prop_assert!(mux_schema::can_be_checked(schema), "{}", schema);
                }
            }
        }
    }
}
