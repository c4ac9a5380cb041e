//! The sandboxes that `mux servers add` and `mux import` propose for well-known servers.

use std::{fs, process::Command};

use mux_tests::{
    TestEnv,
    env::{npm, pypi},
};
use serde_json::{Value, json};

use super::has_bubblewrap;

/// The proposal as written in config.toml.
fn inline_table(entry: &Value) -> String {
    let keys = entry.as_object().unwrap().iter();
    let keys: Vec<String> = keys
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    format!("{{ {} }}", keys.join(", "))
}

#[test]
fn real_servers_work_in_the_sandbox_that_is_proposed() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    for folder in ["files", "graph", "repo"] {
        fs::create_dir(env.path(folder)).unwrap();
    }
    let at = |name: &str| env.path(name).to_str().unwrap().to_owned();
    fs::write(at("files/a.txt"), "granted").unwrap();
    let git = |args: &[&str]| {
        let status = Command::new("git")
            .args(args)
            .current_dir(at("repo"))
            .status();
        assert!(status.unwrap().success());
    };
    git(&["init", "-q"]);
    fs::write(at("repo/a.txt"), "a").unwrap();
    fs::write(
        at(".gitconfig"),
        "[user]\nname = Ada\nemail = ada@example.com\n",
    )
    .unwrap();
    let repo = at("repo");
    let servers = [
        ("everything", npm("mcp-server-everything"), vec![]),
        ("thinking", npm("mcp-server-sequential-thinking"), vec![]),
        ("time", pypi("mcp-server-time"), vec![]),
        ("files", npm("mcp-server-filesystem"), vec![at("files")]),
        ("memory", npm("mcp-server-memory"), vec![]),
        (
            "git",
            pypi("mcp-server-git"),
            vec!["--repository".to_owned(), repo.clone()],
        ),
    ];
    for (name, program, args) in &servers {
        let mut line = vec!["--json", "servers", "add", name, "--no-connect"];
        let graph = format!("MEMORY_FILE_PATH={}", at("graph/memory.json"));
        if *name == "memory" {
            line.extend(["--env", &graph]);
        }
        line.extend(["--", program.to_str().unwrap()]);
        line.extend(args.iter().map(String::as_str));
        let added = env.mux(&line).ok().json();
        let proposed = &added["proposed_sandbox"];
        assert!(proposed.is_object(), "{name}: {added:#}");
        let key = format!("servers.{name}.sandbox");
        env.mux(["config", "set", &key, &inline_table(proposed)])
            .ok();
    }
    // The server that has its sandbox already needs no proposal.
    let again = [
        "--json",
        "servers",
        "add",
        "time",
        "--replace",
        "--dry-run",
        "--",
        servers[2].1.to_str().unwrap(),
    ];
    assert_eq!(env.mux(again).ok().json()["proposed_sandbox"], Value::Null);

    let entities = r#"{"entities":[{"name":"a","entityType":"b","observations":["c"]}]}"#;
    let thought =
        r#"{"thought":"a","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}"#;
    let add = json!({ "repo_path": repo, "files": ["a.txt"] }).to_string();
    let commit = json!({ "repo_path": repo, "message": "first" }).to_string();
    let path = format!("path={}", at("files/a.txt"));
    for (tool, arguments) in [
        ("everything.echo", "message=a"),
        ("thinking.sequentialthinking", thought),
        ("time.get_current_time", "timezone=Europe/Berlin"),
        ("files.read_text_file", &path),
        ("memory.create_entities", entities),
        ("git.git_add", &add),
        ("git.git_commit", &commit),
    ] {
        env.mux(["call", tool, arguments]).ok();
    }
    assert!(fs::exists(at("graph/memory.json")).unwrap());
    git(&["rev-parse", "-q", "--verify", "HEAD"]);
    let listed = env.mux(["--json", "servers"]).ok().json();
    for server in listed.as_array().unwrap() {
        assert_eq!(server["sandbox"]["state"], "on", "{server:#}");
    }
}

#[test]
fn import_and_add_say_how_to_write_the_proposed_sandbox() {
    let env = TestEnv::new();
    fs::create_dir(env.path("notes")).unwrap();
    let servers = json!({
        "notes": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "~/notes"] },
        "mine": { "command": "npx", "args": ["-y", "my-server"] },
    });
    fs::write(
        env.path(".claude.json"),
        json!({ "mcpServers": servers }).to_string(),
    )
    .unwrap();
    let dry = env
        .mux(["--json", "import", "--from", "claude", "--dry-run"])
        .ok()
        .json();
    let proposed = |name: &str| {
        let mut servers = dry["servers"].as_array().unwrap().iter();
        let server = servers.find(|server| server["name"] == name);
        server.unwrap()["proposed_sandbox"].clone()
    };
    if cfg!(target_os = "linux") {
        assert_eq!(
            proposed("notes"),
            json!({ "write": ["~/notes"], "network": ["registry.npmjs.org"] })
        );
    }
    assert_eq!(proposed("mine"), Value::Null);
    let printed = env.mux(["import", "--from", "claude"]).ok().stdout;
    let line = r#"mux config set servers.notes.sandbox '{ write = ["~/notes"], network = ["registry.npmjs.org"] }'"#;
    assert!(printed.contains(line), "{printed}");
    assert!(!printed.contains("servers.mine.sandbox"), "{printed}");

    let add = ["servers", "add", "clock", "--no-connect", "--"];
    let added = env.mux([&add[..], &["uvx", "mcp-server-time"]].concat());
    let line = "mux config set servers.clock.sandbox '{ network = [\"pypi.org\",\"files.pythonhosted.org\"] }'";
    let added = added.ok();
    let printed = format!("{}{}", added.stdout, added.stderr);
    assert!(printed.contains(line), "{printed}");
    assert!(
        !fs::read_to_string(env.dirs.config_file())
            .unwrap()
            .contains("sandbox")
    );
}
