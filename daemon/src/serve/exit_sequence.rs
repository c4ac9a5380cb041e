//! The last part of a daemon's life: what runs ends, here or with another daemon that serves already.
//!
//! Invariant: whoever comes meanwhile is told that this daemon ends, or reaches the next one.

use std::{os::fd::OwnedFd, sync::Arc, time::Duration};

use futures::future::join_all;
use interprocess::local_socket::tokio::Listener;
#[cfg(target_os = "linux")]
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
#[cfg(target_os = "linux")]
use tracing::warn;

use super::LAST_FLUSH_TIMEOUT;
use crate::{
    daemon::Daemon,
    handover::{Successor, hand_over},
    lifecycle::{PredecessorRuns, ServiceManager, Shutdown},
    rpc::{self, ClientConnections},
};
use mux_approvals::Approvals;
use mux_caller::activity::Activity;
use mux_runs::Runs;
use mux_upstream::Upstreams;

/// Runs that are under way get this long to finish.
const RUN_DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// The same if another daemon serves meanwhile: longer than a run may take.
const HANDOVER_DRAIN_TIMEOUT: Duration = Duration::from_secs(600);
/// What was let in before that gets this long before sessions go over.
const CALL_DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// Then sessions that have just become free get this long to go over.
const LAST_SESSION_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn drain(runs: &Runs, shutdown: &Shutdown) {
    tokio::select! {
        () = runs.drain(RUN_DRAIN_TIMEOUT) => {}
        () = shutdown.requested_now() => runs.drain(Duration::ZERO).await,
    }
}

/// Until nobody has come for long enough, and nothing goes on in the daemon before this one.
pub(super) async fn idle(activity: &Activity, former: &PredecessorRuns) {
    loop {
        activity.wait_until_idle().await;
        if former.is_settled() {
            return;
        }
        former.settled().await;
    }
}

/// Ends the daemon before this one, as this one ends.
pub(super) async fn take_along(former: &PredecessorRuns, shutdown: &Shutdown) {
    let over = async {
        former.stop(false).await;
        drop(timeout(RUN_DRAIN_TIMEOUT, former.settled()).await);
    };
    tokio::select! {
        () = over => {}
        () = shutdown.requested_now() => former.stop(true).await,
    }
}

/// Another daemon serves: what runs here ends here, and sessions go there as soon as they can.
pub(super) async fn leave(
    (successor, upstreams, approvals): (Successor, Arc<Upstreams>, Arc<Approvals>),
    held: Vec<String>,
    daemon: &Arc<Daemon>,
    shutdown: &Shutdown,
) {
    let runs = &daemon.runs;
    let own = Arc::clone(runs);
    let handing = tokio::spawn(async move {
        // A call that was let in and has not come to its session yet would find none.
        drop(timeout(CALL_DRAIN_TIMEOUT, own.close_to_calls()).await);
        let recorded = async {
            drop(timeout(LAST_FLUSH_TIMEOUT, approvals.wait_until_none_held()).await);
            // Most of them end by that, and are to be resumed over there.
            let over = join_all(held.iter().map(|run| own.wait_until_ended(run)));
            drop(timeout(LAST_FLUSH_TIMEOUT, over).await);
            let going_on = own.list().into_iter().filter(|run| !run.has_ended());
            going_on.map(|run| run.id.clone()).collect()
        };
        hand_over(successor, &upstreams, recorded).await;
    });
    let hurry = handing.abort_handle();
    // Those of the daemon before this one are read through it.
    let over = async {
        let former = timeout(HANDOVER_DRAIN_TIMEOUT, daemon.former.settled());
        drop(tokio::join!(runs.drain(HANDOVER_DRAIN_TIMEOUT), former));
    };
    tokio::select! {
        () = over => {}
        () = shutdown.requested() => drain(runs, shutdown).await,
    }
    // Those that a run had until now.
    drop(timeout(LAST_SESSION_TIMEOUT, handing).await);
    hurry.abort();
}

/// Opens the way on which the next daemon reads what runs here.
pub(super) async fn open(
    successor: &Successor,
    daemon: &Arc<Daemon>,
    connections: &ClientConnections,
) {
    if let Some(door) = door(daemon, connections) {
        successor.let_in(door).await;
    }
}

/// A connection to us for the next daemon, which tells its clients of the runs that go on here.
#[cfg(target_os = "linux")]
fn door(daemon: &Arc<Daemon>, connections: &ClientConnections) -> Option<OwnedFd> {
    let paired = UnixStream::pair().and_then(|(near, far)| Ok((near, far.into_std()?)));
    match paired {
        Ok((near, far)) => {
            rpc::serve_successor(near, Arc::clone(daemon), connections);
            Some(far.into())
        }
        Err(error) => {
            warn!(%error, "the next muxd cannot tell of the runs that go on here");
            None
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn door(_: &Arc<Daemon>, _: &ClientConnections) -> Option<OwnedFd> {
    None
}

/// Where a service manager listens on, whoever comes meanwhile would wait and not know why: he hears that we
/// end, until this is dropped. Elsewhere nobody listens any more.
pub(super) fn turn_away(
    listener: Listener,
    service: &ServiceManager,
    daemon: &Arc<Daemon>,
) -> Option<AbortOnDropHandle<()>> {
    service.passed()?;
    let daemon = Arc::clone(daemon);
    Some(AbortOnDropHandle::new(tokio::spawn(async move {
        let (refused, never) = (ClientConnections::default(), CancellationToken::new());
        rpc::accept(&listener, daemon, &refused, never).await;
    })))
}
