use std::{fs, path::PathBuf};

use serde_json::json;

use super::*;

/// Realistic files of agents in `tests/data/agents`. `installed/` has the expected result of each.
pub(crate) const AGENT_FILES: &[(Agent, &str)] = &[
    (Agent::Claude, "claude.json"),
    (Agent::ClaudeDesktop, "claude-desktop.json"),
    (Agent::Cursor, "cursor.json"),
    (Agent::Vscode, "vscode.json"),
    (Agent::Codex, "codex.toml"),
    (Agent::Codex, "codex-crlf.toml"),
    (Agent::Windsurf, "windsurf.json"),
    (Agent::Opencode, "opencode.jsonc"),
    (Agent::Opencode, "opencode-2.json"),
    (Agent::Zed, "zed.json"),
    (Agent::Gemini, "gemini.json"),
    (Agent::Copilot, "copilot.json"),
    (Agent::Qwen, "qwen.json"),
    (Agent::Goose, "goose.yaml"),
    (Agent::Goose, "goose-crlf.yaml"),
    (Agent::Crush, "crush.json"),
    (Agent::Cline, "cline.json"),
    (Agent::Kiro, "kiro.json"),
];

/// An absolute path of Unix, as an absolute path of this system.
pub(crate) fn system_path(path: &str) -> PathBuf {
    if cfg!(windows) {
        PathBuf::from(format!("C:{path}"))
    } else {
        PathBuf::from(path)
    }
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/data/agents")
        .join(name)
}

fn mux_entry() -> MuxEntry {
    MuxEntry {
        command: "mux".into(),
        args: vec!["mcp".into()],
        env: Vec::new(),
    }
}

fn install(agent: Agent, text: &str, mux_entry: &MuxEntry) -> String {
    let document = ConfigDocument::parse(text.as_bytes(), agent.format()).unwrap();
    let section = agent.servers_section(&document);
    document
        .with_server_entry(
            section,
            "mux",
            &mux_entry.to_agent_entry(agent, section, "mux"),
        )
        .unwrap()
        .text()
}

fn undo(agent: Agent, text: &str) -> String {
    let document = ConfigDocument::parse(text.as_bytes(), agent.format()).unwrap();
    document
        .without_server_entry(agent.servers_section(&document), "mux")
        .unwrap()
        .text()
}

#[test]
fn agents_install_adds_only_the_entry_and_undo_restores_the_file() {
    for (agent, name) in AGENT_FILES {
        let text = fs::read_to_string(data(name)).unwrap();
        let installed = install(*agent, &text, &mux_entry());
        let expected = fs::read_to_string(data(&format!("installed/{name}"))).unwrap();
        assert_eq!(installed, expected, "{name}");
        assert_eq!(
            install(*agent, &installed, &mux_entry()),
            installed,
            "{name}: twice"
        );
        assert_eq!(
            undo(*agent, &installed),
            text,
            "{name}: undone without a backup"
        );
        // Additional keys of our entry are added to the existing entry.
        let more = MuxEntry {
            args: vec!["mcp".into(), "--agent".into(), "größe".into()],
            env: vec![("MUX_HOME".into(), "/a \"b\"".into())],
            ..mux_entry()
        };
        let changed = install(*agent, &installed, &more);
        let read = ConfigDocument::parse(changed.as_bytes(), agent.format()).unwrap();
        let entry = read
            .find_section_entry(agent.servers_section(&read), "mux")
            .unwrap();
        assert_eq!(
            MuxEntry::parse_mcp_entry(entry).as_ref(),
            Some(&more),
            "{name}"
        );
        assert_eq!(undo(*agent, &changed), text, "{name}: changed and undone");
        assert_eq!(
            undo(*agent, &install(*agent, &text, &more)),
            text,
            "{name}: more and undone"
        );
    }
}

