//! The end of a daemon: its runs finish, with or without a successor that already serves.
//!
//! Invariant: a client that connects meanwhile gets an error that says so or reaches the successor.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use interprocess::local_socket::tokio::Listener;
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::LAST_FLUSH_TIMEOUT;
use crate::{
    daemon::Daemon,
    handover::{Successor, hand_over},
    lifecycle::{PredecessorRuns, Shutdown},
    rpc::{self, ClientConnections},
};
use mux_caller::activity::Activity;
use mux_runs::Runs;

/// How long runs may take to finish.
const RUN_DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long runs may take to finish if a successor already serves: longer than any run may take.
const HANDOVER_DRAIN_TIMEOUT: Duration = Duration::from_mins(10);
/// How long admitted calls may take to reach their session, before sessions are handed over.
const CALL_DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// How long sessions that became idle last may take to be handed over.
const LAST_SESSION_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn drain(runs: &Runs, shutdown: &Shutdown) {
    tokio::select! {
        () = runs.drain(RUN_DRAIN_TIMEOUT) => {}
        () = shutdown.requested_now() => runs.drain(Duration::ZERO).await,
    }
    drop(timeout(LAST_FLUSH_TIMEOUT, runs.history().flush()).await);
}

/// Resolves at the idle timeout, once no run continues in the predecessor.
pub(super) async fn wait_until_idle(activity: &Activity, predecessor: &PredecessorRuns) {
    loop {
        activity.wait_until_idle().await;
        if predecessor.is_settled() {
            return;
        }
        predecessor.settled().await;
    }
}

/// Stops the predecessor along with this daemon.
pub(super) async fn drain_predecessor(predecessor: &PredecessorRuns, shutdown: &Shutdown) {
    let over = async {
        predecessor.stop(false).await;
        drop(timeout(RUN_DRAIN_TIMEOUT, predecessor.settled()).await);
    };
    tokio::select! {
        () = over => {}
        () = shutdown.requested_now() => predecessor.stop(true).await,
    }
}

/// Drains the runs and hands over the sessions, while the successor serves.
pub(super) async fn hand_over_and_exit(successor: Successor, held: Vec<String>, daemon: &Daemon) {
    let Daemon {
        runs,
        shutdown,
        predecessor,
        ..
    } = daemon;
    let own = Arc::clone(runs);
    let upstreams = Arc::clone(daemon.gateway.upstreams());
    let approvals = Arc::clone(daemon.gateway.approvals());
    let handing = tokio::spawn(async move {
        // An admitted call that has not yet reached its session would find none.
        drop(timeout(CALL_DRAIN_TIMEOUT, own.close_to_calls()).await);
        let recorded = async {
            drop(timeout(LAST_FLUSH_TIMEOUT, approvals.wait_until_none_held()).await);
            // Most of these runs end as pending then, to be resumed by the successor.
            let over = join_all(held.iter().map(|run| own.wait_until_ended(run)));
            drop(timeout(LAST_FLUSH_TIMEOUT, over).await);
            let going_on = own.list().into_iter().filter(|run| !run.has_ended());
            going_on.map(|run| run.id.clone()).collect()
        };
        hand_over(successor, &upstreams, recorded).await;
    });
    let hurry = handing.abort_handle();
    // The successor reads the runs of this daemon's predecessor through this daemon.
    let over = async {
        let settled = timeout(HANDOVER_DRAIN_TIMEOUT, predecessor.settled());
        drop(tokio::join!(runs.drain(HANDOVER_DRAIN_TIMEOUT), settled));
    };
    tokio::select! {
        () = over => {}
        () = shutdown.requested() => drain(runs, shutdown).await,
    }
    // The sessions that the last runs have used.
    drop(timeout(LAST_SESSION_TIMEOUT, handing).await);
    hurry.abort();
}

/// Gives the successor a connection on which it reads the runs of this daemon.
pub(super) async fn admit_successor(
    successor: &Successor,
    daemon: &Arc<Daemon>,
    connections: &ClientConnections,
) {
    let serve = |near| rpc::serve_successor(near, Arc::clone(daemon), connections);
    successor.let_in(serve).await;
}

/// If a service manager keeps listening, clients that connect meanwhile would wait for nothing. Until the returned
/// handle is dropped, they get an error that says that the daemon is ending. Otherwise the socket is closed.
pub(super) fn refuse_new_clients(
    listener: Listener,
    daemon: &Arc<Daemon>,
) -> Option<AbortOnDropHandle<()>> {
    daemon.service.passed()?;
    let daemon = Arc::clone(daemon);
    Some(AbortOnDropHandle::new(tokio::spawn(async move {
        let refused = ClientConnections::default();
        let never = CancellationToken::new();
        rpc::accept(&listener, daemon, &refused, never).await;
    })))
}
