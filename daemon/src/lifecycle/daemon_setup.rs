//! The programs and files of a daemon.

use std::{path::PathBuf, time::Duration};

use tokio::sync::watch;

use mux_approvals::ApprovalPaths;
use mux_config::environment::Environment;
use mux_proto::endpoint::Dirs;
use mux_telemetry::trace;
use mux_typecheck::CheckSettings;
use mux_upstream::{GrantRecord, ProcessLauncher, SandboxDirs};

use super::ServiceManager;
use crate::{daemon::DaemonPaths, degraded::DaemonDirs};

/// The time to check the types of one program.
const TYPECHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// The resident memory of the type checker.
const MAX_CHECKER_BYTES: u64 = 1 << 30;
/// The type checker is stopped after this time without a check.
const CHECKER_IDLE_TIMEOUT: Duration = Duration::from_mins(10);

/// The inputs from which a daemon is built.
pub struct DaemonSetup {
    /// The `muxd` program itself, for the keeper.
    pub program: PathBuf,
    /// The `mux-worker` program.
    pub worker: PathBuf,
    pub dirs: Dirs,
    pub paths: DaemonPaths,
    pub approvals: ApprovalPaths,
    pub checker: CheckSettings,
    /// The exporter of spans, if it is built in.
    pub telemetry: Option<trace::CollectorFactory>,
    /// The service manager that started this process, if any. If it passed a listener, the daemon uses that.
    pub service: ServiceManager,
    /// This process's environment, in case the login shell's cannot be captured.
    pub environment: Environment,
}

impl DaemonSetup {
    /// A daemon with all its files in `dirs`, which no service manager started. It shows no notifications and exports no
    /// spans.
    pub fn in_dirs(
        dirs: &Dirs,
        (program, worker): (PathBuf, PathBuf),
        home: PathBuf,
        environment: Environment,
    ) -> Self {
        Self {
            program,
            worker,
            dirs: dirs.clone(),
            paths: DaemonPaths {
                config: dirs.config_file(),
                env: dirs.env_file(),
                socket: dirs.socket(),
                log: dirs.logs(),
                home,
                approvals: dirs.state.join("projects.json"),
                disks: DaemonDirs {
                    state: dirs.state.clone(),
                    cache: dirs.cache.clone(),
                    runtime: dirs.runtime.clone(),
                },
            },
            approvals: ApprovalPaths {
                grants: dirs.state.join("approvals.json"),
                records: dirs.state.join("approvals"),
                desktop: false,
            },
            checker: CheckSettings {
                compiler: None,
                managed: dirs.typescript(),
                search_path: None,
                work: dirs.cache.join("check"),
                deadline: TYPECHECK_TIMEOUT,
                memory: MAX_CHECKER_BYTES,
                idle: CHECKER_IDLE_TIMEOUT,
            },
            service: ServiceManager::none(),
            environment,
            telemetry: None,
        }
    }

    /// Starts processes through the keeper, with the environment once it is known.
    pub(crate) fn process_launcher(
        &self,
        environment: watch::Receiver<Option<Environment>>,
    ) -> ProcessLauncher {
        ProcessLauncher::new(
            self.program.clone(),
            self.dirs.keeper_lock(),
            environment,
            SandboxDirs {
                private: self.dirs.cache.join("sandboxes"),
                egress: self.dirs.runtime.join("egress"),
                protected: protected_paths(&self.dirs),
                record: GrantRecord::new(self.dirs.state.join("sandbox_grants.json")),
            },
        )
    }

    /// The cache of servers' tool lists and of the learned types of their results.
    pub(crate) fn knowledge(&self) -> PathBuf {
        self.dirs.cache.join("types")
    }

    pub(crate) fn server_logs(&self) -> PathBuf {
        self.dirs.logs().join("servers")
    }

    /// The directory of the workers' V8 snapshots.
    pub(crate) fn snapshots(&self) -> PathBuf {
        self.dirs.cache.join("snapshots")
    }
}

/// The paths that no sandbox contains. With a `MUX_HOME`, the directory of the configuration may be the user's home.
fn protected_paths(dirs: &Dirs) -> Vec<PathBuf> {
    let mut paths = vec![dirs.state.clone(), dirs.cache.clone(), dirs.runtime.clone()];
    match dirs.home() {
        Some(_) => paths.extend([dirs.config_file(), dirs.env_file()]),
        None => paths.push(dirs.config.clone()),
    }
    paths
}