#[test]
fn agents_entry_is_added_in_the_layout_of_the_file() {
    for (before, after) in [
        (
            "",
            "{\n  \"mcpServers\": {\n    \"mux\": {\n      \"command\": \"mux\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n",
        ),
        (
            "{}",
            "{\n  \"mcpServers\": {\n    \"mux\": {\n      \"command\": \"mux\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}",
        ),
        (
            "{\"a\":1}",
            "{\"a\":1,\"mcpServers\":{\"mux\":{\"command\":\"mux\",\"args\":[\"mcp\"]}}}",
        ),
        (
            "{ \"a\": 1 }\n",
            "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"mux\": {\n      \"command\": \"mux\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n",
        ),
        (
            "{\n\t\"mcpServers\": {\n\t\t// none yet\n\t}\n}",
            "{\n\t\"mcpServers\": {\n\t\t// none yet\n\t\t\"mux\": {\n\t\t\t\"command\": \"mux\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t}\n\t}\n}",
        ),
        (
            "{\n \"mcpServers\": {\n  \"a\": {} // one, \"two\"\n  /* the end */\n }\n}",
            "{\n \"mcpServers\": {\n  \"a\": {}, // one, \"two\"\n  \"mux\": {\n   \"command\": \"mux\",\n   \"args\": [\"mcp\"]\n  }\n  /* the end */\n }\n}",
        ),
        (
            "{\n \"mcpServers\": { \"mux\": { \"command\": \"/old/mux\", \"args\": [\"mcp\"], \"alwaysAllow\": [] } }\n}",
            "{\n \"mcpServers\": { \"mux\": { \"command\": \"mux\", \"args\": [\"mcp\"], \"alwaysAllow\": [] } }\n}",
        ),
        (
            "\u{feff}{}\r\n",
            "\u{feff}{\r\n  \"mcpServers\": {\r\n    \"mux\": {\r\n      \"command\": \"mux\",\r\n      \"args\": [\"mcp\"]\r\n    }\r\n  }\r\n}\r\n",
        ),
        (
            "{\r\n \"a\": 1,\n \"b\": 2\r\n}\r\n",
            "{\r\n \"a\": 1,\n \"b\": 2,\r\n \"mcpServers\": {\r\n  \"mux\": {\r\n   \"command\": \"mux\",\r\n   \"args\": [\"mcp\"]\r\n  }\r\n }\r\n}\r\n",
        ),
    ] {
        assert_eq!(install(Agent::Cursor, before, &mux_entry()), after);
    }
    let inline = "mcp_servers = { a = { command = \"a\" } } # mine\n";
    assert_eq!(
        install(Agent::Codex, inline, &mux_entry()),
        "mcp_servers = { a = { command = \"a\" }, mux = { command = \"mux\", args = [\"mcp\"] } } # mine\n"
    );
    let ours = "[mcp_servers.mux]\ncommand = \"mux\"\nargs = [\"mcp\"]\n";
    for (before, after) in [
        ("", ours.to_owned()),
        ("# only this\n", format!("# only this\n\n{ours}")),
        (
            "[mcp_servers.a]\ncommand = \"a\"\n# [mcp_servers.b]\n",
            format!("[mcp_servers.a]\ncommand = \"a\"\n# [mcp_servers.b]\n\n{ours}"),
        ),
        (
            "[mcp_servers.a]\ncommand = \"a\"\n# of c\n[c]\n",
            format!("[mcp_servers.a]\ncommand = \"a\"\n\n{ours}# of c\n[c]\n"),
        ),
        (
            "[mcp_servers]\n\n[c]\n",
            format!("[mcp_servers]\n\n{ours}\n[c]\n"),
        ),
    ] {
        assert_eq!(install(Agent::Codex, before, &mux_entry()), after);
    }
    let ours = "  mux:\n    enabled: true\n    type: stdio\n    name: mux\n    cmd: mux\n    args:\n      - mcp\n    timeout: 300\n";
    for (before, after) in [
        ("", format!("extensions:\n{ours}")),
        ("# only this", format!("# only this\nextensions:\n{ours}")),
        ("a: 1\n", format!("a: 1\nextensions:\n{ours}")),
        (
            "extensions: # none yet\na: 1\n",
            format!("extensions: # none yet\n{ours}a: 1\n"),
        ),
        (
            "# top\n---\nextensions:\n  b: {enabled: false}  # off\n\n\n# end\n",
            format!("# top\n---\nextensions:\n  b: {{enabled: false}}  # off\n{ours}\n\n# end\n"),
        ),
    ] {
        assert_eq!(install(Agent::Goose, before, &mux_entry()), after);
    }
    assert_eq!(
        install(Agent::Codex, "model = \"x\"", &mux_entry()),
        "model = \"x\"\n\n[mcp_servers.mux]\ncommand = \"mux\"\nargs = [\"mcp\"]\n"
    );
}

