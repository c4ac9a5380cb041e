//! `mux install --undo`.

use std::fs;

use serde_json::json;

use super::{FILES, contents, with_all, without_agents, write};

#[test]
fn agents_undo_restores_identical_bytes() {
    let env = with_all();
    let before = contents(&env);
    env.mux(["install"]).ok();
    // A second install changes the entry.
    env.mux(["install", "--agent-name", "small"]).ok();
    let shown = env.mux(["install", "--undo", "--dry-run"]).ok();
    assert_eq!(
        shown.stdout.matches("would be as it was before").count(),
        FILES.len()
    );
    env.mux(["install", "--undo"]).ok();
    let mut after = contents(&env);
    after.retain(|(path, _)| !path.to_string_lossy().contains(".mux-backup-"));
    assert_eq!(after, before);
    let again = env.mux(["install", "--undo", "--json"]).ok().json();
    for edit in again["agents"].as_array().unwrap() {
        assert_eq!(
            (&edit["status"], &edit["diff"]),
            (&json!("absent"), &json!(""))
        );
    }
}

#[test]
fn agents_undo_restores_formatting_that_removal_would_lose() {
    let env = without_agents();
    // Files without a final newline, and with empty objects that an edit reformats.
    for text in ["{}", "", "{ \"mcpServers\": {   } }", "{\"a\":1}"] {
        let path = write(&env, ".cursor/mcp.json", text);
        env.mux(["install", "cursor"]).ok();
        assert_ne!(fs::read_to_string(&path).unwrap(), text);
        let undone = env
            .mux(["install", "cursor", "--undo", "--json"])
            .ok()
            .json();
        assert_eq!(undone["agents"][0]["status"], "restored");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(fs::read_dir(env.path(".cursor")).unwrap().count(), 1);
    }
}

#[test]
fn agents_undo_removes_only_own_entry_from_changed_file() {
    let env = without_agents();
    let path = write(
        &env,
        ".cursor/mcp.json",
        "{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}\n",
    );
    env.mux(["install", "cursor"]).ok();
    let text = fs::read_to_string(&path).unwrap();
    let changed = text.replace("\"a\": {}", "\"a\": { \"url\": \"https://a\" } /* moved */");
    fs::write(&path, &changed).unwrap();
    let undone = env
        .mux(["install", "cursor", "--undo", "--json"])
        .ok()
        .json();
    assert_eq!(undone["agents"][0]["status"], "removed");
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\n  \"mcpServers\": {\n    \"a\": { \"url\": \"https://a\" } /* moved */\n  }\n}\n"
    );
    let backup = undone["agents"][0]["backup"].as_str().unwrap();
    assert_eq!(fs::read_to_string(backup).unwrap(), changed);
}

#[test]
fn agents_undo_removes_file_that_install_created() {
    let env = without_agents();
    env.mux(["install", "codex", "cursor"]).ok();
    env.mux(["install", "codex", "cursor", "--undo"]).ok();
    assert_eq!(contents(&env), []);
}
