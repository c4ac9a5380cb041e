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
use mux_caller::activity::Activity;
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

/// A daemon, and its parts that must be ended in sequence.
pub(super) struct DaemonParts {
    pub(super) daemon: Arc<Daemon>,
    pub(super) upstreams: Arc<Upstreams>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) pins: Arc<Pins>,
    pub(super) audit: Arc<AuditLog>,
    pub(super) approvals: Arc<Approvals>,
    pub(super) tracer: Tracer,
    pub(super) pool: Pool,
}

impl DaemonParts {
    pub(super) fn build(
        setup: DaemonSetup,
        surroundings: DaemonSurroundings,
    ) -> Result<Self, ServeError> {
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
        let catalog = Catalog::new();
        let pins = Pins::open(setup.pins).map_err(ServeError::Pins)?;
        let auth = Auth::open(setup.credentials, setup.keyring);
        let context = ServerContext {
            launcher: servers,
            logs: setup.server_logs,
            catalog: Arc::clone(&catalog),
            pins: Arc::clone(&pins),
            list_changes: Arc::default(),
            start_limiter: Arc::new(StartLimiter::new(LimitSettings::default().starts)),
            auth,
            sources: Arc::new(Sources::new(setup.descriptions, setup.addresses)),
            incoming_sessions: incoming,
            metrics: Metrics::new(setup.metrics_token),
            request_policy: Arc::default(),
        };
        let upstreams = Arc::new(Upstreams::new(context));
        let audit = AuditLog::open(setup.audit);
        let history = History::open(Some(setup.history), is_alone);
        let approvals = Approvals::open(setup.approvals, is_alone, history.clone());
        let tracer = Tracer::new(setup.telemetry);
        let gateway = Gateway::new(
            Arc::clone(&upstreams),
            Arc::clone(&approvals),
            Arc::clone(&audit),
            tracer.clone(),
        );
        let gateway = Arc::new(gateway);
        let policy: Weak<dyn ServerRequestPolicy> = Arc::<Gateway>::downgrade(&gateway);
        upstreams.set_request_policy(policy);
        let pool = Pool::start(workers).map_err(ServeError::Pool)?;
        let handles = StoredValues::open(
            setup.results,
            setup.results_key,
            StoredValueLimits::default(),
        );
        let checker = Checker::new(setup.checker);
        let inspector = ProgramChecker::new(Arc::clone(&upstreams), pool.clone(), checker);
        let runs = Runs::new(
            Arc::clone(&gateway),
            inspector,
            pool.clone(),
            handles.clone(),
            ProgramLimits::default(),
            history,
        );
        let daemon = Daemon::new(
            setup.paths,
            gateway,
            runs,
            handles,
            Activity::new(None),
            (shutdown, upgrades),
            setup.service,
            environment,
            launcher,
        );
        Ok(Self {
            daemon,
            upstreams,
            catalog,
            pins,
            audit,
            approvals,
            tracer,
            pool,
        })
    }

    /// Ends connections, sessions and children, and writes what is not yet on disk.
    pub(super) async fn close(self, connections: &ClientConnections) {
        let Self {
            daemon,
            upstreams,
            catalog,
            pins,
            audit,
            tracer,
            pool,
            ..
        } = self;
        let runs = Arc::clone(&daemon.runs);
        let launcher = daemon.launcher.clone();
        let shutdown = daemon.shutdown.clone();
        drop(daemon);
        // Clients first, because their requests use everything below.
        connections.close(LAST_FLUSH_TIMEOUT).await;
        tokio::select! {
            () = upstreams.close() => {}
            // The keeper kills all remaining processes immediately.
            () = shutdown.requested_now() => {}
        }
        upstreams.auth().finish_exchanges(LAST_TOKEN_TIMEOUT).await;
        runs.inspector().close().await;
        // Files after the sessions, whose last messages may still change them.
        catalog.settle(LAST_FLUSH_TIMEOUT).await;
        pins.settle(LAST_FLUSH_TIMEOUT).await;
        audit.flush(LAST_FLUSH_TIMEOUT).await;
        tracer.close().await;
        launcher.close().await;
        pool.close();
    }
}
