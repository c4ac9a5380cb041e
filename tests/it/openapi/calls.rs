//! Functions of a description, called by programs and from the command line, with a local API server.

use std::{fmt::Write as _, fs, path::Path};

use mux_tests::{Agent, TestEnv, env::compiler};
use serde_json::{Value, json};

use super::shop::Shop;

/// A home whose sources are descriptions of the test data, with `shop` as their server.
fn home(shop: &Shop, names: &[&str], more: &str) -> TestEnv {
    let env = TestEnv::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/openapi");
    let mut config = String::new();
    for name in names {
        let file = env.path(&format!("{name}.yaml"));
        fs::copy(folder.join(format!("{name}.yaml")), &file).unwrap();
        let source = name.replace('-', "_");
        _ = write!(
            config,
            "[sources.{source}]\nopenapi = {file:?}\nbase_url = {:?}\n{more}",
            shop.url()
        );
    }
    env.write_config(&config);
    env
}

#[test]
fn every_parameter_style_is_encoded() {
    let shop = Shop::open();
    let env = home(&shop, &["every-way"], "");
    let color = json!({ "R": 1, "G": 2 });
    for (function, arguments, target, body) in [
        (
            "simple",
            json!({ "list": [1, 2], "object": color }),
            "GET /simple/1,2/R=1,G=2",
            None,
        ),
        (
            "label",
            json!({ "list": [1, 2], "object": color }),
            "GET /label/.1.2/.R,1,G,2",
            None,
        ),
        (
            "matrix",
            json!({ "list": [1, 2], "object": color }),
            "GET /matrix/;list=1;list=2/;object=R,1,G,2",
            None,
        ),
        (
            "query",
            json!({ "form": ["a b", "c"], "flat": ["a", "b"], "deep": { "a": { "b": [1] } }, "filter[name]": "é" }),
            "GET /query?form=a%20b&form=c&flat=a,b&deep%5Ba%5D%5Bb%5D%5B0%5D=1&filter%5Bname%5D=%C3%A9",
            None,
        ),
        (
            "deep",
            json!({ "path": "a b/c" }),
            "GET /deep/a%20b/c",
            None,
        ),
        (
            "reserved",
            json!({ "list": ["src/main.rs", "..foo", "a?b"] }),
            "GET /reserved/src%2Fmain.rs,..foo,a%3Fb",
            None,
        ),
        (
            "merged",
            json!({ "id": "1", "name": "n", "size": 2 }),
            "PUT /merged/1",
            Some("{\"name\":\"n\",\"size\":2}"),
        ),
        (
            "form",
            json!({ "name": "a&b", "tags": ["x", "y"], "meta": { "k": ["v"] } }),
            "POST /form",
            Some("name=a%26b&tags=x&tags=y&meta%5Bk%5D%5B0%5D=v"),
        ),
        (
            "text",
            json!({ "body": "hello" }),
            "POST /text",
            Some("hello"),
        ),
        (
            "bytes",
            json!({ "body": "aGk=" }),
            "POST /bytes",
            Some("hi"),
        ),
        (
            "told",
            json!({ "extra": 1 }),
            "GET /told?action=list&extra=1",
            None,
        ),
    ] {
        let code = format!("return await mux.call('every_way.way.{function}', {arguments})");
        let said = env.result(&code);
        let found = format!("{} {}", text(&said["method"]), text(&said["target"]));
        assert_eq!(found, target, "{function}: {said}");
        assert_eq!(said["body"], body.unwrap_or_default(), "{function}: {said}");
    }
    let others = "return await mux.call('every_way.way.others', { id: 'p', id_header: 'h', id_cookie: 'c d', 'X-List': ['a', 'b'] })";
    let said = env.result(others);
    assert_eq!(said["headers"]["id"], "h");
    assert_eq!(said["headers"]["x-list"], "a,b");
    assert_eq!(said["headers"]["cookie"], "id=c%20d");
    let parts = "return await mux.call('every_way.way.parts', { note: 'n', file: { name: 'a.txt', type: 'text/plain', base64: 'aGk=' } })";
    let said = env.result(parts);
    assert!(text(&said["headers"]["content-type"]).starts_with("multipart/form-data; boundary="));
    for part in [
        "name=\"file\"; filename=\"a.txt\"",
        "Content-Type: text/plain",
        "\r\n\r\nhi\r\n",
        "\r\n\r\nn\r\n",
    ] {
        assert!(
            text(&said["body"])
                .to_lowercase()
                .contains(&part.to_lowercase()),
            "{part}: {said}"
        );
    }
}

