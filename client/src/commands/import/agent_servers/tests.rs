use serde_json::json;

use super::*;
use crate::agents::tests::system_path;

fn read_one(agent: Agent, entry: &Value) -> (Result<Value, SkipReason>, Vec<String>) {
    let source = convert_entry(agent, &["servers"], "it", entry);
    let server = source
        .server
        .map(|definition| Value::Object(definition.to_entry()));
    (server, source.notes)
}

#[test]
fn import_reads_every_way_to_write_an_entry() {
    for (agent, theirs, ours) in [
        (
            Agent::Cursor,
            json!({ "command": "a", "args": ["x", 1], "env": { "N": 5, "ON": true }, "disabled": false }),
            json!({ "command": "a", "args": ["x", "1"], "env": { "N": "5", "ON": "true" } }),
        ),
        (
            Agent::Opencode,
            json!({ "type": "local", "command": ["a", "x"], "environment": { "V": "{env:W}" }, "enabled": false, "timeout": 1500 }),
            json!({ "command": "a", "args": ["x"], "env": { "V": "${W}" }, "start_timeout": "1500ms", "enabled": false }),
        ),
        (
            Agent::Zed,
            json!({ "source": "custom", "command": { "path": "a", "args": ["$x"], "env": { "V": "w" } }, "settings": null }),
            json!({ "command": "a", "args": ["$x"], "env": { "V": "w" } }),
        ),
        (
            Agent::Windsurf,
            json!({ "serverUrl": "https://h/mcp", "headers": { "A": "${env:B}" }, "disabledTools": ["t"] }),
            json!({ "url": "https://h/mcp", "headers": { "A": "${B}" }, "tools": { "exclude": ["t"] } }),
        ),
        (
            Agent::Codex,
            json!({ "command": "a", "cwd": system_path("/w"), "env_vars": ["X", { "name": "Y", "source": "local" }], "startup_timeout_ms": 2000 }),
            json!({ "command": "a", "env": { "X": "${X}", "Y": "${Y}" }, "cwd": system_path("/w"), "start_timeout": "2s" }),
        ),
        (
            Agent::Codex,
            json!({ "url": "https://h", "bearer_token_env_var": "T", "env_http_headers": { "X": "V" }, "http_headers": { "Y": "$z" } }),
            json!({ "url": "https://h", "headers": { "Authorization": "Bearer ${T}", "X": "${V}", "Y": "$z" } }),
        ),
        (
            Agent::Claude,
            json!({ "type": "http", "url": "https://${HOST}/mcp", "timeout": 60000 }),
            json!({ "url": "https://${HOST}/mcp", "call_timeout": "60s" }),
        ),
        (
            Agent::Vscode,
            json!({ "command": "a", "cwd": "${userHome}/w" }),
            json!({ "command": "a", "cwd": "${HOME}/w" }),
        ),
        (
            Agent::Goose,
            json!({ "type": "stdio", "name": "it", "cmd": "a", "args": ["$x"], "envs": { "V": "$w" }, "timeout": 300, "enabled": false, "available_tools": [] }),
            json!({ "command": "a", "args": ["$x"], "env": { "V": "$w" }, "call_timeout": "300s", "enabled": false }),
        ),
        (
            Agent::Goose,
            json!({ "type": "streamable_http", "uri": "https://h", "envs": { "T": "one", "T2": "two" }, "headers": { "A": "Bearer ${T}", "B": "$T2" } }),
            json!({ "url": "https://h", "headers": { "A": "Bearer one", "B": "two" } }),
        ),
        (
            Agent::Crush,
            json!({ "type": "stdio", "command": "a", "timeout": 15 }),
            json!({ "command": "a", "start_timeout": "15s" }),
        ),
        (
            Agent::Cline,
            json!({ "transport": { "type": "stdio", "command": "a", "args": ["x"] }, "timeout": 60, "autoApprove": [] }),
            json!({ "command": "a", "args": ["x"], "call_timeout": "60s" }),
        ),
        (
            Agent::Copilot,
            json!({ "type": "local", "command": "a", "tools": ["*"] }),
            json!({ "command": "a" }),
        ),
    ] {
        let (server, notes) = read_one(agent, &theirs);
        assert_eq!((server.unwrap(), notes), (ours, vec![]), "{theirs}");
    }
}

#[test]
fn import_reports_keys_that_it_cannot_convert() {
    for (agent, theirs, notes) in [
        (
            Agent::Cursor,
            json!({ "command": "a", "envFile": ".env", "auth": {} }),
            &["`envFile`", "`auth`"][..],
        ),
        (
            Agent::Codex,
            json!({ "command": "a", "enabled_tools": ["x"] }),
            &["`enabled_tools`"],
        ),
        (
            Agent::Claude,
            json!({ "type": "sse", "url": "https://h" }),
            &["sse"],
        ),
        (
            Agent::Claude,
            json!({ "command": "a", "cwd": "relative" }),
            &["`cwd`"],
        ),
        (
            Agent::Claude,
            json!({ "command": "a", "env": { "A": "${B:-c}" } }),
            &["${B:-…}"],
        ),
        (
            Agent::Vscode,
            json!({ "command": "a", "args": ["${workspaceFolder}"] }),
            &["workspaceFolder"],
        ),
        (
            Agent::Vscode,
            json!({ "command": "a", "env": { "K": "${input:k}" } }),
            &["MUX_INPUT_K"],
        ),
        (
            Agent::Vscode,
            json!({ "command": "a", "args": ["${command:pick}"] }),
            &["command:pick"],
        ),
        (
            Agent::Copilot,
            json!({ "command": "a", "tools": [] }),
            &["`tools`"],
        ),
        (
            Agent::Goose,
            json!({ "cmd": "a", "env_keys": ["K"], "available_tools": ["x"] }),
            &["put K=… into", "`available_tools`"],
        ),
        (
            Agent::Gemini,
            json!({ "url": "https://h", "env": { "V": "w" }, "trust": true }),
            &["`trust`", "`V` is not imported"],
        ),
    ] {
        let (server, found) = read_one(agent, &theirs);
        assert_eq!(found.len(), notes.len(), "{theirs}: {found:?}");
        assert!(
            found
                .iter()
                .zip(notes)
                .all(|(found, part)| found.contains(part)),
            "{found:?}"
        );
        let off = server.unwrap().get("enabled").is_some();
        let broken = found[0].contains("is disabled until");
        assert_eq!(off, broken, "{theirs}");
    }
}

#[test]
fn import_skips_entries_that_are_not_servers() {
    for (agent, theirs, reason) in [
        (
            Agent::Cursor,
            json!({ "command": "/bin/mux", "args": ["mcp"] }),
            SkipReason::Ourselves,
        ),
        (
            Agent::Zed,
            json!({ "source": "extension", "settings": {} }),
            SkipReason::Extension(Agent::Zed),
        ),
        (
            Agent::Goose,
            json!({ "type": "builtin", "name": "developer", "enabled": true }),
            SkipReason::Extension(Agent::Goose),
        ),
        (Agent::Cursor, json!({ "args": [] }), SkipReason::Nothing),
        (Agent::Cursor, json!("text"), SkipReason::Nothing),
    ] {
        let (server, _) = read_one(agent, &theirs);
        assert_eq!(server.unwrap_err(), reason);
    }
}
