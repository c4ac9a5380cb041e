//! The destination of a call, which neither a description nor an argument can redirect.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    super::{exploded_members::members_as_arguments, operation_request::request},
    OpenApiDescription, RequestBody, ServerOverrides, entry, everything, written,
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

/// Pins and users see a call's destination and its credentials.
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

/// An operation at `path` with these parameters and this body, called with the arguments.
fn sent(path: &str, operation: &Value, arguments: &Value) -> Result<String, String> {
    let text = json!({
        "openapi": "3.0.0",
        "paths": { path: { "post": operation } },
        "components": { "securitySchemes": {
            "key": { "type": "apiKey", "in": "query", "name": "api_key" },
            "session": { "type": "apiKey", "in": "cookie", "name": "sid" },
        } },
    });
    let description = OpenApiDescription::read(&text.to_string(), &entry(), &everything()).unwrap();
    let operation = description.operations.values().next().unwrap();
    let arguments = arguments.as_object().cloned().unwrap();
    request(operation, arguments)
        .map(|request| written(&request))
        .map_err(|error| error.to_string())
}

fn query_object(name: &str) -> Value {
    json!({ "name": name, "in": "query", "schema": { "type": "object" } })
}

#[test]
fn member_of_an_exploded_object_takes_no_other_name() {
    let account = json!({ "name": "account", "in": "query", "schema": {} });
    let in_path = json!({ "name": "shop", "in": "path", "schema": {} });
    let cookie =
        json!({ "name": "prefs", "in": "cookie", "explode": true, "schema": { "type": "object" } });
    let literal = json!({ "name": "deep[account]", "in": "query", "schema": {} });
    let deep = json!({ "name": "deep", "in": "query", "style": "deepObject", "explode": true, "schema": {} });
    let parameters = json!([
        account,
        in_path,
        query_object("filter"),
        cookie,
        literal,
        deep
    ]);
    let form = json!({ "content": { "application/x-www-form-urlencoded": {
        "schema": { "type": "object", "properties": { "meta": { "type": "object" } } },
        "encoding": { "meta": { "style": "form", "explode": true } },
    } } });
    let operation = json!({ "parameters": parameters, "requestBody": form });
    let of = |arguments: Value| {
        let mut arguments = arguments;
        arguments["shop"] = "s".into();
        sent("/{shop}?page=1", &operation, &arguments)
    };
    for (argument, member, taken) in [
        ("filter", "account", "`account`"),
        ("filter", "Account", "`account`"),
        ("filter", "acc_ount", "`account`"),
        ("filter", "acc%6Funt", "`account`"),
        ("filter", "acc%256Funt", "`account`"),
        ("filter", "account[]", "`account`"),
        ("filter", "account[0][x]", "`account`"),
        ("filter", "account\0x", "`account`"),
        ("filter", "shop", "`shop`"),
        ("filter", "page", "`page`"),
        ("filter", "meta", "`meta`"),
        ("filter", "fixed", "`fixed`"),
        ("filter", "deep[account]", "`deep[account]`"),
        ("filter", "deep", "`deep`"),
        ("filter", "api_key", "a credential"),
        ("filter", "sid", "a credential"),
        ("prefs", "SID", "a credential"),
        ("prefs", "account", "`account`"),
        ("meta", "account", "`account`"),
        ("meta", "fixed", "`fixed`"),
        ("meta", "FIXED", "`fixed`"),
        ("deep", "account", "`deep[account]`"),
    ] {
        let mut arguments = json!({ "fixed": "me", "meta": {} });
        arguments[argument] = json!({ "plain": 1, member: "victim" });
        let error = of(arguments).unwrap_err();
        assert!(
            error.contains(taken) && error.contains("leave it out") && error.contains(argument),
            "{argument} {member}: {error}"
        );
    }
    let plain = of(json!({
        "account": "me", "filter": { "filter": 1, "Plain": 2 }, "meta": { "x": 1 }, "deep": { "ids": [3] },
    }));
    let plain = plain.unwrap();
    assert!(
        plain.contains("filter=1&Plain=2&deep%5Bids%5D%5B0%5D=3") && plain.ends_with("x=1"),
        "{plain}"
    );
}