#[test]
fn agents_entry_is_removed_without_a_gap() {
    for (before, after) in [
        (
            "{\"mcpServers\":{\"mux\":{},\"b\":{}}}",
            "{\"mcpServers\":{\"b\":{}}}",
        ),
        (
            "{\"mcpServers\":{\"a\":{},\"mux\":{}}}",
            "{\"mcpServers\":{\"a\":{}}}",
        ),
        (
            "{ \"mcpServers\": { \"mux\": {}, \"b\": {} } }",
            "{ \"mcpServers\": { \"b\": {} } }",
        ),
        (
            "{ \"mcpServers\": { \"mux\": {} } }",
            "{ \"mcpServers\": {} }",
        ),
        (
            "{\"mcpServers\":{\n  // a\n  \"mux\": {},\n  // b\n  \"b\": {}\n}}",
            "{\"mcpServers\":{\n  // a\n  // b\n  \"b\": {}\n}}",
        ),
        (
            "{\"mcpServers\":{\n  \"a\": {}, // one\n  \"mux\": {} // us\n}}",
            "{\"mcpServers\":{\n  \"a\": {} // one\n}}",
        ),
        (
            "{\"mcpServers\":{\n  \"a\": {},\n  \"mux\": {},\n}}",
            "{\"mcpServers\":{\n  \"a\": {},\n}}",
        ),
        ("{\"mcpServers\":[]}", "{\"mcpServers\":[]}"),
    ] {
        assert_eq!(undo(Agent::Cursor, before), after);
    }
    for (before, after) in [
        (
            "a = 1\n\n# mine\n[mcp_servers.mux] # ours\ncommand = \"mux\"\nargs = [\n  \"mcp\",\n] # end\n# next\n[b]\n",
            "a = 1\n\n# mine\n# next\n[b]\n",
        ),
        (
            "[mcp_servers.mux]\n[mcp_servers.mux.env]\nA = \"b\"\n\n[mcp_servers.b]\ncommand = \"b\"\n\n[mcp_servers.mux.tools.x]\ny = 1",
            "\n[mcp_servers.b]\ncommand = \"b\"\n",
        ),
        (
            "[mcp_servers]\nmux = { command = \"mux\" }\nb.command = \"b\"\n",
            "[mcp_servers]\nb.command = \"b\"\n",
        ),
        ("mcp_servers.mux.command = \"mux\"\nz = 1\n", "z = 1\n"),
        ("[mcp_servers.mux]\n", ""),
        (
            "[a]\n\n# mine\n[mcp_servers.mux]\ncommand = \"mux\"\n# end\n",
            "[a]\n\n# mine\n# end\n",
        ),
    ] {
        assert_eq!(undo(Agent::Codex, before), after);
    }
    for (before, after) in [
        (
            "extensions:\n  # a\n  a: 1 # one\n  mux:\n    args:\n    - mcp\n  # b\n  b: |\n    text\n",
            "extensions:\n  # a\n  a: 1 # one\n  # b\n  b: |\n    text\n",
        ),
        ("extensions:\n  mux: {}\nz: 1\n", "extensions: {}\nz: 1\n"),
        ("extensions: {mux: {}, b: 1}\n", "extensions: {b: 1}\n"),
        ("extensions:\nz: 1\n", "extensions:\nz: 1\n"),
    ] {
        assert_eq!(undo(Agent::Goose, before), after);
    }
}

