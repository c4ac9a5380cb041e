//! APIs as sources, end to end: the requests that are sent, descriptions that change, and the `mux sources` commands.
//!
//! Invariant: an API executes each call at most once, and credentials appear only in its requests.

mod described;
mod edited;
mod moved;
mod networks;
mod sent;
mod site;

use std::{fs, path::PathBuf};

use mux_tests::TestEnv;
use serde_json::{Value, json};

/// An OpenAPI description with these operations, each `(method, id, guarded)`: the path is `/id`, and guarded ones
/// need a key.
fn description(base: &str, operations: &[(&str, &str, bool)]) -> Value {
    let mut paths = json!({});
    for (method, id, guarded) in operations {
        let content = json!({ "application/json": { "schema": {} } });
        let mut operation = json!({
            "tags": ["shop"], "operationId": id,
            "responses": { "200": { "description": "it", "content": content } },
        });
        if *guarded {
            operation["security"] = json!([{ "key": [] }]);
        }
        paths[format!("/{id}")] = json!({ *method: operation });
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Shop", "version": "1.2" },
        "servers": [{ "url": base }],
        "paths": paths,
        "components": { "securitySchemes": { "key": { "type": "apiKey", "in": "header", "name": "X-Key" } } },
    })
}

/// A home whose only source is `api`, and the file that describes it.
fn home(base: &str, operations: &[(&str, &str, bool)], more: &str) -> (TestEnv, PathBuf) {
    let env = TestEnv::new();
    let file = env.path("api.json");
    fs::write(&file, description(base, operations).to_string()).unwrap();
    env.write_config(&format!("[sources.api]\nopenapi = {file:?}\n{more}"));
    (env, file)
}

/// The entry of `mux sources --json` for the source.
fn info(env: &TestEnv) -> Value {
    let listed = env.mux(["--json", "sources"]).ok().json();
    listed[0].clone()
}
