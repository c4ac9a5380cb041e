//! Lists wait for no server that hangs, fails or cannot be reached. `real_agents` tries the same with `claude mcp list`.

use mux_tests::{Agent, TestEnv};
use serde_json::json;

use crate::offers::asked;

/// A good server, a server that never answers, a server that exits, and a server whose port is closed.
fn home() -> TestEnv {
    let env = TestEnv::new();
    let fixture = env.fixture("good", &["--offers"]);
    env.write_config(&format!(
        "{fixture}[servers.hangs]\ncommand = \"sleep\"\nargs = [\"1000\"]\nstart_timeout = \"10m\"\n\
         [servers.fails]\ncommand = \"false\"\n\
         [servers.gone]\nurl = \"http://127.0.0.1:9/mcp\"\n"
    ));
    env
}

/// Each list is answered although the server that hangs goes on starting for ten minutes.
#[test]
fn every_list_is_answered_while_a_server_hangs() {
    let env = home();
    // No list waits for a slow machine, either.
    env.mux(["call", "good.echo", "text=hi"]).ok();
    for args in [&[][..], &["--passthrough"]] {
        let mut agent = Agent::legacy(&env, args, json!({}));
        for _ in 0..3 {
            let tools = agent.ask("tools/list", json!({})).to_string();
            assert!(tools.contains("good"), "{args:?}: {tools}");
            let resources = agent.ask("resources/list", json!({})).to_string();
            assert!(resources.contains("mux://good/"), "{args:?}: {resources}");
            agent.ask("resources/templates/list", json!({}));
            let prompts = agent.ask("prompts/list", json!({})).to_string();
            assert!(prompts.contains("good__"), "{args:?}: {prompts}");
        }
        let status = env.mux(["--json", "status"]).ok().json();
        let servers = status["servers"].as_array().unwrap();
        let hangs = servers
            .iter()
            .find(|server| server["name"] == "hangs")
            .unwrap();
        assert_eq!(hangs["state"], "starting", "{hangs}");
    }
    // Of one server that hangs, the list is empty until it is there.
    let mut agent = Agent::legacy(&env, &["--passthrough=hangs"], json!({}));
    let listed = agent.ask("tools/list", json!({}));
    assert_eq!(listed["tools"], json!([]));
    let argument = json!({ "name": "name", "value": "a" });
    let params = json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": argument });
    let error = agent.refused("completion/complete", params);
    assert!(error.to_string().contains("not ready"), "{error}");
}

#[test]
fn single_server_that_cannot_start_says_why() {
    let env = TestEnv::with_config(
        "[servers.fails]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"echo no network >&2; exit 3\"]\n",
    );
    let mut command = env.command("mux");
    let mut agent = Agent::start(command.args(["mcp", "--passthrough=fails"]));
    let greeting = agent.initialize(json!({}));
    let instructions = greeting["instructions"].as_str().unwrap();
    assert!(instructions.contains("no network"), "{instructions}");
    for list in ["tools", "resources", "prompts"] {
        let error = agent.refused(&format!("{list}/list"), json!({}));
        assert!(error.to_string().contains("no network"), "{list}: {error}");
    }
}

#[test]
fn server_that_refuses_only_its_list_of_tools_works() {
    let env = TestEnv::new();
    let unlisted = env.path("unlisted");
    let flags = ["--offers", "--unlisted-while", unlisted.to_str().unwrap()];
    env.write_config(&env.fixture("fix", &flags));
    std::fs::write(&unlisted, "").unwrap();
    let mut command = env.command("mux");
    let mut agent = Agent::start(command.args(["mcp", "--passthrough=fix"]));
    let greeting = agent.initialize(json!({}));
    let instructions = greeting["instructions"].as_str().unwrap();
    assert!(instructions.contains("for tests"), "{instructions}");
    let error = agent.refused("tools/list", json!({}));
    assert!(error.to_string().contains("fetch failed"), "{error}");
    let resources = agent.ask("resources/list", json!({})).to_string();
    assert!(resources.contains("fix://json"), "{resources}");
    let status = env.mux(["--json", "status"]).ok().json();
    let server = &status["servers"][0];
    assert_eq!(server["state"], "degraded", "{server}");
    assert!(server["reason"].as_str().unwrap().contains("fetch failed"));

    std::fs::remove_file(&unlisted).unwrap();
    agent.wait_for("notifications/tools/list_changed");
    assert!(agent.tools().contains(&"echo".to_owned()));

    // The tools of its last session can be called.
    env.stop();
    std::fs::write(&unlisted, "").unwrap();
    env.mux(["call", "fix.echo", "text=x"]).ok();
}

