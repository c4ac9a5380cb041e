//! Texts for agents: tools that are meant for them, hints that they can follow, and helpful answers.

use std::fs;

use mux_tests::{Agent, TestEnv, program_result};
use serde_json::{Value, json};
use tiktoken_rs::cl100k_base_singleton;

use super::text;

fn pool() -> TestEnv {
    TestEnv::with_fixtures(&[("fix", &[])])
}

fn agent(env: &TestEnv) -> Agent {
    Agent::legacy(env, &["--profile", "whole"], json!({}))
}

/// The description of the first tool, which is `run`.
fn described(agent: &mut Agent) -> String {
    let listed = agent.ask("tools/list", json!({}));
    let run = &listed["tools"][0];
    let texts = [
        &run["description"],
        &run["inputSchema"]["properties"]["code"]["description"],
    ];
    texts.map(|text| text.as_str().unwrap()).join("\n")
}

#[test]
fn tools_for_apps_are_hidden_from_models() {
    let env = TestEnv::new();
    let changes = env.path("changes.json");
    let for_apps = json!({ "pid": { "list": { "_meta": { "ui": { "visibility": ["app"] } } } } });
    fs::write(&changes, for_apps.to_string()).unwrap();
    env.write_config(&env.fixture("fix", &["--changes", changes.to_str().unwrap()]));
    let mut agent = agent(&env);
    let run = described(&mut agent);
    assert!(
        run.contains("fix.echo(") && !run.contains("fix.pid("),
        "{run}"
    );
    let found = text(&agent.call("search", json!({ "query": "process id pid" })));
    assert!(!found.contains("fix.pid"), "{found}");
    let all = text(&agent.call("describe", json!({ "paths": ["fix"] })));
    assert!(
        all.contains("fix.echo(") && !all.contains("fix.pid("),
        "{all}"
    );
    let code = "return [Object.keys(mux.fix), (await mux.catalog.tools({ limit: 100 })).results.map(t => t.path)]";
    let run = agent.call("run", json!({ "code": code }));
    assert!(
        !program_result::value(&run).to_string().contains("pid\""),
        "{run}"
    );
    let types = env.mux(["types", "fix"]).ok().stdout;
    assert!(
        types.contains("echo(") && !types.contains("pid("),
        "{types}"
    );

    // A client that can show apps gets the tool with its metadata.
    let mut through = Agent::legacy(&env, &["--passthrough=fix"], json!({}));
    let listed = through.ask("tools/list", json!({}));
    let tools = listed["tools"].as_array().unwrap();
    let pid = tools.iter().find(|tool| tool["name"] == "pid").unwrap();
    assert_eq!(pid["_meta"]["ui"]["visibility"], json!(["app"]));
    assert_ne!(through.call("pid", json!({}))["isError"], true);

    let usual = env.mux(["tools"]).ok().stdout;
    assert!(!usual.contains("fix.pid"), "{usual}");
    let all = env.mux(["tools", "--all"]).ok().stdout;
    let line = all.lines().find(|line| line.contains("fix.pid")).unwrap();
    assert!(line.ends_with("for apps only"), "{line}");
    env.mux(["call", "fix.pid"]).ok();
}

/// Returns true if the text names a `mux` command outside of the parts that are for the user.
fn names_a_command(output: &str) -> bool {
    let (first, rest) = output.split_once("for the user: ").unwrap_or((output, ""));
    let after = rest.split_once(['"', '\n']).map_or("", |(_, after)| after);
    first.contains("`mux ") || (!after.is_empty() && names_a_command(after))
}

#[test]
fn agents_get_no_command_line_hints() {
    let env = pool();
    let mut agent = agent(&env);
    let unknown = agent.call("call", json!({ "path": "fix.zzzzzzzz", "args": {} }));
    let code = "try { await mux.call('fix.zzzzzzzz', {}) } catch (e) { return e.hint }";
    let caught = agent.call("run", json!({ "code": code }));
    let uncaught = agent.call(
        "run",
        json!({ "code": "return await mux.call('fix.zzzzzzzz', {})" }),
    );
    for result in [unknown, caught, uncaught] {
        let output = result.to_string();
        assert!(
            output.contains("describe(") && output.contains("shows its tools"),
            "{output}"
        );
        assert!(!names_a_command(&output), "{output}");
    }
    let run = agent.call("resume", json!({ "run": "r-none" }));
    assert!(!run.to_string().contains("`mux "), "{run}");
    let endless = agent.call(
        "run",
        json!({ "code": "for (;;) await null", "timeout_seconds": 1 }),
    );
    let output = endless.to_string();
    assert!(
        output.contains("timeout_seconds") && !output.contains("--timeout"),
        "{output}"
    );

    // On the command line these hints name commands.
    let complaint = env.mux(["call", "fix.zzzzzzzz"]);
    assert!(
        complaint.stderr.contains("`mux tools --server fix`"),
        "{complaint:#?}"
    );
    let error = env.error("await mux.call('fix.zzzzzzzz', {})");
    assert!(
        error.to_string().contains("`mux tools --server fix`"),
        "{error}"
    );
}

