//! Published programs that attack MCP servers or MCP clients, before and behind `mux mcp`.
//!
//! The attackers' packages are installed from PyPI with hashes (`tests/attackers`). Invariant: a finding about a server
//! behind muxd is that server's, and muxd names it to the user.

use std::{fs, process::Command};

use mux_tests::{
    Agent, Output, TestEnv,
    env::{attacker, binary, output, server},
};
use serde_json::{Value, json};

use crate::sandboxes::has_bubblewrap;

/// A server with one tool, which returns the content of a file.
const FILE_SERVER: &str = r#"
from mcp.server.fastmcp import FastMCP
mcp = FastMCP("plans")

@mcp.tool(description="Reads a plan.")
def review_plan(plan_json_path: str) -> str:
    with open(plan_json_path, errors="replace") as file:
        return repr(file.read())

mcp.run()
"#;

fn python_server(name: &str, code: &str) -> String {
    server(name, &attacker("python"), &["-c", code])
}

/// A server of the damn vulnerable MCP servers.
fn challenge(name: &str, module: &str) -> String {
    let code = format!("from challenges.{module}.server import mcp; mcp.run()");
    python_server(name, &code)
}

/// A server that carries instructions to a model in a title, an output schema, a prompt and a result, and in a
/// definition from its second list on.
fn malicious_server() -> String {
    let module = "mcp_gauntlet.fixtures.malicious_server";
    server("evil", &attacker("python"), &["-m", module])
}

/// `mux mcp ARGS…` in this home as one command line, regardless of the attacker's environment.
fn mcp_command(env: &TestEnv, args: &[&str]) -> Vec<String> {
    let mux = env.command("mux");
    let variables = mux.get_envs().filter_map(|(name, value)| {
        let value = value?.to_str().unwrap();
        Some(format!("{}={value}", name.to_str().unwrap()))
    });
    let mut command = vec!["env".to_owned()];
    command.extend(variables);
    command.push(binary("mux").to_str().unwrap().to_owned());
    command.push("mcp".to_owned());
    command.extend(args.iter().map(|arg| (*arg).to_owned()));
    command
}

fn attack(env: &TestEnv, program: &str, args: &[&str]) -> Output {
    let mut command = Command::new(attacker(program));
    command
        .current_dir(env.home())
        .env("HOME", env.home())
        .args(args);
    output(&mut command)
}

/// The findings of `ghostprobe` about `mux mcp`, as `severity tool: title`.
fn probe(env: &TestEnv, args: &[&str]) -> Vec<String> {
    let mut all = vec!["stdio".to_owned(), "--json".into(), "--".into()];
    all.extend(mcp_command(env, args));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let report = attack(env, "ghostprobe", &all).json();
    let findings = report["findings"].as_array();
    let findings = findings.unwrap_or_else(|| panic!("no findings: {report}"));
    let lines = findings
        .iter()
        .map(|finding| finding_line(finding, "title"));
    lines.collect()
}

/// The findings of `mcp-gauntlet` about the security of `mux mcp`, as `severity tool: message`.
fn gauntlet(env: &TestEnv, args: &[&str]) -> Vec<String> {
    let command = mcp_command(env, args).join(" ");
    let report = env.path("gauntlet");
    let out = report.to_str().unwrap();
    let ran = attack(
        env,
        "mcp-gauntlet",
        &["run", &command, "--no-agentic", "--out", out],
    );
    let text = fs::read(report.join("report.json"));
    let text = text.unwrap_or_else(|_| panic!("no report: {} {}", ran.stdout, ran.stderr));
    let report: Value = serde_json::from_slice(&text).unwrap();
    let dimensions = report["dimensions"].as_array().unwrap().iter();
    let security = dimensions.filter(|dimension| dimension["key"] == "security");
    let findings = security.flat_map(|dimension| dimension["findings"].as_array().unwrap());
    let lines = findings.map(|finding| finding_line(finding, "message"));
    lines.collect()
}

fn finding_line(finding: &Value, text: &str) -> String {
    let word = |key: &str| finding[key].as_str().unwrap_or_default();
    format!("{} {}: {}", word("severity"), word("tool"), word(text))
}

#[test]
fn probes_find_nothing_in_mux_mcp_itself() {
    let env = TestEnv::new();
    env.write_config(&python_server("plans", FILE_SERVER));
    for args in [&[][..], &["--passthrough=plans"]] {
        let found = probe(&env, args);
        let serious = found.iter().filter(|line| !line.starts_with("info "));
        assert_eq!(serious.count(), 0, "{args:?}: {found:#?}");
        assert_eq!(gauntlet(&env, args), [""; 0], "{args:?}");
    }
}