#[test]
fn agents_syntax_errors_have_line_and_column() {
    let failure = |agent: Agent, bytes: &[u8]| {
        let error = ConfigDocument::parse(bytes, agent.format()).unwrap_err();
        error.to_string()
    };
    for (agent, text, position) in [
        (
            Agent::Cursor,
            "{\n  \"é😀\": 1 \"b\": 2\n}",
            "line 2, column 11",
        ),
        (Agent::Cursor, "{\n  \"a\": [1, 2\n}\n", "line 3, column 1"),
        (Agent::Cursor, "[1]", "one JSON object"),
        (Agent::Cursor, "{ 'a': 1 }", "column 3"),
        (Agent::Cursor, "// only this", "one JSON object"),
        (Agent::Codex, "a = 1\n[b\n", "line 2, column 3"),
        (Agent::Goose, "é: 1\n😀: [1\n", "line 2, column 5"),
        (Agent::Goose, "a: 1\na: 2\n", "line 2, column 1"),
        (Agent::Goose, "- a\n", "one YAML mapping"),
    ] {
        let message = failure(agent, text.as_bytes());
        assert!(message.contains(position), "{text}: {message}");
    }
    assert!(failure(Agent::Zed, b"{\"\xff\": 1}").contains("UTF-8"));
    let shape = ConfigDocument::parse(b"{\"mcpServers\": [1]}", ConfigFormat::Json).unwrap();
    let error = shape.with_server_entry(&["mcpServers"], "mux", &serde_json::json!({}));
    assert!(error.unwrap_err().to_string().contains("`mcpServers`"));
    let shape = ConfigDocument::parse(b"extensions: [1]\n", ConfigFormat::Yaml).unwrap();
    let error = shape.with_server_entry(&["extensions"], "mux", &serde_json::json!({}));
    assert!(error.unwrap_err().to_string().contains("`extensions`"));
}

#[test]
fn agents_paths_follow_the_system_and_environment_variables() {
    let places = |system, pairs: &[(&str, &str)]| {
        let find = |name: &str| {
            let found = pairs.iter().find(|(known, _)| *known == name)?;
            Some(if found.1.starts_with('/') {
                system_path(found.1)
            } else {
                PathBuf::from(found.1)
            })
        };
        AgentPaths::new(system, find)
    };
    let linux = places(OperatingSystem::Linux, &[("HOME", "/h")]).unwrap();
    let files = Agent::all().map(|agent| linux.tilde_path(&linux.agent_config_file(agent)));
    // Compared as paths: the separator is that of this system.
    assert_eq!(
        files.map(PathBuf::from).collect::<Vec<_>>(),
        [
            "~/.claude.json",
            "~/.config/Claude/claude_desktop_config.json",
            "~/.cursor/mcp.json",
            "~/.config/Code/User/mcp.json",
            "~/.codex/config.toml",
            "~/.codeium/windsurf/mcp_config.json",
            "~/.config/opencode/opencode.json",
            "~/.config/zed/settings.json",
            "~/.gemini/settings.json",
            "~/.copilot/mcp-config.json",
            "~/.qwen/settings.json",
            "~/.config/goose/config.yaml",
            "~/.config/crush/crush.json",
            "~/.cline/data/settings/cline_mcp_settings.json",
            "~/.kiro/settings/mcp.json",
        ]
        .map(PathBuf::from)
    );
    let moved = [
        ("HOME", "/h"),
        ("XDG_CONFIG_HOME", "/x"),
        ("CODEX_HOME", "/c"),
        ("CLAUDE_CONFIG_DIR", "/d"),
        ("GEMINI_CLI_HOME", "/g"),
        ("COPILOT_HOME", "/p"),
        ("QWEN_HOME", "relative"),
        ("GOOSE_PATH_ROOT", "/o"),
        ("CRUSH_GLOBAL_CONFIG", "/r"),
        ("CLINE_MCP_SETTINGS_PATH", "/l/mcp.json"),
        ("CLINE_DIR", "/i"),
    ];
    let moved = places(OperatingSystem::Linux, &moved).unwrap();
    for (agent, file) in [
        (Agent::Claude, "/d/.claude.json"),
        (Agent::Vscode, "/x/Code/User/mcp.json"),
        (Agent::Codex, "/c/config.toml"),
        (Agent::Zed, "/x/zed/settings.json"),
        (Agent::Gemini, "/g/.gemini/settings.json"),
        (Agent::Copilot, "/p/mcp-config.json"),
        (Agent::Qwen, "/h/.qwen/settings.json"),
        (Agent::Goose, "/o/config/config.yaml"),
        (Agent::Crush, "/r/crush.json"),
        (Agent::Cline, "/l/mcp.json"),
    ] {
        assert_eq!(moved.agent_config_file(agent), system_path(file));
    }
    let mac = places(
        OperatingSystem::MacOs,
        &[("HOME", "/h"), ("XDG_CONFIG_HOME", "relative")],
    )
    .unwrap();
    for (agent, file) in [
        (
            Agent::ClaudeDesktop,
            "/h/Library/Application Support/Claude/claude_desktop_config.json",
        ),
        (
            Agent::Vscode,
            "/h/Library/Application Support/Code/User/mcp.json",
        ),
        (Agent::Zed, "/h/.config/zed/settings.json"),
    ] {
        assert_eq!(mac.agent_config_file(agent), system_path(file));
    }
    let windows = places(
        OperatingSystem::Windows,
        &[("USERPROFILE", "/u"), ("APPDATA", "/r")],
    )
    .unwrap();
    assert_eq!(
        windows.agent_config_file(Agent::Vscode),
        system_path("/r/Code/User/mcp.json")
    );
    assert_eq!(
        windows.agent_config_file(Agent::Zed),
        system_path("/r/Zed/settings.json")
    );
    assert_eq!(
        windows.agent_config_file(Agent::Cursor),
        system_path("/u/.cursor/mcp.json")
    );
    assert_eq!(
        windows.agent_config_file(Agent::Goose),
        system_path("/r/Block/goose/config/config.yaml")
    );
    assert!(places(OperatingSystem::Linux, &[]).is_none());
}

