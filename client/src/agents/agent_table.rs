//! The agents that mux knows: how each is recognized, where its file is, and how entries are written there.
//!
//! Invariant: the rows are in the order of [`Agent`]. A new agent is a variant and a row, and its
//! files in `tests/data/agents`: see `docs/dev/changes.md`.

use serde_json::{Value, json};

use super::{Agent, ConfigFormat, MuxEntry};

/// The facts about one agent.
pub(crate) struct AgentSpec {
    agent: Agent,
    pub(crate) display_name: &'static str,
    pub(crate) format: ConfigFormat,
    /// Where the file with the servers is: the first location that this system has. A location begins with `~`, with
    /// `$NAME` (counts only if the variable is set), with `{config}` (`XDG_CONFIG_HOME`, on every system), with
    /// `{desktop}` (the directory in which the system's desktop programs keep their settings), or with `{windows}` (the
    /// same, on Windows only). A location with `?` counts only if the file exists.
    pub(crate) files: &'static [&'static str],
    /// The directory that the agent creates, in the same way. Empty if it is the directory of the file.
    pub(crate) directories: &'static [&'static str],
    /// The names of its programs in PATH.
    pub(crate) programs: &'static [&'static str],
    /// The keys of the object that contains the servers.
    pub(crate) section: &'static [&'static str],
    /// The keys of that object in the newer version of the file.
    pub(crate) newer_section: Option<&'static [&'static str]>,
    /// The file for one project, relative to the project's directory.
    pub(crate) project_file: Option<&'static str>,
    /// The references that the agent expands in an entry, in addition to `${NAME}` in variables and
    /// headers.
    pub(crate) references: &'static [ReferenceSyntax],
    /// The meaning of the key `timeout` in an entry.
    pub(crate) timeout: Option<TimeoutKey>,
    /// Keys of an entry that only describe the server.
    pub(crate) labels: &'static [&'static str],
    /// Entries without a command and a URL are parts of the agent itself.
    pub(crate) has_extensions: bool,
    /// The entry for mux as the agent documents it, without variables.
    pub(crate) entry: fn(&MuxEntry, &str) -> Value,
    /// The key of the variables in an entry.
    pub(crate) env_key: &'static str,
    /// The agent is started from the desktop, with a PATH that differs from the user's shell.
    pub(crate) needs_absolute_command: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ReferenceSyntax {
    /// `$NAME`
    Bare,
    /// `${NAME:-default}`
    Default,
    /// `{env:NAME}` and `{file:PATH}`
    Braces,
    /// `$(command)`
    Command,
    /// `${NAME}` also in the command, its arguments and the URL.
    Arguments,
    /// `${workspaceFolder}` and other names that only an editor knows.
    EditorVariables,
}

#[derive(Clone, Copy)]
pub(crate) enum TimeoutKey {
    StartSeconds,
    StartMilliseconds,
    CallSeconds,
    CallMilliseconds,
}

/// The most common format: `mcpServers` in a JSON file.
const MCP_SERVERS_JSON: AgentSpec = AgentSpec {
    agent: Agent::Claude,
    display_name: "",
    format: ConfigFormat::Json,
    files: &[],
    directories: &[],
    programs: &[],
    section: &["mcpServers"],
    newer_section: None,
    project_file: None,
    references: &[],
    timeout: None,
    labels: &[],
    has_extensions: false,
    entry: |mux, _| json!({ "command": mux.command, "args": mux.args }),
    env_key: "env",
    needs_absolute_command: false,
};

