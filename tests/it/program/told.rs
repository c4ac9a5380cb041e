//! The output for users and agents about a step program.

use std::fs;

use mux_tests::{Agent, TestEnv, env::compiler, program_result};
use serde_json::{Value, json};

fn pool() -> TestEnv {
    TestEnv::with_fixtures(&[("fix", &[])])
}

fn greeting() -> Value {
    json!({ "steps": [
        { "id": "who", "tool": "fix.echo", "args": { "text": "{{input.name}}" } },
        { "id": "hello", "tool": "fix.echo", "args": { "text": "hello {{who.result}}" } },
    ] })
}

#[test]
fn program_is_read_from_file_stdin_and_command_line() {
    fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["program", "--input", "{\"name\": \"you\"}"], more].concat()
    }

    let env = pool();
    let file = env.path("hello.json");
    let text = greeting().to_string();
    fs::write(&file, &text).unwrap();
    for output in [
        env.mux(with(&[file.to_str().unwrap()])),
        env.mux(with(&["-e", &text])),
        env.mux_with_input(with(&["-"]), text.as_bytes()),
    ] {
        assert_eq!(output.ok().stdout, "hello you\n");
    }
}

#[test]
fn syntax_error_names_its_line() {
    let env = pool();
    let output = env.mux(["program", "-e", "{\n  \"steps\": [}\n"]);
    output.fails(4, &["not JSON", "program:2:13"]);
    let output = env.mux(["program", "no-such-file.json"]);
    output.fails(2, &["no-such-file.json", "a JSON file"]);
    assert!(env.starts("fix").is_empty());
}

#[test]
fn explain_prints_typescript_and_starts_no_server() {
    let env = pool();
    let output = env
        .mux(["program", "--explain", "-e", &greeting().to_string()])
        .ok();
    assert_eq!(
        output.stdout,
        "const text = (value: unknown) => typeof value === \"string\" ? value : JSON.stringify(value);\n\
         const who = await mux.fix.echo({ text: mux.input.name });\n\
         const hello = await mux.fix.echo({ text: `hello ${text(who)}` });\n\
         return hello;\n"
    );
    assert!(env.starts("fix").is_empty());
    let wrong =
        json!({ "steps": [{ "id": "a", "tool": "fix.echo", "args": { "text": "{{b}}" } }] });
    let output = env.mux(["program", "--explain", "-e", &wrong.to_string()]);
    output.fails(4, &["there is no step `b`"]);
}

#[test]
fn references_are_type_checked_before_the_first_call() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!("{fix}[check]\ntsc = {:?}\n", compiler()));
    let program = json!({ "steps": [
        { "id": "a", "tool": "fix.add", "args": { "a": 1, "b": 2 } },
        { "id": "b", "tool": "fix.echo", "args": { "text": "{{a.total}}" } },
    ] });
    let document = env
        .mux(["--json", "program", "-e", &program.to_string()])
        .json();
    let warning = &document["warnings"][0];
    let message = warning["message"].as_str().unwrap();
    assert!(
        message.starts_with("step `b`: ") && message.contains("'total'"),
        "{warning}"
    );
    assert_eq!(document["error"]["kind"], "runtime");
    let output = document["error"]["hint"].as_str().unwrap();
    assert!(output.contains("sum: number"), "{output}");
    // `--no-check` disables the check.
    let document = env
        .mux([
            "--json",
            "program",
            "--no-check",
            "-e",
            &program.to_string(),
        ])
        .json();
    assert_eq!(document["warnings"], json!([]));
}

#[test]
fn agent_runs_steps_and_gets_the_result_of_each() {
    let env = pool();
    for mut agent in [
        Agent::legacy(&env, &[], json!({})),
        Agent::modern(&env, &[], json!({})),
    ] {
        let mut arguments = greeting();
        arguments["input"] = json!({ "name": "you" });
        let result = agent.call("run_program", arguments);
        let said = result["content"][0]["text"].as_str().unwrap();
        assert!(
            said.contains(">\nhello you\nsteps:\nwho fix.echo ok, 5 bytes"),
            "{said}"
        );

        let steps = json!([{ "id": "a", "tool": "fix.fail", "args": { "message": "no" } }]);
        let result = agent.call("run_program", json!({ "steps": steps }));
        assert_eq!(result["isError"], true);
        let output = result["content"][0]["text"].as_str().unwrap();
        assert!(output.contains("\nstep `a` failed: no\n"), "{output}");
        assert!(
            output.contains("steps:\na fix.fail failed: tool: no"),
            "{output}"
        );
    }
}

#[test]
fn agent_resumes_a_detached_program_of_steps() {
    let env = pool();
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let mut arguments = greeting();
    arguments["detach"] = json!(true);
    arguments["input"] = json!({ "name": "you" });
    let result = agent.call("run_program", arguments);
    let run = program_result::running(&result);
    let ended = agent.call("resume", json!({ "run": run }));
    assert_eq!(program_result::value(&ended), "hello you");
    let mut programs = Agent::legacy(&env, &["--structured"], json!({}));
    let mut arguments = greeting();
    arguments["input"] = json!({ "name": "you" });
    let ended = programs.call("run_program", arguments);
    assert_eq!(ended["content"], json!([]));
    assert_eq!(ended["structuredContent"]["result"], "hello you");
    assert_eq!(
        ended["structuredContent"]["steps"][1]["result"],
        "hello you"
    );
    assert_eq!(
        ended["structuredContent"]["steps"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}