#[test]
fn adversarial_arguments_and_results_pass_through_without_harm() {
    let env = TestEnv::new();
    env.write_config(&python_server("plans", FILE_SERVER));
    // The second half is for a tool that reads files, which `mux mcp` offers only as a pass-through.
    for (args, passes) in [(&[][..], 5), (&["--passthrough=plans"], 12)] {
        let command = mcp_command(&env, args).join(" ");
        let report = env.path("report.json");
        let out = report.to_str().unwrap();
        attack(
            &env,
            "mcp-adversarial",
            &["run", "--server", &command, "--report", out],
        );
        let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        assert_eq!(report["fixtures_total"], 12);
        assert_eq!(report["fixtures_passed"], passes, "{args:?}: {report:#}");
    }
}

#[test]
fn malicious_server_is_named_and_its_changed_definition_reaches_no_agent() {
    let env = TestEnv::new();
    env.write_config(&malicious_server());
    let shown = env.mux(["tools", "--server", "evil"]).ok();
    for tool in ["evil.read_notes", "evil.list_files"] {
        let named = format!("{tool} has text that may instruct a model: ignores-instructions");
        assert!(shown.stderr.contains(&named), "{}", shown.stderr);
    }
    for tool in ["evil.status has", "evil.sync_config has"] {
        assert!(!shown.stderr.contains(tool), "{}", shown.stderr);
    }
    // The declarations that a model reads have no text of schemas of results.
    let types = env.mux(["types", "evil.list_files"]).ok().stdout;
    assert!(!types.contains("IMPORTANT"), "{types}");

    // Every list after the first has another text in `sync_config`.
    for args in [&[][..], &["--passthrough=evil"]] {
        let mut agent = Agent::legacy(&env, args, json!({}));
        for _ in 0..3 {
            let listed = agent.ask("tools/list", json!({}));
            let tools = listed["tools"].as_array().unwrap().iter();
            for tool in tools.filter(|tool| tool["name"] == "sync_config") {
                assert!(!tool.to_string().contains("IMPORTANT"), "{tool}");
            }
        }
    }
    // The text of a result is marked as the server's data.
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let called = agent.call(
        "call",
        json!({ "path": "evil.read_notes", "arguments": { "path": "a" } }),
    );
    let text = called["content"][0]["text"].as_str().unwrap();
    let fence = text.find("evil").unwrap();
    assert!(fence < text.find("IMPORTANT").unwrap(), "{text}");
}

#[test]
fn vulnerable_servers_give_up_no_file_token_or_connection_from_a_sandbox() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    let walls = "sandbox = { network = \"none\" }\n";
    env.write_config(&format!(
        "{}{walls}{}{walls}{}{walls}{}secrets = \"mask\"\n{}",
        challenge("scope", "easy.challenge3"),
        challenge("code", "hard.challenge8"),
        challenge("remote", "hard.challenge9"),
        challenge("theft", "medium.challenge7"),
        challenge("poison", "easy.challenge2"),
    ));
    let secret = env.path("private.txt");
    fs::write(&secret, "the user's own words").unwrap();
    let secret = secret.to_str().unwrap();
    let call = |tool: &str, argument: &str| {
        let result = env.mux(["call", tool, argument]).ok().stdout;
        assert!(!result.contains("own words"), "{tool}: {result}");
        result
    };
    // Excessive permissions: the tool reads any path.
    call("scope.read_file", &format!("filename={secret}"));
    // Code of a stranger.
    call(
        "code.execute_shell_command",
        &format!("command=cat {secret}"),
    );
    let connect = "code=import socket; socket.create_connection(('1.1.1.1', 53), 5)";
    let refused = call("code.execute_python_code", connect);
    assert!(refused.contains("Network is unreachable"), "{refused}");
    // A command injected into an argument.
    let injected = call(
        "remote.ping_host",
        &format!("host=127.0.0.1; echo injected; cat {secret}"),
    );
    assert!(injected.contains("injected"), "{injected}");
    // A token in an error text.
    let leaked = call("theft.check_email", "folder=none");
    assert!(leaked.contains("Authorization: Bearer ***"), "{leaked}");
    // Descriptions with instructions.
    let shown = env.mux(["tools", "--server", "poison"]).ok();
    for tool in ["get_company_data", "search_company_database"] {
        let named = format!("poison.{tool} has text that may instruct a model");
        assert!(shown.stderr.contains(&named), "{}", shown.stderr);
    }
}
