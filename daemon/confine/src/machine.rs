//! The enforcement that this machine offers.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use mux_keeper::{SpawnSpec, TreeLimits};

use super::{system_facts::SystemFacts, user_scope::UserScopes};

/// The layers that are available here.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SandboxSupport {
    pub bubblewrap: Bubblewrap,
    /// The user's systemd, if it can limit the processes that it starts.
    pub scopes: Option<UserScopes>,
    /// The version of Landlock; 0 if there is none.
    pub landlock: u32,
    /// The kernel has system call filters.
    pub seccomp: bool,
    /// Limits on the number of processes work: the kernel exempts root from them.
    pub counts_processes: bool,
    /// macOS's `sandbox-exec`.
    pub seatbelt: bool,
}

/// The ability of bubblewrap to create namespaces here.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Bubblewrap {
    /// bubblewrap works. Contains the program's file.
    Works(PathBuf),
    #[default]
    NotInstalled,
    /// Installed, but the system forbids it.
    Forbidden,
}

impl Bubblewrap {
    /// bubblewrap's file, if it works.
    pub fn program(&self) -> Option<&Path> {
        match self {
            Self::Works(program) => Some(program),
            Self::NotInstalled | Self::Forbidden => None,
        }
    }

    pub fn works(&self) -> bool {
        self.program().is_some()
    }

    /// Tells the user how to make it work.
    pub(super) fn remedy(&self) -> &'static str {
        match self {
            Self::Forbidden => SystemFacts::read(Path::new("/")).namespace_remedy(),
            Self::Works(_) | Self::NotInstalled => "install bubblewrap",
        }
    }
}

impl SandboxSupport {
    /// Finds bubblewrap in the daemon's own `PATH`, and returns a command that tries it, because user namespaces may be
    /// forbidden here. Exit code 0 means that it works.
    pub fn bubblewrap_trial() -> Option<SpawnSpec> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let program = env::split_paths(&search_path())
            .map(|directory| directory.join("bwrap"))
            .find(|file| file.is_file())?;
        let words = "--unshare-all --die-with-parent --cap-drop ALL --ro-bind / / --proc /proc --dev /dev -- /bin/true";
        Some(SpawnSpec {
            program,
            args: words.split(' ').map(OsString::from).collect(),
            env: Vec::new(),
            cwd: "/".into(),
            tag: "bubblewrap".into(),
            limits: TreeLimits::default(),
        })
    }

    /// The user's systemd, whose [`UserScopes::trial`] tells whether it can limit the processes that it starts.
    pub fn find_scopes() -> Option<UserScopes> {
        if cfg!(target_os = "linux") {
            UserScopes::find(&search_path())
        } else {
            None
        }
    }

    /// `bubblewrap` and `scopes` are the results of their trials.
    pub fn of(bubblewrap: Bubblewrap, scopes: Option<UserScopes>) -> Self {
        Self {
            bubblewrap,
            scopes,
            #[cfg(target_os = "linux")]
            landlock: mux_lockdown::landlock_rules::supported_version().unwrap_or(0),
            #[cfg(not(target_os = "linux"))]
            landlock: 0,
            #[cfg(target_os = "linux")]
            seccomp: mux_lockdown::syscall_filters::check_support().is_ok(),
            #[cfg(not(target_os = "linux"))]
            seccomp: false,
            #[cfg(unix)]
            counts_processes: !nix::unistd::Uid::effective().is_root(),
            #[cfg(not(unix))]
            counts_processes: false,
            seatbelt: cfg!(target_os = "macos") && Path::new(super::seatbelt::PROGRAM).exists(),
        }
    }

    /// True if nothing is missing that the user might install.
    pub fn is_complete(&self) -> bool {
        self.bubblewrap.works() || self.seatbelt
    }

    /// The user's systemd, unless it has ended since it was tried.
    pub(super) fn running_scopes(&self) -> Option<&UserScopes> {
        self.scopes.as_ref().filter(|scopes| scopes.is_running())
    }

    /// The names of the layers around a server in a sandbox, the strongest first.
    pub fn layers(&self) -> Vec<&'static str> {
        if self.seatbelt {
            return vec!["seatbelt"];
        }
        let mut layers = Vec::new();
        if self.bubblewrap.works() {
            layers.push("namespaces");
        }
        if self.landlock > 0 {
            layers.push("landlock");
        }
        if self.seccomp {
            layers.push("seccomp");
        }
        // A server that sees other processes can leave the measured tree.
        if self.bubblewrap.works() {
            layers.push("limits");
            if self.running_scopes().is_some() {
                layers.push("cgroup");
            }
        }
        layers
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "bubblewrap is a part of muxd, not of a server"
)]
fn search_path() -> OsString {
    env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}
