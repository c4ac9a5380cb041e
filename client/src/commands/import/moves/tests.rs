use std::{fs, path::Path};

use tempfile::TempDir;

use super::{
    super::{
        EnvFile,
        agent_servers::{SkipReason, convert_entry, read_agent_servers},
        move_records::read_moves,
        undo::undo_in_file,
    },
    *,
};
use crate::agents::{ConfigFormat, OperatingSystem, tests::AGENT_FILES};

struct AgentHome {
    dir: TempDir,
    dirs: Dirs,
    places: AgentPaths,
}

impl AgentHome {
    fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("mux-")
            .tempdir_in("/tmp")
            .unwrap();
        let home = dir.path().to_owned();
        Self {
            dirs: Dirs::under(dir.path()).unwrap(),
            places: AgentPaths::new(OperatingSystem::Linux, |_| Some(home.clone())).unwrap(),
            dir,
        }
    }

    fn mover(&self) -> ServerMover<'_> {
        ServerMover {
            dirs: &self.dirs,
            places: &self.places,
            dry_run: false,
            getting_mux: &[],
        }
    }

    fn write(&self, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join("agent-file");
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Moves all servers that can be imported out of a file.
    fn move_all(&self, agent: Agent, path: &Path) -> FileMove {
        let source = read_agent_servers(agent, path, Some(Path::new("/home/me/größe"))).unwrap();
        let leaving: Vec<&AgentServer> = source
            .servers
            .iter()
            .filter(|server| server.server.is_ok())
            .collect();
        self.mover().move_out(&source, &leaving).unwrap()
    }

    /// Undoes all moves. Returns the names of the servers that were put back.
    fn undo(&self, agent: Agent) -> Vec<String> {
        let records = read_moves(&self.dirs).unwrap();
        let latest_first: Vec<&MoveRecord> = records.iter().rev().collect();
        let undone = undo_in_file(agent, &latest_first, &self.dirs, &self.places, false).unwrap();
        assert_eq!(read_moves(&self.dirs).unwrap(), []);
        undone.servers
    }
}

#[test]
fn moved_servers_of_each_agent_are_put_back_to_the_same_bytes() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/agents");
    for (agent, name) in AGENT_FILES.iter().copied() {
        let home = AgentHome::new();
        let before = fs::read(data.join(name)).unwrap();
        let path = home.write(&before);
        let moved = home.move_all(agent, &path);
        let backup = moved.backup.unwrap();
        assert_eq!(fs::read(&backup).unwrap(), before, "{name}");
        let project = Some(Path::new("/home/me/größe"));
        let left = read_agent_servers(agent, &path, project).unwrap().servers;
        assert!(
            left.iter().all(|one| one.server.is_err()),
            "{name}: {left:?}"
        );
        for secret in ["ghp_0123", "hunter2", "literal-value", "pässword", "abc123"] {
            assert!(!moved.diff.contains(secret), "{name}: {}", moved.diff);
        }
        assert!(!home.undo(agent).is_empty(), "{name}");
        assert_eq!(fs::read(&path).unwrap(), before, "{name}");
        assert!(!backup.exists(), "{name}: its content is the file's again");
    }
}

#[test]
fn move_keeps_comments_and_layout() {
    for (agent, before, after) in [
        (
            Agent::Cursor,
            "{\n  // mine\n  \"mcpServers\": {\n    \"a\": { \"command\": \"a\" }, // one\n    /* kept */\n    \"mux\": { \"command\": \"mux\", \"args\": [\"mcp\"] },\n    \"b\": { \"url\": \"https://b\" }\n  }\n}\n",
            "{\n  // mine\n  \"mcpServers\": {\n    /* kept */\n    \"mux\": { \"command\": \"mux\", \"args\": [\"mcp\"] }\n  }\n}\n",
        ),
        (
            Agent::Codex,
            "a = 1 # mine\n\n# about b\n[mcp_servers.b]\ncommand = \"b\"\nenv = { T = \"1\" }\n\n[mcp_servers.mux]\ncommand = \"mux\"\nargs = [\"mcp\"]\n",
            "a = 1 # mine\n\n# about b\n\n[mcp_servers.mux]\ncommand = \"mux\"\nargs = [\"mcp\"]\n",
        ),
    ] {
        let home = AgentHome::new();
        let path = home.write(before);
        home.move_all(agent, &path);
        assert_eq!(fs::read_to_string(&path).unwrap(), after);
    }
}

