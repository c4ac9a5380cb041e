//! The daemon from which this one has taken over, as long as runs go on there; and what it told of them.
//!
//! Whoever asks this daemon for such a run reads on in a copy of its events, which is kept as runs of our own are. To stop
//! one, and to end that daemon, is asked of it.
//!
//! Invariant: a run is told in the words of the daemon in which it ran; if that one dies, the run's last event says so. It
//! is found by those who would find it if it ran here.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};
use mux_proto::{
    Error, Event, EventKind, EventPage, EventsRequest, Kind, MuxClient, Outcome, RunInfo, RunState,
    RunsRequest, StopRequest, transport,
    version::{CONTRACT, FEATURES},
};
use tarpc::client::{Config, RpcError};
use tokio::{
    net::UnixStream,
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tracing::{debug, info};

use super::retire_request::hello;
use mux_caller::RunAccess;

/// It has other things to do as well.
const PREDECESSOR_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take to read its configuration, with the commands that tell values.
const PREDECESSOR_RELOAD_TIMEOUT: Duration = Duration::from_secs(20);
/// How long one question for news waits over there.
const EVENT_POLL_TIMEOUT: Duration = Duration::from_secs(20);
/// How long whoever asks for its runs waits for it to tell of them.
const RUNS_ARRIVAL_TIMEOUT: Duration = Duration::from_secs(3);
/// Runs that go on at once, at most.
const MAX_RUNNING_RUNS: usize = 10_000;
/// Runs that are copied, and bytes of their events; what is too much is forgotten, the oldest first.
const MAX_COPIED_ENDED_RUNS: usize = 200;
const MAX_COPIED_EVENT_BYTES: usize = 32 << 20;
/// How long after its end.
const COPIED_RUN_RETENTION: Duration = Duration::from_secs(60 * 60);

/// Empty in a daemon that took over from nobody.
#[derive(Debug, Default)]
pub struct PredecessorRuns {
    /// It is about to tell of its runs: whoever asks for them waits a moment.
    expected: watch::Sender<bool>,
    client: Mutex<Option<MuxClient>>,
    runs: Mutex<BTreeMap<String, Arc<FollowedRun>>>,
}

/// A run of that daemon.
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
    /// There is one.
    pub fn expect(&self) {
        self.expected.send_replace(true);
    }

    /// It has come, or will not.
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

    /// Follows the runs over there, over a connection to it, until the last of them has ended.
    pub async fn follow(&self, stream: UnixStream) {
        self.follow_all(stream).await;
        self.come();
    }

    async fn follow_all(&self, stream: UnixStream) {
        let client = MuxClient::new(Config::default(), transport::frames(stream)).spawn();
        // It shall not tell us to leave.
        let features = FEATURES.iter().filter(|feature| **feature != "upgrade");
        let hello = hello(features.map(|feature| (*feature).to_owned()).collect());
        let greeted = client
            .hello(transport::within(PREDECESSOR_REQUEST_TIMEOUT), hello)
            .await;
        if !matches!(greeted, Ok(Ok(welcome)) if welcome.contract == CONTRACT) {
            debug!("the runs of the last muxd cannot be read");
            return;
        }
        let mut all = BTreeMap::new();
        // Those that go on first, however many have ended since they began.
        for (running, limit) in [(true, MAX_RUNNING_RUNS), (false, MAX_COPIED_ENDED_RUNS)] {
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
        info!("the runs of the last muxd have ended");
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
                // It is busy, and goes on.
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
            let info = match is_over {
                true => {
                    client
                        .run_info(transport::within(PREDECESSOR_REQUEST_TIMEOUT), run.clone())
                        .await
                }
                false => Ok(Err(Error::new(
                    Kind::NotFound,
                    "it is asked for at the end",
                ))),
            };
            followed.add(page.events, info.ok().and_then(Result::ok));
            if is_over {
                break;
            }
        }
        self.forget();
    }

    /// Resolves when nothing is followed any more.
    pub async fn settled(&self) {
        self.arrived().await;
        let all: Vec<_> = self.runs().values().cloned().collect();
        for followed in all {
            let mut copy = followed.copy.subscribe();
            // The sender is in our hands.
            drop(copy.wait_for(|copy| copy.ended.is_some()).await);
        }
    }

    pub fn is_settled(&self) -> bool {
        let runs = self.runs();
        let mut all = runs.values();
        !*self.expected.borrow() && all.all(|followed| followed.copy.borrow().ended.is_some())
    }

    /// All of which something is known and that `access` finds, the latest first.
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
            // How far they are; without an answer it is told how they were.
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

    /// None if it was no run of that daemon.
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

    /// A page of about so many bytes.
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
        // Nothing has come: then the page is empty.
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

    /// Whether it was one of that daemon.
    pub async fn cancel(&self, run: &str, access: &RunAccess) -> bool {
        self.arrived().await;
        let Some(followed) = self.find(run, access) else {
            return false;
        };
        let run = followed.copy.borrow().info.run.clone();
        let client = self.client().clone();
        if let Some(client) = client {
            // One that has gone has stopped it.
            drop(
                client
                    .cancel_run(transport::within(PREDECESSOR_REQUEST_TIMEOUT), run)
                    .await,
            );
        }
        true
    }

    /// That daemon reads its configuration again, which holds for the runs that go on there: what is wrong with it, or
    /// why it did not. Nothing if no run goes on.
    pub async fn reload(&self) -> Vec<String> {
        self.arrived().await;
        let is_awaited = *self.expected.borrow();
        let Some(client) = self.client().clone() else {
            return match is_awaited {
                true => vec![old_rules("it has not answered yet")],
                false => Vec::new(),
            };
        };
        match client
            .reload(transport::within(PREDECESSOR_RELOAD_TIMEOUT))
            .await
        {
            Ok(Ok(report)) => report.problems,
            Ok(Err(error)) => vec![old_rules(&error.message)],
            // With the last of its runs.
            Err(_) if self.client().is_none() => Vec::new(),
            Err(error) => vec![old_rules(&error.to_string())],
        }
    }

    /// That daemon is to end as this one does.
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

    /// By its id, or by its number where `access` takes those.
    fn find(&self, run: &str, access: &RunAccess) -> Option<Arc<FollowedRun>> {
        self.forget();
        let runs = self.runs();
        if let Some(found) = runs.get(run) {
            let is_found = allows(access, &found.copy.borrow().info);
            return is_found.then(|| Arc::clone(found));
        }
        let mut meant = runs.iter().filter(|(id, _)| {
            let last = id.rsplit_once('-').map(|(_, last)| last);
            access.is_user() && !run.is_empty() && last == Some(run)
        });
        match (meant.next(), meant.next()) {
            (Some((_, found)), None) => Some(Arc::clone(found)),
            _ => None,
        }
    }

    /// What was kept for long enough, and the oldest of what is too much.
    fn forget(&self) {
        let mut runs = self.runs();
        let ended = |followed: &FollowedRun| followed.copy.borrow().ended;
        runs.retain(|_, followed| {
            ended(followed).is_none_or(|at| at.elapsed() < COPIED_RUN_RETENTION)
        });
        loop {
            let bytes: usize = runs.values().map(|run| run.copy.borrow().bytes).sum();
            let oldest = runs.iter().filter_map(|(id, run)| Some((ended(run)?, id)));
            let oldest = oldest.min().map(|(_, id)| id.clone());
            match oldest {
                Some(oldest) if bytes > MAX_COPIED_EVENT_BYTES => drop(runs.remove(&oldest)),
                _ => return,
            }
        }
    }

    fn client(&self) -> MutexGuard<'_, Option<MuxClient>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<String, Arc<FollowedRun>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn old_rules(why: &str) -> String {
    format!(
        "runs that go on in the muxd before this one may still follow the configuration of before: {why}; \
         `mux runs --running` lists them, `mux runs cancel RUN` ends one"
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

    /// Nobody tells any more how it ends.
    fn lose(&self) {
        let message = "the muxd in which it ran has ended without a word of it";
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
