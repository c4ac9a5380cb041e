//! Starts server processes through the keeper, with the environment that they may see.
//!
//! Invariant: a dead keeper is replaced before the next start, never during a start.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsString,
    fs, io,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use futures::{FutureExt as _, TryFutureExt as _, future::BoxFuture};
use tokio::{
    io::AsyncReadExt,
    sync::{Mutex, watch},
    task::spawn_blocking,
    time::timeout,
};
use tracing::warn;

use mux_config::environment::{CommandOutput, Environment};
use mux_confine::{
    Bubblewrap, ConfineError, ConfineInputs, ConfinedCommand, Denial, DiscardedFiles, EgressLease,
    EgressProxies, ObservedCommand, ObservedServer, SandboxDirs, SandboxSupport, ServerCommand,
    WriteGrant, confine, delete_unused_private_folders, grants, observe, unobserved,
};
#[cfg(target_os = "linux")]
use mux_keeper::KeeperOffer;
use mux_keeper::{Keeper, KeeperError, KeptChild, SpawnError, SpawnSpec, TreeLimits, find_program};
use mux_messages::SandboxSuggestion;
use mux_settings::{ProcessServer, SandboxNetwork, ServerSandbox};

use crate::link::{
    LaunchedServer, LogStamp, ObservationError, OpenError, RunningSandbox, SandboxReport,
    ServerIdentity, ServerLauncher, ServerLog,
};

const OBSERVATION_ENDED: &str =
    "its observation ended while it started; start it again with `mux servers restart`";
/// The time limit for a program that only prints a value.
const PROGRAM_OUTPUT_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum output of such a program. An environment is shorter.
const MAX_PROGRAM_OUTPUT_BYTES: usize = 16 << 20;
/// How long the program's output is still read after its exit, if another process holds its pipes.
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_millis(100);
/// The maximum number of folders that started servers may change and that are remembered.
const MAX_STARTED_WRITE_GRANTS: usize = 4096;
/// The delay between SIGTERM and SIGKILL for a program that exceeds its time limit.
const TIMED_OUT_GRACE_PERIOD: Duration = Duration::from_millis(500);

/// Starts processes. Cheap to clone.
#[derive(Clone)]
pub struct ProcessLauncher(Arc<LauncherInner>);

struct LauncherInner {
    /// The `muxd` executable, which also runs as the keeper.
    program: PathBuf,
    lock: PathBuf,
    /// Set once the login shell has answered.
    environment: watch::Receiver<Option<Environment>>,
    keeper: Mutex<KeeperSlot>,
    sandboxes: SandboxDirs,
    /// The layers that this machine can enforce. Set once a sandbox was needed.
    support: parking_lot::Mutex<Option<SandboxSupport>>,
    egress: EgressProxies,
    /// The files lost with servers' empty homes, by server.
    discarded: parking_lot::Mutex<HashMap<ServerIdentity, DiscardedFiles>>,
    /// The observed servers.
    observed: parking_lot::Mutex<HashMap<ServerIdentity, Observation>>,
    write_grants: parking_lot::Mutex<WriteGrants>,
}

/// The folders that sandboxed servers may change: a link there decides nothing for other servers.
#[derive(Default)]
struct WriteGrants {
    configured: Vec<WriteGrant>,
    /// The folders of started servers: those of workspaces and projects are known only at their start.
    started: BTreeSet<WriteGrant>,
}

/// The observation of a server.
struct Observation {
    folder: PathBuf,
    /// The facts about it and the proxy that records its targets, once the server was started.
    last: Option<(ObservedServer, EgressLease)>,
}

enum KeeperSlot {
    Empty,
    Running(Keeper),
    /// The daemon is shutting down: nothing starts any longer.
    Closed,
}

impl std::fmt::Debug for ProcessLauncher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessLauncher").finish_non_exhaustive()
    }
}

