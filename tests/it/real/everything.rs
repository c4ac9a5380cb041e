//! The reference server, which returns every kind of content that MCP has.

use mux_tests::TestEnv;
use serde_json::{Value, json};

use super::{everything, run};

#[test]
fn real_everything_content_annotations_and_errors_arrive_unchanged() {
    let env = TestEnv::with_config(&everything());
    let found = run(&env, "everything", &Value::Null);
    assert_eq!(
        found["result"],
        json!({
            "echo": "Echo: hello",
            "sum": "The sum of 2 and 3 is 5.",
            "weather": ["conditions: string", "humidity: number", "temperature: number"],
            "parts": ["text", "image", "text"],
            "picture": { "mimeType": "image/png", "png": "PNG" },
            "annotations": [
                { "type": "text", "priority": 1, "audience": ["user", "assistant"] },
                { "type": "image", "priority": 0.5, "audience": ["user"] },
            ],
            "links": [
                "resource_link demo://resource/dynamic/blob/1",
                "resource_link demo://resource/dynamic/text/2",
            ],
            "resource": "demo://resource/dynamic/blob/2",
            "refused": {
                "name": "ToolError",
                "kind": "tool",
                "message": "Invalid resourceId: -1. Must be a finite positive integer.",
            },
            "unfit": "validation",
        }),
        "{found:#}"
    );
}

#[test]
fn real_everything_gets_the_env_of_its_entry_and_no_mux_variables() {
    let env = TestEnv::with_config(&format!(
        "{}env = {{ DECLARED = \"here\" }}\n",
        everything()
    ));
    let seen = env.result(
        "const env = await mux.everything.get_env();\n\
         return { declared: env.DECLARED, path: 'PATH' in env, home: 'MUX_HOME' in env };",
    );
    assert_eq!(
        seen,
        json!({ "declared": "here", "path": true, "home": false })
    );
}
