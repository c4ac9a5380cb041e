//! The daemon's life between the lock and its release.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use interprocess::local_socket::tokio::Listener;
use mux_sandbox::{Limits, Pool, PoolSettings};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tracing::{info, warn};

use crate::{
    approvals::{self, Approvals},
    audit::Audit,
    auth::{Auth, Network},
    cache::Cache,
    catalog::Catalog,
    check::{CheckSettings, Checker},
    discovery,
    environment::Environment,
    gateway::Gateway,
    handles::{Handles, Terms},
    inspect::Inspector,
    lifecycle::{self, Activity, InstanceLock, Service, Shutdown},
    logging,
    pins::Pins,
    rpc::{self, Connections},
    runs::Runs,
    settings::Allowed,
    sources::Sources,
    state::{Daemon, Places},
    upstream::{Launcher, Starts, Surroundings, Upstreams, http_client},
    watching::Watching,
};

/// Runs that are under way get this long to finish.
const DRAIN: Duration = Duration::from_secs(10);
/// Answers that are ready get this long to be taken.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often the daemon looks whether its socket is still its own.
const SOCKET_CHECK: Duration = Duration::from_secs(5);

/// What a daemon is given.
pub struct Setup {
    /// The `muxd` program itself, for the keeper.
    pub program: PathBuf,
    /// The `mux-worker` program.
    pub worker: PathBuf,
    pub places: Places,
    pub server_logs: PathBuf,
    /// Where long values are kept.
    pub results: PathBuf,
    pub keeper_lock: PathBuf,
    /// Where the workers' snapshots are kept.
    pub snapshots: PathBuf,
    /// Where credentials are kept, or what is known of those in the keyring.
    pub credentials: PathBuf,
    /// Whether they go into the keyring, unless the configuration says otherwise.
    pub keyring: bool,
    /// Where it is kept what servers list and what was learned of their tools.
    pub knowledge: PathBuf,
    /// Where it is kept what tools were when they were first trusted.
    pub pins: PathBuf,
    /// Where calls and decisions are written down.
    pub audit: PathBuf,
    /// Where descriptions of sources are kept that come from elsewhere.
    pub descriptions: PathBuf,
    /// Where it is kept at which addresses they were called at first.
    pub addresses: PathBuf,
    pub approvals: approvals::Places,
    pub checker: CheckSettings,
    /// Who started us. The listener is its, if it passed one.
    pub service: Service,
    /// This process's environment, in case that the login shell tells none.
    pub environment: Environment,
}

/// Why a daemon could not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot start the pool of workers: {0}")]
    Pool(io::Error),
    #[error("cannot start the keeping of pins: {0}")]
    Pins(io::Error),
}