#[test]
fn undo_adds_moved_servers_to_a_file_that_changed_since() {
    let home = AgentHome::new();
    let path = home.write(
        "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"a\" },\n    \"b\": { \"command\": \"b\" }\n  }\n}\n",
    );
    home.move_all(Agent::Cursor, &path);
    // The user has another `b` now, moves a server again, and the agent adds a key.
    fs::write(
        &path,
        "{ \"mcpServers\": { \"c\": { \"command\": \"c\" } } }",
    )
    .unwrap();
    home.move_all(Agent::Cursor, &path);
    let text = "{ \"mcpServers\": { \"b\": { \"command\": \"other\" } }, \"n\": 1 }";
    fs::write(&path, text).unwrap();
    assert_eq!(home.undo(Agent::Cursor), ["c", "a"]);
    let now: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(
        now,
        serde_json::json!({
            "mcpServers": {
                "b": { "command": "other" }, "c": { "command": "c" }, "a": { "command": "a" },
            },
            "n": 1,
        })
    );
}

#[test]
fn undo_without_the_backup_names_the_servers() {
    let home = AgentHome::new();
    let path = home.write("{ \"mcpServers\": { \"a\": { \"command\": \"a\" } } }");
    let moved = home.move_all(Agent::Cursor, &path);
    fs::remove_file(moved.backup.unwrap()).unwrap();
    let records = read_moves(&home.dirs).unwrap();
    let moves: Vec<&MoveRecord> = records.iter().collect();
    let undone = undo_in_file(Agent::Cursor, &moves, &home.dirs, &home.places, false);
    let error = undone.unwrap_err();
    assert!(error.message.contains("is gone"), "{error:?}");
    assert!(error.hint.unwrap().contains("add a "));
    assert_eq!(read_moves(&home.dirs).unwrap(), records);
}