#[test]
fn agent_is_found_by_its_file_its_directory_or_its_program() {
    let dir = tempfile::tempdir().unwrap();
    let variable = |name: &str| match name {
        "HOME" => Some(dir.path().join("home")),
        "PATH" => Some(dir.path().join("bin")),
        _ => None,
    };
    let find = |system| {
        let paths = AgentPaths::new(system, variable).unwrap();
        Agent::all()
            .filter(|agent| paths.seems_installed(*agent))
            .collect::<Vec<_>>()
    };
    assert_eq!(find(OperatingSystem::Linux), []);
    fs::create_dir_all(dir.path().join("home/.cline")).unwrap();
    assert_eq!(find(OperatingSystem::Linux), [Agent::Cline]);
    let bin = dir.path().join("bin");
    fs::create_dir_all(bin.join("codex")).unwrap();
    for agent in Agent::all() {
        let program = agent.spec().programs[0];
        fs::remove_dir_all(&bin).unwrap();
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join(program), "").unwrap();
        let mut found = vec![agent, Agent::Cline];
        found.sort_unstable();
        found.dedup();
        assert_eq!(find(OperatingSystem::Linux), found);
        assert_eq!(find(OperatingSystem::Windows), [Agent::Cline]);
        fs::write(bin.join(format!("{program}.cmd")), "").unwrap();
        assert_eq!(find(OperatingSystem::Windows), found);
    }
}

#[test]
fn agents_diffs_mask_secrets() {
    let diff = masked_diff(
        "a\n\"K_TOKEN\": \"1\"\nb\n",
        "a\n\"K_TOKEN\": \"1\",\nc\nb\n",
        "f",
    );
    assert_eq!(
        diff,
        "--- f\n+++ f\n@@ -1,3 +1,4 @@\n a\n-\"K_TOKEN\": \"***\"\n+\"K_TOKEN\": \"***\",\n+c\n b\n"
    );
    assert_eq!(masked_diff("a\n", "a\n", "f"), "");
}

