//! The runs that continue in the daemon from which this daemon has taken over.
//!
//! Clients read such a run from a copy of its events, which is kept like this daemon's own runs. Requests to stop a
//! run, or that daemon, are forwarded.
//!
//! Invariant: events and results come from the daemon in which the run executes. If that daemon dies, the run's last
//! event says so. The same clients find the run as if it ran here.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt, stream::FuturesUnordered};
use mux_proto::{
    Error, Event, EventKind, EventPage, EventsRequest, Kind, MuxClient, Outcome, RunInfo, RunState,
    RunsRequest, StopRequest, transport,
    version::{CONTRACT, FEATURES},
};
use parking_lot::{Mutex, MutexGuard};
use tarpc::client::{Config, RpcError};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tracing::{debug, info};

use super::retire_request::hello;
use mux_caller::RunAccess;
use mux_journal::{MAX_KEPT_EVENT_BYTES, MAX_KEPT_RUNS, RUN_RETENTION, find_run};

/// How long the predecessor may take to answer a request.
const PREDECESSOR_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the predecessor may take to load its configuration, with the commands in it.
const PREDECESSOR_RELOAD_TIMEOUT: Duration = Duration::from_secs(20);
/// How long one request for events waits in the predecessor.
const EVENT_POLL_TIMEOUT: Duration = Duration::from_secs(20);
/// How long requests that concern runs wait for the predecessor's list of runs.
const RUNS_ARRIVAL_TIMEOUT: Duration = Duration::from_secs(3);
/// The maximum number of running runs that are copied.
const MAX_RUNNING_RUNS: usize = 10_000;

/// The runs of the predecessor. Empty in a daemon without one.
#[derive(Debug, Default)]
pub struct PredecessorRuns {
    /// True until the predecessor has listed its runs. Requests wait a moment for the list.
    expected: watch::Sender<bool>,
    client: Mutex<Option<MuxClient>>,
    runs: Mutex<BTreeMap<String, Arc<FollowedRun>>>,
}

/// A run of the predecessor.
#[derive(Debug)]
struct FollowedRun {
    copy: watch::Sender<RunCopy>,
}

#[derive(Clone, Debug)]
struct RunCopy {
    info: RunInfo,
    events: Vec<Event>,
    bytes: usize,
    ended: Option<Instant>,
}

impl PredecessorRuns {
    /// Marks that a predecessor will list its runs.
    pub fn expect(&self) {
        self.expected.send_replace(true);
    }

    /// Marks that the predecessor has listed its runs, or will not.
    pub fn come(&self) {
        self.expected.send_replace(false);
    }

    async fn arrived(&self) {
        let mut expected = self.expected.subscribe();
        // The sender lives as long as `self`.
        drop(
            timeout(
                RUNS_ARRIVAL_TIMEOUT,
                expected.wait_for(|expected| !expected),
            )
            .await,
        );
    }

    /// Follows the predecessor's runs over a connection to it, until the last of them has ended.
    pub async fn follow(&self, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
        self.follow_all(stream).await;
        self.come();
    }

    async fn follow_all(&self, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
        let client = MuxClient::new(Config::default(), transport::frames(stream)).spawn();
        // Without this feature, the predecessor does not ask this client to reconnect.
        let features = FEATURES.iter().filter(|feature| **feature != "upgrade");
        let hello = hello(features.map(|feature| (*feature).to_owned()).collect());
        let greeted = client
            .hello(transport::within(PREDECESSOR_REQUEST_TIMEOUT), hello)
            .await;
        if !matches!(greeted, Ok(Ok(welcome)) if welcome.contract == CONTRACT) {
            debug!("cannot read the runs of the predecessor");
            return;
        }
        let mut all = BTreeMap::new();
        // Running runs first, however many have ended since they began.
        for (running, limit) in [(true, MAX_RUNNING_RUNS), (false, MAX_KEPT_RUNS)] {
            let limit = Some(limit);
            let request = RunsRequest { running, limit };
            let listed = client
                .runs(transport::within(PREDECESSOR_REQUEST_TIMEOUT), request)
                .await;
            let Ok(Ok(listed)) = listed else {
                return;
            };
            all.extend(listed.runs.into_iter().map(|info| (info.run.clone(), info)));
        }
        *self.client() = Some(client.clone());
        for info in all.values() {
            self.runs()
                .insert(info.run.clone(), Arc::new(FollowedRun::new(info.clone())));
        }
        self.come();
        let mut following: FuturesUnordered<_> = all
            .into_values()
            .map(|info| self.copy(&client, info))
            .collect();
        while following.next().await.is_some() {}
        info!("the runs of the predecessor have ended");
        *self.client() = None;
    }