#[test]
fn entry_that_changed_meanwhile_is_not_moved_and_leaves_no_record() {
    let home = AgentHome::new();
    let path = home.write("{ \"mcpServers\": { \"a\": { \"command\": \"a\" } } }");
    let source = read_agent_servers(Agent::Cursor, &path, None).unwrap();
    fs::write(&path, "{}").unwrap();
    let leaving: Vec<&AgentServer> = source.servers.iter().collect();
    let error = home.mover().move_out(&source, &leaving).unwrap_err();
    assert!(
        error.message.contains("was changed in the meantime"),
        "{error:?}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    assert_eq!(read_moves(&home.dirs).unwrap(), []);
    let files = fs::read_dir(home.dir.path()).unwrap().flatten();
    assert!(
        files
            .into_iter()
            .all(|file| !file.file_name().to_string_lossy().contains("backup"))
    );
}

#[test]
fn other_changes_of_the_agent_stay_in_its_file() {
    let home = AgentHome::new();
    let path = home.write("{ \"mcpServers\": { \"a\": { \"command\": \"a\" } } }");
    let source = read_agent_servers(Agent::Cursor, &path, None).unwrap();
    fs::write(
        &path,
        "{ \"theme\": \"dark\", \"mcpServers\": { \"a\": { \"command\": \"a\" } } }",
    )
    .unwrap();
    let leaving: Vec<&AgentServer> = source.servers.iter().collect();
    home.mover().move_out(&source, &leaving).unwrap();
    let left = fs::read_to_string(&path).unwrap();
    assert!(left.contains("dark") && !left.contains("command"), "{left}");
}

#[test]
fn servers_that_would_be_lost_stay() {
    let home = AgentHome::new();
    let with_mux = "{ \"mcpServers\": { \"mux\": { \"command\": \"mux\", \"args\": [\"mcp\"] } } }";
    let path = home.write(with_mux);
    let source = read_agent_servers(Agent::Cursor, &path, None).unwrap();
    let config = "[servers.off]\ncommand = \"x\"\nenabled = false\n[servers.on]\ncommand = \"x\"\n";
    let config = ConfigDocument::parse(config.as_bytes(), ConfigFormat::Toml).unwrap();
    let env = EnvFile::parse("MUX_INPUT_KNOWN=1\n");
    let reason = |source: &AgentSource, entry: Value, name: &str, fate| {
        let server = convert_entry(source.agent, &["mcpServers"], "x", &entry);
        let carried = ImportedServer {
            proposed_sandbox: None,
            agent: source.agent,
            name: "x".into(),
            server: Some(name.into()),
            fate,
            moved: false,
            stays: None,
            is_mux: server.server == Err(SkipReason::Ourselves),
            enabled: !server.server.as_ref().is_ok_and(|one| one.disabled),
            notes: Vec::new(),
            secrets: Vec::new(),
        };
        let mover = home.mover();
        mover.reason_to_stay(source, &server, &carried, &config, &env)
    };
    let plain = || serde_json::json!({ "command": "x" });
    let input = |id: &str| serde_json::json!({ "command": "x", "env": { "K": format!("${{input:{id}}}") } });
    let in_editor = serde_json::json!({ "command": "x", "args": ["${workspaceFolder}"] });
    for (entry, name, fate, part) in [
        (plain(), "on", ImportOutcome::Added, None),
        (plain(), "on", ImportOutcome::Same, None),
        (plain(), "on", ImportOutcome::Kept, Some("not imported")),
        (
            serde_json::json!({}),
            "on",
            ImportOutcome::Skipped,
            Some("not imported"),
        ),
        (
            plain(),
            "off",
            ImportOutcome::Same,
            Some("mux servers enable off"),
        ),
        (
            serde_json::json!({ "command": "x", "disabled": true }),
            "off",
            ImportOutcome::Added,
            None,
        ),
        (input("known"), "on", ImportOutcome::Added, None),
        (
            input("other"),
            "on",
            ImportOutcome::Added,
            Some("put MUX_INPUT_OTHER=…"),
        ),
        (
            in_editor,
            "on",
            ImportOutcome::Added,
            Some("edit its entry in config.toml"),
        ),
    ] {
        let reason_text = reason(&source, entry.clone(), name, fate);
        match part {
            None => assert_eq!(reason_text, None, "{entry}"),
            Some(part) => assert!(
                reason_text.as_ref().is_some_and(|t| t.contains(part)),
                "{entry}: {reason_text:?}"
            ),
        }
    }
    fs::write(&path, "{}").unwrap();
    let without_mux = read_agent_servers(Agent::Cursor, &path, None).unwrap();
    let reason_text = reason(&without_mux, plain(), "on", ImportOutcome::Added);
    assert!(reason_text.is_some_and(|reason_text| reason_text.contains("`mux install cursor`")));
}

#[test]
fn diff_masks_secrets_wherever_they_are() {
    let text = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"a\",\n      \"args\": [\n        \"--token\",\n        \"xyz\",\n        \"--api-key=p4ssw0rd-long\"\n      ]\n    }\n  }\n}\n";
    let home = AgentHome::new();
    let path = home.write(text);
    let moved = home.move_all(Agent::Cursor, &path);
    assert!(
        moved
            .diff
            .contains("-        \"--token\",\n-        \"***\",\n"),
        "{}",
        moved.diff
    );
    assert!(!moved.diff.contains("p4ssw0rd"), "{}", moved.diff);
}
