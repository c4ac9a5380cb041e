//! The output of `mux mcp` for an agent of each profile is complete, stays true after the agent has cut it, and is
//! within the agent's result size. `real_agents` tries the same with the agents' own programs.

use mux_tests::{
    Agent, TestEnv, program_result,
    real_agents::{Inventory, Profile},
};
use serde_json::{Value, json};

/// The length of a description that every agent passes on.
const HEAD_CHARS: usize = 2_000;

fn home(tools: &str) -> TestEnv {
    let servers: Vec<String> = (0..10).map(|n| format!("server{n}")).collect();
    let args = ["--tools", tools];
    let fixtures: Vec<(&str, &[&str])> = servers
        .iter()
        .map(|name| (name.as_str(), &args[..]))
        .collect();
    TestEnv::with_fixtures(&fixtures)
}

fn agent(env: &TestEnv, profile: &Profile) -> Agent {
    Agent::legacy(env, &["--profile", &profile.name], json!({}))
}

/// The first characters of a text, as JavaScript counts them.
fn cut(text: &Value, chars: Option<usize>) -> String {
    let text = text.as_str().unwrap();
    let units: Vec<u16> = text
        .encode_utf16()
        .take(chars.unwrap_or(usize::MAX))
        .collect();
    String::from_utf16_lossy(&units)
}

/// The definition of `run` after the agent has cut it.
fn passed_on(run: &Value, profile: &Profile) -> Value {
    let code = &run["inputSchema"]["properties"]["code"]["description"];
    json!([
        cut(&run["description"], profile.description_chars),
        cut(code, profile.parameter_chars),
    ])
}

#[test]
fn every_profile_is_told_the_truth_about_its_inventory() {
    for tools in ["3", "600"] {
        let env = home(tools);
        // Connects all servers.
        env.mux(["tools", "--limit", "0"]).ok();
        let inventory = Inventory::of(&env);
        for profile in Profile::all_known() {
            let mut agent = agent(&env, &profile);
            let listed = agent.ask("tools/list", json!({}));
            let run = &listed["tools"][0];
            assert!(run.get("outputSchema").is_none(), "{}", profile.name);
            let seen = passed_on(run, &profile);
            let claimed = inventory.claimed_in(&seen);
            assert_eq!(
                claimed,
                Some(inventory.shown_in(&seen)),
                "{}: {seen:#}",
                profile.name
            );
            let head = cut(&run["description"], Some(HEAD_CHARS));
            for part in ["TypeScript program", "`return`", "`read`", "<untrusted"] {
                assert!(head.contains(part), "{part} {}: {head}", profile.name);
            }
            for number in 0..10 {
                let server = format!("server{number} (");
                assert!(head.contains(&server), "{server} {}: {head}", profile.name);
            }
            assert_eq!(
                seen.to_string().matches("COMPLETE").count()
                    + seen.to_string().matches("PARTIAL").count(),
                1,
                "{}: {seen:#}",
                profile.name
            );
        }
    }
}

#[test]
fn instructions_name_the_servers_in_their_first_line() {
    let env = TestEnv::with_fixtures(&[("files", &[]), ("my-mail", &[])]);
    let mut agent = Agent::start(env.command("mux").arg("mcp"));
    let opened = agent.ask(
        "initialize",
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "codex-mcp-client", "version": "0.171.0" },
        }),
    );
    let told = opened["instructions"].as_str().unwrap();
    let line = told.lines().next().unwrap();
    let line = &line[..line.floor_char_boundary(250)];
    assert!(line.contains("files, my-mail"), "{told}");
    let status = env.mux(["--json", "status"]).ok().json();
    assert_eq!(status["agents"][0]["profile"], "codex", "{status:#}");
}

#[test]
fn long_results_are_cut_to_what_the_reader_takes_and_read_whole() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    // Lines of 16 characters with their number.
    let code = "return Array.from({ length: 12000 }, (_, n) => `line ${String(n).padStart(10, '.')}`).join('\\n')";
    for profile in Profile::all_known() {
        let mut agent = agent(&env, &profile);
        let result = agent.call("run", json!({ "code": code, "check": false }));
        let most = profile.result_bytes.unwrap();
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.len() <= most, "{}: {}", profile.name, text.len());
        assert!(text.lines().count() <= profile.result_lines.unwrap_or(usize::MAX));
        for part in [
            "is 204000 bytes",
            "line .........0\n",
            "line .....11999",
            "bytes are left out here",
        ] {
            assert!(text.contains(part), "{part} {}: {text}", profile.name);
        }
        let handle = program_result::handle(&result);
        let back = format!("return (await mux.read('{handle}')).split('\\n').length");
        assert_eq!(agent.run(&back), 12_000, "{}", profile.name);
        let page = agent.call("read", json!({ "handle": handle, "length": 1_000_000 }));
        let text = page["content"][0]["text"].as_str().unwrap();
        assert!(text.len() <= most, "{}: {}", profile.name, text.len());
        assert!(text.contains("the next part starts at offset"), "{text}");
    }
}