#[test]
fn agents_entries_that_start_mux_are_recognized() {
    use serde_json::json;
    let leads = |name: &str, entry: serde_json::Value| {
        MuxEntry::parse_mcp_entry(&entry).is_some_and(|mux_entry| mux_entry.starts_mux(name))
    };
    assert!(leads(
        "x",
        json!({ "command": "/opt/bin/mux", "args": ["mcp", "--agent", "a"] })
    ));
    assert!(leads(
        "x",
        json!({ "command": "C:\\bin\\mux.exe", "args": ["mcp"] })
    ));
    assert!(leads("x", json!({ "command": ["mux", "mcp"] })));
    assert!(leads("x", json!({ "cmd": "mux", "args": ["mcp"] })));
    assert!(leads(
        "x",
        json!({ "transport": { "type": "stdio", "command": "mux", "args": ["mcp"] } })
    ));
    assert!(leads(
        "x",
        json!({ "command": { "path": "mux", "args": ["mcp"] } })
    ));
    assert!(leads(
        "mux",
        json!({ "command": "/opt/wrapper.sh", "args": ["mcp"] })
    ));
    assert!(!leads("x", json!({ "command": "codex", "args": ["mcp"] })));
    assert!(!leads(
        "mux",
        json!({ "command": "mux", "args": ["serve"] })
    ));
    assert!(!leads("mux", json!({ "url": "https://mux.com/mcp" })));
}

fn toml_document(text: &str) -> ConfigDocument {
    ConfigDocument::parse(text.as_bytes(), ConfigFormat::Toml).unwrap()
}

#[test]
fn entry_is_found_by_its_name_in_programs() {
    let text = b"[servers.my-files]\ncommand = \"a\"\n";
    let document = ConfigDocument::parse(text, ConfigFormat::Toml).unwrap();
    let found = |name: &str| document.find_spelled_entry(&["servers"], name);
    assert_eq!(found("my_files").unwrap().0, "my-files");
    assert!(found("my").is_none());
}

#[test]
fn value_is_set_in_the_layout_of_the_file() {
    for (before, path, headed, value, after) in [
        (
            "",
            "limits wall",
            1,
            json!("2m"),
            "[limits]\nwall = \"2m\"\n",
        ),
        (
            "# mine\n[limits] # here\n# the longest\nwall = \"1m\" # enough\n\n# next\n[daemon]\n",
            "limits wall",
            1,
            json!("2m"),
            "# mine\n[limits] # here\n# the longest\nwall = \"2m\" # enough\n\n# next\n[daemon]\n",
        ),
        (
            "[limits]\nwall = \"1m\" # enough\n\n[daemon]\n",
            "limits calls",
            1,
            json!(5),
            "[limits]\nwall = \"1m\" # enough\ncalls = 5\n\n[daemon]\n",
        ),
        (
            "[servers.a]\ncommand = \"x\"\n\n[limits]\n",
            "servers.a share",
            2,
            json!("run"),
            "[servers.a]\ncommand = \"x\"\nshare = \"run\"\n\n[limits]\n",
        ),
        (
            "[servers.a]\ncommand = \"x\"\n",
            "servers.a env A.B",
            2,
            json!("1"),
            "[servers.a]\ncommand = \"x\"\nenv = { \"A.B\" = \"1\" }\n",
        ),
        (
            "[servers.a]\ntools = { direct = [\"b\"] } # both\n",
            "servers.a tools exclude",
            2,
            json!(["c"]),
            "[servers.a]\ntools = { direct = [\"b\"], exclude = [\"c\"] } # both\n",
        ),
        (
            "[servers.a]\ncommand = \"x\"\n[servers.a.env]\nA = \"1\"\n",
            "servers.a env B",
            2,
            json!("2"),
            "[servers.a]\ncommand = \"x\"\n[servers.a.env]\nA = \"1\"\nB = \"2\"\n",
        ),
        (
            "[servers.a]\ncommand = \"x\"\n\n[limits]\n",
            "servers.b command",
            2,
            json!("y"),
            "[servers.a]\ncommand = \"x\"\n\n[servers.b]\ncommand = \"y\"\n\n[limits]\n",
        ),
        (
            "servers = { a = { command = \"x\" } }\n# end\n",
            "servers.b command",
            2,
            json!("y"),
            "servers = { a = { command = \"x\" } , b = { command = \"y\" } }\n# end\n",
        ),
        (
            "limits.wall = \"1m\"\r\n",
            "limits calls",
            1,
            json!(5),
            "limits.wall = \"1m\"\r\nlimits.calls = 5\r\n",
        ),
    ] {
        let path: Vec<&str> = path.split(' ').collect();
        // The first word has the keys with a header.
        let path: Vec<&str> = match headed {
            2 => path[0]
                .split('.')
                .chain(path[1..].iter().copied())
                .collect(),
            _ => path,
        };
        let edited = toml_document(before).with_value(&path, headed, &value);
        assert_eq!(edited.unwrap().text(), after, "{before:?} {path:?}");
    }
    let wrong = toml_document("limits = 3\n").with_value(&["limits", "wall"], 1, &json!("1s"));
    assert!(wrong.is_err());
    let wrong = toml_document("[servers.a]\nenv = 3\n");
    assert!(
        wrong
            .with_value(&["servers", "a", "env", "B"], 2, &json!("1"))
            .is_err()
    );
}

