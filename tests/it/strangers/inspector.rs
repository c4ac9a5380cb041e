//! The command line of the official MCP Inspector, as used to inspect a server or to check one in a CI job.

use mux_tests::{
    Output, TestEnv,
    clients::client,
    env::{binary, output},
    program_result,
};
use serde_json::{Value, json};

use super::home::{home, launch, node_program};

const TOOL_NOT_FOUND: i32 = 5;

fn inspector(env: &TestEnv, era: &str, method: &str, rest: &[&str]) -> Output {
    let program = client("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let launch = launch(env, era);
    let mut command = node_program(env, &program);
    command.args(["--cli", "--format", "json", "--protocol-era", era]);
    for (name, value) in launch["env"].as_object().unwrap() {
        let value = value.as_str().unwrap();
        command.args(["-e", &format!("{name}={value}")]);
    }
    command.args(["--method", method]).args(rest);
    output(command.arg(binary("mux")).arg("mcp"))
}

#[track_caller]
fn result(output: Output) -> Value {
    output.ok().json()["result"].take()
}

fn call(env: &TestEnv, era: &str, tool: &str, arguments: &Value) -> Output {
    let arguments = arguments.to_string();
    let rest = ["--tool-name", tool, "--tool-args-json", &arguments];
    inspector(env, era, "tools/call", &rest)
}

/// The text under this key in every item of a list.
fn all<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    let items = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    items.iter().filter_map(|item| item[key].as_str()).collect()
}

#[test]
fn the_tools_are_listed_and_their_schemas_are_portable() {
    let env = home();
    for era in ["legacy", "modern"] {
        // The Inspector exits with 6 if a schema uses something that some clients do not support.
        let listed = inspector(&env, era, "tools/list", &["--strict"]).ok();
        let result = &listed.json()["result"];
        let names = all(&result["tools"], "name");
        assert_eq!(
            names,
            [
                "run",
                "search",
                "describe",
                "call",
                "read",
                "resume",
                "run_program"
            ],
            "{era}: {}",
            listed.stderr
        );
    }
}

#[test]
fn run_returns_its_result_and_search_finds_a_tool() {
    let env = home();
    let code = json!({ "code": "return (await mux.conf.add({ a: 40, b: 2 })).sum" });
    for era in ["legacy", "modern"] {
        let ran = result(call(&env, era, "run", &code));
        assert!(ran.get("structuredContent").is_none(), "{era}: {ran}");
        assert_eq!(program_result::value(&ran), 42, "{era}: {ran}");
    }
    let found = result(call(
        &env,
        "legacy",
        "search",
        &json!({ "query": "add two numbers" }),
    ));
    let text = found["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("conf.add"), "{text}");
}

#[test]
fn resources_and_prompts_of_servers_are_listed() {
    let env = home();
    let listed = result(inspector(&env, "legacy", "resources/list", &[]));
    let uris = all(&listed["resources"], "uri");
    let is_static = |uri: &&str| uri.contains("conf") && uri.contains("static-text");
    let uri = uris.iter().find(|uri| is_static(uri));
    let uri = uri.unwrap_or_else(|| panic!("none of {uris:?}"));
    let read = result(inspector(&env, "legacy", "resources/read", &["--uri", uri]));
    let text = "This is the content of the static text resource.";
    assert_eq!(read["contents"][0]["text"], text, "{read}");

    let listed = result(inspector(&env, "legacy", "prompts/list", &[]));
    let names = all(&listed["prompts"], "name");
    let is_simple = |name: &str| name.contains("conf") && name.ends_with("test_simple_prompt");
    assert!(names.iter().any(|name| is_simple(name)), "{names:?}");
}

#[test]
fn unknown_tool_is_an_error_with_its_own_exit_code() {
    let env = home();
    let output = call(&env, "legacy", "no_such_tool", &json!({}));
    output.fails(TOOL_NOT_FOUND, &["tool_not_found", "no_such_tool"]);
}
