//! The configuration files of agents: `mux install` writes to them, `mux import` reads them, `mux init` does both.
//!
//! Invariant: files outside a temporary home are neither read nor written.

mod import;
mod init;
mod install;
mod moves;
mod secrets;
mod undo;

use std::{
    fs,
    path::{Path, PathBuf},
};

use mux_tests::TestEnv;

/// Each agent, with the test data for its configuration file and the path of that file in the home.
const FILES: &[(&str, &str, &str)] = &[
    ("claude", "claude.json", ".claude.json"),
    (
        "claude-desktop",
        "claude-desktop.json",
        ".config/Claude/claude_desktop_config.json",
    ),
    ("cursor", "cursor.json", ".cursor/mcp.json"),
    ("vscode", "vscode.json", ".config/Code/User/mcp.json"),
    ("codex", "codex-crlf.toml", ".codex/config.toml"),
    (
        "windsurf",
        "windsurf.json",
        ".codeium/windsurf/mcp_config.json",
    ),
    (
        "opencode",
        "opencode.jsonc",
        ".config/opencode/opencode.jsonc",
    ),
    ("zed", "zed.json", ".config/zed/settings.json"),
    ("gemini", "gemini.json", ".gemini/settings.json"),
    ("copilot", "copilot.json", ".copilot/mcp-config.json"),
    ("qwen", "qwen.json", ".qwen/settings.json"),
    ("goose", "goose-crlf.yaml", ".config/goose/config.yaml"),
    ("crush", "crush.json", ".config/crush/crush.json"),
    (
        "cline",
        "cline.json",
        ".cline/data/settings/cline_mcp_settings.json",
    ),
    ("kiro", "kiro.json", ".kiro/settings/mcp.json"),
];

fn data(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/agents");
    fs::read(folder.join(name)).unwrap()
}

/// A home without agents.
fn without_agents() -> TestEnv {
    TestEnv::new().with_own_path()
}

/// A home with the configuration files of all agents.
fn with_all() -> TestEnv {
    let env = without_agents();
    for (_, name, place) in FILES {
        write(&env, place, data(name));
    }
    env
}

fn write(env: &TestEnv, place: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = env.path(place);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// Every file of a home, except those of the daemon, with its content.
fn contents(env: &TestEnv) -> Vec<(PathBuf, Vec<u8>)> {
    fn walk(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.is_file() {
                found.push((path.clone(), fs::read(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(env.home(), &mut found);
    found.retain(|(path, _)| {
        let rest = path.strip_prefix(env.home()).unwrap();
        !["state", "cache", "run"]
            .iter()
            .any(|own| rest.starts_with(own))
    });
    found.sort();
    found
}
