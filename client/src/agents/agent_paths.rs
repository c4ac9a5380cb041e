//! The paths of the agents' files. Pure, except for checks which files exist.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
};

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
    /// The agents' own variables that are set.
    variables: BTreeMap<&'static str, PathBuf>,
    /// The directories of PATH.
    programs: Vec<PathBuf>,
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
        let specs = Agent::all().map(Agent::spec);
        let locations = specs.flat_map(|spec| spec.files.iter().chain(spec.directories));
        let variables = locations.filter_map(|location| {
            let name = location.strip_prefix('$')?.split('/').next()?;
            Some((name, absolute(name)?))
        });
        Some(Self {
            variables: variables.collect(),
            programs: variable("PATH")
                .map(|path| env::split_paths(&path).collect())
                .unwrap_or_default(),
            home,
            xdg,
            desktop,
            system,
        })
    }

    /// The path of the file with an agent's servers, whether it exists or not.
    pub(crate) fn agent_config_file(&self, agent: Agent) -> PathBuf {
        let file = self.first_location(agent.spec().files);
        file.expect("each agent has a file on each system")
    }

    /// Returns true if the agent seems to be installed on this machine.
    pub(crate) fn seems_installed(&self, agent: Agent) -> bool {
        let spec = agent.spec();
        let file = self.agent_config_file(agent);
        let directory = match self.first_location(spec.directories) {
            Some(directory) => directory.is_dir(),
            None => file.parent().is_some_and(Path::is_dir),
        };
        let mut programs = spec.programs.iter();
        directory || file.exists() || programs.any(|name| self.is_in_path(name))
    }

    /// The path that `~` or `~/…` stands for. Any other string is returned unchanged.
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

    fn first_location(&self, locations: &[&str]) -> Option<PathBuf> {
        locations.iter().find_map(|location| {
            let must_exist = location.ends_with('?');
            let mut parts = location.trim_end_matches('?').split('/');
            let base = match parts.next()? {
                "~" => &self.home,
                "{config}" => &self.xdg,
                "{desktop}" => &self.desktop,
                "{windows}" if self.system == OperatingSystem::Windows => &self.desktop,
                variable => self.variables.get(variable.strip_prefix('$')?)?,
            };
            let mut path = base.clone();
            path.extend(parts);
            (!must_exist || path.exists()).then_some(path)
        })
    }

    fn is_in_path(&self, program: &str) -> bool {
        // npm installs programs as `.cmd` on Windows.
        let endings: &[&str] = match self.system {
            OperatingSystem::Windows => &[".exe", ".cmd"],
            _ => &[""],
        };
        let mut directories = self.programs.iter();
        directories.any(|directory| {
            let mut endings = endings.iter();
            endings.any(|ending| directory.join(format!("{program}{ending}")).is_file())
        })
    }
}
