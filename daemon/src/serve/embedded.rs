//! A daemon inside another program: it serves the streams that the program opens, and the program's launcher starts its
//! servers.
//!
//! An embedded daemon has no socket, no locks and no keeper, and starts no process by itself. Without workers, it runs
//! only programs that consist of steps.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{mpsc, watch},
    task::JoinHandle,
};

use super::{
    ServeError,
    daemon_build::{DaemonSurroundings, build_daemon, close_daemon},
    pool_settings,
};
use crate::{
    daemon::{Daemon, LoadTrigger},
    lifecycle::{DaemonSetup, Shutdown},
    rpc::{self, ClientConnections},
};
use mux_cache::Cache;
use mux_runs::tool_discovery;
use mux_sandbox::PoolSettings;
use mux_upstream::{IncomingSessions, ServerLauncher};

/// A running daemon.
pub struct EmbeddedDaemon {
    daemon: Arc<Daemon>,
    connections: ClientConnections,
    connected: AtomicU64,
    background: JoinHandle<()>,
}

impl EmbeddedDaemon {
    /// Starts a daemon and applies its configuration, or reports its problems in the status.
    pub async fn start(
        setup: DaemonSetup,
        servers: Arc<dyn ServerLauncher>,
    ) -> Result<Self, ServeError> {
        let (_, environment) = watch::channel(Some(setup.environment.clone()));
        let launcher = setup.process_launcher(environment.clone());
        // Nothing takes over from it: requests to upgrade are refused.
        let (upgrades, _) = mpsc::channel(1);
        let knowledge = setup.knowledge();
        let workers = PoolSettings {
            floor: 0,
            snapshots: None,
            ..pool_settings(setup.worker.clone(), setup.snapshots())
        };
        let surroundings = DaemonSurroundings {
            servers,
            launcher,
            environment,
            incoming: IncomingSessions::default(),
            is_alone: true,
            workers,
            shutdown: Shutdown::default(),
            upgrades,
        };
        let daemon = build_daemon(setup, surroundings)?;
        let catalog = daemon.gateway.upstreams().catalog();
        catalog.load(Cache::open(knowledge).await).await;
        // The status reports the configuration's problems.
        drop(daemon.load(LoadTrigger::Start).await);
        daemon.prestart_servers();
        let background = tokio::spawn({
            let daemon = Arc::clone(&daemon);
            async move {
                let expiring = Arc::clone(daemon.gateway.approvals()).expire_periodically();
                let indexed = tool_discovery::keep_index_built(&daemon.gateway);
                _ = tokio::join!(expiring, indexed);
            }
        });
        Ok(Self {
            daemon,
            connections: ClientConnections::default(),
            connected: AtomicU64::new(1),
            background,
        })
    }

    /// Serves a client at the other end of this stream, until the end of the stream.
    pub fn connect<S>(&self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let number = self.connected.fetch_add(1, Ordering::Relaxed);
        let daemon = Arc::clone(&self.daemon);
        rpc::serve_stream(stream, number, daemon, &self.connections);
    }

    /// Ends the sessions and waits until the files are written.
    pub async fn close(self) {
        let approvals = self.daemon.gateway.approvals();
        approvals.close();
        approvals.wait_until_none_held().await;
        self.background.abort();
        close_daemon(self.daemon, &self.connections).await;
    }
}