#[test]
fn removed_value_leaves_the_comments() {
    for (before, section, name, after) in [
        (
            "[limits]\n# all of them\nwall = \"1m\" # long\ncalls = 5\n",
            &["limits"][..],
            "wall",
            "[limits]\n# all of them\ncalls = 5\n",
        ),
        (
            "[servers.a]\nargs = [\n  \"x\", # one\n]\nenv = { A = \"1\", B = \"2\" }\n",
            &["servers", "a"],
            "args",
            "[servers.a]\nenv = { A = \"1\", B = \"2\" }\n",
        ),
        (
            "[servers.a]\nenv = { A = \"1\", B = \"2\" }\n",
            &["servers", "a", "env"],
            "A",
            "[servers.a]\nenv = { B = \"2\" }\n",
        ),
        ("# x\nlimits.wall = \"1m\"\n", &["limits"], "wall", "# x\n"),
    ] {
        let edited = toml_document(before).without_server_entry(section, name);
        assert_eq!(edited.unwrap().text(), after, "{before:?}");
    }
}

#[test]
fn list_item_is_added_first_or_last() {
    let rule = json!({ "match": "b", "action": "deny" });
    let piece = "[[policy]]\nmatch = \"b\"\naction = \"deny\"\n";
    for (before, first, last) in [
        ("", piece.to_owned(), piece.to_owned()),
        (
            "# head\n[[policy]]\nmatch = \"a\"\n\n[limits]\n",
            format!("# head\n{piece}\n[[policy]]\nmatch = \"a\"\n\n[limits]\n"),
            format!("# head\n[[policy]]\nmatch = \"a\"\n\n{piece}\n[limits]\n"),
        ),
        (
            "[limits]\n\n# about a\n[[policy]]\nmatch = \"a\"\n[policy.arguments]\nx = 1\n",
            format!(
                "[limits]\n\n{piece}\n# about a\n[[policy]]\nmatch = \"a\"\n[policy.arguments]\nx = 1\n"
            ),
            format!(
                "[limits]\n\n# about a\n[[policy]]\nmatch = \"a\"\n[policy.arguments]\nx = 1\n\n{piece}"
            ),
        ),
        (
            "policy = [\n  { match = \"a\" },\n]\n",
            "policy = [\n  { match = \"b\", action = \"deny\" },\n  { match = \"a\" },\n]\n".into(),
            "policy = [\n  { match = \"a\" },\n  { match = \"b\", action = \"deny\" },\n]\n".into(),
        ),
        (
            "policy = [ # head\n  # about a\n  { match = \"a\" }, # a\n  # about c\n  { match = \"c\" } # c\n]\n",
            "policy = [ # head\n  { match = \"b\", action = \"deny\" },\n  # about a\n  { match = \"a\" }, # a\n  \
             # about c\n  { match = \"c\" } # c\n]\n"
                .into(),
            "policy = [ # head\n  # about a\n  { match = \"a\" }, # a\n  # about c\n  { match = \"c\" }, # c\n  \
             { match = \"b\", action = \"deny\" }\n]\n"
                .into(),
        ),
        (
            "policy = [{ match = \"a\" }]\n",
            "policy = [{ match = \"b\", action = \"deny\" }, { match = \"a\" }]\n".into(),
            "policy = [{ match = \"a\" }, { match = \"b\", action = \"deny\" }]\n".into(),
        ),
    ] {
        let document = toml_document(before);
        for (is_last, after) in [(false, first), (true, last)] {
            let edited = document.with_list_item("policy", &rule, is_last).unwrap();
            assert_eq!(edited.text(), after, "{before:?}");
        }
    }
}
