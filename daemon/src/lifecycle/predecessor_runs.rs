//! The runs that continue in the daemon from which this daemon has taken over.
//!
//! Requests that concern such a run are forwarded. Once a run has ended, the history has it: the predecessor writes it
//! there, as this daemon does with its own runs.
//!
//! Invariant: a run is forwarded from before this daemon serves until the history has its end. If the predecessor dies,
//! the history says that the run's outcome is unknown. The same clients find the run as if it ran here.

use std::{collections::BTreeMap, time::Duration};

use futures::{StreamExt, stream::FuturesUnordered};
use mux_proto::{
    Error, EventKind, EventPage, EventsRequest, Kind, MuxClient, RunInfo, RunState, RunsRequest,
    StopRequest, transport, version::CONTRACT,
};
use parking_lot::Mutex;
use tarpc::{
    client::{Config, RpcError},
    context,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::{sleep, timeout},
};
use tracing::{debug, info};

use super::retire_request::hello;
use mux_caller::RunAccess;

/// How long the predecessor may take to answer a request.
const PREDECESSOR_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the predecessor may take to load its configuration, with the commands in it.
const PREDECESSOR_RELOAD_TIMEOUT: Duration = Duration::from_secs(20);
/// How long one request for events waits in the predecessor.
const EVENT_POLL_TIMEOUT: Duration = Duration::from_secs(20);
/// How long requests that concern runs wait for the predecessor's list of runs.
const RUNS_ARRIVAL_TIMEOUT: Duration = Duration::from_secs(3);
/// The time between two requests for the events of a run.
const EVENT_PAUSE: Duration = Duration::from_millis(200);
/// The maximum number of runs that are followed.
const MAX_RUNNING_RUNS: usize = 10_000;

/// The runs of the predecessor. Empty in a daemon without one.
#[derive(Debug, Default)]
pub struct PredecessorRuns {
    /// True until the predecessor has listed its runs. Requests wait a moment for the list.
    expected: watch::Sender<bool>,
    client: Mutex<Option<MuxClient>>,
    /// The runs that have not ended, as they were when they were listed.
    runs: Mutex<BTreeMap<String, RunInfo>>,
    /// The number of runs that have not ended.
    left: watch::Sender<usize>,
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
        let listed = expected.wait_for(|is_expected| !is_expected);
        // The sender lives as long as `self`. After the timeout, the request goes on without the list.
        drop(timeout(RUNS_ARRIVAL_TIMEOUT, listed).await);
    }

    /// Follows the predecessor's runs over a connection to it, until the last of them has ended.
    pub async fn follow(&self, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
        self.follow_all(stream).await;
        self.come();
    }

    async fn follow_all(&self, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
        let client = MuxClient::new(Config::default(), transport::frames(stream)).spawn();
        let greeted = client.hello(soon(), hello()).await;
        if !matches!(greeted, Ok(Ok(welcome)) if welcome.contract == CONTRACT) {
            debug!("cannot read the runs of the predecessor");
            return;
        }
        let Ok(running) = list_running(&client).await else {
            return;
        };
        *self.client.lock() = Some(client.clone());
        let runs: Vec<String> = running.iter().map(|info| info.run.clone()).collect();
        self.left.send_replace(runs.len());
        let running = running.into_iter().map(|info| (info.run.clone(), info));
        self.runs.lock().extend(running);
        self.come();
        let ends = runs.into_iter().map(|run| self.follow_run(&client, run));
        let mut ends: FuturesUnordered<_> = ends.collect();
        while ends.next().await.is_some() {}
        info!("the runs of the predecessor have ended");
        *self.client.lock() = None;
    }

    /// Forwards requests for a run until its end is in the history.
    async fn follow_run(&self, client: &MuxClient, run: String) {
        while !has_ended(client, &run).await {}
        // Before it answers, the predecessor writes the history. If it has died, nothing more is written.
        drop(list_running(client).await);
        self.runs.lock().remove(&run);
        self.left.send_modify(|left| *left -= 1);
    }

    /// Resolves when all followed runs have ended.
    pub async fn settled(&self) {
        self.arrived().await;
        let mut left = self.left.subscribe();
        // The sender lives as long as `self`.
        drop(left.wait_for(|left| *left == 0).await);
    }

    pub fn is_settled(&self) -> bool {
        !*self.expected.borrow() && *self.left.borrow() == 0
    }

    /// The runs that have not ended and that `access` permits, latest first.
    pub async fn list(&self, access: &RunAccess) -> Vec<RunInfo> {
        self.arrived().await;
        let mut known = self.runs.lock().clone();
        let client = self.client.lock().clone();
        if let Some(client) = client.filter(|_| !known.is_empty()) {
            // The runs' present state or, without an answer, the last known state.
            for info in list_running(&client).await.unwrap_or_default() {
                if let Some(known) = known.get_mut(&info.run) {
                    *known = info;
                }
            }
        }
        let mut infos: Vec<RunInfo> = known.into_values().collect();
        infos.retain(|info| allows(access, info));
        infos.sort_by_key(|info| std::cmp::Reverse(info.accepted_ms));
        infos
    }

    /// `None` if no such run continues in the predecessor.
    pub async fn info(&self, run: &str, access: &RunAccess) -> Option<RunInfo> {
        let (client, known) = self.find(run, access).await?;
        let now = client.run_info(soon(), known.run.clone());
        Some(now.await.ok().and_then(Result::ok).unwrap_or(known))
    }

    /// A page of a run's events; `None` if no such run continues in the predecessor.
    pub async fn events(&self, request: &EventsRequest, access: &RunAccess) -> Option<EventPage> {
        let (client, known) = self.find(&request.run, access).await?;
        let request = EventsRequest {
            run: known.run,
            ..request.clone()
        };
        let wait = Duration::from_millis(request.wait_ms) + PREDECESSOR_REQUEST_TIMEOUT;
        client
            .events(transport::within(wait), request)
            .await
            .ok()?
            .ok()
    }

    /// Cancels a run. Returns false if no such run continues in the predecessor.
    pub async fn cancel(&self, run: &str, access: &RunAccess) -> bool {
        let Some((client, known)) = self.find(run, access).await else {
            return false;
        };
        // If the predecessor has exited, the run has ended as well.
        drop(client.cancel_run(soon(), known.run).await);
        true
    }

    /// Makes the predecessor load its configuration, which applies to the runs that continue there. Returns the
    /// problems, or the reason for a failure. Returns nothing if no run continues.
    pub async fn reload(&self) -> Vec<String> {
        self.arrived().await;
        let is_awaited = *self.expected.borrow();
        let Some(client) = self.client.lock().clone() else {
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
            Err(_) if self.client.lock().is_none() => Vec::new(),
            Err(error) => vec![old_rules(&error.to_string())],
        }
    }

    /// Asks the predecessor to stop.
    pub async fn stop(&self, now: bool) {
        self.arrived().await;
        let client = self.client.lock().clone();
        if let Some(client) = client {
            let request = StopRequest { now };
            drop(client.stop(soon(), request).await);
        }
    }

    /// The followed run with this id, or, for the user, with this number at the end of its id.
    async fn find(&self, run: &str, access: &RunAccess) -> Option<(MuxClient, RunInfo)> {
        self.arrived().await;
        let client = self.client.lock().clone()?;
        let runs = self.runs.lock();
        let number = |info: &&RunInfo| {
            let last = info.run.rsplit_once('-').map(|(_, last)| last);
            access.is_user() && last == Some(run)
        };
        let found = runs.get(run).or_else(|| runs.values().find(number));
        let found = found.filter(|info| allows(access, info));
        found.map(|info| (client, info.clone()))
    }
}

