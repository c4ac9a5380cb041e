//! `mux import`.

use std::{fs, os::unix::fs::PermissionsExt as _};

use mux_tests::mux_snapshot;
use mux_typegen::names::{MUX_MEMBERS, is_reserved, is_server_name};
use serde_json::{Map, Value, json};

use super::{contents, data, with_all, without_agents, write};

fn servers(report: &Value) -> Vec<(&str, &str, &str)> {
    let servers = report["servers"].as_array().unwrap().iter();
    servers
        .map(|one| {
            let of = |key: &str| one[key].as_str().unwrap_or_default();
            (of("agent"), of("server"), of("status"))
        })
        .collect()
}

#[test]
fn agents_import_adds_all_servers_of_all_agents() {
    let env = with_all();
    env.write_config("# mine\n[servers.time]\ncommand = \"uvx\" # as I like it\nargs = [\"mcp-server-time\"]\n\n[daemon]\nidle_exit = \"1h\"\n");
    let report = env.mux(["import", "--json"]).ok().json();
    let added = servers(&report)
        .into_iter()
        .filter(|(_, _, status)| *status == "added");
    let added: Vec<(&str, &str)> = added.map(|(agent, server, _)| (agent, server)).collect();
    assert_eq!(
        added,
        [
            ("claude", "github"),
            ("claude", "docs"),
            ("claude", "events"),
            ("claude-desktop", "filesystem"),
            ("claude-desktop", "remote"),
            ("cursor", "github_cursor"),
            ("cursor", "linear"),
            ("cursor", "browser"),
            ("vscode", "Perplexity_Search"),
            ("vscode", "here"),
            ("vscode", "github_vscode"),
            ("codex", "context7"),
            ("codex", "figma"),
            ("windsurf", "sqlite"),
            ("opencode", "everything"),
            ("opencode", "sentry"),
            ("zed", "postgres"),
            ("gemini", "github_gemini"),
            ("gemini", "db"),
            ("copilot", "playwright"),
            ("copilot", "issues"),
            ("qwen", "notes"),
            ("qwen", "web"),
            ("goose", "Gr_e"),
            ("goose", "remote_goose"),
            ("crush", "files"),
            ("crush", "github_crush"),
            ("crush", "keys"),
            ("cline", "time_cline"),
            ("cline", "web_cline"),
            ("kiro", "aws"),
            ("kiro", "fetch"),
        ]
    );
    assert!(servers(&report).contains(&("zed", "time", "same")));
    assert!(servers(&report).contains(&("zed", "", "skipped")));
    let notes = report["agents"][0]["notes"][0].as_str().unwrap();
    assert!(
        notes.contains("2 of the servers in this file belong to other projects"),
        "{notes}"
    );
    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    assert!(
        config.starts_with("# mine\n[servers.time]\ncommand = \"uvx\" # as I like it\n"),
        "{config}"
    );
    assert!(
        config.contains("\n[daemon]\nidle_exit = \"1h\"\n"),
        "{config}"
    );
    let backup = report["backup"].as_str().unwrap();
    assert!(
        fs::read_to_string(backup)
            .unwrap()
            .ends_with("idle_exit = \"1h\"\n")
    );

    // The daemon accepts every entry.
    let listed = env.mux(["servers", "--json"]).ok().json();
    let listed: Map<String, Value> = listed
        .as_array()
        .or_else(|| listed["servers"].as_array())
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap().to_owned(), one.clone()))
        .collect();
    let problem = |name: &str| {
        listed[name]["reason"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(problem("linear"), "");
    assert_eq!(listed["linear"]["command"], "https://mcp.linear.app/mcp");
    assert!(problem("Perplexity_Search").contains("MUX_INPUT_PERPLEXITY_KEY"));
    assert_eq!(
        problem("github") + &problem("sqlite") + &problem("filesystem"),
        ""
    );
    assert_eq!(listed["browser"]["state"], "disabled");

    let before = contents(&env);
    mux_snapshot!("import_again", env.mux(["import"]));
    assert_eq!(contents(&env), before);
}

#[test]
fn agents_import_dry_run_changes_nothing() {
    let env = with_all();
    let before = contents(&env);
    // Of two agents only.
    let shown = env.mux(["import", "--dry-run", "--from", "vscode,codex"]);
    mux_snapshot!("import_dry_run", shown);
    assert_eq!(contents(&env), before);
    assert_eq!(env.daemon(), None);
}

#[test]
fn agents_import_leaves_unreadable_files_unchanged() {
    let env = without_agents();
    write(&env, ".cursor/mcp.json", "{\"mcpServers\": {]}");
    write(
        &env,
        ".codeium/windsurf/mcp_config.json",
        data("windsurf.json"),
    );
    let report = env.mux(["import", "--json"]).fails(1, &[]).json();
    assert_eq!(report["agents"][0]["error"]["column"], 17);
    assert_eq!(servers(&report), [("windsurf", "sqlite", "added")]);
    mux_snapshot!(env.mux(["import", "--from", "zed"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    Zed  ~/.config/zed/settings.json
    nothing to change in ~/config.toml
    ----- stderr -----
    error: Zed has no file [HOME]/.config/zed/settings.json
    ");

    env.write_config("[servers.x\n");
    fs::remove_file(env.path(".cursor/mcp.json")).unwrap();
    let before = contents(&env);
    let error = env.mux(["import", "--json"]).fails(1, &[]).json();
    assert_eq!(error["error"]["line"], 1);
    mux_snapshot!(env.mux(["import"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: [HOME]/config.toml was left alone: line 1, column 11: unclosed table, expected `]`
      hint: fix it and try again
    ");
    assert_eq!(contents(&env), before);
    let nothing = without_agents();
    mux_snapshot!(nothing.mux(["import"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: no agent with servers was found on this machine
      hint: `mux install --list` shows the supported files
    ");
}

#[test]
fn agents_import_renames_servers_with_invalid_names() {
    let env = without_agents();
    let entries: Map<String, Value> = MUX_MEMBERS
        .iter()
        .chain(&["my server", "@scope/x.y", "7zip", "größe"])
        .map(|name| {
            (
                (*name).to_owned(),
                json!({ "command": format!("run-{name}") }),
            )
        })
        .collect();
    write(
        &env,
        ".cursor/mcp.json",
        json!({ "mcpServers": entries }).to_string(),
    );
    let report = env.mux(["import", "--json"]).ok().json();
    let names = servers(&report);
    assert_eq!(names.len(), entries.len());
    for (_, name, status) in names {
        assert!(is_server_name(name) && !is_reserved(name), "{name}");
        assert_eq!(status, "added", "{name}");
    }
}

#[test]
fn agents_import_keeps_existing_entry_without_replace() {
    let env = without_agents();
    write(
        &env,
        ".codeium/windsurf/mcp_config.json",
        data("windsurf.json"),
    );
    env.write_config("[servers.sqlite]\ncommand = \"mine\"\ncall_timeout = \"9s\"\n");
    let before = contents(&env);
    mux_snapshot!(env.mux(["import"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    Windsurf  ~/.codeium/windsurf/mcp_config.json
      sqlite left alone: your `sqlite` is a different server (--replace overwrites it)
    nothing to change in ~/config.toml
    ----- stderr -----
    ");
    assert_eq!(contents(&env), before);
    fs::write(env.dirs.env_file(), "MINE=1\n").unwrap();
    fs::set_permissions(env.dirs.env_file(), fs::Permissions::from_mode(0o644)).unwrap();
    let report = env.mux(["import", "--replace", "--json"]).ok().json();
    assert_eq!(servers(&report), [("windsurf", "sqlite", "replaced")]);
    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    assert!(
        config.contains("call_timeout = \"9s\"") && config.contains("\"uvx\""),
        "{config}"
    );
    let variables = fs::read_to_string(env.dirs.env_file()).unwrap();
    assert_eq!(variables, "MINE=1\nMUX_SQLITE_API_KEY=\"literal-value\"\n");
    let mode = fs::metadata(env.dirs.env_file())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}
