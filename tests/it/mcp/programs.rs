//! Programs and discovery for an agent, in both eras.

use mux_tests::{Agent, TestEnv, program_result};
use serde_json::{Value, json};

use super::text;

const OWN: &[&str] = &[
    "run",
    "search",
    "describe",
    "call",
    "read",
    "resume",
    "run_program",
];

fn pool() -> TestEnv {
    TestEnv::with_fixtures(&[("fix", &[])])
}

fn agents(env: &TestEnv) -> [Agent; 2] {
    [
        Agent::legacy(env, &[], json!({})),
        Agent::modern(env, &[], json!({})),
    ]
}

#[test]
fn agent_gets_builtin_tools_and_an_inventory() {
    let env = pool();
    for mut agent in agents(&env) {
        assert_eq!(agent.tools(), OWN);
        let listed = agent.ask("tools/list", json!({}));
        let run = &listed["tools"][0];
        // An agent that is not known gets the careful profile.
        let code = &run["inputSchema"]["properties"]["code"]["description"];
        let code = code.as_str().unwrap();
        assert!(
            code.contains("\nCOMPLETE: ") && code.contains("fix.echo("),
            "{code}"
        );
        let description = run["description"].as_str().unwrap();
        assert!(
            description.contains("fix (") && description.len() < 2_000,
            "{description}"
        );
        assert_eq!(run["annotations"]["readOnlyHint"], false);
        assert_eq!(listed["tools"][1]["annotations"]["readOnlyHint"], true);
    }
}

#[test]
fn program_result_is_text_or_structured_content_and_never_both() {
    let env = pool();
    for mut agent in agents(&env) {
        let code = "const all = await Promise.all([1, 2].map(b => mux.fix.add({ a: mux.input.a, b })));\n\
                    return all.map(x => x.sum);";
        let arguments = json!({ "code": code, "input": { "a": 40 } });
        let result = agent.call("run", arguments);
        assert_eq!(program_result::value(&result), json!([41, 42]));
        assert!(result.get("structuredContent").is_none(), "{result}");
        assert_eq!(result["isError"], false);
    }
    let mut program = Agent::legacy(&env, &["--structured"], json!({}));
    let listed = program.ask("tools/list", json!({}));
    assert_eq!(
        listed["tools"][0]["outputSchema"]["required"],
        json!(["state"])
    );
    let code = "console.log('hi'); mux.emit(await mux.fix.image({})); return 41";
    let result = program.call("run", json!({ "code": code, "check": false }));
    let document = &result["structuredContent"];
    assert_eq!(document["result"], 41);
    assert_eq!(document["console"], json!(["hi"]));
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
    assert_eq!(result["content"][0]["type"], "image");
}