/// A member's name ends at a `=`, and for some servers at a `;`.
#[test]
fn name_of_a_member_does_not_end_early() {
    let mut filter = query_object("filter");
    filter["allowReserved"] = true.into();
    let operation = json!({ "parameters": [filter] });
    let arguments = json!({ "filter": { "account=victim;a": "b=c" } });
    let sent = sent("/a", &operation, &arguments).unwrap();
    assert!(
        sent.starts_with("POST /a?account%3Dvictim%3Ba=b=c"),
        "{sent}"
    );
}

#[test]
fn path_parameter_stays_in_its_segment() {
    let reserved = json!({ "name": "id", "in": "path", "allowReserved": true, "schema": {} });
    for style in ["simple", "label", "matrix"] {
        for explode in [false, true] {
            for value in [
                json!("1/a?b#c[d]"),
                json!(["1/a", "?b#c"]),
                json!({ "x/y?": "1/a?b#c" }),
            ] {
                let mut parameter = reserved.clone();
                (parameter["style"], parameter["explode"]) = (style.into(), explode.into());
                let operation = json!({ "parameters": [parameter] });
                let sent =
                    sent("/items/{id}/end?q=1", &operation, &json!({ "id": value })).unwrap();
                let path = sent.split(['\n', ' ']).nth(1).unwrap();
                let inner = path.strip_prefix("/items/").unwrap();
                let inner = inner
                    .strip_suffix("/end?q=1")
                    .unwrap_or_else(|| panic!("{sent}"));
                assert!(
                    !inner.contains(['/', '?', '#', '[', ']']),
                    "{style} {value}: {sent}"
                );
            }
        }
    }
    let kept = sent(
        "/items/{id}",
        &json!({ "parameters": [reserved] }),
        &json!({ "id": "a:b,c@d;e=f" }),
    );
    assert_eq!(kept.unwrap(), "POST /items/a:b,c@d;e=f");
}

#[test]
fn query_of_a_path_is_split_before_it_is_filled_in() {
    let id = json!({ "name": "id", "in": "path", "allowReserved": true, "schema": {} });
    let many = json!({ "name": "id", "in": "path", "x-multi-segment": true, "schema": {} });
    for (path, parameter, value, expected) in [
        ("/a?x={id}&y=2", &id, "1?y=3", "/a?x=1%3Fy=3&y=2"),
        ("/a?x={id}&y=2", &id, "1&y=3", "/a?x=1%26y=3&y=2"),
        ("/a/{id?}?y=2", &id, "1", "/a/1?y=2"),
        ("/a/{id}", &many, "1/b?x=1", "/a/1/b%3Fx%3D1"),
    ] {
        let operation = json!({ "parameters": [parameter] });
        let sent = sent(path, &operation, &json!({ "id": value })).unwrap();
        assert_eq!(sent, format!("POST {expected}"), "{path}");
    }
}

#[test]
fn member_does_not_hide_another_from_rules() {
    let object = |style: &str| json!({ "parameters": [{ "name": "o", "in": "query", "style": style, "explode": true, "schema": {} }] });
    for (style, value, name) in [
        ("deepObject", json!({ "key": "1", "k%65y": "2" }), "o[key]"),
        (
            "form",
            json!({ "key": "1", "key[]": "2", "k%65y": "3" }),
            "key",
        ),
    ] {
        let text = json!({ "openapi": "3.0.0", "paths": { "/x": { "post": object(style) } } });
        let description =
            OpenApiDescription::read(&text.to_string(), &entry(), &everything()).unwrap();
        let operation = description.operations.values().next().unwrap();
        let count = value.as_object().unwrap().len();
        let arguments = json!({ "o": value }).as_object().cloned().unwrap();
        let seen = members_as_arguments(operation, &arguments);
        let values = seen.iter().filter_map(|object| object.get(name)?.as_str());
        let mut values: Vec<&str> = values.collect();
        values.sort_unstable();
        assert_eq!(values, ["1", "2", "3"][..count], "{style}: {seen:?}");
    }
}

