use std::{fs, path::Path};

use serde_json::json;

use super::*;
use crate::{
    agents::{ConfigFormat, OperatingSystem, tests::system_path},
    commands::import::agent_servers,
};

fn document(text: &str) -> ConfigDocument {
    ConfigDocument::parse(text.as_bytes(), ConfigFormat::Toml).unwrap()
}

fn merged(sources: &[AgentServer], config: &str, env: &str, replace: bool) -> MergedConfig {
    let home = |name: &str| (name == "HOME").then(|| system_path("/home/me"));
    let places = AgentPaths::new(OperatingSystem::Linux, home).unwrap();
    let env = EnvFile::parse(env);
    merge_servers(sources, document(config), env, replace, &places).unwrap()
}

fn source(agent: Agent, name: &str, command: &str, token: &str) -> AgentServer {
    AgentServer {
        agent,
        name: name.into(),
        section: vec!["mcpServers".into()],
        server: Ok(ServerDefinition {
            command: Some(command.into()),
            env: [("API_TOKEN".to_owned(), token.to_owned())].into(),
            ..ServerDefinition::default()
        }),
        notes: Vec::new(),
        variables_by_hand: Vec::new(),
        needs_edit: false,
    }
}

/// The new name of each agent server, and its outcome.
fn fates(merged: &MergedConfig) -> Vec<(&str, ImportOutcome)> {
    let carried = merged.carried.iter();
    carried
        .map(|one| (one.server.as_deref().unwrap_or_default(), one.fate))
        .collect()
}

#[test]
fn import_converts_each_agents_file() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/agents");
    for (agent, name, env) in [
        (
            Agent::Claude,
            "claude.json",
            "MUX_TRACKER_TRACKER_PASSWORD=\"hunter2\"\n\
             MUX_GITHUB_GITHUB_PERSONAL_ACCESS_TOKEN=\"ghp_0123456789abcdefghijABCDEFGHIJ012345\"\n",
        ),
        (
            Agent::ClaudeDesktop,
            "claude-desktop.json",
            "MUX_REMOTE_AUTH_HEADER=\"Bearer abc123\"\n",
        ),
        (Agent::Cursor, "cursor.json", ""),
        (Agent::Vscode, "vscode.json", ""),
        (Agent::Codex, "codex.toml", ""),
        (
            Agent::Windsurf,
            "windsurf.json",
            "MUX_SQLITE_API_KEY=\"literal-value\"\n",
        ),
        (Agent::Opencode, "opencode.jsonc", ""),
        (Agent::Opencode, "opencode-2.json", ""),
        (
            Agent::Zed,
            "zed.json",
            "MUX_POSTGRES_ARG_1=\"postgres://me:pässword@db/notes\"\n",
        ),
        (Agent::Gemini, "gemini.json", ""),
        (Agent::Copilot, "copilot.json", ""),
        (Agent::Qwen, "qwen.json", ""),
        (
            Agent::Goose,
            "goose.yaml",
            "MUX_GR_E_SIZES_TOKEN=\"s3cret-of-sizes\"\n",
        ),
        (Agent::Crush, "crush.json", ""),
        (Agent::Cline, "cline.json", ""),
        (Agent::Kiro, "kiro.json", ""),
    ] {
        let project = Path::new("/home/me/größe");
        let read =
            agent_servers::read_agent_servers(agent, &data.join(name), Some(project)).unwrap();
        let sources = read.servers;
        let first = merged(&sources, "# mine\n", "", false);
        let expected = fs::read_to_string(data.join(format!("imported/{name}.toml"))).unwrap();
        assert_eq!(first.config.text(), expected, "{name}");
        assert_eq!(first.env.text(), env, "{name}");
        // A second import finds everything there.
        let again = merged(&sources, &first.config.text(), &first.env.text(), true);
        assert_eq!(again.config.text(), first.config.text(), "{name}");
        assert!(!again.env.changed(), "{name}");
        let same = |(_, fate): &(&str, ImportOutcome)| {
            matches!(fate, ImportOutcome::Same | ImportOutcome::Skipped)
        };
        assert!(
            fates(&again).iter().all(same),
            "{name}: {:?}",
            fates(&again)
        );
    }
}

#[test]
fn import_gives_clashing_servers_stable_names() {
    let sources = [
        source(Agent::Claude, "a-b", "x", "one"),
        source(Agent::Cursor, "a-b", "x", "one"),
        source(Agent::Codex, "a_b", "y", "two"),
        source(Agent::Zed, "a b", "x", "three"),
    ];
    let first = merged(&sources, "", "", false);
    assert_eq!(
        fates(&first),
        [
            ("a_b", ImportOutcome::Added),
            ("a_b", ImportOutcome::Same),
            ("a_b_codex", ImportOutcome::Added),
            ("a_b_zed", ImportOutcome::Added),
        ]
    );
    assert_eq!(
        first.env.text(),
        "MUX_A_B_API_TOKEN=\"one\"\nMUX_A_B_CODEX_API_TOKEN=\"two\"\nMUX_A_B_ZED_API_TOKEN=\"three\"\n"
    );
    for replace in [false, true] {
        let again = merged(&sources, &first.config.text(), &first.env.text(), replace);
        let names: Vec<&str> = fates(&again).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a_b", "a_b", "a_b_codex", "a_b_zed"]);
        assert_eq!(again.config.text(), first.config.text());
    }
}

#[test]
fn import_overwrites_an_entry_only_with_replace() {
    let config = "# top\n[servers.a]   # mine\ncommand = \"mine\"\nenv = { K = \"v\" }\ncall_timeout = \"9s\"\n\n[[policy]]\nmatch = \"a.*\"\naction = \"deny\"\n";
    let sources = [source(Agent::Claude, "a", "theirs", "one")];
    let kept = merged(&sources, config, "", false);
    assert_eq!(fates(&kept), [("a", ImportOutcome::Kept)]);
    assert_eq!(kept.config.text(), config);
    assert!(!kept.env.changed());

    let replaced = merged(&sources, config, "", true);
    assert_eq!(fates(&replaced), [("a", ImportOutcome::Replaced)]);
    let read = document(&replaced.config.text());
    assert_eq!(
        read.find_section_entry(IMPORT_SECTION, "a").unwrap(),
        &json!({ "command": "theirs", "env": { "API_TOKEN": "${MUX_A_API_TOKEN}" }, "call_timeout": "9s" })
    );
    assert!(
        replaced
            .config
            .text()
            .contains("[[policy]]\nmatch = \"a.*\""),
        "{}",
        replaced.config.text()
    );
    assert_eq!(replaced.env.get("MUX_A_API_TOKEN"), Some("one"));

    // A different secret alone makes it a different server.
    let other = [source(Agent::Claude, "a", "theirs", "two")];
    let outcome = merged(&other, &replaced.config.text(), &replaced.env.text(), false);
    assert_eq!(fates(&outcome), [("a", ImportOutcome::Kept)]);
    let changed = merged(&other, &replaced.config.text(), &replaced.env.text(), true);
    assert_eq!(changed.env.get("MUX_A_API_TOKEN"), Some("two"));
    assert!(changed.env.overwrote_value());
}

#[test]
fn import_reports_a_secret_with_line_breaks() {
    let sources = [source(Agent::Claude, "a", "x", "-----BEGIN KEY\nabc\n")];
    let outcome = merged(&sources, "", "", false);
    assert!(
        outcome.carried[0].notes[0].contains("MUX_A_API_TOKEN"),
        "{:?}",
        outcome.carried
    );
    assert!(!format!("{outcome:?}").contains("abc"));
}
