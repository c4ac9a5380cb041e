//! What one daemon holds, shared by all connections.
//!
//! Invariant: every field is either immutable or guards itself; nobody holds two of them locked. The one
//! lock that spans an await is that of `loading`, so that two loads never cross.

mod config_files;
mod config_inspection;
mod config_loading;
mod projects;
mod source_files;
mod telemetry;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    sync::{self, Notify, mpsc, watch},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use self::config_loading::LoadState;
pub use self::{
    config_inspection::{ConfigInspection, ConfigMistake},
    config_loading::{LoadReport, LoadTrigger},
};
use crate::{
    degraded::{DaemonDirs, HostCondition, HostConditions},
    handover::PendingUpgrade,
    lifecycle::{PredecessorRuns, ServiceManager, Shutdown},
    problems::{Problem, ProblemCode},
};
use mux_caller::activity::Activity;
use mux_config::environment::Environment;
use mux_files::file_watcher::FileWatcher;
use mux_gateway::Gateway;
use mux_handles::StoredValues;
use mux_runs::Runs;
use mux_settings::{
    Settings,
    projects::{ProjectApprovals, Projects},
};
use mux_upstream::ProcessLauncher;

/// What could not be read or watched is tried again after this time.
const CONFIG_RETRY_INTERVAL: Duration = Duration::from_secs(5);
const UNWATCHED_FIX: &str = "allow more watches (Linux: `sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288`), \
     or end a program that holds many; muxd tries again by itself";

/// Files that a user may want to look at.
#[derive(Clone, Debug)]
pub struct DaemonPaths {
    pub config: PathBuf,
    pub env: PathBuf,
    pub socket: PathBuf,
    pub log: PathBuf,
    /// Where servers start.
    pub home: PathBuf,
    /// Which projects the user has approved.
    pub approvals: PathBuf,
    pub disks: DaemonDirs,
}

pub struct Daemon {
    pub started: Instant,
    pub places: DaemonPaths,
    pub gateway: Arc<Gateway>,
    pub runs: Arc<Runs>,
    pub handles: StoredValues,
    pub activity: Activity,
    pub shutdown: Shutdown,
    /// Who started us, and looks after us.
    pub service: ServiceManager,
    /// Another program is to serve in our place.
    pub(crate) upgrades: mpsc::Sender<PendingUpgrade>,
    /// The daemon from which this one took over, if runs go on there.
    pub former: Arc<PredecessorRuns>,
    /// One does: whoever can goes there.
    pub(crate) leaving: CancellationToken,
    /// The login shell's environment, once it is known.
    pub environment: watch::Receiver<Option<Environment>>,
    /// What this machine does not give us now.
    pub straits: HostConditions,
    launcher: ProcessLauncher,
    loading: sync::Mutex<LoadState>,
    projects: Mutex<Projects>,
    standing: Mutex<ConfigStatus>,
    configured: watch::Sender<bool>,
    /// Other directories are to be watched than before.
    moved: Notify,
}

/// What there is to say of the configuration in force.
#[derive(Debug, Default)]
struct ConfigStatus {
    /// What is wrong with it, or with the one that was refused.
    problems: Vec<Problem>,
    /// The files could not be read.
    unread: bool,
    /// What cannot be watched.
    unwatched: Vec<String>,
    in_force: Option<Arc<Settings>>,
    /// Servers that are switched off.
    disabled: BTreeMap<String, String>,
    /// Named secrets, each with the entries that name it.
    secrets: BTreeMap<String, BTreeSet<String>>,
    /// Which names are those of sources, switched off or not.
    sources: BTreeSet<String>,
}

