//! The daemon's life from the instance lock to its release.

mod daemon_parts;
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
    time::timeout,
};
use tracing::{info, warn};

use self::{
    daemon_parts::{DaemonParts, DaemonSurroundings},
    exit_sequence::{drain, leave, turn_away},
};
use crate::{
    daemon::Daemon,
    handover::{HandoverError, HandoverSource, Predecessor},
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
/// How long an authorization server may take at the end to answer with a token.
const LAST_TOKEN_TIMEOUT: Duration = Duration::from_secs(5);
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

/// Serves until shutdown is requested, the idle timeout is reached, or another daemon has taken over. `ready` is called
/// when clients are being served. If there is a `predecessor`, takes over from it.
pub async fn serve(
    lock: InstanceLock,
    listener: Listener,
    setup: DaemonSetup,
    shutdown: Shutdown,
    ready: impl FnOnce(),
    mut predecessor: Option<Predecessor>,
) -> Result<(), ServeError> {
    let (sender, environment) = watch::channel(None);
    let basis = setup.environment.clone();
    let launcher = ProcessLauncher::new(
        setup.program.clone(),
        setup.keeper_lock.clone(),
        environment.clone(),
        setup.sandboxes.clone(),
    );
    let awaited = IncomingSessions::default();
    if let Some(predecessor) = &predecessor {
        awaited.expect_sessions(predecessor.expected());
        if let Some(keeper) = predecessor.keeper() {
            launcher.use_keeper(keeper).await;
        }
    }
    tokio::spawn({
        let launcher = launcher.clone();
        async move {
            let ask = |shell, within| {
                let launcher = launcher.clone();
                async move {
                    let output = launcher
                        .program_output_and_exit(shell, within, MAX_SHELL_OUTPUT_BYTES)
                        .await?;
                    Ok(output.printed)
                }
            };
            let captured = Environment::capture(basis, ask).await;
            // The receivers are gone if the daemon has ended meanwhile.
            drop(sender.send(Some(captured)));
        }
    });
    let server_logs = setup.server_logs.clone();
    let startup_lock = setup.startup_lock.clone();
    let knowledge = setup.knowledge.clone();
    let socket = setup.paths.socket.clone();
    let service = setup.service.clone();
    let ours = file_identity(&socket);
    let (wish, mut wishes) = mpsc::channel(1);
    let mut known = environment.clone();
    let workers = pool_settings(setup.worker.clone(), setup.snapshots.clone());
    let DaemonParts {
        daemon,
        upstreams,
        catalog,
        pins,
        audit,
        approvals,
        tracer,
        pool,
        runs,
        activity,
    } = DaemonParts::build(
        setup,
        DaemonSurroundings {
            servers: Arc::new(launcher.clone()),
            launcher: launcher.clone(),
            environment,
            awaited: awaited.clone(),
            is_alone: predecessor.is_none(),
            workers,
            shutdown: shutdown.clone(),
            upgrades: wish,
        },
    )?;
    if let Some(predecessor) = &mut predecessor {
        // The slow parts come before anything is requested from the predecessor.
        drop(timeout(WARMUP_TIMEOUT, known.wait_for(Option::is_some)).await);
        drop(timeout(WARMUP_TIMEOUT, pool.wait_until_ready()).await);
        predecessor.warm().await?;
    }
    // A predecessor hands over its sessions.
    let prestarts = predecessor.is_none();
    let background = tokio::spawn({
        let daemon = Arc::clone(&daemon);
        let launcher = launcher.clone();
        let catalog = Arc::clone(&catalog);
        let knowledge = knowledge.clone();
        async move {
            catalog.load(Cache::open(knowledge).await).await;
            let warm_up = async {
                // A daemon starts even if the configuration cannot be read, and reports the problem.
                daemon.configured().await;
                launcher.warm_up().await;
                if prestarts {
                    daemon.prestart_servers();
                    launcher.delete_unused_files().await;
                }
                daemon.runs.inspector().warm_checker().await;
                tool_discovery::keep_index_built(&daemon.gateway).await;
            };
            let tended = Arc::clone(daemon.gateway.approvals()).expire_periodically();
            let served = rpc::serve_metrics(&daemon);
            let followed = daemon.follow_files(FileWatcher::start());
            // After a handover the successor does this: both daemons would write the same files.
            let until_we_leave = async {
                tokio::select! {
                    () = daemon.leaving.cancelled() => {}
                    _ = async { tokio::join!(warm_up, tended, served) } => {}
                }
            };
            tokio::join!(followed, until_we_leave);
        }
    });

    if let Some(predecessor) = &mut predecessor {
        daemon.configured().await;
        if let Err(error) = predecessor.ready(&awaited).await {
            // The predecessor has not handed over anything yet.
            launcher.close().await;
            pool.close();
            return Err(error.into());
        }
        approvals.reload_grants();
        daemon.read_approvals_again().await;
        daemon.former.expect();
        if let Err(error) = lock.write_owner(std::process::id(), &socket) {
            // Not fatal: clients also look at the default socket path.
            warn!(%error, "cannot write the pid into the instance lock");
        }
    }
    tokio::task::spawn_blocking({
        let logs = server_logs.clone();
        move || logging::sweep_server_logs(&logs)
    });
    info!(pid = std::process::id(), socket = %socket.display(), "serving");
    ready();
    if let Some(predecessor) = predecessor {
        // The predecessor may already have exited.
        drop(predecessor.serving().await);
        let awaited = awaited.clone();
        let upstreams = Arc::clone(&upstreams);
        let approvals = Arc::clone(&approvals);
        let former = Arc::clone(&daemon.former);
        tokio::spawn(predecessor.receive(awaited, upstreams, approvals, former));
    }
    service.ready(&status_text(&daemon));
    let stop = shutdown.token();
    let connections = ClientConnections::default();
    let giving = HandoverSource {
        listener: &listener,
        lock: &lock,
        startup_lock: &startup_lock,
        service: &service,
        socket: &socket,
        launcher: &launcher,
        catalog: &catalog,
        knowledge: &knowledge,
        upstreams: &upstreams,
        runs: &runs,
    };
    let accepting = rpc::accept(&listener, Arc::clone(&daemon), &connections, stop);
    let reporting = async {
        if !service.is_heard() {
            return std::future::pending().await;
        }
        let lives = || rpc::lives(&socket, &connections);
        lifecycle::run_watchdog(&service, || status_text(&daemon), lives).await
    };
    let mut successor = None;
    tokio::select! {
        () = accepting => {}
        next = giving.fulfil(&mut wishes) => successor = Some(next),
        () = exit_sequence::idle(&activity, &daemon.former) => info!("idle timeout reached, shutting down"),
        () = socket_lost(&socket, ours) => warn!("the socket was removed or replaced, shutting down"),
        never = reporting => match never {},
        never = daemon.host_conditions.follow() => match never {},
    }
    // Refuses pending upgrade requests, if this daemon has no successor.
    drop(wishes);
    // Approvals that wait end as pending: their runs can be resumed with the next daemon.
    let waiting = approvals.runs_held();
    approvals.close();
    let is_last = successor.is_none();
    let mut held = None;
    if let Some(successor) = successor {
        exit_sequence::open(&successor, &daemon, &connections).await;
        service.succeeded_by(successor.pid).await;
        drop(listener);
        // The successor holds the lock through its own descriptor.
        drop(lock);
        upstreams.disable_eager_start();
        daemon.leaving.cancel();
        let going = (successor, Arc::clone(&upstreams), Arc::clone(&approvals));
        leave(going, waiting, &daemon, &shutdown).await;
        background.abort();
        connections.wait_until_closed(CLIENT_LEAVE_TIMEOUT).await;
    } else {
        activity.close_to_clients();
        shutdown.request();
        service.stopping(&format!("ending: {}", status_text(&daemon)));
        let turning_away = turn_away(listener, &service, &daemon);
        // The predecessor drains as well, if runs continue there.
        tokio::join!(
            drain(&runs, &shutdown),
            exit_sequence::take_along(&daemon.former, &shutdown)
        );
        background.abort();
        held = Some((lock, turning_away));
    }
    drop(daemon);
    connections.close(LAST_FLUSH_TIMEOUT).await;
    tokio::select! {
        () = upstreams.close() => {}
        // The keeper kills all remaining processes immediately.
        () = shutdown.requested_now() => {}
    }
    upstreams.auth().finish_exchanges(LAST_TOKEN_TIMEOUT).await;
    runs.inspector().close().await;
    catalog.settle(LAST_FLUSH_TIMEOUT).await;
    pins.settle(LAST_FLUSH_TIMEOUT).await;
    audit.flush(LAST_FLUSH_TIMEOUT).await;
    tracer.close().await;
    launcher.close().await;
    pool.close();
    let lock = held.map(|(lock, turning_away)| {
        // A client that connects from now on finds no socket, or a socket at which the next daemon is started, which
        // then finds a free lock.
        drop(turning_away);
        lock
    });
    match service.passed() {
        _ if !is_last => {}
        Some(passed) => passed.turn_away(),
        // The file may be another daemon's socket by now.
        None if ours.is_some() && file_identity(&socket) == ours => {
            drop(std::fs::remove_file(&socket));
        }
        None => {}
    }
    info!("shutdown complete");
    drop(lock);
    Ok(())
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