/// All of these arguments match their schemas.
#[test]
fn arguments_that_cannot_form_a_request_are_refused_before_sending() {
    let shop = Shop::open();
    let env = home(&shop, &["every-way"], "");
    for (function, arguments, part) in [
        (
            "deep",
            json!({ "path": "../x" }),
            "`path` would lead to another path",
        ),
        (
            "deep",
            json!({ "path": "a/./x" }),
            "`path` would lead to another path",
        ),
        (
            "reserved",
            json!({ "list": ["a/../b?"] }),
            "`list` would lead to another path",
        ),
        (
            "reserved",
            json!({ "list": ["..\\admin"] }),
            "`list` would lead to another path",
        ),
        (
            "reserved",
            json!({ "list": ["%2e%2e%2fadmin"] }),
            "`list` would lead to another path",
        ),
        (
            "reserved",
            json!({ "list": [] }),
            "`list` is a part of the path",
        ),
        (
            "others",
            json!({ "id": "p", "id_header": "a\r\nb: c" }),
            "`id_header` contains a line break",
        ),
        (
            "bytes",
            json!({ "body": "no base64!" }),
            "`body` is not base64",
        ),
    ] {
        let error = env.error(&format!(
            "return await mux.call('every_way.way.{function}', {arguments})"
        ));
        assert_eq!(error["kind"], "validation", "{function}: {error}");
        let message = text(&error["message"]);
        assert!(
            message.contains("was not called") && message.contains(part),
            "{function}: {error}"
        );
    }
    assert_eq!(shop.told(), 0);
}

#[test]
fn results_are_json_values_and_no_content_is_null() {
    let shop = Shop::open();
    let env = home(
        &shop,
        &["petstore"],
        "auth = { key = \"k3y-of-the-shop\", login = \"t0ken-of-the-shop\" }\n",
    );
    assert_eq!(
        env.result(
            "const pets = await mux.call('petstore.pet.findPetsByStatus', { status: ['sold'] }); return pets[0].name"
        ),
        "Rex"
    );
    assert_eq!(
        env.result("return (await mux.call('petstore.pet.getPetById', { petId: 7 })).photoUrls"),
        json!(["a"])
    );
    assert_eq!(
        env.result("return await mux.call('petstore.pet.deletePet', { petId: 7 })"),
        Value::Null
    );
    assert_eq!(shop.deleted(), [7]);
}

#[test]
fn api_errors_are_tool_errors_with_status_and_body() {
    let shop = Shop::open();
    let env = home(
        &shop,
        &["petstore"],
        "auth = { key = \"k3y-of-the-shop\" }\n",
    );
    let error = env.error("return await mux.call('petstore.pet.getPetById', { petId: 404 })");
    assert_eq!(error["kind"], "tool");
    assert!(text(&error["message"]).contains("404"), "{error}");
    let caught = env.result(
        "try { await mux.call('petstore.pet.getPetById', { petId: 404 }) } catch (e) { return JSON.stringify(e.details) }",
    );
    for part in ["404", "ran away"] {
        assert!(text(&caught).contains(part), "{caught}");
    }
    let unfit = env.error("return await mux.call('petstore.pet.getPetById', { petId: 'x' })");
    assert_eq!(unfit["kind"], "validation");
    let unknown = env.error("return await mux.call('petstore.pet.getPetsById', { petId: 1 })");
    assert_eq!(unknown["kind"], "not_found");
    assert!(text(&unknown["hint"]).contains("getPetById"), "{unknown}");
    let missing = env.error("return await mux.call('petstore.pet.deletePet', { petId: 7 })");
    assert_eq!(missing["kind"], "auth_required");
    assert!(shop.deleted().is_empty());
    assert!(!env.log().contains("k3y-of-the-shop"));
}

#[test]
fn pages_are_joined_on_request() {
    let shop = Shop::open();
    let env = home(&shop, &["paging"], "");
    for (code, expected) in [
        (
            "return (await mux.call('paging.linked.getLinked', {})).length",
            json!(3),
        ),
        (
            "return (await mux.call('paging.linked.getLinked', { $pages: 2 })).length",
            json!(6),
        ),
        (
            "return (await mux.call('paging.linked.getLinked', { $pages: 100 })).length",
            json!(7),
        ),
        (
            "const all = await mux.call('paging.cursor.getCursor', { $pages: 9 }); return [all.users.length, all.next_cursor]",
            json!([7, null]),
        ),
    ] {
        assert_eq!(env.result(code), expected, "{code}");
    }
    let refused = env.error("return await mux.call('paging.single.getSingle', { $pages: 2 })");
    assert_eq!(refused["kind"], "validation");
}