impl ProcessLauncher {
    pub fn new(
        program: PathBuf,
        lock: PathBuf,
        environment: watch::Receiver<Option<Environment>>,
        sandboxes: SandboxDirs,
    ) -> Self {
        Self(Arc::new(LauncherInner {
            sandboxes,
            support: parking_lot::Mutex::default(),
            egress: EgressProxies::default(),
            discarded: parking_lot::Mutex::default(),
            observed: parking_lot::Mutex::default(),
            write_grants: parking_lot::Mutex::default(),
            program,
            lock,
            environment,
            keeper: Mutex::new(KeeperSlot::Empty),
        }))
    }

    /// Replaces the write access that the configuration's entries give to servers.
    pub fn set_write_grants(&self, configured: Vec<WriteGrant>) {
        self.0.write_grants.lock().configured = configured;
    }

    fn write_grants(&self) -> Vec<WriteGrant> {
        let grants = self.0.write_grants.lock();
        grants
            .configured
            .iter()
            .chain(&grants.started)
            .cloned()
            .collect()
    }

    /// Remembers the folders that a server may change, before it can change them.
    fn remember_writes(&self, server: &str, folders: Vec<PathBuf>) {
        let started = &mut self.0.write_grants.lock().started;
        for folder in folders {
            if started.len() < MAX_STARTED_WRITE_GRANTS {
                started.insert(WriteGrant {
                    server: server.to_owned(),
                    folder,
                });
            }
        }
    }

    /// Offers the running keeper to the next daemon. `None` if there is no keeper to offer.
    #[cfg(target_os = "linux")]
    pub async fn offer_keeper(&self) -> Option<KeeperOffer> {
        let keeper = self.keeper().await.ok()?;
        let offer = keeper.offer().await;
        offer
            .inspect_err(|error| warn!(%error, "the keeper cannot be handed to the next daemon"))
            .ok()
    }

    /// Uses the keeper of the previous daemon from now on.
    pub async fn use_keeper(&self, keeper: Keeper) {
        *self.0.keeper.lock().await = KeeperSlot::Running(keeper);
    }

    /// Starts the keeper ahead of need.
    pub async fn warm_up(&self) {
        if let Err(error) = self.keeper().await {
            warn!(%error, "cannot start the keeper of the server processes");
        }
    }

    /// Deletes packages that sandboxed servers have fetched and not used for a long time. For a daemon that takes over
    /// no servers.
    pub async fn delete_unused_files(&self) {
        let sandboxes = self.0.sandboxes.clone();
        let deleted = spawn_blocking(move || delete_unused_private_folders(&sandboxes));
        // The blocking pool may have shut down.
        deleted.await.ok();
    }

    fn discarded_of(&self, identity: &ServerIdentity) -> DiscardedFiles {
        let mut all = self.0.discarded.lock();
        all.entry(identity.clone()).or_default().clone()
    }

    /// Starts the process of a server, with pipes to all three of its streams.
    async fn start_process(
        &self,
        name: &str,
        process: &ProcessServer,
        identity: &ServerIdentity,
    ) -> Result<(KeptChild, RunningSandbox), OpenError> {
        let spec = self.spawn_spec(name, process).await?;
        let observed_in = {
            let observed = self.0.observed.lock();
            let own = observed.get(identity);
            own.map(|observed| observed.folder.clone())
        };
        let (spec, sandbox) = match (observed_in, process.sandbox.sandbox()) {
            (Some(folder), _) => {
                let spec = self.observed(spec, identity, folder).await?;
                (spec, RunningSandbox::default())
            }
            (None, Some(sandbox)) => self.confined(spec, sandbox, identity).await?,
            (None, None) => (spec, RunningSandbox::default()),
        };
        let keeper = self
            .keeper()
            .await
            .map_err(|error| OpenError::Failed(full_error_text(error)))?;
        Ok((keeper.spawn(spec).await?, sandbox))
    }

