//! `mux import --move` and `mux import --undo`.

use std::fs;

use mux_tests::{env::binary, mux_snapshot};
use serde_json::{Value, json};

use super::{contents, without_agents, write};

/// The outcome of an import for a server in the agent's file: whether it was moved, and otherwise
/// why not.
fn moved(report: &Value, name: &str) -> (bool, String) {
    let servers = report["servers"].as_array().unwrap();
    let one = servers.iter().find(|one| one["name"] == name).unwrap();
    let stays = one["stays"].as_str().unwrap_or_default();
    (one["moved"].as_bool().unwrap(), stays.to_owned())
}

#[test]
fn agents_import_move_takes_out_only_what_muxd_can_use() {
    let env = without_agents();
    let fixture = binary("mux-fixture-server");
    let cursor = format!(
        "{{\n  // mine\n  \"mcpServers\": {{\n    \"fix\": {{\n      \"command\": {fixture:?},\n      \
         \"env\": {{ \"API_TOKEN\": \"t0k3n-of-fix\" }}\n    }},\n    \
         \"unset\": {{ \"command\": \"x\", \"args\": [\"${{env:NOT_SET_HERE}}\"] }}\n  }}\n}}\n"
    );
    let cursor_file = write(&env, ".cursor/mcp.json", &cursor);
    let windsurf = json!({ "mcpServers": { "other": { "command": "x" } } }).to_string();
    let windsurf_file = write(&env, ".codeium/windsurf/mcp_config.json", &windsurf);
    env.mux(["install", "cursor"]).ok();
    let with_mux = fs::read_to_string(&cursor_file).unwrap();

    let before = contents(&env);
    let shown = env.mux(["import", "--move", "--dry-run"]).ok();
    assert!(!shown.stdout.contains("t0k3n-of-fix"), "{shown:#?}");
    mux_snapshot!(shown, @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    Cursor  ~/.cursor/mcp.json
      fix would be added
        a secret would be stored in `env` as MUX_FIX_API_TOKEN
        would be removed from this file
      unset would be added
        stays in this file: muxd cannot use it: the variable NOT_SET_HERE is not set; set it in the `env` file next to config.toml
      mux skipped
        it is mux itself
    Windsurf  ~/.codeium/windsurf/mcp_config.json
      other would be added
        stays in this file: Windsurf does not have mux yet; `mux install windsurf` adds it

    --- ~/.cursor/mcp.json
    +++ ~/.cursor/mcp.json
    @@ -2,8 +2,4 @@
       // mine
       "mcpServers": {
    -    "fix": {
    -      "command": "[BIN]/mux-fixture-server",
    -      "env": { "API_TOKEN": "***" }
    -    },
         "unset": { "command": "x", "args": ["${env:NOT_SET_HERE}"] },
         "mux": {

    --- ~/config.toml
    +++ ~/config.toml
    @@ -0,0 +1,10 @@
    +[servers.fix]
    +command = "[BIN]/mux-fixture-server"
    +env = { API_TOKEN = "${MUX_FIX_API_TOKEN}" }
    +
    +[servers.unset]
    +command = "x"
    +args = ["${NOT_SET_HERE}"]
    +
    +[servers.other]
    +command = "x"
    ----- stderr -----
    "#);
    // Only muxd has written something: it said which entries it can use.
    let mut after = contents(&env);
    after.retain(|(path, _)| before.iter().any(|(known, _)| known == path));
    assert_eq!(after, before);

    let report = env.mux(["import", "--move", "--json"]).ok().json();
    assert_eq!(moved(&report, "fix"), (true, String::new()));
    let (is_moved, reason) = moved(&report, "unset");
    assert!(
        !is_moved && reason.contains("muxd cannot use it"),
        "{reason}"
    );
    let (is_moved, reason) = moved(&report, "other");
    assert!(
        !is_moved && reason.contains("does not have mux"),
        "{reason}"
    );
    assert_eq!(moved(&report, "mux"), (false, String::new()));
    let left = fs::read_to_string(&cursor_file).unwrap();
    assert!(
        left.starts_with("{\n  // mine\n  \"mcpServers\": {\n    \"unset\": "),
        "{left}"
    );
    assert!(
        left.contains("\"mux\"") && !left.contains("\"fix\""),
        "{left}"
    );
    assert_eq!(fs::read_to_string(&windsurf_file).unwrap(), windsurf);
    let backup = report["agents"][0]["backup"].as_str().unwrap();
    assert_eq!(fs::read_to_string(backup).unwrap(), with_mux);
    let token = env.mux(["call", "fix.env", "name=API_TOKEN"]).ok();
    assert_eq!(token.stdout.trim_end(), "t0k3n-of-fix");

    mux_snapshot!(env.mux(["import", "--move", "--from", "cursor"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    Cursor  ~/.cursor/mcp.json
      unset already exists
        stays in this file: muxd cannot use it: the variable NOT_SET_HERE is not set; set it in the `env` file next to config.toml
      mux skipped
        it is mux itself
    nothing to change in ~/config.toml
    ----- stderr -----
    ");

    let before = contents(&env);
    let shown = env.mux(["import", "--undo", "--dry-run"]).ok();
    assert!(!shown.stdout.contains("t0k3n-of-fix"), "{shown:#?}");
    mux_snapshot!(shown, @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    Cursor  ~/.cursor/mcp.json
    --- ~/.cursor/mcp.json
    +++ ~/.cursor/mcp.json
    @@ -2,4 +2,8 @@
       // mine
       "mcpServers": {
    +    "fix": {
    +      "command": "[BIN]/mux-fixture-server",
    +      "env": { "API_TOKEN": "***" }
    +    },
         "unset": { "command": "x", "args": ["${env:NOT_SET_HERE}"] },
         "mux": {
      fix would be put back
    ----- stderr -----
    "#);
    assert_eq!(contents(&env), before);
    let undone = env.mux(["import", "--undo", "--json"]).ok().json();
    assert_eq!(undone["agents"][0]["servers"], json!(["fix"]));
    assert_eq!(fs::read_to_string(&cursor_file).unwrap(), with_mux);
    assert!(!fs::exists(backup).unwrap());
    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    assert!(config.contains("[servers.fix]"), "{config}");
    mux_snapshot!(env.mux(["import", "--undo"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    no server was moved out of an agent's file; nothing to change
    ----- stderr -----
    ");

    env.mux(["install", "cursor", "--undo"]).ok();
    assert_eq!(fs::read_to_string(&cursor_file).unwrap(), cursor);
}

#[test]
fn agents_import_undo_adds_servers_to_a_changed_file() {
    let env = without_agents();
    let entry = json!({ "command": binary("mux-fixture-server") });
    let text = json!({ "mcpServers": { "fix": entry } }).to_string();
    let file = write(&env, ".cursor/mcp.json", text);
    env.mux(["install", "cursor"]).ok();
    env.mux(["import", "--move"]).ok();
    env.mux(["install", "cursor", "--undo"]).ok();
    env.mux(["import", "--undo", "--from", "codex"]).ok();
    let changed = fs::read_to_string(&file).unwrap();
    assert!(!changed.contains("\"fix\""), "{changed}");
    let undone = env.mux(["import", "--undo", "--json"]).ok().json();
    let backup = undone["agents"][0]["backup"].as_str().unwrap();
    assert_eq!(fs::read_to_string(backup).unwrap(), changed);
    let now: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(now, json!({ "mcpServers": { "fix": entry } }));
    mux_snapshot!(env.mux(["import", "--undo", "--move"]), @"
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: the argument '--undo' cannot be used with '--move'

    Usage: mux import --undo

    For more information, try '--help'.
    ");
}
