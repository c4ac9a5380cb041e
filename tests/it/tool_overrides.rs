//! Overrides of tools: what everyone who uses a tool through muxd calls it, and which arguments it is given.

use mux_tests::{Agent, TestEnv, env::compiler};
use serde_json::json;

/// The tool `add` as `plus_one`, with `b` fixed, and `more` configuration.
fn home(more: &str) -> TestEnv {
    let env = TestEnv::new();
    let server = env.fixture("fix", &[]);
    env.write_config(&format!(
        "{server}[servers.fix.override.add]\nname = \"plus_one\"\ndescription = \"Adds one.\"\nfixed = {{ b = 1 }}\n\
         [servers.fix.override.echo]\ndefaults = {{ text = \"hello\" }}\n[check]\ntsc = {:?}\n{more}",
        compiler()
    ));
    env
}

#[test]
fn overridden_tool_is_listed_checked_and_called_under_its_new_name() {
    let env = home("");
    env.mux(["tools"]).ok();
    assert_eq!(
        env.result("return await mux.fix.plus_one({ a: 2 })"),
        json!({ "sum": 3 })
    );
    assert_eq!(env.result("return await mux.fix.echo({})"), "hello");
    assert_eq!(
        env.result("return await mux.fix.echo({ text: 'me' })"),
        "me"
    );
    let shown = env.mux(["types", "fix.plus_one"]).ok().stdout;
    assert!(
        shown.contains("Adds one.") && !shown.contains(" b: "),
        "{shown}"
    );
    for (code, kind, words) in [
        ("await mux.fix.add({ a: 1, b: 2 })", "type", "add"),
        (
            "await mux.fix.plus_one({ a: 1, b: 2 })",
            "validation",
            "is fixed by the override of fix.add",
        ),
        (
            "await (mux as any)['fix.add']({ a: 1 })",
            "not_found",
            "fix.add",
        ),
        (
            "await (mux as any).fix.plus_one({ a: 1, B: 2 })",
            "validation",
            "is fixed by the override of fix.add",
        ),
    ] {
        let error = env.error(code);
        assert_eq!(error["kind"], kind, "{code}: {error}");
        assert!(error.to_string().contains(words), "{code}: {error}");
    }
    env.mux(["call", "fix.plus_one", "a=4"]).ok();
    env.mux(["call", "fix.plus_one", "a=4", "b=1"])
        .fails(1, &["is fixed by the override of fix.add"]);
    let log = env.mux(["audit", "--json"]).ok().stdout;
    assert!(
        log.contains("fix.plus_one") && !log.contains("\"path\":\"fix.add\""),
        "{log}"
    );
}

#[test]
fn rules_apply_to_the_arguments_that_are_sent_and_to_both_names() {
    let env = home(
        "[[policy]]\nmatch = \"fix.plus_one\"\narguments = { b = 1 }\naction = \"deny\"\nreason = \"by value\"\n",
    );
    env.mux(["call", "fix.plus_one", "a=1"])
        .fails(5, &["by value"]);
    let env = home("[[policy]]\nmatch = \"fix.add\"\naction = \"deny\"\nreason = \"by name\"\n");
    env.mux(["call", "fix.plus_one", "a=1"])
        .fails(5, &["by name"]);
}

#[test]
fn agents_get_the_overridden_tool() {
    let env = home("");
    let mut agent = Agent::legacy(&env, &["--passthrough=fix"], json!({}));
    let tools = agent.ask("tools/list", json!({}));
    let tools = tools["tools"].as_array().unwrap();
    let tool = tools
        .iter()
        .find(|tool| tool["name"] == "plus_one")
        .unwrap();
    assert_eq!(tool["description"], "Adds one.");
    assert_eq!(tool["inputSchema"]["properties"].get("b"), None);
    assert!(tools.iter().all(|tool| tool["name"] != "add"));
    let sum = agent.ask(
        "tools/call",
        json!({ "name": "plus_one", "arguments": { "a": 5 } }),
    );
    assert_eq!(sum["structuredContent"], json!({ "sum": 6 }));
}

#[test]
fn mistake_in_an_override_withholds_that_tool_and_names_line_and_fix() {
    let env = TestEnv::new();
    let server = env.fixture("fix", &[]);
    let lines = server.lines().count();
    env.write_config(&format!(
        "{server}[servers.fix.override.echo]\nnam = \"say\"\n[servers.fix.override.add]\nfixed = {{ b = \"one\" }}\n"
    ));
    let checked = env.mux(["config", "check"]);
    let line = format!("config.toml:{}: ", lines + 1);
    checked.fails(
        1,
        &[&line, "did you mean `name`?", "the tool is not offered"],
    );
    let listed = env.mux(["tools", "--server", "fix"]).ok();
    assert!(
        listed
            .stderr
            .contains("`fixed.b` must be of the type number"),
        "{listed:#?}"
    );
    for tool in ["fix.echo", "fix.add"] {
        env.mux(["call", tool, "a=1"]).fails(1, &["no tool"]);
    }
    env.mux(["call", "fix.sleep", "ms=0"]).ok();
    // The server's tools are known now.
    let line = format!("config.toml:{}: ", lines + 3);
    env.mux(["config", "check"]).fails(
        1,
        &[
            &line,
            "[servers.fix.override.add]: `fixed.b` must be of the type number",
        ],
    );
    env.write_config(&format!(
        "{server}[servers.fix.override.echoo]\nname = \"say\"\n[servers.fix.override.add]\nname = \"sleep\"\n"
    ));
    env.mux(["config", "check"]).fails(
        1,
        &[
            "the server lists no such tool (did you mean \"echo\"?)",
            "another tool that is called \"sleep\"",
        ],
    );
}

#[test]
fn override_is_written_and_removed_by_a_command() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let before = std::fs::read_to_string(env.dirs.config_file()).unwrap();
    env.mux([
        "tools", "override", "fix.add", "--name", "plus_one", "--fix", "b=1",
    ])
    .ok();
    assert_eq!(
        env.mux(["call", "fix.plus_one", "a=2"]).ok().json(),
        json!({ "sum": 3 })
    );
    env.mux([
        "tools",
        "override",
        "fix.add",
        "--default",
        "a=1",
        "--annotation",
        "read_only=true",
    ])
    .ok();
    assert_eq!(
        env.mux(["call", "fix.plus_one"]).ok().json(),
        json!({ "sum": 2 })
    );
    env.mux(["tools", "override", "fix.add"])
        .fails(1, &["no change was given"]);
    env.mux([
        "tools",
        "override",
        "fix.add",
        "--annotation",
        "destroys=true",
    ])
    .fails(1, &["destroys"]);
    env.mux(["tools", "override", "other.add", "--name", "x"])
        .fails(1, &["no server or source `other`"]);
    env.mux(["tools", "override", "fix.add", "--remove"]).ok();
    assert_eq!(
        std::fs::read_to_string(env.dirs.config_file()).unwrap(),
        before
    );
    env.mux(["tools", "override", "fix.add", "--remove"])
        .fails(1, &["has no override"]);
    assert_eq!(
        env.mux(["call", "fix.add", "a=2", "b=2"]).ok().json(),
        json!({ "sum": 4 })
    );
}