    /// A server's command without a sandbox.
    async fn spawn_spec(
        &self,
        name: &str,
        process: &ProcessServer,
    ) -> Result<SpawnSpec, OpenError> {
        let mut environment = self.0.environment.clone();
        let inherited = match environment.wait_for(Option::is_some).await {
            Ok(found) => found.clone().unwrap_or_default().passed_to_servers(),
            // The value will never be set: the daemon is shutting down.
            Err(_) => return Err(OpenError::Failed("the daemon is ending".into())),
        };
        let declared = process.env.iter().map(|(n, v)| (n.as_str(), v.expose()));
        let mut env: Vec<(OsString, OsString)> = Vec::new();
        for (name, value) in inherited.iter().chain(declared) {
            env.retain(|(other, _)| other.to_str() != Some(name));
            env.push((name.into(), value.into()));
        }
        Ok(SpawnSpec {
            program: PathBuf::from(&process.command),
            args: process
                .args
                .iter()
                .map(|arg| OsString::from(arg.expose()))
                .collect(),
            env,
            cwd: process.cwd.clone(),
            tag: name.to_owned(),
            limits: TreeLimits::default(),
        })
    }

    /// Plans a server's start, which reads the file system.
    async fn planned<T: Send + 'static>(
        &self,
        mut spec: SpawnSpec,
        identity: &ServerIdentity,
        plan: impl FnOnce(ServerCommand<'_>) -> Result<T, ConfineError> + Send + 'static,
    ) -> Result<T, OpenError> {
        spec.program = find_program(&spec).await?;
        let this = self.clone();
        let server = identity.key().to_owned();
        let planned = spawn_blocking(move || {
            plan(ServerCommand {
                identity: &server,
                spec,
                dirs: &this.0.sandboxes,
                muxd: &this.0.program,
            })
        });
        planned
            .await
            .map_err(|stopped| OpenError::Failed(stopped.to_string()))?
            .map_err(|error| OpenError::Failed(error.to_string()))
    }