    async fn copy(&self, client: &MuxClient, info: RunInfo) {
        let run = info.run;
        let Some(followed) = self.runs().get(&run).cloned() else {
            return;
        };
        let mut after = 0;
        loop {
            let request = EventsRequest {
                run: run.clone(),
                after,
                wait_ms: EVENT_POLL_TIMEOUT
                    .as_millis()
                    .try_into()
                    .unwrap_or(u64::MAX),
            };
            let page = client.events(
                transport::within(EVENT_POLL_TIMEOUT + PREDECESSOR_REQUEST_TIMEOUT),
                request,
            );
            let page = match page.await {
                Ok(Ok(page)) => page,
                // The predecessor is busy, and the run continues.
                Err(RpcError::DeadlineExceeded | RpcError::Server(_)) => continue,
                Ok(Err(error)) if error.kind != Kind::NotFound => {
                    sleep(PREDECESSOR_REQUEST_TIMEOUT).await;
                    continue;
                }
                Ok(Err(_)) | Err(_) => {
                    followed.lose();
                    break;
                }
            };
            after = page.events.last().map_or(after, |event| event.seq);
            let is_over = page.events.last().is_some_and(is_last);
            let info = if is_over {
                client
                    .run_info(transport::within(PREDECESSOR_REQUEST_TIMEOUT), run.clone())
                    .await
            } else {
                Ok(Err(Error::new(
                    Kind::NotFound,
                    "it is asked for at the end",
                )))
            };
            followed.add(page.events, info.ok().and_then(Result::ok));
            if is_over {
                break;
            }
        }
        self.forget();
    }

    /// Resolves when all followed runs have ended.
    pub async fn settled(&self) {
        self.arrived().await;
        let all: Vec<_> = self.runs().values().cloned().collect();
        for followed in all {
            let mut copy = followed.copy.subscribe();
            // The sender lives in `followed`.
            drop(copy.wait_for(|copy| copy.ended.is_some()).await);
        }
    }

    pub fn is_settled(&self) -> bool {
        let runs = self.runs();
        let mut all = runs.values();
        !*self.expected.borrow() && all.all(|followed| followed.copy.borrow().ended.is_some())
    }

    /// All known runs that `access` permits, latest first.
    pub async fn list(&self, running: bool, access: &RunAccess) -> Vec<RunInfo> {
        self.arrived().await;
        self.forget();
        let client = self.client().clone();
        let mut now = BTreeMap::new();
        if let Some(client) = client {
            let request = RunsRequest {
                running: true,
                limit: Some(MAX_RUNNING_RUNS),
            };
            // The runs' present state or, without an answer, the last known state.
            let answer = client.runs(transport::within(PREDECESSOR_REQUEST_TIMEOUT), request);
            if let Ok(Ok(Ok(list))) = timeout(PREDECESSOR_REQUEST_TIMEOUT, answer).await {
                let runs = list.runs.into_iter();
                now = runs.map(|info| (info.run.clone(), info)).collect();
            }
        }
        let all: Vec<_> = self.runs().values().cloned().collect();
        let infos = all
            .iter()
            .map(|followed| followed.copy.borrow().info.clone());
        let mut infos: Vec<_> = infos
            .map(|info| now.remove(&info.run).unwrap_or(info))
            .filter(|info| !(running && has_ended(info)) && allows(access, info))
            .collect();
        infos.sort_by_key(|info| std::cmp::Reverse(info.accepted_ms));
        infos
    }

    /// `None` if the predecessor has no such run.
    pub async fn info(&self, run: &str, access: &RunAccess) -> Option<RunInfo> {
        self.arrived().await;
        let followed = self.find(run, access)?;
        let info = followed.copy.borrow().info.clone();
        if has_ended(&info) {
            return Some(info);
        }
        let client = self.client().clone()?;
        let now = client.run_info(
            transport::within(PREDECESSOR_REQUEST_TIMEOUT),
            info.run.clone(),
        );
        Some(now.await.ok().and_then(Result::ok).unwrap_or(info))
    }

    /// A page of about `page` bytes of a run's events; `None` if the predecessor has no such run.
    pub async fn events(
        &self,
        request: &EventsRequest,
        access: &RunAccess,
        poll: Duration,
        page: usize,
    ) -> Option<EventPage> {
        self.arrived().await;
        let followed = self.find(&request.run, access)?;
        let mut copy = followed.copy.subscribe();
        let is_news = |copy: &RunCopy| {
            let last = copy.events.last();
            last.is_some_and(|event| event.seq > request.after || is_last(event))
        };
        let wait = Duration::from_millis(request.wait_ms).min(poll);
        // At a timeout the page is empty.
        drop(timeout(wait, copy.wait_for(is_news)).await);
        let copy = followed.copy.borrow();
        let events = copy.events.iter().filter(|event| event.seq > request.after);
        let mut room = page;
        let events = events.take_while(|event| {
            let fits = room > 0;
            room = room.saturating_sub(length(event));
            fits
        });
        Some(EventPage {
            events: events.cloned().collect(),
        })
    }

