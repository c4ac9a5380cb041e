//! The paths of the agents' files. Pure, except for a check which of opencode's two files exists.

use std::path::{Path, PathBuf};

use super::Agent;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OperatingSystem {
    Linux,
    MacOs,
    Windows,
}

impl OperatingSystem {
    pub(crate) fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}

/// The directories from which the paths are derived.
#[derive(Clone, Debug)]
pub(crate) struct AgentPaths {
    home: PathBuf,
    /// `~/.config`, for agents that follow XDG on every Unix.
    xdg: PathBuf,
    /// The directory in which the system's desktop programs keep their settings.
    desktop: PathBuf,
    codex: PathBuf,
    claude: Option<PathBuf>,
    system: OperatingSystem,
}

impl AgentPaths {
    /// `variable` reads the environment. `None` without a home directory.
    pub(crate) fn new(
        system: OperatingSystem,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Option<Self> {
        // XDG: relative paths are ignored.
        let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
        let home = match system {
            OperatingSystem::Windows => absolute("USERPROFILE").or_else(|| absolute("HOME")),
            _ => absolute("HOME"),
        }?;
        let xdg = absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let desktop = match system {
            OperatingSystem::Linux => xdg.clone(),
            OperatingSystem::MacOs => home.join("Library/Application Support"),
            OperatingSystem::Windows => {
                absolute("APPDATA").unwrap_or_else(|| home.join("AppData").join("Roaming"))
            }
        };
        Some(Self {
            codex: absolute("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
            claude: absolute("CLAUDE_CONFIG_DIR"),
            home,
            xdg,
            desktop,
            system,
        })
    }

    /// The path of the file with an agent's servers, whether it exists or not.
    pub(crate) fn agent_config_file(&self, agent: Agent) -> PathBuf {
        let folder = self.agent_folder(agent);
        match agent {
            Agent::Claude => match &self.claude {
                Some(folder) => folder.join(".claude.json"),
                None => self.home.join(".claude.json"),
            },
            Agent::ClaudeDesktop => folder.join("claude_desktop_config.json"),
            Agent::Cursor | Agent::Vscode => folder.join("mcp.json"),
            Agent::Codex => folder.join("config.toml"),
            Agent::Windsurf => folder.join("mcp_config.json"),
            Agent::Opencode => {
                let commented = folder.join("opencode.jsonc");
                if commented.exists() {
                    commented
                } else {
                    folder.join("opencode.json")
                }
            }
            Agent::Zed => folder.join("settings.json"),
        }
    }

    /// Whether the agent seems to be installed on this machine.
    pub(crate) fn seems_installed(&self, agent: Agent) -> bool {
        self.agent_config_file(agent).exists() || self.agent_folder(agent).is_dir()
    }

    /// The directory that the agent creates.
    fn agent_folder(&self, agent: Agent) -> PathBuf {
        match agent {
            Agent::Claude => match &self.claude {
                Some(folder) => folder.clone(),
                None => self.home.join(".claude"),
            },
            Agent::ClaudeDesktop => self.desktop.join("Claude"),
            Agent::Cursor => self.home.join(".cursor"),
            Agent::Vscode => self.desktop.join("Code").join("User"),
            Agent::Codex => self.codex.clone(),
            Agent::Windsurf => self.home.join(".codeium").join("windsurf"),
            Agent::Opencode => self.xdg.join("opencode"),
            Agent::Zed => match self.system {
                OperatingSystem::Windows => self.desktop.join("Zed"),
                _ => self.xdg.join("zed"),
            },
        }
    }

    /// The path that `~` or `~/…` stands for; any other text as it is.
    pub(crate) fn expand_tilde(&self, text: &str) -> PathBuf {
        match text.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            _ => PathBuf::from(text),
        }
    }

    /// A path for users, with `~` for the home directory.
    pub(crate) fn tilde_path(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) => Path::new("~").join(rest).display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }
}