/// The runs of the predecessor that have not ended.
async fn list_running(client: &MuxClient) -> Result<Vec<RunInfo>, Error> {
    let request = RunsRequest {
        running: true,
        limit: Some(MAX_RUNNING_RUNS),
    };
    let listed = client.runs(soon(), request).await;
    let lost = |error: RpcError| Error::new(Kind::Unavailable, error.to_string());
    Ok(listed.map_err(lost)??.runs)
}

/// Waits a while for the end of a run. True if the run has ended, or if the predecessor has.
async fn has_ended(client: &MuxClient, run: &str) -> bool {
    let info = client.run_info(soon(), run.to_owned());
    let after = match info.await {
        Ok(Ok(info)) if matches!(info.state, RunState::Succeeded | RunState::Failed) => {
            return true;
        }
        Ok(Ok(info)) => info.events,
        Ok(Err(error)) => return error.kind == Kind::NotFound,
        Err(error) => return is_connection_lost(&error),
    };
    let request = EventsRequest {
        run: run.to_owned(),
        after,
        wait_ms: u64::try_from(EVENT_POLL_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
    };
    let patience = EVENT_POLL_TIMEOUT + PREDECESSOR_REQUEST_TIMEOUT;
    match client.events(transport::within(patience), request).await {
        Ok(Ok(page)) => {
            let last = page.events.last().map(|event| &event.event);
            if matches!(last, Some(EventKind::Ended { .. })) {
                return true;
            }
            // Output that comes in quick succession needs no request each.
            sleep(EVENT_PAUSE).await;
            false
        }
        Ok(Err(error)) => error.kind == Kind::NotFound,
        Err(error) => is_connection_lost(&error),
    }
}

/// False if the predecessor is only busy.
fn is_connection_lost(error: &RpcError) -> bool {
    !matches!(error, RpcError::DeadlineExceeded | RpcError::Server(_))
}

/// The deadline of a request that the predecessor answers at once.
fn soon() -> context::Context {
    transport::within(PREDECESSOR_REQUEST_TIMEOUT)
}

fn old_rules(why: &str) -> String {
    format!(
        "runs that continue in the previous muxd may still use the previous configuration: {why}; \
         `mux runs --running` lists them, `mux runs cancel RUN` cancels one"
    )
}

fn allows(access: &RunAccess, info: &RunInfo) -> bool {
    access.allows_names(&info.client, info.agent.as_deref())
}