    /// Cancels a run. Returns false if the predecessor has no such run.
    pub async fn cancel(&self, run: &str, access: &RunAccess) -> bool {
        self.arrived().await;
        let Some(followed) = self.find(run, access) else {
            return false;
        };
        let run = followed.copy.borrow().info.run.clone();
        let client = self.client().clone();
        if let Some(client) = client {
            // If the predecessor has exited, the run has ended as well.
            drop(
                client
                    .cancel_run(transport::within(PREDECESSOR_REQUEST_TIMEOUT), run)
                    .await,
            );
        }
        true
    }

    /// Makes the predecessor load its configuration, which applies to the runs that continue there. Returns the
    /// problems, or the reason for a failure. Returns nothing if no run continues.
    pub async fn reload(&self) -> Vec<String> {
        self.arrived().await;
        let is_awaited = *self.expected.borrow();
        let Some(client) = self.client().clone() else {
            return if is_awaited {
                vec![old_rules("it has not answered yet")]
            } else {
                Vec::new()
            };
        };
        match client
            .reload(transport::within(PREDECESSOR_RELOAD_TIMEOUT))
            .await
        {
            Ok(Ok(report)) => report.problems,
            Ok(Err(error)) => vec![old_rules(&error.message)],
            // The predecessor exited with its last run.
            Err(_) if self.client().is_none() => Vec::new(),
            Err(error) => vec![old_rules(&error.to_string())],
        }
    }

    /// Asks the predecessor to stop.
    pub async fn stop(&self, now: bool) {
        self.arrived().await;
        let client = self.client().clone();
        if let Some(client) = client {
            let request = StopRequest { now };
            drop(
                client
                    .stop(transport::within(PREDECESSOR_REQUEST_TIMEOUT), request)
                    .await,
            );
        }
    }

    fn find(&self, run: &str, access: &RunAccess) -> Option<Arc<FollowedRun>> {
        self.forget();
        let is_allowed = |run: &FollowedRun| allows(access, &run.copy.borrow().info);
        find_run(&self.runs(), run, access, is_allowed)
    }

    /// Drops copies past their retention, and the oldest ones beyond the limit.
    fn forget(&self) {
        let mut runs = self.runs();
        let ended = |followed: &FollowedRun| followed.copy.borrow().ended;
        runs.retain(|_, followed| ended(followed).is_none_or(|at| at.elapsed() < RUN_RETENTION));
        loop {
            let bytes: usize = runs.values().map(|run| run.copy.borrow().bytes).sum();
            let oldest = runs.iter().filter_map(|(id, run)| Some((ended(run)?, id)));
            let oldest = oldest.min().map(|(_, id)| id.clone());
            match oldest {
                Some(oldest) if bytes > MAX_KEPT_EVENT_BYTES => drop(runs.remove(&oldest)),
                _ => return,
            }
        }
    }

    fn client(&self) -> MutexGuard<'_, Option<MuxClient>> {
        self.client.lock()
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<String, Arc<FollowedRun>>> {
        self.runs.lock()
    }
}

fn old_rules(why: &str) -> String {
    format!(
        "runs that continue in the previous muxd may still use the previous configuration: {why}; \
         `mux runs --running` lists them, `mux runs cancel RUN` cancels one"
    )
}

impl FollowedRun {
    fn new(info: RunInfo) -> Self {
        let (copy, _) = watch::channel(RunCopy {
            info,
            events: Vec::new(),
            bytes: 0,
            ended: None,
        });
        Self { copy }
    }

    fn add(&self, events: Vec<Event>, info: Option<RunInfo>) {
        let bytes: usize = events.iter().map(length).sum();
        self.copy.send_modify(|copy| {
            if events.last().is_some_and(is_last) {
                copy.ended = Some(Instant::now());
            }
            copy.bytes += bytes;
            copy.events.extend(events);
            if let Some(info) = info {
                copy.info = info;
            }
        });
    }

    /// Ends the copy with an error, because the outcome can no longer be known.
    fn lose(&self) {
        let message = "the muxd that executed this run exited before it reported the outcome";
        let error = Error::new(Kind::UnknownOutcome, message).hint("see `mux logs`");
        self.copy.send_modify(|copy| {
            copy.ended = Some(Instant::now());
            if has_ended(&copy.info) && copy.events.last().is_some_and(is_last) {
                return;
            }
            copy.info.state = RunState::Failed;
            copy.info.error = Some(error.clone());
            let (seq, at_ms) = copy
                .events
                .last()
                .map_or((0, 0), |event| (event.seq, event.at_ms));
            let outcome = Outcome::Error(error);
            copy.info.events = seq + 1;
            copy.events.push(Event {
                seq: seq + 1,
                at_ms,
                event: EventKind::Ended { outcome },
            });
        });
    }
}

fn allows(access: &RunAccess, info: &RunInfo) -> bool {
    access.allows_names(&info.client, info.agent.as_deref())
}

fn length(event: &Event) -> usize {
    serde_json::to_vec(event).map_or(0, |text| text.len())
}

fn is_last(event: &Event) -> bool {
    matches!(event.event, EventKind::Ended { .. })
}

fn has_ended(info: &RunInfo) -> bool {
    matches!(info.state, RunState::Succeeded | RunState::Failed)
}
