//! The daemon's life from the instance lock to its release.

mod daemon_build;
pub(crate) mod embedded;
mod exit_sequence;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use interprocess::local_socket::tokio::Listener;
use mux_sandbox::PoolSettings;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::timeout,
};
use tracing::{info, warn};

use self::{
    daemon_build::{DaemonSurroundings, build_daemon, close_daemon},
    exit_sequence::{
        drain, drain_predecessor, hand_over_and_exit, refuse_new_clients, wait_until_idle,
    },
};
use crate::{
    daemon::Daemon,
    handover::{HandoverError, HandoverSource, PendingUpgrade, Predecessor, Successor},
    lifecycle::{self, DaemonSetup, InstanceLock, Shutdown},
    rpc::{self, ClientConnections},
};
use mux_cache::Cache;
use mux_config::environment::Environment;
use mux_files::file_watcher::FileWatcher;
use mux_runs::tool_discovery;
use mux_settings::LimitSettings;
use mux_telemetry::logging;
use mux_upstream::{IncomingSessions, ProcessLauncher};

/// How long a daemon with a successor waits for its clients to disconnect by themselves.
const CLIENT_LEAVE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a daemon that takes over waits for its workers, and for the login shell, before it continues without them.
const WARMUP_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of the environment of the user's shell, including all output of its startup files.
const MAX_SHELL_OUTPUT_BYTES: usize = 16 << 20;
/// How long the last answers, files and spans may take to be written at the end.
const LAST_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// The interval at which the daemon checks that its socket file is still its own.
const SOCKET_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The reason a daemon could not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot start the pool of workers: {0}")]
    Pool(io::Error),
    #[error("cannot open the pins: {0}")]
    Pins(io::Error),
    #[error("cannot take over: {0}")]
    Handover(#[from] HandoverError),
}

/// The inputs of a daemon's life.
pub struct DaemonStart {
    pub lock: InstanceLock,
    pub listener: Listener,
    pub setup: DaemonSetup,
    pub shutdown: Shutdown,
}

/// Serves until shutdown is requested, the idle timeout is reached, or another daemon has taken over. `ready` is called
/// when clients are being served.
pub async fn serve_first(start: DaemonStart, ready: impl FnOnce()) -> Result<(), ServeError> {
    let (serving, entrance) = ServingDaemon::build(start, None).await?;
    let background = serving.start_background(true);
    serving.announce();
    ready();
    serving.serve(entrance, background).await;
    Ok(())
}

/// Takes over from the predecessor, then serves like [`serve_first`].
pub async fn serve_after(
    start: DaemonStart,
    mut predecessor: Predecessor,
) -> Result<(), ServeError> {
    let (serving, entrance) = ServingDaemon::build(start, Some(&predecessor)).await?;
    // The slow parts come before anything is requested from the predecessor.
    serving.warm_up().await;
    predecessor.warm().await?;
    // The predecessor hands over its sessions, so no server is started in advance.
    let background = serving.start_background(false);
    let daemon = &serving.daemon;
    daemon.configured().await;
    match predecessor.ready(&serving.incoming).await {
        Ok(next_run) => daemon.runs.skip_numbers_below(next_run),
        Err(error) => {
            // The predecessor has not handed over anything yet.
            daemon.launcher.close().await;
            daemon.runs.pool().close();
            return Err(error.into());
        }
    }
    // From here on the predecessor writes no approvals, and this daemon owns the lock.
    daemon.gateway.approvals().reload_grants();
    daemon.read_approvals_again().await;
    daemon.predecessor.expect();
    let written = entrance
        .lock
        .write_owner(std::process::id(), &daemon.paths.socket);
    if let Err(error) = written {
        // Not fatal: clients also look at the default socket path.
        warn!(%error, "cannot write the pid into the instance lock");
    }
    serving.announce();
    // The predecessor may already have exited.
    drop(predecessor.serving().await);
    // Sessions and approvals arrive while this daemon serves.
    tokio::spawn(predecessor.receive(
        serving.incoming.clone(),
        Arc::clone(daemon.gateway.upstreams()),
        Arc::clone(daemon.gateway.approvals()),
        Arc::clone(&daemon.predecessor),
    ));
    serving.serve(entrance, background).await;
    Ok(())
}

/// The way in for clients and for a successor. Closed before the daemon ends.
struct Entrance {
    lock: InstanceLock,
    listener: Listener,
    upgrades: mpsc::Receiver<PendingUpgrade>,
}

/// A daemon and its surroundings.
struct ServingDaemon {
    daemon: Arc<Daemon>,
    incoming: IncomingSessions,
    /// The socket file as it was bound.
    ours: Option<(u64, u64)>,
    startup_lock: PathBuf,
    knowledge: PathBuf,
    server_logs: PathBuf,
}