impl Daemon {
    #[expect(
        clippy::too_many_arguments,
        reason = "called in one place, by names that say all"
    )]
    pub(crate) fn new(
        places: DaemonPaths,
        gateway: Arc<Gateway>,
        runs: Arc<Runs>,
        handles: StoredValues,
        activity: Activity,
        (shutdown, upgrades): (Shutdown, mpsc::Sender<PendingUpgrade>),
        service: ServiceManager,
        environment: watch::Receiver<Option<Environment>>,
        launcher: ProcessLauncher,
    ) -> Arc<Self> {
        let projects = Projects::new(ProjectApprovals::open(places.approvals.clone()));
        Arc::new(Self {
            started: Instant::now(),
            straits: HostConditions::new(places.disks.clone()),
            places,
            gateway,
            runs,
            handles,
            activity,
            shutdown,
            service,
            upgrades,
            former: Arc::default(),
            leaving: CancellationToken::new(),
            environment,
            launcher,
            loading: sync::Mutex::default(),
            projects: Mutex::new(projects),
            standing: Mutex::default(),
            configured: watch::Sender::new(false),
            moved: Notify::new(),
        })
    }

    /// What is wrong and concerns everybody.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = self.standing().problems.clone();
        let mut add = |code: ProblemCode, message| problems.push(code.with(message));
        if let Some(message) = self.projects().approvals().problem() {
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

    /// That files are looked at now and then, because the system tells of no changes.
    pub fn unwatched(&self) -> Option<HostCondition> {
        let why = self.standing().unwatched.join("; ");
        let message = format!(
            "changes of configuration files are noticed only every {} s, or by `mux reload`: {why}",
            CONFIG_RETRY_INTERVAL.as_secs()
        );
        (!why.is_empty()).then(|| HostCondition::new("watch", message, UNWATCHED_FIX))
    }

    /// The servers that are switched off, each with its command line or URL.
    pub fn disabled(&self) -> BTreeMap<String, String> {
        self.standing().disabled.clone()
    }

    /// The secrets that the configuration names, each with the entries that do.
    pub fn secrets(&self) -> BTreeMap<String, BTreeSet<String>> {
        self.standing().secrets.clone()
    }

    /// Whether a name of the configuration is that of a source, and of no server.
    pub fn is_source(&self, name: &str) -> bool {
        self.standing().sources.contains(name)
    }

    /// Resolves when the configuration has been read for the first time, well or not.
    pub async fn configured(&self) {
        // The sender lives as long as `self`.
        drop(
            self.configured
                .subscribe()
                .wait_for(|configured| *configured)
                .await,
        );
    }

    /// Reads the configuration for the first time, and again whenever it changes. A daemon that leaves goes on with
    /// that as long as runs go on in it: what the user forbids is forbidden to them, too.
    pub async fn follow_files(self: &Arc<Self>, mut watching: FileWatcher) {
        // What changes from here on is noticed.
        self.watch_over(&mut watching);
        drop(self.load(LoadTrigger::Start).await);
        loop {
            // Links and projects may lead elsewhere by now.
            self.watch_over(&mut watching);
            tokio::select! {
                () = watching.wait_for_change() => {}
                () = self.settled() => self.watch_over(&mut watching),
                () = sleep(CONFIG_RETRY_INTERVAL), if self.sees_badly() => {}
            }
            self.look_again().await;
            if !self.leaving.is_cancelled() {
                self.look_at_descriptions().await;
            }
        }
    }

    /// What cannot be read or watched now may be so again without anything that tells it.
    fn sees_badly(&self) -> bool {
        let standing = self.standing();
        standing.unread || !standing.unwatched.is_empty()
    }

    fn watch_over(&self, watching: &mut FileWatcher) {
        let mut files = self.projects().watched_files();
        let places = &self.places;
        files.extend([&places.config, &places.env, &places.approvals].map(PathBuf::clone));
        let described = self.gateway.upstreams().description_files();
        files.extend(described.into_iter().map(|(file, _)| file));
        let unwatched = watching.set_files(&files);
        self.standing().unwatched = unwatched;
    }

    fn standing(&self) -> MutexGuard<'_, ConfigStatus> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn projects(&self) -> MutexGuard<'_, Projects> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