    /// Plans a server's start in this sandbox.
    async fn planned_sandbox<T: Send + 'static>(
        &self,
        spec: SpawnSpec,
        identity: &ServerIdentity,
        sandbox: ServerSandbox,
        support: SandboxSupport,
        plan: fn(ConfineInputs<'_>) -> Result<T, ConfineError>,
    ) -> Result<T, OpenError> {
        let others = self.write_grants();
        let plan = move |command: ServerCommand<'_>| {
            plan(ConfineInputs {
                command,
                sandbox: &sandbox,
                support: &support,
                others: &others,
            })
        };
        self.planned(spec, identity, plan).await
    }

    /// The command that runs a server in its sandbox, and a description of that sandbox. If it needs a proxy, the proxy
    /// listens on return.
    async fn confined(
        &self,
        spec: SpawnSpec,
        sandbox: &ServerSandbox,
        identity: &ServerIdentity,
    ) -> Result<(SpawnSpec, RunningSandbox), OpenError> {
        let hosts = match &sandbox.network {
            SandboxNetwork::Hosts(hosts) => hosts.clone(),
            SandboxNetwork::None | SandboxNetwork::Any => Vec::new(),
        };
        let support = self.sandbox_support().await?;
        let layers = support.layers().into_iter().map(String::from).collect();
        let sandbox = sandbox.clone();
        let ConfinedCommand {
            spec,
            egress,
            empty_home,
            writes,
        } = self
            .planned_sandbox(spec, identity, sandbox, support, confine)
            .await?;
        self.remember_writes(&spec.tag, writes);
        let discarded = self.discarded_of(identity);
        let mut sandbox = RunningSandbox {
            layers,
            egress: None,
            empty_home: empty_home.map(|home| (home, discarded)),
        };
        if let Some(folder) = egress {
            let log = identity.log().to_owned();
            let report = move |text: &str| {
                let line = LogStamp::default().stamp_line(&format!("[muxd] sandbox: {text}"));
                ServerLog::open(&log).write(&line);
            };
            let listening = self.0.egress.listen(identity.key(), &folder, hosts, report);
            let lease = listening.map_err(|error| {
                OpenError::Failed(format!(
                    "its sandbox needs a proxy, which cannot listen: {error}"
                ))
            })?;
            sandbox.egress = Some(lease);
        }
        Ok((spec, sandbox))
    }

    /// The command that runs a server without a sandbox and records its operations.
    async fn observed(
        &self,
        spec: SpawnSpec,
        identity: &ServerIdentity,
        folder: PathBuf,
    ) -> Result<SpawnSpec, OpenError> {
        let place = folder.clone();
        let plan = move |command: ServerCommand<'_>| observe(command, &place);
        let ObservedCommand { spec, server } = self.planned(spec, identity, plan).await?;
        let lease = self.0.egress.observe(&folder).map_err(|error| {
            OpenError::Failed(format!(
                "it is observed, which needs a proxy, which cannot listen: {error}"
            ))
        })?;
        match self.0.observed.lock().get_mut(identity) {
            Some(observed) if observed.folder == folder => observed.last = Some((server, lease)),
            _ => return Err(OpenError::Failed(OBSERVATION_ENDED.into())),
        }
        Ok(spec)
    }

    /// The access that the server's sandbox grants in effect.
    async fn report_sandbox(
        &self,
        name: &str,
        process: &ProcessServer,
        identity: &ServerIdentity,
    ) -> Result<SandboxReport, OpenError> {
        let support = self.sandbox_support().await?;
        let layers = support.layers();
        let sandbox = process.sandbox.sandbox().cloned().unwrap_or_default();
        let spec = self.spawn_spec(name, process).await?;
        let grants = self
            .planned_sandbox(spec, identity, sandbox, support, |inputs| grants(&inputs))
            .await;
        Ok(SandboxReport {
            layers,
            grants: grants.map_err(|error| error.to_string()),
        })
    }

    /// Tries bubblewrap and the user's systemd, unless bubblewrap is known to work: the user may install it at any time.
    async fn sandbox_support(&self) -> Result<SandboxSupport, OpenError> {
        let known = self.0.support.lock().clone();
        if let Some(known) = known.filter(SandboxSupport::is_complete) {
            return Ok(known);
        }
        let found = spawn_blocking(|| {
            (
                SandboxSupport::bubblewrap_trial(),
                SandboxSupport::find_scopes(),
            )
        });
        let (trial, mut scopes) = found
            .await
            .map_err(|stopped| untried_bubblewrap(&stopped.to_string()))?;
        let mut bubblewrap = Bubblewrap::NotInstalled;
        if let Some(trial) = trial {
            let program = trial.program.clone();
            bubblewrap = if bubblewrap_works(self.tried(trial).await)? {
                Bubblewrap::Works(program)
            } else {
                Bubblewrap::Forbidden
            };
        }
        if let Some(found) = &scopes {
            let tried = self.tried(found.trial()).await;
            match tried.map(|output| output.exit.code) {
                Ok(Some(0)) => {}
                Ok(_) => scopes = None,
                Err(problem) => {
                    warn!(%problem, "the user's systemd could not be asked for limits of memory and processes; muxd alone enforces them until it starts again");
                    scopes = None;
                }
            }
        }
        let support = SandboxSupport::of(bubblewrap, scopes);
        *self.0.support.lock() = Some(support.clone());
        Ok(support)
    }

    async fn tried(&self, trial: SpawnSpec) -> Result<CommandOutput, String> {
        self.program_output_and_exit(trial, PROGRAM_OUTPUT_TIMEOUT, MAX_PROGRAM_OUTPUT_BYTES)
            .await
    }

    /// Runs a program that prints at most `max_bytes` bytes, and returns its output and exit status. The process tree is
    /// terminated after the program's exit, or at the time limit, then with SIGTERM first.
    pub async fn program_output_and_exit(
        &self,
        spec: SpawnSpec,
        within: Duration,
        max_bytes: usize,
    ) -> Result<CommandOutput, String> {
        let keeper = self.keeper().await.map_err(full_error_text)?;
        let mut child = keeper.spawn(spec).await.map_err(full_error_text)?;
        drop(child.stdin.take());
        let (Some(stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("the process has no pipes".into());
        };
        let mut printed = Vec::new();
        let mut discarded = tokio::io::sink();
        let mut stdout = stdout.take(max_bytes as u64 + 1);
        let mut exit = None;
        let all = async {
            let mut read = std::pin::pin!(async {
                let both = tokio::join!(
                    stdout.read_to_end(&mut printed),
                    tokio::io::copy(&mut stderr, &mut discarded)
                );
                // A broken pipe has no more output.
                drop(both);
            });
            tokio::select! {
                () = &mut read => exit = Some(child.wait().await),
                ended = child.wait() => {
                    exit = Some(ended);
                    // The program's children may hold its pipes forever.
                    _ = timeout(OUTPUT_DRAIN_TIMEOUT, read).await;
                }
            }
        };
        let in_time = timeout(within, all).await.is_ok();
        if printed.len() > max_bytes {
            return Err(format!("it printed more than {max_bytes} bytes"));
        }
        if !in_time {
            // A startup file may hold a lock, which it releases if asked to end.
            tokio::spawn(child.stop(TIMED_OUT_GRACE_PERIOD));
        }
        match exit {
            Some(exit) if in_time => Ok(CommandOutput { printed, exit }),
            _ => Err(format!("it did not answer within {within:?}")),
        }
    }

    /// Waits until every started process is gone. Nothing can be started afterwards.
    pub async fn close(&self) {
        let slot = std::mem::replace(&mut *self.0.keeper.lock().await, KeeperSlot::Closed);
        if let KeeperSlot::Running(keeper) = slot {
            keeper.close().await;
        }
    }

    async fn keeper(&self) -> Result<Keeper, KeeperError> {
        let mut slot = self.0.keeper.lock().await;
        match &*slot {
            KeeperSlot::Running(keeper) if !keeper.is_gone() => return Ok(keeper.clone()),
            KeeperSlot::Running(_) | KeeperSlot::Empty => {}
            KeeperSlot::Closed => return Err(KeeperError::Gone),
        }
        let keeper = Keeper::start(&self.0.program, &self.0.lock).await?;
        *slot = KeeperSlot::Running(keeper.clone());
        Ok(keeper)
    }
}