impl ServingDaemon {
    async fn build(
        start: DaemonStart,
        predecessor: Option<&Predecessor>,
    ) -> Result<(Self, Entrance), ServeError> {
        let DaemonStart {
            lock,
            listener,
            setup,
            shutdown,
        } = start;
        let (captured, environment) = watch::channel(None);
        let launcher = setup.process_launcher(environment.clone());
        let incoming = IncomingSessions::default();
        if let Some(predecessor) = predecessor {
            incoming.expect_sessions(predecessor.expected());
            if let Some(keeper) = predecessor.keeper() {
                launcher.use_keeper(keeper).await;
            }
        }
        // After the keeper was taken over: the keeper starts the login shell, and a second keeper must not start.
        tokio::spawn(capture_environment(
            setup.environment.clone(),
            launcher.clone(),
            captured,
        ));
        let (upgrade, upgrades) = mpsc::channel(1);
        let ours = file_identity(&setup.paths.socket);
        let startup_lock = setup.dirs.startup_lock();
        let knowledge = setup.knowledge();
        let server_logs = setup.server_logs();
        let surroundings = DaemonSurroundings {
            servers: Arc::new(launcher.clone()),
            launcher,
            environment,
            incoming: incoming.clone(),
            is_alone: predecessor.is_none(),
            workers: pool_settings(setup.worker.clone(), setup.snapshots()),
            shutdown,
            upgrades: upgrade,
        };
        let serving = Self {
            daemon: build_daemon(setup, surroundings)?,
            incoming,
            ours,
            startup_lock,
            knowledge,
            server_logs,
        };
        let entrance = Entrance {
            lock,
            listener,
            upgrades,
        };
        Ok((serving, entrance))
    }

    /// Waits for the login shell and the workers.
    async fn warm_up(&self) {
        let mut environment = self.daemon.environment.clone();
        let captured = environment.wait_for(Option::is_some);
        drop(timeout(WARMUP_TIMEOUT, captured).await);
        drop(timeout(WARMUP_TIMEOUT, self.daemon.runs.pool().wait_until_ready()).await);
    }

    /// Loads the cache and the configuration, and then follows files and serves metrics until the daemon ends.
    fn start_background(&self, prestarts: bool) -> JoinHandle<()> {
        let daemon = Arc::clone(&self.daemon);
        let knowledge = self.knowledge.clone();
        tokio::spawn(async move {
            let catalog = daemon.gateway.upstreams().catalog();
            catalog.load(Cache::open(knowledge).await).await;
            let warm_up = async {
                // A daemon starts even if the configuration cannot be read, and reports the problem.
                daemon.configured().await;
                daemon.launcher.warm_up().await;
                if prestarts {
                    daemon.prestart_servers();
                    daemon.launcher.delete_unused_files().await;
                }
                daemon.runs.inspector().warm_checker().await;
                tool_discovery::keep_index_built(&daemon.gateway).await;
            };
            let expiring = Arc::clone(daemon.gateway.approvals()).expire_periodically();
            let metrics = rpc::serve_metrics(&daemon);
            let followed = daemon.follow_files(FileWatcher::start());
            // After a handover the successor does this: both daemons would write the same files.
            let until_we_leave = async {
                tokio::select! {
                    () = daemon.leaving.cancelled() => {}
                    _ = async { tokio::join!(warm_up, expiring, metrics) } => {}
                }
            };
            tokio::join!(followed, until_we_leave);
        })
    }

    fn announce(&self) {
        let logs = self.server_logs.clone();
        tokio::task::spawn_blocking(move || logging::sweep_server_logs(&logs));
        let socket = &self.daemon.paths.socket;
        info!(pid = std::process::id(), socket = %socket.display(), "serving");
    }

