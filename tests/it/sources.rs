//! APIs as sources, through the whole program: what is sent, and how often; descriptions that change; the commands.
//!
//! Invariant: an API sees each call at most once, and no credential stands anywhere but in its requests.

mod described;
mod edited;
mod moved;
mod networks;
mod sent;
mod site;

use std::{fs, path::PathBuf};

use mux_tests::TestEnv;
use serde_json::{Value, json};

/// An OpenAPI description with these operations, each a method, an id and a path; `guarded` ones need a key.
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

/// A home whose one source is `api`, described by a file.
fn home(base: &str, operations: &[(&str, &str, bool)], more: &str) -> (TestEnv, PathBuf) {
    let env = TestEnv::new();
    let file = env.path("api.json");
    fs::write(&file, description(base, operations).to_string()).unwrap();
    env.write_config(&format!("[sources.api]\nopenapi = {file:?}\n{more}"));
    (env, file)
}

/// What the daemon says of the source.
fn info(env: &TestEnv) -> Value {
    let listed = env.mux(["--json", "sources"]).ok().json();
    listed[0].clone()
}