#[test]
fn long_text_of_every_kind_is_cut_with_a_handle() {
    let env = TestEnv::with_fixtures(&[("fix", &["--tools", "60"])]);
    let mut agent = Agent::legacy(&env, &["--profile", "careful"], json!({}));
    let long = "0123456789".repeat(3_000);
    let echo = agent.call(
        "call",
        json!({ "path": "fix.echo", "args": { "text": long } }),
    );
    let failed = agent.call(
        "call",
        json!({ "path": "fix.fail", "args": { "message": long } }),
    );
    let logged = agent.call(
        "run",
        json!({ "code": format!("console.log('{long}'.repeat(2))") }),
    );
    let emitted = agent.call(
        "run",
        json!({ "code": format!("for (let n = 0; n < 3; n++) mux.emit({{ type: 'text', text: '{long}' }}); return 7") }),
    );
    let described = agent.call("describe", json!({ "paths": ["fix"] }));
    for (what, result) in [
        ("call", &echo),
        ("failed call", &failed),
        ("emitted", &emitted),
        ("describe", &described),
    ] {
        let content = result["content"].as_array().unwrap();
        let texts: Vec<&str> = content
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect();
        let text = texts.join("");
        assert!(text.len() <= 16_000, "{what}: {}", text.len());
        assert!(text.contains("stored as h_"), "{what}: {text}");
    }
    let handle = program_result::handle(&echo);
    assert_eq!(
        agent.run(&format!("return (await mux.read('{handle}')).length")),
        30_000
    );
    // A separate limit applies to the console, and its message says what to do.
    let logged = logged["content"][0]["text"].as_str().unwrap();
    assert!(
        logged.len() <= 16_000 && logged.contains("left out"),
        "{logged}"
    );
    assert!(
        emitted["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("\n7\n"),
        "{emitted}"
    );
    // Many short parts are cut together.
    let code =
        "for (let n = 0; n < 500; n++) mux.emit({ type: 'text', text: `part ${n} `.repeat(20) })";
    let many = agent.call("run", json!({ "code": code, "check": false }));
    let text = many["content"][0]["text"].as_str().unwrap();
    assert!(text.len() <= 16_000 && text.contains("part 499"), "{text}");
    let handle = program_result::handle(&many);
    let back = format!("return (await mux.read('{handle}')).includes('part 250')");
    assert_eq!(agent.run(&back), true);
}

#[test]
fn result_has_text_and_structured_content_of_a_server_once() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let sum = agent.call(
        "call",
        json!({ "path": "fix.add", "args": { "a": 1, "b": 2 } }),
    );
    assert_eq!(
        sum["content"],
        json!([{ "type": "text", "text": "{\"sum\":3}" }])
    );
    assert!(sum.get("structuredContent").is_none(), "{sum}");
    let mut program = Agent::legacy(&env, &["--structured"], json!({}));
    let sum = program.call(
        "call",
        json!({ "path": "fix.add", "args": { "a": 1, "b": 2 } }),
    );
    assert_eq!(sum["structuredContent"], json!({ "sum": 3 }));
}

#[test]
fn profile_of_the_configuration_replaces_that_of_the_name() {
    let env = TestEnv::new();
    let fixture = env.fixture("fix", &[]);
    env.write_config(&format!(
        "{fixture}[agents.small]\nprofile = \"claude-code\"\n[agents.odd]\nprofile = \"claud\"\n"
    ));
    let profile_of = |args: &[&str]| {
        let mut agent = Agent::legacy(&env, args, json!({}));
        let listed = agent.ask("tools/list", json!({}));
        agent.call("search", json!({ "query": "add" }));
        let status = env.mux(["--json", "status"]).ok().json();
        let pid = status["agents"].as_array().unwrap().iter();
        let names: Vec<Value> = pid.map(|agent| agent["profile"].clone()).collect();
        let is_loaded = listed["tools"][0]["_meta"]["anthropic/alwaysLoad"] == true;
        (names, is_loaded)
    };
    assert_eq!(profile_of(&[]), (vec![json!("careful")], false));
    let configured = profile_of(&["--agent", "small"]);
    assert_eq!(configured, (vec![json!("claude-code")], true));
    let given = profile_of(&["--agent", "small", "--profile", "codex"]);
    assert_eq!(given, (vec![json!("codex")], false));
    // An error is reported with its line, and the name of the agent's program decides.
    assert_eq!(
        profile_of(&["--agent", "odd"]),
        (vec![json!("careful")], false)
    );
    let status = env.mux(["status"]).ok();
    let problem = "[agents.odd] profile = \"claud\" is none of careful, whole, claude-code";
    assert!(status.stderr.contains(problem), "{status:#?}");
    assert!(
        env.mux(["config", "check"]).stdout.contains("7:"),
        "{:#?}",
        env.mux(["config", "check"])
    );
    let wrong = env.mux(["mcp", "--profile", "claud"]);
    assert!(
        wrong
            .stderr
            .contains("the profiles are careful, whole, claude-code"),
        "{wrong:#?}"
    );
}

/// The names are in three places: the table, the settings of the daemon, and the schema of the configuration.
#[test]
fn names_of_profiles_are_the_same_everywhere() {
    let names: Vec<String> = Profile::all_known()
        .into_iter()
        .map(|profile| profile.name)
        .collect();
    let schema = mux_tests::editors::source("docs/reference/config.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let found = schema.to_string();
    let listed = format!("\"enum\":{}", json!(names));
    assert!(found.contains(&listed), "{listed}");
    let env = TestEnv::new();
    let entries: Vec<String> = names
        .iter()
        .map(|name| format!("[agents.{name}]\nprofile = \"{name}\"\n"))
        .collect();
    env.write_config(&entries.concat());
    env.mux(["config", "check"]).ok();
}