/// Names that a caller may choose for members.
fn member_names() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a", "A", "b", "b[]", "b[0]", "deep[b]", "c", "key", "k%65y", "%2562", "b=1;a", "x&a", "d",
        "other", "-b-",
    ])
    .prop_map(str::to_owned)
}

/// Strings with which a value may try to leave its position.
fn place_texts() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "1", "a/b", "1?b=2", "1&b=2", "1#b", "..", "%2f", "b=2", "1;b=2", "[b]",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Each pair of a request is an argument of that name, or an argument as rules see it. No two arguments share a
    /// name, and the path has the segments of its template.
    #[test]
    fn every_pair_that_is_sent_is_an_argument_that_rules_see(
        members in prop::collection::vec((0_usize..4, member_names(), place_texts()), 0..5),
        (a, b, id) in (place_texts(), prop::option::of(place_texts()), place_texts()),
        reserved in any::<bool>(),
        style in prop::sample::select(vec!["form", "spaceDelimited", "pipeDelimited"]),
    ) {
        let plain = |name: &str, place: &str| {
            json!({ "name": name, "in": place, "allowReserved": reserved, "schema": {} })
        };
        let object = |name: &str, place: &str, style: &str| {
            json!({ "name": name, "in": place, "style": style, "explode": true, "allowReserved": reserved, "schema": {} })
        };
        let parameters = json!([
            plain("id", "path"), plain("a", "query"), plain("b", "query"), object("c", "cookie", "form"),
            object("query", "query", style), object("deep", "query", "deepObject"),
        ]);
        let form = json!({ "content": { "application/x-www-form-urlencoded": {
            "schema": { "type": "object", "properties": { "d": {}, "meta": {} } },
            "encoding": { "meta": { "style": "form", "explode": true } },
        } } });
        let text = json!({
            "openapi": "3.0.0",
            "paths": { "/x/{id}?t=1": { "post": { "parameters": parameters, "requestBody": form } } },
            "components": { "securitySchemes": { "k": { "type": "apiKey", "in": "query", "name": "key" } } },
        });
        let description = OpenApiDescription::read(&text.to_string(), &entry(), &everything()).unwrap();
        let operation = description.operations.values().next().unwrap();
        let mut arguments = json!({ "id": id, "a": a });
        if let Some(b) = b {
            arguments["b"] = b.into();
        }
        for (place, name, value) in members {
            arguments[["query", "deep", "c", "meta"][place]][name] = value.into();
        }
        let arguments = arguments.as_object().cloned().unwrap();
        let also = members_as_arguments(operation, &arguments);
        let Ok(sent) = request(operation, arguments.clone()) else {
            return Ok(());
        };
        let inner = sent.path.strip_prefix("/x/").unwrap();
        prop_assert!(!inner.contains(['/', '?', '#']), "{}", sent.path);
        let form = match &sent.body {
            Some(RequestBody::Form(pairs)) => pairs.clone(),
            _ => Vec::new(),
        };
        let pairs: Vec<String> = [&sent.query, &sent.cookies, &form]
            .iter()
            .flat_map(|pairs| pairs.iter().map(|(name, value)| format!("{name}={value}")))
            .collect();
        let mut owners = std::collections::BTreeMap::<String, Vec<String>>::new();
        for (name, value) in url::form_urlencoded::parse(pairs.join("&").as_bytes()) {
            let is_given = arguments.get(&*name) == Some(&Value::from(&*value)) || (&*name, &*value) == ("t", "1");
            let is_seen = also.iter().any(|also| also.get(&*name) == Some(&Value::from(&*value)));
            prop_assert!(is_given || is_seen, "{name}={value} of {pairs:?}: {also:?}");
            owners.entry(name.into_owned()).or_default().push(value.into_owned());
        }
        for name in ["a", "b", "t", "key"] {
            let values = owners.get(name).map_or(0, Vec::len);
            prop_assert!(values <= usize::from(name != "key"), "{name}: {pairs:?}");
        }
    }
}
