//! Builds a daemon, by creating and connecting its parts, and ends it.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use mux_sandbox::{Pool, PoolSettings, ProgramLimits};
use tokio::sync::{mpsc, watch};

use super::{LAST_FLUSH_TIMEOUT, ServeError};
use crate::{
    daemon::Daemon,
    handover::PendingUpgrade,
    lifecycle::{DaemonSetup, Shutdown},
    rpc::ClientConnections,
};
use mux_approvals::Approvals;
use mux_audit::AuditLog;
use mux_auth::Auth;
use mux_catalog::{Catalog, pins::Pins};
use mux_config::environment::Environment;
use mux_gateway::Gateway;
use mux_handles::StoredValues;
use mux_journal::History;
use mux_runs::{Runs, program_check::ProgramChecker};
use mux_settings::{LimitSettings, StoredValueLimits};
use mux_sources::Sources;
use mux_telemetry::{metrics::Metrics, trace::Tracer};
use mux_typecheck::Checker;
use mux_upstream::{
    IncomingSessions, ProcessLauncher, ServerContext, ServerLauncher, ServerRequestPolicy,
    StartLimiter, Upstreams,
};

/// How long an authorization server may take at the end to answer with a token.
const LAST_TOKEN_TIMEOUT: Duration = Duration::from_secs(5);

/// The surroundings in which a daemon is built.
pub(super) struct DaemonSurroundings {
    /// Starts the servers that are configured as a command.
    pub(super) servers: Arc<dyn ServerLauncher>,
    /// Runs the programs that the configuration names.
    pub(super) launcher: ProcessLauncher,
    /// The environment of the user, once it is known.
    pub(super) environment: watch::Receiver<Option<Environment>>,
    pub(super) incoming: IncomingSessions,
    /// Set if no predecessor still writes the approval files.
    pub(super) is_alone: bool,
    pub(super) workers: PoolSettings,
    pub(super) shutdown: Shutdown,
    pub(super) upgrades: mpsc::Sender<PendingUpgrade>,
}

/// Creates and connects the parts of a daemon.
pub(super) fn build_daemon(
    setup: DaemonSetup,
    surroundings: DaemonSurroundings,
) -> Result<Arc<Daemon>, ServeError> {
    let DaemonSurroundings {
        servers,
        launcher,
        environment,
        incoming,
        is_alone,
        workers,
        shutdown,
        upgrades,
    } = surroundings;
    let pins = Pins::open(setup.dirs.pins()).map_err(ServeError::Pins)?;
    // A daemon with a `MUX_HOME` does not write into the user's keyring.
    let keyring = setup.dirs.home().is_none();
    let auth = Auth::open(setup.dirs.credentials(), keyring);
    let descriptions = setup.dirs.cache.join("descriptions");
    // At which addresses each source was first called.
    let addresses = setup.dirs.state.join("sources.json");
    let context = ServerContext {
        launcher: servers,
        logs: setup.server_logs(),
        catalog: Catalog::new(),
        pins,
        list_changes: Arc::default(),
        start_limiter: Arc::new(StartLimiter::new(LimitSettings::default().starts)),
        auth,
        sources: Arc::new(Sources::new(descriptions, addresses)),
        incoming_sessions: incoming,
        metrics: Metrics::new(setup.dirs.metrics_token()),
        request_policy: Arc::default(),
    };
    let upstreams = Arc::new(Upstreams::new(context));
    let audit = AuditLog::open(setup.dirs.audit());
    let history = History::open(Some(setup.dirs.history()), is_alone);
    let approvals = Approvals::open(setup.approvals, is_alone, history.clone());
    let tracer = Tracer::new(setup.telemetry);
    let gateway = Arc::new(Gateway::new(
        Arc::clone(&upstreams),
        approvals,
        audit,
        tracer,
    ));
    let policy: Weak<dyn ServerRequestPolicy> = Arc::<Gateway>::downgrade(&gateway);
    upstreams.set_request_policy(policy);
    let pool = Pool::start(workers).map_err(ServeError::Pool)?;
    let handles = StoredValues::open(
        setup.dirs.results(),
        setup.dirs.state.join("results-key"),
        StoredValueLimits::default(),
    );
    let checker = Checker::new(setup.checker);
    let inspector = ProgramChecker::new(upstreams, pool.clone(), checker);
    let runs = Runs::new(
        Arc::clone(&gateway),
        inspector,
        pool,
        handles.clone(),
        ProgramLimits::default(),
        history,
    );
    Ok(Daemon::new(
        setup.paths,
        gateway,
        runs,
        handles,
        shutdown,
        upgrades,
        setup.service,
        environment,
        launcher,
    ))
}

/// Ends the parts of a daemon in sequence, after its runs.
pub(super) async fn close_daemon(daemon: Arc<Daemon>, connections: &ClientConnections) {
    let gateway = &daemon.gateway;
    let upstreams = gateway.upstreams();
    // Clients first, because their requests use everything below.
    connections.close(LAST_FLUSH_TIMEOUT).await;
    tokio::select! {
        () = upstreams.close() => {}
        // The keeper kills all remaining processes immediately.
        () = daemon.shutdown.requested_now() => {}
    }
    upstreams.auth().finish_exchanges(LAST_TOKEN_TIMEOUT).await;
    daemon.runs.inspector().close().await;
    // Files after the sessions, whose last messages may still change them.
    upstreams.catalog().settle(LAST_FLUSH_TIMEOUT).await;
    upstreams.pins().settle(LAST_FLUSH_TIMEOUT).await;
    gateway.audit().flush(LAST_FLUSH_TIMEOUT).await;
    gateway.tracer().close().await;
    daemon.launcher.close().await;
    daemon.runs.pool().close();
}