impl ServerLauncher for ProcessLauncher {
    fn launch<'a>(
        &'a self,
        name: &'a str,
        process: &'a ProcessServer,
        identity: &'a ServerIdentity,
    ) -> BoxFuture<'a, Result<LaunchedServer, OpenError>> {
        let start = self.start_process(name, process, identity);
        let launched = |(child, sandbox)| LaunchedServer::Process(child, sandbox);
        start.map_ok(launched).boxed()
    }

    fn adopt<'a>(
        &'a self,
        name: &'a str,
        process: &'a ProcessServer,
        identity: &'a ServerIdentity,
    ) -> BoxFuture<'a, Option<EgressLease>> {
        async move {
            let sandbox = process.sandbox.sandbox()?;
            // For the proxy, whose path follows from the entry.
            let adopted = async {
                let spec = self.spawn_spec(name, process).await?;
                self.confined(spec, sandbox, identity).await
            };
            match adopted.await {
                Ok((_, sandbox)) => sandbox.egress,
                Err(error) => {
                    warn!(server = name, %error, "a running server has lost the network of its sandbox");
                    None
                }
            }
        }
        .boxed()
    }

    fn sandbox_grants<'a>(
        &'a self,
        name: &'a str,
        process: &'a ProcessServer,
        identity: &'a ServerIdentity,
    ) -> BoxFuture<'a, SandboxReport> {
        async move {
            let report = self.report_sandbox(name, process, identity).await;
            report.unwrap_or_else(|error| SandboxReport {
                layers: Vec::new(),
                grants: Err(error.to_string()),
            })
        }
        .boxed()
    }

    fn begin_observation(&self, identity: &ServerIdentity) -> Result<(), ObservationError> {
        if cfg!(not(target_os = "linux")) {
            return Err(ObservationError::Impossible(
                "servers can only be observed on Linux; write the sandbox by hand".into(),
            ));
        }
        let mut observed = self.0.observed.lock();
        if observed.contains_key(identity) {
            return Err(ObservationError::AlreadyObserved);
        }
        // Short, because the length of a socket's path is limited.
        let used: Vec<&PathBuf> = observed.values().map(|other| &other.folder).collect();
        let name = |number: usize| self.0.sandboxes.egress.join(format!("observed-{number}"));
        let free = (0..=used.len()).map(name).find(|it| !used.contains(&it));
        let folder = free.unwrap_or_else(|| name(used.len()));
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let problem = format!("{}: {error}", folder.display());
                return Err(ObservationError::Impossible(problem));
            }
            _ => {}
        }
        let observation = Observation { folder, last: None };
        observed.insert(identity.clone(), observation);
        Ok(())
    }

    fn is_observed(&self, identity: &ServerIdentity) -> bool {
        self.0.observed.lock().contains_key(identity)
    }

    fn end_observation(
        &self,
        identity: &ServerIdentity,
    ) -> Result<SandboxSuggestion, ObservationError> {
        let Some(observed) = self.0.observed.lock().remove(identity) else {
            return Ok(unobserved());
        };
        let suggested = match observed.last {
            Some((server, lease)) => server.suggested_sandbox(&observed.folder, &lease.targets()),
            None => Ok(unobserved()),
        };
        fs::remove_dir_all(&observed.folder).ok();
        suggested.map_err(|error| {
            ObservationError::Impossible(format!("cannot read the observations: {error}"))
        })
    }

    fn refused_connections(&self, identity: &ServerIdentity) -> Vec<Denial<String>> {
        self.0.egress.refused(identity.key())
    }

    fn discarded_files(&self, identity: &ServerIdentity) -> Vec<PathBuf> {
        self.discarded_of(identity).list()
    }

    fn forget(&self, identity: &ServerIdentity) {
        self.0.egress.forget(identity.key());
        self.0.discarded.lock().remove(identity);
    }
}