#[test]
fn failed_program_reports_its_output_and_earlier_calls() {
    let env = pool();
    let mut agent = Agent::legacy(&env, &["--structured"], json!({}));
    let code = "console.log('before');\nawait mux.fix.fail({ message: 'first' }).catch(() => 0);\n\
        await mux.fix.fail({ message: 'no' });";
    let result = agent.call("run", json!({ "code": code }));
    assert_eq!(result["isError"], true);
    let output = text(&result);
    for part in [
        "tool: no",
        "at line 3",
        "before",
        "before that, 1 other call ended, 1 of them with an error",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let error = &result["structuredContent"]["error"];
    assert_eq!(
        (&error["kind"], &error["path"]),
        (&json!("tool"), &json!("fix.fail"))
    );
}

#[test]
fn running_program_sends_progress_notifications() {
    let env = pool();
    for mut agent in agents(&env) {
        let arguments =
            json!({ "code": "console.log('step'); return await mux.fix.echo({ text: 'x' })" });
        let asked = json!({
            "name": "run", "arguments": arguments, "_meta": { "progressToken": "p-1" },
        });
        let result = agent.ask("tools/call", asked);
        assert_eq!(program_result::value(&result), "x");
        let output = agent
            .heard
            .iter()
            .filter(|m| m["method"] == "notifications/progress");
        let output: Vec<&Value> = output.map(|m| &m["params"]).collect();
        let messages: Vec<&str> = output
            .iter()
            .filter_map(|p| p["message"].as_str())
            .collect();
        assert!(messages.contains(&"step"), "{messages:?}");
        assert!(messages.contains(&"fix.echo"), "{messages:?}");
        let numbers: Vec<f64> = output
            .iter()
            .filter_map(|p| p["progress"].as_f64())
            .collect();
        assert!(
            numbers.windows(2).all(|pair| pair[0] < pair[1]),
            "{numbers:?}"
        );
        assert!(output.iter().all(|p| p["progressToken"] == "p-1"));
    }
}

#[test]
fn an_image_is_passed_through() {
    let env = pool();
    for mut agent in agents(&env) {
        let result = agent.call(
            "run",
            json!({ "code": "mux.emit(await mux.fix.image({}))" }),
        );
        let content = result["content"].as_array().unwrap();
        let image = content.iter().find(|part| part["type"] == "image").unwrap();
        assert_eq!(image["mimeType"], "image/png");
        let direct = agent.call("call", json!({ "path": "fix.image" }));
        assert_eq!(&direct["content"][0], image);
    }
}

#[test]
fn long_result_is_stored_and_read_in_parts() {
    let env = pool();
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let code = "return { text: 'ab'.repeat(200000) }";
    let result = agent.call("run", json!({ "code": code }));
    let handle = program_result::handle(&result);
    assert!(text(&result).contains("abab\"}"), "{result}");
    let part = agent.call(
        "read",
        json!({ "handle": handle, "offset": 9, "length": 4 }),
    );
    assert!(
        text(&part).starts_with("abab\nbytes 9 to 13 of 400011"),
        "{part}"
    );
    let back = format!("return (await mux.read('{handle}')).text.length");
    assert_eq!(agent.run(&back), 400_000);
    let gone = agent.call("read", json!({ "handle": format!("h_{}", "0".repeat(32)) }));
    assert_eq!(gone["isError"], true);
}

#[test]
fn a_detached_run_is_resumed() {
    let env = pool();
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let code = "return await mux.fix.barrier({ name: 'b', parties: 2 })";
    let started = agent.call("run", json!({ "code": code, "detach": true }));
    let run = program_result::running(&started);
    let still = agent.call("resume", json!({ "run": run, "wait_seconds": 0 }));
    assert_eq!(program_result::running(&still), run);
    let other = agent.call(
        "call",
        json!({ "path": "fix.barrier", "arguments": { "name": "b", "parties": 2 } }),
    );
    assert_ne!(other["isError"], true, "{other}");
    let ended = agent.call("resume", json!({ "run": run }));
    assert_eq!(program_result::value(&ended), "2 were waiting at b");
    let unknown = agent.call("resume", json!({ "run": "nope-1" }));
    assert!(text(&unknown).starts_with("not_found"), "{unknown}");
}

#[test]
fn cancelled_request_cancels_the_call_of_its_program() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let path = log.path().to_str().unwrap();
    let env = TestEnv::with_fixtures(&[("fix", &["--call-log", path]), ("probe", &[])]);
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let arguments = json!({ "code": "await mux.fix.hang({})" });
    let id = agent.begin(
        "tools/call",
        json!({ "name": "run", "arguments": arguments }),
    );
    env.until_called(log.path(), "hang", 1, "probe.pid");
    agent.notify("notifications/cancelled", json!({ "requestId": id }));
    // The server reports which requests were cancelled.
    let code =
        "for (;;) { const ids = await mux.fix.cancelled({}); if (ids.length > 0) return ids; }";
    let cancelled = agent.run(code);
    assert_eq!(cancelled.as_array().unwrap().len(), 1, "{cancelled}");
    let runs = env.mux(["--json", "runs"]).ok().json();
    let kinds: Vec<&Value> = runs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["error"]["kind"])
        .collect();
    assert!(kinds.contains(&&json!("cancelled")), "{runs}");
}

#[test]
fn tools_are_found_and_described() {
    let env = pool();
    for mut agent in agents(&env) {
        let found = agent.call("search", json!({ "query": "add numbers", "limit": 3 }));
        assert!(text(&found).contains("fix.add("), "{found}");
        let described = agent.call("describe", json!({ "paths": ["fix.add", "fix.ad"] }));
        let output = text(&described);
        assert!(
            output.contains("sum: number") && output.contains("fix.ad`"),
            "{output}"
        );
        let wrong = agent.call("describe", json!({ "path": "fix.add" }));
        assert!(text(&wrong).starts_with("validation"), "{wrong}");
        assert_eq!(wrong["isError"], true);
    }
}

#[test]
fn the_guide_is_a_resource_and_a_prompt() {
    let env = pool();
    for mut agent in agents(&env) {
        let guide = agent.ask("resources/read", json!({ "uri": "mux://guide" }));
        let guide = guide["contents"][0]["text"].as_str().unwrap().to_owned();
        assert!(guide.contains("Promise.all"));
        let prompt = agent.ask("prompts/get", json!({ "name": "mux_guide" }));
        assert_eq!(prompt["messages"][0]["content"]["text"], guide);
        let error = agent.refused("resources/read", json!({ "uri": "file:///etc/passwd" }));
        assert!(
            error["message"].as_str().unwrap().contains("mux://"),
            "{error}"
        );
    }
}
