//! The data that all tabs show, polled from the daemon while a tab is open.
//!
//! Invariant: the daemon is polled once for all tabs, and not at all while there are none.

use std::{
    convert::Infallible,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use mux_proto::{
    ApprovalList, ApprovalsRequest, Error, MuxClient, RunCounts, RunInfo, RunList, RunState,
    RunsRequest, Status,
};
use tokio::{sync::watch, time::sleep};

use super::{
    latencies::{LatencySummary, latency_summaries},
    shared_connection::SharedConnection,
};

/// The interval between polls of the status.
const STATUS_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The number of polls after which the runs are listed even if nothing has changed, because old runs are dropped.
const RUNS_REFRESH_POLLS: u32 = 30;
/// The maximum number of runs to list: more than a daemon keeps.
const MAX_LISTED_RUNS: usize = 1_000;
/// How long the daemon holds a poll for approvals.
const APPROVALS_POLL_SECONDS: u64 = 10;

#[derive(Clone, Default)]
pub(super) struct FeedSnapshot {
    pub(super) status: Option<Arc<Status>>,
    /// Runs that have not ended have duration 0 here, because a growing duration would count as a change.
    pub(super) runs: Arc<Vec<RunInfo>>,
    pub(super) approvals: Option<Arc<TimedApprovals>>,
    pub(super) latencies: Arc<Vec<LatencySummary>>,
}

/// A list of approvals, with the time at which it was received.
pub(super) struct TimedApprovals {
    list: ApprovalList,
    at: Instant,
}

impl TimedApprovals {
    /// The list with the remaining times as of now.
    pub(super) fn now(&self) -> ApprovalList {
        let past = u64::try_from(self.at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut list = self.list.clone();
        for approval in &mut list.approvals {
            approval.left_ms = approval.left_ms.map(|left| left.saturating_sub(past));
        }
        list
    }
}

pub(super) struct DaemonFeed {
    connection: Arc<SharedConnection>,
    shown: watch::Sender<FeedSnapshot>,
    /// The number of tabs opened so far.
    came: watch::Sender<u64>,
}

impl DaemonFeed {
    pub(super) fn new(connection: Arc<SharedConnection>) -> Arc<Self> {
        Arc::new(Self {
            connection,
            shown: watch::Sender::new(FeedSnapshot::default()),
            came: watch::Sender::new(0),
        })
    }

    /// A receiver of the data for one tab; polling continues while it lives.
    pub(super) fn watch_feed(&self) -> watch::Receiver<FeedSnapshot> {
        let shown = self.shown.subscribe();
        self.came.send_modify(|count| *count += 1);
        shown
    }

    pub(super) async fn poll_forever(&self) -> Infallible {
        tokio::select! {
            never = self.poll_status_forever() => never,
            never = self.poll_approvals_forever() => never,
        }
    }

    async fn poll_status_forever(&self) -> Infallible {
        let mut known = LastListing::default();
        loop {
            self.until_watched().await;
            let number = self.connection.wait_until_connected().await;
            // The connection's state shows the error; the next poll retries.
            if self.poll_status(number, &mut known).await.is_err() {
                known = LastListing::default();
            }
            sleep(STATUS_POLL_INTERVAL).await;
        }
    }

    async fn poll_status(&self, number: u64, known: &mut LastListing) -> Result<(), Error> {
        let status = self.connection.ask(10, MuxClient::status).await?;
        let runs = known.may_have_changed(number, &status);
        self.shown
            .send_modify(|shown| shown.status = Some(Arc::new(status)));
        if runs {
            self.poll_runs().await?;
        }
        let metrics = self.connection.ask(10, MuxClient::metrics).await?;
        let latencies = Arc::new(latency_summaries(&metrics));
        self.shown
            .send_if_modified(|shown| replace_if_changed(&mut shown.latencies, latencies));
        Ok(())
    }

    async fn poll_runs(&self) -> Result<(), Error> {
        let request = RunsRequest {
            limit: Some(MAX_LISTED_RUNS),
            ..RunsRequest::default()
        };
        let list = self.connection.request(10, request, MuxClient::runs);
        let RunList { mut runs, .. } = list.await?;
        for run in runs.iter_mut().filter(|run| is_open(run)) {
            run.ms = 0;
        }
        let runs = Arc::new(runs);
        self.shown
            .send_if_modified(|shown| replace_if_changed(&mut shown.runs, runs));
        Ok(())
    }

    async fn poll_approvals_forever(&self) -> Infallible {
        let mut known = None;
        loop {
            self.until_watched().await;
            let number = self.connection.wait_until_connected().await;
            // Editions of another daemon are not comparable.
            let edition = known.filter(|(of, _)| *of == number);
            let request = ApprovalsRequest {
                known: edition.map(|(_, edition)| edition),
                wait_ms: APPROVALS_POLL_SECONDS * 1_000,
                ..ApprovalsRequest::default()
            };
            if let Ok(list) = self
                .connection
                .request(2 * APPROVALS_POLL_SECONDS, request, MuxClient::approvals)
                .await
            {
                let news = Some((number, list.edition));
                if news != known {
                    known = news;
                    let at = Instant::now();
                    let list = Some(Arc::new(TimedApprovals { list, at }));
                    self.shown.send_modify(|shown| shown.approvals = list);
                }
            } else {
                known = None;
                sleep(STATUS_POLL_INTERVAL).await;
            }
        }
    }

    fn until_watched(&self) -> impl Future<Output = ()> {
        let mut came = self.came.subscribe();
        let shown = self.shown.clone();
        async move {
            // Cannot fail: `self` owns the sender.
            drop(came.wait_for(|_| shown.receiver_count() > 0).await);
        }
    }
}

/// The state at the last poll that listed the runs.
#[derive(Default)]
struct LastListing {
    number: u64,
    counts: RunCounts,
    looks: u32,
}

impl LastListing {
    /// Whether the runs may have changed since they were last listed.
    fn may_have_changed(&mut self, number: u64, status: &Status) -> bool {
        let same = (self.number, &self.counts) == (number, &status.runs);
        self.looks += 1;
        if same && status.runs.running == 0 && self.looks < RUNS_REFRESH_POLLS {
            return false;
        }
        *self = Self {
            number,
            counts: status.runs,
            looks: 0,
        };
        true
    }
}

fn is_open(run: &RunInfo) -> bool {
    matches!(run.state, RunState::Waiting | RunState::Running)
}
/// Returns true if the new value is another one.
fn replace_if_changed<T: PartialEq>(shown: &mut T, new: T) -> bool {
    let is_new = *shown != new;
    if is_new {
        *shown = new;
    }
    is_new
}