/// True if bubblewrap works here. A trial that did not finish is an error, because it proves nothing: a server started
/// then would have fewer layers than this machine has.
fn bubblewrap_works(tried: Result<CommandOutput, String>) -> Result<bool, OpenError> {
    let exit = tried.map_err(|problem| untried_bubblewrap(&problem))?.exit;
    match exit.code {
        Some(code) => Ok(code == 0),
        None => Err(untried_bubblewrap(&exit.to_string())),
    }
}

fn untried_bubblewrap(problem: &str) -> OpenError {
    OpenError::Failed(format!(
        "its sandbox cannot be planned: bubblewrap could not be tried: {problem}; try again"
    ))
}

impl From<SpawnError> for OpenError {
    fn from(error: SpawnError) -> Self {
        match error {
            SpawnError::NotInPath { program, searched } => Self::NotInPath {
                program: program.display().to_string(),
                searched,
            },
            error @ SpawnError::NotFound { .. } => Self::NoProgramFile(error.to_string()),
            error => Self::Failed(full_error_text(error)),
        }
    }
}

/// The text of an error with its causes.
fn full_error_text<E: std::error::Error + Send + Sync + 'static>(error: E) -> String {
    format!("{:#}", anyhow::Error::new(error))
}

#[cfg(test)]
mod tests {
    use mux_keeper::ChildExit;

    use super::*;

    #[test]
    fn only_an_exit_code_says_that_bubblewrap_does_not_work() {
        let exited = |code, signal| {
            let exit = ChildExit {
                code,
                signal,
                exceeded: None,
            };
            Ok(CommandOutput {
                printed: Vec::new(),
                exit,
            })
        };
        assert!(bubblewrap_works(exited(Some(0), None)).unwrap());
        assert!(!bubblewrap_works(exited(Some(1), None)).unwrap());
        for untried in [
            Err("it did not answer within 5s".to_owned()),
            Err("start /usr/bin/bwrap: out of processes".to_owned()),
            exited(None, Some(9)),
            exited(None, None),
        ] {
            let error = bubblewrap_works(untried).unwrap_err().to_string();
            assert!(
                error.contains("bubblewrap could not be tried") && error.ends_with("try again"),
                "{error}"
            );
        }
    }
}