#[test]
fn pages_before_a_failed_one_come_with_a_warning() {
    let shop = Shop::open();
    let env = home(&shop, &["paging"], "");
    let warning = "page 3: GET /linked answered HTTP 500 Internal Server Error: out of things; the result holds the \
                   items of the 2 pages before it";
    let run =
        env.run("return (await mux.paging.linked.getLinked({ fail: true, $pages: 9 })).length");
    assert_eq!(run.code, 0, "{run:#?}");
    assert_eq!(run.stdout.trim(), "6");
    assert!(run.stderr.contains(warning), "{run:#?}");
    let call = env
        .mux(["call", "paging.linked.getLinked", "fail=true", "$pages=9"])
        .ok();
    assert!(call.stdout.contains("thing 5"), "{call:#?}");
    assert!(call.stderr.contains(warning), "{call:#?}");
    let json = env.mux([
        "--json",
        "call",
        "paging.linked.getLinked",
        "fail=true",
        "$pages=9",
    ]);
    assert_eq!(
        json.json()["result"].as_array().map_or(0, Vec::len),
        6,
        "{json:#?}"
    );
    assert!(json.stderr.contains(warning), "{json:#?}");
    let raw = env.result(
        "return (await mux.call.raw('paging.linked.getLinked', { fail: true, $pages: 9 }))._meta",
    );
    assert_eq!(
        (&raw["pages"], &raw["more"], &raw["mux/warning"]),
        (&json!(2), &json!(true), &json!(warning))
    );
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let arguments = json!({ "fail": true, "$pages": 9 });
    let called = agent.call(
        "call",
        json!({ "path": "paging.linked.getLinked", "args": arguments }),
    );
    let texts = called["content"].to_string();
    assert!(
        texts.contains(warning) && texts.contains("thing 5"),
        "{called}"
    );
}

#[test]
fn types_and_tool_listings_include_a_description() {
    let shop = Shop::open();
    let env = home(
        &shop,
        &["petstore"],
        "auth = { key = \"k3y-of-the-shop\" }\n",
    );
    let config = fs::read_to_string(env.path("config.toml")).unwrap();
    env.write_config(&format!("{config}[check]\ntsc = {:?}\n", compiler()));
    let types = env.mux(["types", "petstore"]).ok().stdout;
    for part in ["Finds pets by status", "\"available\"", "photoUrls"] {
        assert!(types.contains(part), "{part}: {types}");
    }
    let listed = env
        .mux(["--json", "tools", "--server", "petstore"])
        .ok()
        .json();
    assert!(
        listed.to_string().contains("pet.findPetsByStatus"),
        "{listed}"
    );
    let found = env
        .mux(["--json", "tools", "pets", "by", "status"])
        .ok()
        .json();
    assert!(found.to_string().contains("findPetsByStatus"), "{found}");
}

#[test]
fn excluded_functions_make_room_and_a_reload_reads_the_description_again() {
    let shop = Shop::open();
    let env = TestEnv::new();
    let tags = ["much"; 12].into_iter().chain(["few"; 2]);
    let paths: serde_json::Map<String, Value> = tags
        .enumerate()
        .map(|(number, tag)| {
            let operation =
                json!({ "tags": [tag], "operationId": format!("do{number}"), "responses": {} });
            (format!("/{number}"), json!({ "get": operation }))
        })
        .collect();
    let file = env.path("many.json");
    fs::write(
        &file,
        json!({ "openapi": "3.1.0", "paths": paths }).to_string(),
    )
    .unwrap();
    let functions = |entry: &str| {
        env.write_config(&format!(
            "[sources.many]\nopenapi = {file:?}\nbase_url = {:?}\n{entry}\n",
            shop.url()
        ));
        env.mux(["reload"]).ok();
        let listed = env.mux(["--json", "tools", "--server", "many"]).ok().stdout;
        ["much.do0", "much.do9", "much.do11", "few.do12", "few.do13"]
            .map(|name| listed.contains(&format!("\"{name}\"")))
    };
    let limited = "max_functions = 10";
    let excluded = "max_functions = 10\ntools = { exclude = [\"much.*\"] }";
    assert_eq!(functions(limited), [true, true, false, false, false]);
    let told = env.mux(["sources"]).ok().stdout;
    assert!(
        told.contains("1 more operation is left out") && told.contains("max_functions"),
        "{told}"
    );
    assert_eq!(functions(excluded), [false, false, false, true, true]);
    let called = env.result("return await mux.call('many.few.do13', {})");
    assert!(called.to_string().contains("/13"), "{called}");
    assert_eq!(functions(limited), [true, true, false, false, false]);
    assert_eq!(functions("max_functions = 14"), [true; 5]);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