pub(super) static AGENTS: [AgentSpec; 15] = {
    use ReferenceSyntax::{Arguments, Bare, Braces, Command, Default, EditorVariables};
    [
        AgentSpec {
            agent: Agent::Claude,
            display_name: "Claude Code",
            files: &["$CLAUDE_CONFIG_DIR/.claude.json", "~/.claude.json"],
            directories: &["$CLAUDE_CONFIG_DIR", "~/.claude"],
            programs: &["claude"],
            project_file: Some(".mcp.json"),
            references: &[Default, Arguments],
            timeout: Some(TimeoutKey::CallMilliseconds),
            entry: stdio_entry,
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::ClaudeDesktop,
            display_name: "Claude Desktop",
            files: &["{desktop}/Claude/claude_desktop_config.json"],
            programs: &["claude-desktop"],
            needs_absolute_command: true,
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::Cursor,
            display_name: "Cursor",
            files: &["~/.cursor/mcp.json"],
            programs: &["cursor", "cursor-agent"],
            project_file: Some(".cursor/mcp.json"),
            references: &[Arguments, EditorVariables],
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::Vscode,
            display_name: "VS Code",
            files: &["{desktop}/Code/User/mcp.json"],
            programs: &["code"],
            section: &["servers"],
            project_file: Some(".vscode/mcp.json"),
            references: &[Arguments, EditorVariables],
            entry: stdio_entry,
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::Codex,
            display_name: "Codex",
            format: ConfigFormat::Toml,
            files: &["$CODEX_HOME/config.toml", "~/.codex/config.toml"],
            programs: &["codex"],
            section: &["mcp_servers"],
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::Windsurf,
            display_name: "Windsurf",
            files: &["~/.codeium/windsurf/mcp_config.json"],
            programs: &["windsurf"],
            references: &[Arguments, EditorVariables],
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::Opencode,
            display_name: "opencode",
            files: &[
                "{config}/opencode/opencode.jsonc?",
                "{config}/opencode/opencode.json",
            ],
            programs: &["opencode"],
            section: &["mcp"],
            newer_section: Some(&["mcp", "servers"]),
            references: &[Braces],
            // For the tool list.
            timeout: Some(TimeoutKey::StartMilliseconds),
            entry: |mux, _| {
                let words: Vec<&String> = std::iter::once(&mux.command).chain(&mux.args).collect();
                json!({ "type": "local", "command": words, "enabled": true })
            },
            env_key: "environment",
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::Zed,
            display_name: "Zed",
            files: &["{windows}/Zed/settings.json", "{config}/zed/settings.json"],
            // `zed` is also the event daemon of ZFS.
            programs: &["zeditor"],
            section: &["context_servers"],
            // The origin of the entry.
            labels: &["source"],
            has_extensions: true,
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::Gemini,
            display_name: "Gemini CLI",
            files: &[
                "$GEMINI_CLI_HOME/.gemini/settings.json",
                "~/.gemini/settings.json",
            ],
            programs: &["gemini"],
            project_file: Some(".gemini/settings.json"),
            references: &[Bare, Default, Arguments],
            timeout: Some(TimeoutKey::CallMilliseconds),
            labels: &["description"],
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::Copilot,
            display_name: "Copilot CLI",
            files: &[
                "$COPILOT_HOME/mcp-config.json",
                "~/.copilot/mcp-config.json",
            ],
            programs: &["copilot"],
            project_file: Some(".github/mcp.json"),
            references: &[Bare, Default, Arguments],
            timeout: Some(TimeoutKey::CallMilliseconds),
            entry: |mux, _| json!({ "type": "local", "command": mux.command, "args": mux.args, "tools": ["*"] }),
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::Qwen,
            display_name: "Qwen Code",
            files: &["$QWEN_HOME/settings.json", "~/.qwen/settings.json"],
            programs: &["qwen"],
            project_file: Some(".qwen/settings.json"),
            references: &[Bare, Arguments],
            timeout: Some(TimeoutKey::CallMilliseconds),
            labels: &["description"],
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::Goose,
            display_name: "Goose",
            format: ConfigFormat::Yaml,
            files: &[
                "$GOOSE_PATH_ROOT/config/config.yaml",
                "{windows}/Block/goose/config/config.yaml",
                "{config}/goose/config.yaml",
            ],
            programs: &["goose"],
            section: &["extensions"],
            timeout: Some(TimeoutKey::CallSeconds),
            labels: &["name", "display_name", "description", "bundled"],
            has_extensions: true,
            entry: |mux, name| {
                json!({
                    "enabled": true, "type": "stdio", "name": name, "cmd": mux.command, "args": mux.args,
                    "timeout": 300,
                })
            },
            env_key: "envs",
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::Crush,
            display_name: "Crush",
            files: &[
                "$CRUSH_GLOBAL_CONFIG/crush.json",
                "{config}/crush/crush.json",
            ],
            programs: &["crush"],
            section: &["mcp"],
            project_file: Some("crush.json"),
            references: &[Bare, Default, Command, Arguments],
            timeout: Some(TimeoutKey::StartSeconds),
            entry: stdio_entry,
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::Cline,
            display_name: "Cline",
            files: &[
                "$CLINE_MCP_SETTINGS_PATH",
                "$CLINE_DATA_DIR/settings/cline_mcp_settings.json",
                "$CLINE_DIR/data/settings/cline_mcp_settings.json",
                "~/.cline/data/settings/cline_mcp_settings.json",
            ],
            directories: &["$CLINE_DIR", "~/.cline"],
            programs: &["cline"],
            timeout: Some(TimeoutKey::CallSeconds),
            entry: stdio_entry,
            ..MCP_SERVERS_JSON
        },
        AgentSpec {
            agent: Agent::Kiro,
            display_name: "Kiro",
            files: &["~/.kiro/settings/mcp.json"],
            directories: &["~/.kiro"],
            programs: &["kiro", "kiro-cli"],
            project_file: Some(".kiro/settings/mcp.json"),
            references: &[EditorVariables],
            timeout: Some(TimeoutKey::CallMilliseconds),
            ..MCP_SERVERS_JSON
        },
    ]
};

/// A row in the wrong place does not compile.
const _: () = {
    let mut row = 0;
    while row < AGENTS.len() {
        assert!(AGENTS[row].agent as usize == row);
        row += 1;
    }
};

fn stdio_entry(mux: &MuxEntry, _name: &str) -> Value {
    json!({ "type": "stdio", "command": mux.command, "args": mux.args })
}