#[test]
fn args_and_arguments_are_both_accepted() {
    let env = pool();
    let mut agent = agent(&env);
    for name in ["args", "arguments"] {
        let called = agent.call(
            "call",
            json!({ "path": "fix.echo", name: { "text": "hi" } }),
        );
        assert_eq!(text(&called), "hi", "{name}");
        let steps = json!([{ "id": "a", "tool": "fix.echo", name: { "text": "hi" } }]);
        let run = agent.call("run_program", json!({ "steps": steps }));
        assert_eq!(program_result::value(&run), "hi");
    }
}

#[test]
fn search_without_results_suggests_next_steps() {
    let env = pool();
    let mut agent = agent(&env);
    described(&mut agent);
    let found = text(&agent.call("search", json!({ "query": "qqqqzzzz" })));
    assert!(
        found.starts_with("No tool matches \"qqqqzzzz\". Try other or fewer words"),
        "{found}"
    );
    let found = text(&agent.call("search", json!({ "query": "qqqqzzzz", "server": "fix" })));
    assert!(
        found.contains("describe \"fix\" shows all of its tools"),
        "{found}"
    );
    let one = text(&agent.call("search", json!({ "query": "side_effect", "limit": 1 })));
    assert!(one.contains("fix.side_effect("), "{one}");
}

#[test]
fn used_tool_keeps_its_signature_in_a_partial_inventory() {
    for (tools, begins) in [
        ("150", " shows the others."),
        ("2000", " finds the others."),
    ] {
        let env = TestEnv::with_fixtures(&[("fix", &["--tools", tools])]);
        // A list of an agent does not wait for a slow machine.
        env.mux(["tools", "--limit", "0"]).ok();
        // Only its use ranks this tool higher.
        let name = "fix.stderr";
        let line = format!("\n {name}(");
        let mut first = agent(&env);
        let output = described(&mut first);
        assert!(
            output.contains(begins) && !output.contains(&line),
            "{output}"
        );
        first.call("call", json!({ "path": name, "args": { "lines": 0 } }));
        drop(first);
        env.stop();
        env.mux(["tools", "--limit", "0"]).ok();
        let output = described(&mut agent(&env));
        assert!(
            output.contains(begins) && output.contains(&line),
            "{output}"
        );
    }
}

#[test]
fn search_answer_has_a_limited_size_and_continues_with_its_cursor() {
    let env = TestEnv::with_fixtures(&[("fix", &["--tools", "150"])]);
    let mut agent = agent(&env);
    described(&mut agent);
    let mut cursor = None;
    let mut found = Vec::new();
    let total = loop {
        let asked = json!({ "query": "synthetic", "limit": 100, "cursor": cursor });
        let page = text(&agent.call("search", asked));
        let tokens = cl100k_base_singleton().encode_ordinary(&page).len();
        assert!(tokens <= 1_500, "{tokens}: {page}");
        let tools = page.lines().filter(|line| line.starts_with("fix."));
        let tools: Vec<String> = tools.map(str::to_owned).collect();
        let begins = format!("{} of ", tools.len());
        let total = page
            .strip_prefix(&begins)
            .and_then(|rest| rest.split_once(" tools:"))
            .unwrap_or_else(|| panic!("{page}"))
            .0
            .to_owned();
        found.extend(tools);
        let next = page
            .lines()
            .find_map(|line| line.strip_prefix("for more, pass cursor "));
        cursor = next.map(str::to_owned);
        if cursor.is_none() {
            break total;
        }
    };
    found.sort();
    found.dedup();
    assert!(found.len() >= 150, "{found:?}");
    assert_eq!(total, found.len().to_string());
}

#[test]
fn long_structured_result_is_stored_once() {
    let env = TestEnv::new();
    let changes = env.path("changes.json");
    let long = "x".repeat(600_000);
    let result: Value = json!({
        "content": [{ "type": "text", "text": long }],
        "structuredContent": { "result": long },
    });
    fs::write(&changes, json!({ "pid": { "result": result } }).to_string()).unwrap();
    env.write_config(&env.fixture("fix", &["--changes", changes.to_str().unwrap()]));
    let mut agent = agent(&env);
    let output = text(&agent.call("call", json!({ "path": "fix.pid" })));
    let bytes = output
        .split(' ')
        .find_map(|word| word.parse::<usize>().ok())
        .unwrap();
    assert!((600_000..610_000).contains(&bytes), "{output}");
    // `--raw` gives the unchanged result of the server.
    let whole = env.mux(["call", "fix.pid", "--raw"]).ok().stdout;
    assert!(whole.len() > 1_200_000, "{}", whole.len());
}
