//! Result types that are learned from calls, for tools that declare none.

use mux_tests::TestEnv;
use serde_json::{Value, json};

/// Calls the echo tool, which declares no result type and returns the value.
fn said(env: &TestEnv, value: &Value) {
    let text = serde_json::to_string(&value.to_string()).unwrap();
    let code = format!("return await mux.fix.echo({{ text: {text} }})");
    assert_eq!(env.result(&code), *value);
}

/// The output of `mux types`, once it contains `part`: types are learned concurrently with the call.
#[track_caller]
fn types_with(env: &TestEnv, part: &str) -> String {
    for _ in 0..200 {
        let types = env.mux(["types", "fix.echo"]).ok().stdout;
        if types.contains(part) {
            return types;
        }
    }
    let types = env.mux(["types", "fix.echo"]).ok().stdout;
    panic!("no {part:?} in\n{types}");
}

#[test]
fn types_of_results_are_learned_kept_over_restarts_and_forgotten() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let types = env.mux(["types", "fix.echo"]).ok().stdout;
    assert!(types.contains("echo(args: { text: string });"), "{types}");

    said(&env, &json!({ "id": 1, "name": "secret-a" }));
    let types = types_with(&env, "observed in 1 call;");
    assert!(
        types.contains("Promise<Seen<{ id: number; name: string }>>"),
        "{types}"
    );
    said(&env, &json!({ "id": "secret-b" }));
    let types = types_with(&env, "observed in 2 calls;");
    assert!(types.contains("id: string | number"), "{types}");
    assert!(types.contains("name?: string"), "{types}");

    // The observed type is also shown with the tool.
    let tools = env.mux(["--json", "tools", "returns its text"]).ok().json();
    let echo = &tools["tools"][0];
    assert_eq!(echo["observed_calls"], 2);
    assert!(
        echo["signature"]
            .as_str()
            .unwrap()
            .contains("name?: string"),
        "{echo:#}"
    );
    let shown = env.mux(["tools", "fix.echo"]).ok().stdout;
    assert!(shown.contains("observed in 2 calls"), "{shown}");
    assert!(env.mux(["types"]).ok().stdout.contains("name?: string"));

    // The next daemon knows the types, and no value is in the cache.
    env.stop();
    let kept = env.dirs.cache.clone();
    assert!(!holds(&kept, b"secret-"), "a value is in {kept:?}");
    let types = types_with(&env, "observed in 2 calls;");
    assert!(types.contains("name?: string"), "{types}");

    let output = env.mux(["types", "--forget", "fix.echo"]).ok();
    assert_eq!(output.stdout, "forgotten: the result types of 1 tool\n");
    types_with(&env, "echo(args: { text: string });");
    let output = env.mux(["--json", "types", "--forget"]).ok();
    assert_eq!(output.json(), json!({ "tools": 0 }));
    env.mux(["types", "--forget", "nobody"])
        .fails(1, &["there is no server `nobody`"]);
}

#[test]
fn tool_that_answers_in_text_goes_on_doing_so_after_a_restart() {
    let env = TestEnv::with_fixtures(&[("yaml", &[]), ("data", &[]), ("void", &[])]);
    let read = |server: &str, text: &str| {
        let code = format!("return await mux.{server}.echo({{ text: mux.input }})");
        let input = json!(text).to_string();
        let run = env
            .mux(["--json", "run", "--input", &input, "-e", &code])
            .ok();
        run.json()["result"].clone()
    };
    let signature = |server: &str| {
        let shown = env
            .mux(["--json", "tools", "--server", server, "echo"])
            .ok();
        shown.json()["tools"][0]["signature"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(read("yaml", "- id: 1"), "- id: 1");
    assert_eq!(read("data", "[{\"id\":1}]"), json!([{ "id": 1 }]));
    assert_eq!(read("void", "None"), Value::Null);
    for _ in 0..2 {
        for text in ["[]", "{}", "None", "", "[1]"] {
            assert_eq!(read("yaml", text), text);
        }
        assert_eq!(read("data", "[]"), json!([]));
        assert_eq!(read("data", "nothing"), "nothing");
        assert_eq!(read("data", "[2]"), json!([2]));
        assert_eq!(read("void", ""), Value::Null);
        let told = signature("yaml");
        assert!(told.ends_with("): Promise<string>"), "{told}");
        // The next daemon reads on in the same way.
        env.stop();
    }
    let told = signature("void");
    assert!(told.ends_with("): Promise</* observed */ null>"), "{told}");
    assert!(signature("data").contains("Promise</* observed */ "));
    env.mux(["types", "--forget", "yaml.echo"]).ok();
    assert_eq!(read("yaml", "[1]"), json!([1]));
}

fn holds(folder: &std::path::Path, what: &[u8]) -> bool {
    let mut stack = vec![folder.to_owned()];
    while let Some(folder) = stack.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                stack.push(path);
            } else if std::fs::read(&path)
                .unwrap()
                .windows(what.len())
                .any(|window| window == what)
            {
                return true;
            }
        }
    }
    false
}
