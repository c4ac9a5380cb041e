//! The data that all tabs show, polled from the daemon while a tab is open.
//!
//! Invariant: the daemon is polled once for all tabs, and not at all while there are none.

use std::{
    convert::Infallible,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use mux_client::within_seconds;
use mux_proto::{
    ApprovalList, ApprovalsRequest, Error, EventsRequest, RunCounts, RunInfo, RunList, RunState,
    RunsRequest, Status, transport,
};
use tokio::{sync::watch, time::sleep};

use super::{
    latencies::{Latencies, Latency},
    line::Line,
};

/// The interval between polls of the status.
const TICK: Duration = Duration::from_secs(1);
/// The number of polls after which the runs are listed even if nothing has changed, because old runs are dropped.
const LOOKS: u32 = 30;
/// The maximum number of runs to list: more than a daemon keeps.
const RUNS: usize = 1_000;
/// How long the daemon holds a poll for approvals.
const POLL: Duration = Duration::from_secs(10);

#[derive(Clone, Default)]
pub(super) struct Snapshot {
    pub(super) status: Option<Arc<Status>>,
    /// Runs that have not ended have duration 0 here, because a growing duration would count as a change.
    pub(super) runs: Arc<Vec<RunInfo>>,
    pub(super) approvals: Option<Arc<Approvals>>,
    pub(super) latencies: Arc<Vec<Latency>>,
}

/// A list of approvals, with the time at which it was received.
pub(super) struct Approvals {
    list: ApprovalList,
    at: Instant,
}

impl Approvals {
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

pub(super) struct Feed {
    line: Arc<Line>,
    shown: watch::Sender<Snapshot>,
    /// The number of tabs opened so far.
    came: watch::Sender<u64>,
}

impl Feed {
    pub(super) fn new(line: Arc<Line>) -> Arc<Self> {
        Arc::new(Self {
            line,
            shown: watch::Sender::new(Snapshot::default()),
            came: watch::Sender::new(0),
        })
    }

    /// A receiver of the data for one tab; polling continues while it lives.
    pub(super) fn watch(&self) -> watch::Receiver<Snapshot> {
        let shown = self.shown.subscribe();
        self.came.send_modify(|count| *count += 1);
        shown
    }

    pub(super) async fn keep(&self) -> Infallible {
        tokio::select! {
            never = self.keep_pool() => never,
            never = self.keep_approvals() => never,
        }
    }

    async fn keep_pool(&self) -> Infallible {
        let mut latencies = Latencies::default();
        let mut known = Known::default();
        loop {
            self.until_watched().await;
            let number = self.line.up().await;
            // The connection's state shows the error; the next poll retries.
            if self.look(number, &mut known, &mut latencies).await.is_err() {
                known = Known::default();
            }
            sleep(TICK).await;
        }
    }

    async fn look(
        &self,
        number: u64,
        known: &mut Known,
        latencies: &mut Latencies,
    ) -> Result<(), Error> {
        let asked =
            |client: mux_proto::MuxClient| async move { client.status(within_seconds(10)).await };
        let status = self.line.request("status", asked).await?;
        let runs = known.is_news(number, &status);
        self.shown
            .send_modify(|shown| shown.status = Some(Arc::new(status)));
        if runs {
            self.look_at_runs(latencies).await?;
        }
        Ok(())
    }

    async fn look_at_runs(&self, latencies: &mut Latencies) -> Result<(), Error> {
        let request = RunsRequest {
            limit: Some(RUNS),
            ..RunsRequest::default()
        };
        let asked = |client: mux_proto::MuxClient| async move {
            client.runs(within_seconds(10), request).await
        };
        let RunList { mut runs, .. } = self.line.request("runs", asked).await?;
        for run in runs.iter_mut().filter(|run| is_open(run)) {
            run.ms = 0;
        }
        let runs = Arc::new(runs);
        self.shown.send_if_modified(|shown| {
            let news = shown.runs != runs;
            if news {
                shown.runs = Arc::clone(&runs);
            }
            news
        });
        latencies.retain(&runs);
        let mut news = false;
        for run in runs.iter() {
            while let Some(after) = latencies.unread(run) {
                let asked = EventsRequest {
                    run: run.run.clone(),
                    after,
                    wait_ms: 0,
                };
                let asked = |client: mux_proto::MuxClient| async move {
                    client.events(within_seconds(10), asked).await
                };
                // The daemon may have dropped the run in the meantime.
                let Ok(page) = self.line.request("events", asked).await else {
                    break;
                };
                news |= latencies.count(&run.run, &page.events);
                if page.events.is_empty() {
                    break;
                }
            }
        }
        if news {
            let all = Arc::new(latencies.all());
            self.shown.send_modify(|shown| shown.latencies = all);
        }
        Ok(())
    }

    async fn keep_approvals(&self) -> Infallible {
        let mut known = None;
        loop {
            self.until_watched().await;
            let number = self.line.up().await;
            // Editions of another daemon are not comparable.
            let edition = known.filter(|(of, _)| *of == number);
            let request = ApprovalsRequest {
                known: edition.map(|(_, edition)| edition),
                wait_ms: u64::try_from(POLL.as_millis()).unwrap_or(u64::MAX),
                ..ApprovalsRequest::default()
            };
            let asked = |client: mux_proto::MuxClient| async move {
                client.approvals(transport::within(POLL * 2), request).await
            };
            match self.line.request("approvals", asked).await {
                Ok(list) => {
                    let news = Some((number, list.edition));
                    if news != known {
                        known = news;
                        let at = Instant::now();
                        let list = Some(Arc::new(Approvals { list, at }));
                        self.shown.send_modify(|shown| shown.approvals = list);
                    }
                }
                Err(_) => {
                    known = None;
                    sleep(TICK).await;
                }
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
struct Known {
    number: u64,
    counts: RunCounts,
    looks: u32,
}

impl Known {
    /// Whether the runs may have changed since they were last listed.
    fn is_news(&mut self, number: u64, status: &Status) -> bool {
        let same = (self.number, &self.counts) == (number, &status.runs);
        self.looks += 1;
        if same && status.runs.running == 0 && self.looks < LOOKS {
            return false;
        }
        *self = Self {
            number,
            counts: status.runs.clone(),
            looks: 0,
        };
        true
    }
}

fn is_open(run: &RunInfo) -> bool {
    matches!(run.state, RunState::Waiting | RunState::Running)
}