    /// Serves clients, and then ends.
    async fn serve(self, mut entrance: Entrance, background: JoinHandle<()>) {
        let daemon = &self.daemon;
        daemon.service.ready(&status_text(daemon));
        let connections = ClientConnections::default();
        let successor = self.serve_clients(&mut entrance, &connections).await;
        let Entrance {
            lock,
            listener,
            upgrades,
        } = entrance;
        // Refuses pending upgrade requests, if this daemon has no successor.
        drop(upgrades);
        // Approvals that wait end as pending: their runs can be resumed with the next daemon.
        let approvals = daemon.gateway.approvals();
        let waiting = approvals.runs_held();
        approvals.close();
        if let Some(successor) = successor {
            exit_sequence::admit_successor(&successor, daemon, &connections).await;
            daemon.service.succeeded_by(successor.daemon.pid).await;
            drop(listener);
            // The successor holds the lock through its own descriptor.
            drop(lock);
            daemon.gateway.upstreams().disable_eager_start();
            daemon.leaving.cancel();
            hand_over_and_exit(successor, waiting, daemon).await;
            background.abort();
            connections.wait_until_closed(CLIENT_LEAVE_TIMEOUT).await;
            close_daemon(self.daemon, &connections).await;
            info!("shutdown complete");
            return;
        }
        daemon.activity.close_to_clients();
        daemon.shutdown.request();
        let status = format!("ending: {}", status_text(daemon));
        daemon.service.stopping(&status);
        let refusing = refuse_new_clients(listener, daemon);
        // The predecessor drains as well, if runs continue there.
        tokio::join!(
            drain(&daemon.runs, &daemon.shutdown),
            drain_predecessor(&daemon.predecessor, &daemon.shutdown)
        );
        background.abort();
        let service = daemon.service.clone();
        let socket = daemon.paths.socket.clone();
        let ours = self.ours;
        close_daemon(self.daemon, &connections).await;
        // A client that connects from now on finds no socket, or a socket at which the next daemon is started, which
        // then finds a free lock.
        drop(refusing);
        match service.passed() {
            Some(passed) => passed.turn_away(),
            // The file may be another daemon's socket by now.
            None if ours.is_some() && file_identity(&socket) == ours => {
                drop(std::fs::remove_file(&socket));
            }
            None => {}
        }
        info!("shutdown complete");
        // Last, because the next daemon may start as soon as the lock is free.
        drop(lock);
    }

    /// Serves until the daemon must end. Returns the successor, if one has taken over.
    async fn serve_clients(
        &self,
        entrance: &mut Entrance,
        connections: &ClientConnections,
    ) -> Option<Successor> {
        let daemon = &self.daemon;
        let upstreams = daemon.gateway.upstreams();
        let socket = &daemon.paths.socket;
        let source = HandoverSource {
            listener: &entrance.listener,
            lock: &entrance.lock,
            startup_lock: &self.startup_lock,
            service: &daemon.service,
            socket,
            launcher: &daemon.launcher,
            catalog: upstreams.catalog(),
            knowledge: &self.knowledge,
            upstreams,
            runs: &daemon.runs,
        };
        let stop = daemon.shutdown.token();
        let accepting = rpc::accept(&entrance.listener, Arc::clone(daemon), connections, stop);
        let reporting = async {
            if !daemon.service.is_heard() {
                return std::future::pending().await;
            }
            let lives = || rpc::lives(socket, connections);
            lifecycle::run_watchdog(&daemon.service, || status_text(daemon), lives).await
        };
        tokio::select! {
            () = accepting => {}
            successor = source.fulfil(&mut entrance.upgrades) => return Some(successor),
            () = wait_until_idle(&daemon.activity, &daemon.predecessor) => info!("idle timeout reached, shutting down"),
            () = socket_lost(socket, self.ours) => warn!("the socket was removed or replaced, shutting down"),
            never = reporting => match never {},
            never = daemon.host_conditions.follow() => match never {},
        }
        None
    }
}

/// Captures the environment of the user's login shell.
async fn capture_environment(
    basis: Environment,
    launcher: ProcessLauncher,
    captured: watch::Sender<Option<Environment>>,
) {
    let ask = |shell, within| {
        let launcher = launcher.clone();
        async move {
            let output = launcher
                .program_output_and_exit(shell, within, MAX_SHELL_OUTPUT_BYTES)
                .await?;
            Ok(output.printed)
        }
    };
    let environment = Environment::capture(basis, ask).await;
    // The receivers are gone if the daemon has ended meanwhile.
    drop(captured.send(Some(environment)));
}

fn pool_settings(worker: PathBuf, snapshots: PathBuf) -> PoolSettings {
    PoolSettings {
        worker,
        floor: 2,
        bounds: LimitSettings::default().pool,
        runs_per_worker: 1_000,
        start_timeout: Duration::from_secs(20),
        queue_timeout: Duration::from_mins(1),
        check_timeout: Duration::from_secs(5),
        idle: Duration::from_secs(30),
        snapshots: Some(snapshots),
    }
}

/// The status text for the service manager: the numbers of clients and runs.
fn status_text(daemon: &Daemon) -> String {
    let number = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let clients = number(daemon.activity.client_count(), "client");
    let runs = number(daemon.runs.run_totals().running, "run");
    format!("{clients}, {runs}")
}

/// Resolves when the path is no longer the socket that was bound: clients could no longer connect.
async fn socket_lost(socket: &Path, ours: Option<(u64, u64)>) {
    let mut ticks = tokio::time::interval(SOCKET_CHECK_INTERVAL);
    loop {
        ticks.tick().await;
        if file_identity(socket) != ours {
            return;
        }
    }
}

#[cfg(unix)]
fn file_identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn file_identity(_path: &Path) -> Option<(u64, u64)> {
    None
}