/// Serves until somebody asks for the end, or nobody has come for long enough. `ready` is called
/// when clients are being served.
pub async fn serve(
    lock: InstanceLock,
    listener: Listener,
    setup: Setup,
    shutdown: Shutdown,
    ready: impl FnOnce(),
) -> Result<(), ServeError> {
    let (sender, environment) = watch::channel(None);
    let basis = setup.environment.clone();
    let launcher = Launcher::new(setup.program, setup.keeper_lock, environment.clone());
    tokio::spawn({
        let launcher = launcher.clone();
        async move {
            let ask = async |question| launcher.output(question).await;
            let captured = Environment::capture(basis, ask).await;
            // Nobody waits for it if the daemon has ended meanwhile.
            drop(sender.send(Some(captured)));
        }
    });
    let catalog = Catalog::new();
    let pins = Pins::open(setup.pins).map_err(ServeError::Pins)?;
    let network = Network {
        environment: environment.clone(),
        client: http_client,
    };
    let auth = Auth::open(setup.credentials, setup.keyring, network);
    let server_logs = setup.server_logs;
    let surroundings = Surroundings {
        launcher: launcher.clone(),
        logs: server_logs.clone(),
        catalog: Arc::clone(&catalog),
        pins: Arc::clone(&pins),
        news: Arc::default(),
        starts: Arc::new(Starts::new(Allowed::default().starts)),
        auth,
        sources: Arc::new(Sources::new(
            setup.descriptions,
            setup.addresses,
            http_client,
        )),
    };
    let upstreams = Arc::new(Upstreams::new(surroundings));
    let audit = Audit::open(setup.audit);
    let approvals = Approvals::open(setup.approvals);
    let gateway = Gateway::new(
        Arc::clone(&upstreams),
        Arc::clone(&approvals),
        Arc::clone(&audit),
    );
    let gateway = Arc::new(gateway);
    let pool =
        Pool::start(pool_settings(setup.worker, setup.snapshots)).map_err(ServeError::Pool)?;
    let handles = Handles::open(setup.results, Terms::default());
    let checker = Checker::new(setup.checker);
    let inspector = Inspector::new(Arc::clone(&upstreams), pool.clone(), checker);
    let runs = Runs::new(
        Arc::clone(&gateway),
        inspector,
        pool.clone(),
        handles.clone(),
        Limits::default(),
    );
    let activity = Activity::new(None);
    let socket = setup.places.socket.clone();
    let (service, ours) = (setup.service, identity(&socket));
    let daemon = Daemon::new(
        setup.places,
        gateway,
        Arc::clone(&runs),
        handles,
        activity.clone(),
        shutdown.clone(),
        service.clone(),
        environment,
        launcher.clone(),
    );
    let background = tokio::spawn({
        let (daemon, launcher) = (Arc::clone(&daemon), launcher.clone());
        let (catalog, knowledge) = (Arc::clone(&catalog), setup.knowledge);
        async move {
            catalog.load(Cache::open(knowledge).await).await;
            let warm_up = async {
                // A configuration that cannot be read still gets a daemon that says so.
                daemon.configured().await;
                launcher.warm_up().await;
                daemon.runs.inspector().warm().await;
                discovery::keep_ready(&daemon.gateway).await;
            };
            let tended = Arc::clone(daemon.gateway.approvals()).follow();
            tokio::join!(daemon.follow_files(Watching::start()), warm_up, tended);
        }
    });

    tokio::task::spawn_blocking({
        let logs = server_logs.clone();
        move || logging::bound_servers(&logs)
    });
    info!(pid = std::process::id(), socket = %socket.display(), "serving");
    ready();
    service.ready(&doing(&daemon));
    let stop = shutdown.token();
    let connections = Connections::default();
    let accepting = rpc::accept(&listener, Arc::clone(&daemon), &connections, stop);
    let reporting = async {
        if !service.is_heard() {
            return std::future::pending().await;
        }
        let lives = || rpc::lives(&socket, &connections);
        lifecycle::report(&service, || doing(&daemon), lives).await
    };
    tokio::select! {
        () = accepting => {}
        () = activity.idle() => info!("nobody came for long enough"),
        () = socket_lost(&socket, ours) => warn!("the socket was taken away or replaced"),
        never = reporting => match never {},
        never = daemon.straits.follow() => match never {},
    }
    activity.close();
    shutdown.request();
    service.stopping(&format!("ending: {}", doing(&daemon)));
    let turning_away = turn_away(listener, &service, &daemon);
    // Nobody answers in time any more; the next daemon can be asked to go on.
    approvals.close();

    tokio::select! {
        () = runs.drain(DRAIN) => {}
        () = shutdown.requested_now() => runs.drain(Duration::ZERO).await,
    }
    background.abort();
    connections.close(LAST_WORDS).await;
    tokio::select! {
        () = upstreams.close() => {}
        // The keeper is quicker with all of them, and less polite.
        () = shutdown.requested_now() => {}
    }
    runs.inspector().close().await;
    catalog.settle(LAST_WORDS).await;
    pins.settle(LAST_WORDS).await;
    audit.settle(LAST_WORDS).await;
    launcher.close().await;
    pool.close();
    // Whoever comes now finds no socket, or one at which the next daemon is started, and then the lock free.
    drop(turning_away);
    match service.passed() {
        Some(passed) => passed.turn_away(),
        // Another one's may stand there by now.
        None if identity(&socket) == ours => drop(std::fs::remove_file(&socket)),
        None => {}
    }
    info!("over");
    drop(lock);
    Ok(())
}

fn pool_settings(worker: PathBuf, snapshots: PathBuf) -> PoolSettings {
    PoolSettings {
        worker,
        floor: 2,
        bounds: Allowed::default().pool,
        runs_per_worker: 200,
        start_timeout: Duration::from_secs(20),
        queue_timeout: Duration::from_secs(60),
        check_timeout: Duration::from_secs(5),
        idle: Duration::from_secs(30),
        snapshots: Some(snapshots),
    }
}

/// What we do, for those who ask the service manager.
fn doing(daemon: &Daemon) -> String {
    let number = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let clients = number(daemon.activity.clients(), "client");
    let runs = number(daemon.runs.counts().running, "run");
    format!("{clients}, {runs}")
}

/// Where a service manager listens on, whoever comes meanwhile would wait and not know why: he hears that we
/// end, until this is dropped. Elsewhere nobody listens any more.
fn turn_away(
    listener: Listener,
    service: &Service,
    daemon: &Arc<Daemon>,
) -> Option<AbortOnDropHandle<()>> {
    service.passed()?;
    let daemon = Arc::clone(daemon);
    Some(AbortOnDropHandle::new(tokio::spawn(async move {
        let (refused, never) = (Connections::default(), CancellationToken::new());
        rpc::accept(&listener, daemon, &refused, never).await;
    })))
}

/// Resolves when the path is no longer the socket that was bound: nobody could reach us any more.
async fn socket_lost(socket: &Path, ours: Option<(u64, u64)>) {
    let mut ticks = tokio::time::interval(SOCKET_CHECK);
    loop {
        ticks.tick().await;
        if identity(socket) != ours {
            return;
        }
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(_path: &Path) -> Option<(u64, u64)> {
    None
}
