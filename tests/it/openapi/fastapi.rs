//! A real FastAPI application with the description that FastAPI generates.

use std::{net::TcpListener, path::Path, process::Command};

use mux_tests::{Running, TestEnv, env::pypi};
use serde_json::json;

/// `hello` in base64.
const HELLO: &str = "aGVsbG8=";

#[test]
fn real_fastapi_application_takes_files_in_every_way() {
    let env = TestEnv::new();
    // A port that was free a moment ago: uvicorn reports the port that it was given.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("servers/uploads.py");
    let mut server = Running::start(
        Command::new(pypi("python3"))
            .arg(program)
            .arg(port.to_string()),
    );
    server.wait_for("Uvicorn running");
    env.write_config(&format!(
        "[sources.api]\nopenapi = \"http://127.0.0.1:{port}/openapi.json\"\n"
    ));
    let named = json!({ "name": "a.txt", "type": "text/plain", "base64": HELLO });
    let seen = json!({ "name": "a.txt", "type": "text/plain", "text": "hello" });
    let plain =
        |name: &str| json!({ "name": name, "type": "application/octet-stream", "text": "hello" });
    for (function, arguments, expected) in [
        ("one", json!({ "file": HELLO }), plain("file")),
        ("one", json!({ "file": named }), seen.clone()),
        ("optional", json!({ "file": HELLO }), plain("file")),
        ("optional", json!({ "file": named }), seen.clone()),
        ("optional", json!({}), json!(null)),
        (
            "several",
            json!({ "files": [HELLO, named] }),
            json!([plain("files"), seen]),
        ),
        ("some", json!({ "files": [named] }), json!([seen])),
        ("some", json!({}), json!([])),
        ("raw", json!({ "data": HELLO }), json!("hello")),
        ("maybe", json!({ "data": HELLO }), json!("hello")),
        ("maybe", json!({}), json!(null)),
        (
            "mixed",
            json!({ "note": "n", "tags": ["x", "y"], "file": named }),
            json!({ "note": "n", "tags": ["x", "y"], "file": seen }),
        ),
        (
            "things",
            json!({ "$pages": 10 }),
            json!([0, 1, 2, 3, 4, 5, 6, 7]),
        ),
    ] {
        let code = format!("return await mux.api.{function}.{function}({arguments})");
        assert_eq!(env.result(&code), expected, "{function} {arguments}");
    }
}
