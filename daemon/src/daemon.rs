//! The state of one daemon, shared by all connections.
//!
//! Invariant: every field is either immutable or synchronizes itself, and no two locks are held at once. The only lock
//! that spans an await is `loading`, because two loads must never overlap.

mod config_files;
mod config_inspection;
mod config_loading;
mod projects;
mod sandbox_grants;
mod sandbox_hosts;
mod shared_reads;
mod source_files;
mod telemetry;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use mux_messages::{Degraded, Problem};
use parking_lot::Mutex;
use tokio::{
    sync::{self, Notify, mpsc, watch},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

pub use self::{
    config_inspection::ConfigView,
    config_loading::{EarlierLoad, LoadError, LoadReport, LoadTrigger},
};
use self::{config_loading::LoadState, shared_reads::SharedReads};
use crate::{
    degraded::{DaemonDirs, HostConditions},
    handover::PendingUpgrade,
    lifecycle::{PredecessorRuns, ServiceManager, Shutdown},
    problems::ProblemCode,
    rpc::ConnectedAgents,
};
use mux_auth::Auth;
use mux_caller::activity::Activity;
use mux_config::environment::Environment;
use mux_files::file_watcher::FileWatcher;
use mux_gateway::Gateway;
use mux_handles::StoredValues;
use mux_runs::Runs;
use mux_settings::{
    Settings,
    projects::{ProjectApprovals, ProjectFiles, Projects, WorkspaceScan},
};
use mux_upstream::ProcessLauncher;

/// The interval at which files that could not be read or watched are tried again.
const CONFIG_RETRY_INTERVAL: Duration = Duration::from_secs(5);
const UNWATCHED_FIX: &str = "allow more watches (Linux: `sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288`), \
     or end a program that holds many; muxd retries by itself";

/// The files of a daemon, as `mux status` shows them.
#[derive(Clone, Debug)]
pub struct DaemonPaths {
    pub config: PathBuf,
    pub env: PathBuf,
    pub socket: PathBuf,
    pub log: PathBuf,
    /// The working directory of servers.
    pub home: PathBuf,
    /// The file with the approved projects.
    pub approvals: PathBuf,
    pub disks: DaemonDirs,
}

pub struct Daemon {
    pub started: Instant,
    pub paths: DaemonPaths,
    pub gateway: Arc<Gateway>,
    pub runs: Arc<Runs>,
    pub handles: StoredValues,
    pub activity: Activity,
    pub(crate) agents: ConnectedAgents,
    pub shutdown: Shutdown,
    /// The service manager that started this process, if any.
    pub service: ServiceManager,
    /// Requests to hand over to another program.
    pub(crate) upgrades: mpsc::Sender<PendingUpgrade>,
    /// The runs that continue in the daemon from which this one took over.
    pub predecessor: Arc<PredecessorRuns>,
    /// Cancelled once a successor serves: clients are told to reconnect.
    pub(crate) leaving: CancellationToken,
    /// The login shell's environment, once it is known.
    pub environment: watch::Receiver<Option<Environment>>,
    /// Exhausted resources of the host.
    pub host_conditions: HostConditions,
    /// Servers that are observed, each with the token that ends its observation early.
    pub(crate) observations: Mutex<HashMap<String, CancellationToken>>,
    pub(crate) launcher: ProcessLauncher,
    loading: sync::Mutex<LoadState>,
    projects: Mutex<Projects>,
    /// Scans for the project of a directory.
    project_scans: SharedReads<WorkspaceScan>,
    /// Reads of a project's files.
    project_reads: SharedReads<Option<ProjectFiles>>,
    config_status: Mutex<ConfigStatus>,
    configured: watch::Sender<bool>,
    /// Notified when the set of directories to watch may have changed.
    moved: Notify,
}

/// The state of the active configuration.
#[derive(Debug, Default)]
struct ConfigStatus {
    /// Its problems, or those of the refused configuration.
    problems: Vec<Problem>,
    /// Set if the files could not be read.
    unread: bool,
    /// The reasons directories cannot be watched.
    unwatched: Vec<String>,
    in_force: Option<Arc<Settings>>,
    /// Secret names, each with the entries that use it.
    secrets: BTreeMap<String, BTreeSet<String>>,
}

impl Daemon {
    #[expect(
        clippy::too_many_arguments,
        reason = "called in one place, with self-explanatory names"
    )]
    pub(crate) fn new(
        paths: DaemonPaths,
        gateway: Arc<Gateway>,
        runs: Arc<Runs>,
        handles: StoredValues,
        shutdown: Shutdown,
        upgrades: mpsc::Sender<PendingUpgrade>,
        service: ServiceManager,
        environment: watch::Receiver<Option<Environment>>,
        launcher: ProcessLauncher,
    ) -> Arc<Self> {
        let projects = Projects::new(ProjectApprovals::open(paths.approvals.clone()));
        Arc::new(Self {
            started: Instant::now(),
            host_conditions: HostConditions::new(paths.disks.clone()),
            paths,
            gateway,
            runs,
            handles,
            activity: Activity::new(None),
            agents: ConnectedAgents::default(),
            shutdown,
            service,
            upgrades,
            predecessor: Arc::default(),
            leaving: CancellationToken::new(),
            environment,
            observations: Mutex::default(),
            launcher,
            loading: sync::Mutex::default(),
            projects: Mutex::new(projects),
            project_scans: SharedReads::default(),
            project_reads: SharedReads::default(),
            config_status: Mutex::default(),
            configured: watch::Sender::new(false),
            moved: Notify::new(),
        })
    }

    /// The problems that concern every client.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = self.config_status.lock().problems.clone();
        let mut add = |code: ProblemCode, message| problems.push(code.with(message));
        if let Some(message) = self.projects.lock().approvals().problem() {
            add(ProblemCode::Approvals, message);
        }
        for message in self.gateway.approvals().problems() {
            add(ProblemCode::Approvals, message);
        }
        if let Some(message) = self.gateway.upstreams().metrics().port.problem() {
            add(ProblemCode::Metrics, message);
        }
        problems
    }

    pub fn auth(&self) -> &Auth {
        self.gateway.upstreams().auth()
    }

    /// The host condition for files that are polled because the system cannot watch them.
    pub fn unwatched(&self) -> Option<Degraded> {
        let why = self.config_status.lock().unwatched.join("; ");
        let message = format!(
            "changes of configuration files are detected only every {} s, or by `mux reload`: {why}",
            CONFIG_RETRY_INTERVAL.as_secs()
        );
        (!why.is_empty()).then(|| Degraded::new("watch", message, UNWATCHED_FIX))
    }

    /// The disabled servers, each with its command line or URL.
    pub fn disabled(&self) -> BTreeMap<String, String> {
        let in_force = self.config_status.lock().in_force.clone();
        in_force
            .map(|settings| settings.disabled.clone())
            .unwrap_or_default()
    }

    /// The secrets that the configuration names, each with the entries that use it.
    pub fn secrets(&self) -> BTreeMap<String, BTreeSet<String>> {
        self.config_status.lock().secrets.clone()
    }

    /// True if `name` names a configured source and no server.
    pub fn is_source(&self, name: &str) -> bool {
        let in_force = self.config_status.lock().in_force.clone();
        in_force.is_some_and(|settings| settings.sources.contains(name))
    }

    /// The profile in an agent's entry.
    pub fn profile_of(&self, agent: Option<&str>) -> Option<String> {
        let settings = self.config_status.lock().in_force.clone()?;
        let profile: &str = (*settings.profiles.get(agent?)?).into();
        Some(profile.to_owned())
    }

    /// Resolves when the configuration has been read for the first time, successfully or not.
    pub async fn configured(&self) {
        // The sender lives as long as `self`.
        drop(
            self.configured
                .subscribe()
                .wait_for(|configured| *configured)
                .await,
        );
    }

    /// Starts recently called servers in the background.
    pub fn prestart_servers(&self) {
        let in_force = self.config_status.lock().in_force.clone();
        if let Some(within) = in_force.and_then(|settings| settings.prestart) {
            self.gateway.upstreams().prestart(within);
        }
    }

    /// Reads the configuration for the first time, and again whenever it changes. After a handover it continues as long
    /// as runs continue here: new rules apply to them as well.
    pub async fn follow_files(self: &Arc<Self>, mut watching: FileWatcher) {
        // Changes from here on are detected.
        self.watch_over(&mut watching);
        drop(self.load(LoadTrigger::Start).await);
        loop {
            // Symbolic links and projects may have changed.
            self.watch_over(&mut watching);
            tokio::select! {
                () = watching.wait_for_change() => {}
                () = self.settled() => self.watch_over(&mut watching),
                () = sleep(CONFIG_RETRY_INTERVAL), if self.sees_badly() => {}
            }
            self.reload_if_changed().await;
            if !self.leaving.is_cancelled() {
                self.look_at_descriptions().await;
            }
        }
    }

    /// True if files cannot be read or watched. No event tells when they can be again.
    fn sees_badly(&self) -> bool {
        let status = self.config_status.lock();
        status.unread || !status.unwatched.is_empty()
    }

    fn watch_over(&self, watching: &mut FileWatcher) {
        let mut files = self.projects.lock().watched_files();
        let paths = &self.paths;
        files.extend([&paths.config, &paths.env, &paths.approvals].map(PathBuf::clone));
        let described = self.gateway.upstreams().description_files();
        files.extend(described.into_iter().map(|(file, _)| file));
        let unwatched = watching.set_files(&files);
        self.config_status.lock().unwatched = unwatched;
    }
}