#[test]
fn lists_that_change_with_every_answer_are_rarely_fetched() {
    let env = TestEnv::new();
    let log = env.path("calls");
    let flags = [
        "--offers",
        "--era",
        "legacy",
        "--change-on-list",
        "--call-log",
    ];
    let flags = [&flags[..], &[log.to_str().unwrap()]].concat();
    env.write_config(&env.fixture("fix", &flags));
    let mut agent = Agent::legacy(&env, &[], json!({}));
    for _ in 0..10 {
        for list in ["tools", "resources", "prompts"] {
            let listed = agent.ask(&format!("{list}/list"), json!({}));
            assert!(listed.to_string().contains("fix"), "{listed}");
        }
        env.mux(["call", "fix.echo", "text=x"]).ok();
    }
    for list in ["tools/list", "resources/list", "prompts/list"] {
        let fetched = asked(&log, list);
        assert!((1..20).contains(&fetched), "{list}: {fetched}");
    }
    // A change that comes in between is not missed.
    env.mux(["call", "fix.grow", "what=tools"]).ok();
    while !env.mux(["tools"]).ok().stdout.contains("new") {}
}

#[test]
fn servers_that_are_not_connected_are_named_and_the_list_is_not_complete() {
    let env = home();
    let mut agent = Agent::legacy(&env, &["--profile", "gemini-cli"], json!({}));
    let listed = agent.ask("tools/list", json!({}));
    let run = listed["tools"][0]["description"].as_str().unwrap();
    assert!(
        run.contains("not connected yet: fails, gone, hangs"),
        "{run}"
    );
    assert!(
        run.contains("known signatures, without those of 3 servers"),
        "{run}"
    );
    assert!(!run.contains("COMPLETE"), "{run}");
}

/// The first list of an agent that does not follow changes has the tools that were listed on an earlier day.
#[test]
fn list_of_an_earlier_day_serves_while_the_server_is_down() {
    let env = TestEnv::new();
    let down = env.path("down");
    env.write_config(&env.fixture("fix", &["--exit-while", down.to_str().unwrap()]));
    env.mux(["tools"]).ok();
    let args = ["--profile", "codex"];
    let first = Agent::legacy(&env, &args, json!({})).ask("tools/list", json!({}));
    env.stop();
    std::fs::write(&down, "").unwrap();
    let second = Agent::legacy(&env, &args, json!({})).ask("tools/list", json!({}));
    assert_eq!(
        first["tools"][0]["description"],
        second["tools"][0]["description"]
    );
}

#[test]
fn resources_and_prompts_of_an_earlier_day_serve_until_the_server_is_there() {
    let lists = ["resources/list", "resources/templates/list", "prompts/list"];
    for args in [&[][..], &["--passthrough"], &["--passthrough=fix"]] {
        let env = TestEnv::new();
        let down = env.path("down");
        let flags = ["--offers", "--exit-while", down.to_str().unwrap()];
        env.write_config(&env.fixture("fix", &flags));
        let mut first = Agent::legacy(&env, args, json!({}));
        let before = lists.map(|list| first.ask(list, json!({})));
        assert!(before[0].to_string().contains("json"), "{before:?}");
        env.stop();
        std::fs::write(&down, "").unwrap();
        let mut second = Agent::legacy(&env, args, json!({}));
        for _ in 0..2 {
            assert_eq!(lists.map(|list| second.ask(list, json!({}))), before);
        }
        // The server is there, and has another prompt.
        std::fs::remove_file(&down).unwrap();
        let changed = ["--offers", "--prompt-description", "Greets everybody."];
        env.write_config(&env.fixture("fix", &changed));
        env.mux(["reload"]).ok();
        env.mux(["call", "fix.echo", "text=x"]).ok();
        second.wait_for("notifications/prompts/list_changed");
        let after = second.ask("prompts/list", json!({})).to_string();
        assert!(after.contains("everybody"), "{after}");
    }
}
