//! Where a call goes, and that neither a description nor an argument can redirect it.

use serde_json::{Value, json};

use super::{
    super::operation_request::request, OpenApiDescription, ServerOverrides, entry, everything,
};

#[test]
fn path_without_a_leading_slash_is_left_out() {
    let get = json!({ "get": {} });
    let text = json!({ "openapi": "3.0.0", "paths": {
        "@evil.example/x": get, ".evil.example/x": get, ":81/x": get, "x": get, "": get, "/good": get,
    } });
    let description = OpenApiDescription::read(&text.to_string(), &entry(), &everything()).unwrap();
    assert_eq!(description.tools().len(), 1);
    assert_eq!(description.left_out().len(), 5);
    for left in description.left_out() {
        assert!(left.why.contains("does not begin with `/`"), "{left:?}");
    }
}

#[test]
fn reserved_headers_are_not_arguments() {
    let header =
        |name: &str| json!({ "name": name, "in": "header", "schema": { "type": "string" } });
    let names = [
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "TE",
        "Upgrade",
        "Cookie",
        "Proxy-Authorization",
        "Authorization",
        "Content-Type",
        "Accept",
        "X-Mine",
    ];
    let parameters: Vec<Value> = names.into_iter().map(header).collect();
    let text =
        json!({ "openapi": "3.0.0", "paths": { "/a": { "get": { "parameters": parameters } } } });
    let description = OpenApiDescription::read(&text.to_string(), &entry(), &everything()).unwrap();
    let asked = &description.tools()[0]["inputSchema"]["properties"];
    assert_eq!(asked, &json!({ "X-Mine": { "type": "string" } }));
}

#[test]
fn cookie_value_cannot_add_another_cookie() {
    let cookie = json!({ "name": "c", "in": "cookie", "allowReserved": true, "schema": { "type": "string" } });
    let text =
        json!({ "openapi": "3.0.0", "paths": { "/a": { "get": { "parameters": [cookie] } } } });
    let description = OpenApiDescription::read(&text.to_string(), &entry(), &everything()).unwrap();
    let arguments = json!({ "c": "a; sid=b" }).as_object().cloned().unwrap();
    let request = request(&description.operations["a.getA"], arguments).unwrap();
    assert_eq!(
        request.cookies,
        [("c".to_owned(), "a%3B%20sid%3Db".to_owned())]
    );
}

/// Pins and users see where a call goes, and with which credentials.
#[test]
fn tool_meta_names_the_address_and_credentials() {
    let flow =
        json!({ "clientCredentials": { "tokenUrl": "https://login.example/t", "scopes": {} } });
    let described = |host: &str| {
        json!({
            "openapi": "3.0.0",
            "servers": [{ "url": format!("https://{host}/v1/") }],
            "security": [{ "key": [] }],
            "paths": {
                "/a": { "get": {} },
                "/b": { "get": { "security": [{ "oauth": [] }], "servers": [{ "url": "https://up.example" }] } },
                "/c": { "get": { "security": [] } },
            },
            "components": { "securitySchemes": {
                "key": { "type": "apiKey", "in": "header", "name": "X-Key" },
                "oauth": { "type": "oauth2", "flows": flow },
            } },
        })
        .to_string()
    };
    let credentials = |text: &str, entry: &ServerOverrides| -> Vec<Value> {
        let description = OpenApiDescription::read(text, entry, &everything()).unwrap();
        let tools = description.tools();
        tools
            .iter()
            .map(|tool| tool["_meta"]["mux/http"].clone())
            .collect()
    };
    let key = json!({ "key": "header X-Key" });
    let oauth = json!({ "oauth": "token from https://login.example" });
    assert_eq!(
        credentials(&described("api.example"), &ServerOverrides::default()),
        [
            json!({ "method": "GET", "path": "/a", "at": "https://api.example/v1", "credentials": key }),
            json!({ "method": "GET", "path": "/b", "at": "https://up.example", "credentials": oauth }),
            json!({ "method": "GET", "path": "/c", "at": "https://api.example/v1" }),
        ]
    );
    // The entry's `base_url` is not part of the description's definition.
    assert_eq!(
        credentials(&described("api.example"), &entry())[0],
        json!({ "method": "GET", "path": "/a", "credentials": key })
    );
    assert_ne!(
        credentials(&described("evil.example"), &ServerOverrides::default()),
        credentials(&described("api.example"), &ServerOverrides::default())
    );
}

#[test]
fn path_parameters_with_marks_of_routers_meet_their_descriptions() {
    for (path, place, name, value, expected) in [
        ("/p/{proxy+}", "path", "proxy", "a/b", "/p/a/b"),
        ("/p/{proxy+}", "path", "proxy+", "a/b", "/p/a/b"),
        ("/p/{path*}", "path", "path", "a/b", "/p/a/b"),
        ("/p/{+path}", "path", "path", "a/b", "/p/a/b"),
        ("/p/{id:[0-9]+}/x", "path", "id", "7/y", "/p/7%2Fy/x"),
        ("/p/{id:[0-9]{1,3}}/x", "path", "id", "7", "/p/7/x"),
        ("/p/{id:.*}", "path", "id", "a/b", "/p/a/b"),
        ("/p/{id:path}", "path", "id", "a/b", "/p/a/b"),
        ("/p/{id:int}/x", "path", "id", "7", "/p/7/x"),
        ("/p/{id}:cancel", "path", "id", "7", "/p/7:cancel"),
        ("/p/{id}/{id}", "path", "id", "{id}", "/p/%7Bid%7D/%7Bid%7D"),
        ("/p/{id}#copy", "path", "id", "7", "/p/7"),
        ("/p/{id}?a=1#b?c=2", "path", "id", "7", "/p/7?a=1"),
        ("/#Action=X", "query", "Version", "1", "/?Version=1"),
        ("/p/{id", "query", "id", "7", "/p/{id?id=7"),
    ] {
        let parameter = json!({ "name": name, "in": place, "schema": { "type": "string" } });
        let text = json!({ "openapi": "3.0.0", "paths": { path: { "get": { "parameters": [parameter] } } } });
        let description =
            OpenApiDescription::read(&text.to_string(), &entry(), &everything()).unwrap();
        let (_, operation) = description.operations.iter().next().unwrap();
        let name = &operation.parameters[0].argument;
        let arguments = json!({ name: value }).as_object().cloned().unwrap();
        assert_eq!(operation.parameters.len(), 1, "{path}");
        let sent = request(operation, arguments).unwrap();
        let query: Vec<String> = sent
            .query
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let query = if query.is_empty() {
            String::new()
        } else {
            format!("?{}", query.join("&"))
        };
        assert_eq!(format!("{}{query}", sent.path), expected, "{path}");
    }
}

#[test]
fn names_that_would_be_equal_without_marks_stay_apart() {
    let parameter = |name: &str| json!({ "name": name, "in": "path", "schema": {} });
    let parameters = [parameter("ns:name"), parameter("ns:id")];
    let path = "/{ns:name}/{ns:id}";
    let text =
        json!({ "openapi": "3.0.0", "paths": { path: { "get": { "parameters": parameters } } } });
    let description = OpenApiDescription::read(&text.to_string(), &entry(), &everything()).unwrap();
    let operation = description.operations.values().next().unwrap();
    let arguments = json!({ "ns:name": "a", "ns:id": "b" });
    let sent = request(operation, arguments.as_object().cloned().unwrap()).unwrap();
    assert_eq!(sent.path, "/a/b");
}
