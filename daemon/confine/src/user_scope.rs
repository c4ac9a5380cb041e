//! Limits by control groups: the user's systemd starts a server in a scope, if it has been given the controllers.
//!
//! Invariant: a scope limits slightly more than the keeper does, because the keeper's error names the limit. So the
//! keeper ends a server that grows slowly, and the kernel stops a server that grows faster than the keeper measures.

use std::{env, ffi::OsString, path::PathBuf};

use mux_keeper::{SpawnSpec, TreeLimits};

const PROGRAM: &str = "systemd-run";
/// The trial's limits, which differ from every default.
const TRIAL_LIMITS: TreeLimits = TreeLimits {
    memory: Some(768 << 20),
    tasks: Some(77),
};
/// Exits with 0 if the kernel has the trial's limits, in version 2 or 1 of control groups, and if the arguments of a
/// command are passed unchanged.
const TRIAL_SCRIPT: &str = r#"
test "$3" = '${HOME}' || exit 1
group=$(sed -n 's/^0:://p' /proc/self/cgroup)
limit() { cat "/sys/fs/cgroup$group/$1" "/sys/fs/cgroup/$2$group/$3" 2>/dev/null; }
test "$(limit memory.max memory memory.limit_in_bytes)" = "$1" && test "$(limit pids.max pids pids.max)" = "$2"
"#;

/// The user's systemd.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UserScopes {
    /// `systemd-run`.
    pub(super) program: PathBuf,
    pub(super) runtime_dir: PathBuf,
}

impl UserScopes {
    /// Finds `systemd-run` among these folders. `None` if no user manager of systemd runs.
    pub(super) fn find(path: &OsString) -> Option<Self> {
        let program = env::split_paths(path)
            .map(|folder| folder.join(PROGRAM))
            .find(|file| file.is_file())?;
        let found = Self {
            program,
            runtime_dir: runtime_dir(),
        };
        found.is_running().then_some(found)
    }

    /// The command that tries it. Exit code 0 means that it works.
    pub fn trial(&self) -> SpawnSpec {
        let mut args = Self::words(TRIAL_LIMITS);
        args.extend(["/bin/sh", "-c", TRIAL_SCRIPT, "sh"].map(OsString::from));
        let TreeLimits { memory, tasks } = with_headroom(TRIAL_LIMITS);
        args.extend(memory.map(|bytes| bytes.to_string().into()));
        args.extend(tasks.map(|tasks| tasks.to_string().into()));
        args.push("${HOME}".into());
        SpawnSpec {
            program: self.program.clone(),
            args,
            env: vec![
                (RUNTIME_DIR_VARIABLE.into(), self.runtime_dir.clone().into()),
                ("PATH".into(), "/usr/bin:/bin".into()),
            ],
            cwd: "/".into(),
            tag: "systemd".into(),
            limits: TreeLimits::default(),
        }
    }

    /// True if the user manager runs. The manager ends with the user's last session, and its directory disappears.
    pub(super) fn is_running(&self) -> bool {
        self.runtime_dir.join("systemd/private").exists()
    }

    /// The arguments between `systemd-run` and a command to start in a scope with these limits. `systemd-run` needs
    /// `XDG_RUNTIME_DIR`.
    pub(super) fn words(limits: TreeLimits) -> Vec<OsString> {
        let mut words = [
            "--user",
            "--scope",
            "--quiet",
            "--collect",
            "--description=MCP server of muxd",
        ]
        .map(OsString::from)
        .to_vec();
        let TreeLimits { memory, tasks } = with_headroom(limits);
        if let Some(bytes) = memory {
            words.push(format!("--property=MemoryMax={bytes}").into());
            words.push("--property=MemorySwapMax=0".into());
        }
        if let Some(tasks) = tasks {
            words.push(format!("--property=TasksMax={tasks}").into());
        }
        words.push("--".into());
        words
    }
}

pub(super) const RUNTIME_DIR_VARIABLE: &str = "XDG_RUNTIME_DIR";

/// Leaves room for memory that the kernel counts and the keeper does not: cached files and the kernel's own needs.
fn with_headroom(limits: TreeLimits) -> TreeLimits {
    TreeLimits {
        memory: limits.memory.map(|bytes| bytes.saturating_add(bytes / 8)),
        tasks: limits.tasks.map(|tasks| tasks.saturating_add(tasks / 8)),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the directory belongs to the daemon's session, and not to a server"
)]
fn runtime_dir() -> PathBuf {
    match env::var_os(RUNTIME_DIR_VARIABLE) {
        Some(folder) => folder.into(),
        None => default_runtime_dir(),
    }
}

#[cfg(unix)]
fn default_runtime_dir() -> PathBuf {
    PathBuf::from(format!("/run/user/{}", nix::unistd::geteuid()))
}

/// Windows has no scopes, and no systemd that would provide them.
#[cfg(not(unix))]
fn default_runtime_dir() -> PathBuf {
    PathBuf::new()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn scopes(runtime_dir: &Path) -> UserScopes {
        UserScopes {
            program: "/usr/bin/systemd-run".into(),
            runtime_dir: runtime_dir.into(),
        }
    }

    #[test]
    fn command_has_the_limits_with_some_headroom() {
        let words = |memory, tasks| {
            let words = UserScopes::words(TreeLimits { memory, tasks });
            let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
            words[5..].join(" ")
        };
        assert_eq!(
            words(Some(512 << 20), Some(64)),
            "--property=MemoryMax=603979776 --property=MemorySwapMax=0 --property=TasksMax=72 --"
        );
        assert_eq!(words(None, None), "--");
    }

    #[test]
    fn user_manager_that_has_ended_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let scopes = scopes(dir.path());
        assert!(!scopes.is_running());
        std::fs::create_dir(dir.path().join("systemd")).unwrap();
        std::fs::write(dir.path().join("systemd/private"), "").unwrap();
        assert!(scopes.is_running());
    }
}
