//! Structured content is checked against the output schema of its tool.

use serde_json::{Value, json};

use super::Home;

fn answering(structured: &Value) -> Value {
    let mut result = json!({ "content": [{ "type": "text", "text": "as text" }] });
    if !structured.is_null() {
        result["structuredContent"] = structured.clone();
    }
    json!({ "add": { "result": result } })
}

#[test]
fn result_that_does_not_match_its_schema_is_an_error_without_the_value() {
    let home = Home::new("");
    let add = || home.env.mux(["--json", "call", "fix.add", "a=1", "b=2"]);
    for (structured, place) in [
        (
            json!({ "sum": "secret" }),
            "/sum: expected number, got string",
        ),
        (
            json!({ "total": "secret" }),
            "/: the property \"sum\" is missing",
        ),
        (Value::Null, "gave no structured content"),
    ] {
        home.change(&answering(&structured));
        let error = add()
            .fails(1, &["\"validation\"", "the call has happened"])
            .json()["error"]
            .take();
        assert!(
            error["message"].as_str().unwrap().contains(place),
            "{error}"
        );
        assert!(!error.to_string().contains("secret"), "{error}");
        assert_eq!(error["path"], "fix.add");
        let code = "const raw = await mux.call.raw('fix.add', { a: 1, b: 2 });\n\
            const error = await mux.fix.add({ a: 1, b: 2 }).catch(error => error.kind);\n\
            return [error, raw.content[0].text, raw.structuredContent ?? null];";
        assert_eq!(
            home.env.result(code),
            json!(["validation", "as text", structured])
        );
    }
    assert!(
        home.warnings()[0].contains("the result of fix.add does not match its output schema"),
        "{:?}",
        home.warnings()
    );
    home.change(&answering(&json!({ "sum": 3, "more": true })));
    assert_eq!(add().ok().json()["result"]["sum"], 3);
    // An error that a tool reports is not checked against the schema.
    home.change(&json!({ "add": { "result": { "isError": true, "content": [] } } }));
    add().fails(1, &["\"tool\""]);
}

#[test]
fn check_results_setting_decides_about_mismatched_results() {
    for (word, warnings) in [("warn", 1), ("off", 0)] {
        let home = Home::new(&format!("check_results = \"{word}\""));
        home.change(&answering(&json!({ "sum": "three" })));
        let answer = home
            .env
            .mux(["--json", "call", "fix.add", "a=1", "b=2"])
            .ok()
            .json();
        assert_eq!(answer["result"], json!({ "sum": "three" }));
        assert_eq!(home.warnings().len(), warnings, "{word}");
    }
}
