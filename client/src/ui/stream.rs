//! The event stream of one tab: the daemon's state, its changes, and the events of the run that the tab shows.
//!
//! Invariant: each message contains only what has changed since the previous ones; the first ones contain everything.

use std::{collections::HashMap, sync::Arc, time::Duration};

use mux_proto::{
    ApprovalList, Error, Event, EventKind, EventsRequest, RunInfo, Status, transport, version,
};
use serde::Serialize;
use tokio::sync::mpsc;

use super::{
    Desk,
    feed::{Approvals, Snapshot},
    latencies::Latency,
    line::{Line, Link},
};

/// How long the daemon holds a poll for events.
const POLL: Duration = Duration::from_secs(20);

#[derive(Default, Serialize)]
struct Message<'a> {
    /// The build of this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<Link>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<Runs<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approvals: Option<ApprovalList>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latencies: Option<&'a [Latency]>,
    /// Events of the run that the tab shows, in order and without gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<&'a [Event]>,
    /// Why the run has no events.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<&'a Error>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Runs<'a> {
    changed: Vec<&'a RunInfo>,
    gone: Vec<&'a str>,
}

/// The run that a tab shows.
pub(super) struct Shown {
    pub(super) run: String,
    /// The number of the last event that the tab has.
    pub(super) after: u64,
}

/// Sends messages until the tab is closed, or the server stops.
pub(super) async fn tell(desk: Arc<Desk>, shown: Option<Shown>, tab: mpsc::Sender<String>) {
    let told = async {
        let pool = tell_pool(&desk, &tab);
        let run = tell_run(&desk.line, shown, &tab);
        tokio::join!(pool, run);
    };
    tokio::select! {
        () = told => {}
        () = tab.closed() => {}
        () = desk.over.cancelled() => {}
    }
}

async fn tell_pool(desk: &Desk, tab: &mpsc::Sender<String>) {
    let (mut standing, mut feed) = (desk.line.standing(), desk.feed.watch());
    let mut told = Snapshot::default();
    let mut link = None;
    let mut build = Some(version::BUILD);
    loop {
        let now = standing.borrow_and_update().link();
        let next = feed.borrow_and_update().clone();
        let mut message = news(&told, &next);
        message.build = build.take();
        if link.as_ref() != Some(&now) {
            message.link = Some(now.clone());
            link = Some(now);
        }
        if !send(tab, &message).await {
            return;
        }
        told = next;
        let changed = tokio::select! {
            changed = standing.changed() => changed,
            changed = feed.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
    }
}

/// A message with the differences between two snapshots.
fn news<'a>(told: &'a Snapshot, next: &'a Snapshot) -> Message<'a> {
    let status = next.status.as_deref();
    let approvals = next.approvals.as_deref();
    let runs = runs(&told.runs, &next.runs);
    let latencies = &next.latencies;
    Message {
        status: status.filter(|_| !is_same(&told.status, &next.status)),
        runs: (runs
            != Runs {
                changed: vec![],
                gone: vec![],
            })
        .then_some(runs),
        approvals: approvals
            .filter(|_| !is_same(&told.approvals, &next.approvals))
            .map(Approvals::now),
        latencies: (!Arc::ptr_eq(&told.latencies, latencies)).then_some(latencies),
        ..Message::default()
    }
}

fn is_same<T>(one: &Option<Arc<T>>, other: &Option<Arc<T>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

fn runs<'a>(told: &'a [RunInfo], next: &'a [RunInfo]) -> Runs<'a> {
    let mut before: HashMap<&str, &RunInfo> =
        told.iter().map(|run| (run.run.as_str(), run)).collect();
    let mut changed = Vec::new();
    for run in next {
        if before.remove(run.run.as_str()) != Some(run) {
            changed.push(run);
        }
    }
    let mut gone: Vec<&str> = before.into_keys().collect();
    gone.sort_unstable();
    Runs { changed, gone }
}

/// Sends the events of the shown run. Continues after a restart of the daemon, which then reports the run as missing.
async fn tell_run(line: &Line, shown: Option<Shown>, tab: &mpsc::Sender<String>) {
    let Some(Shown { run, mut after }) = shown else {
        return;
    };
    loop {
        let number = line.up().await;
        let request = EventsRequest {
            run: run.clone(),
            after,
            wait_ms: u64::try_from(POLL.as_millis()).unwrap_or(u64::MAX),
        };
        let asked = |client: mux_proto::MuxClient| async move {
            client.events(transport::within(POLL * 2), request).await
        };
        let message = match line.request("events", asked).await {
            Ok(page) => {
                let Some(last) = page.events.last() else {
                    continue;
                };
                after = last.seq;
                let over = matches!(last.event, EventKind::Ended { .. });
                let message = Message {
                    events: Some(&page.events),
                    ..Message::default()
                };
                if !send(tab, &message).await || over {
                    return;
                }
                continue;
            }
            // The daemon has ended; the next one reports that it does not know the run.
            Err(_) if line.is_lost(number) => continue,
            Err(error) => error,
        };
        let missing = Message {
            missing: Some(&message),
            ..Message::default()
        };
        send(tab, &missing).await;
        return;
    }
}

/// Sends a message; returns whether the tab is still open.
async fn send(tab: &mpsc::Sender<String>, message: &Message<'_>) -> bool {
    // Serializing plain data does not fail.
    match serde_json::to_string(message) {
        Ok(text) if text == "{}" => true,
        Ok(text) => tab.send(text).await.is_ok(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use mux_proto::RunState;

    use super::*;

    fn run(id: &str, calls: u32) -> RunInfo {
        RunInfo {
            run: id.into(),
            state: RunState::Running,
            client: "mux".into(),
            agent: None,
            workspace: None,
            detached: false,
            title: String::new(),
            accepted_ms: 0,
            ms: 0,
            calls,
            calls_ended: 0,
            calls_failed: 0,
            error: None,
            events: 1,
        }
    }

    #[test]
    fn only_changed_and_removed_runs_are_sent() {
        let told = [run("a", 0), run("b", 0), run("c", 0)];
        let next = [run("d", 0), run("b", 1), run("c", 0)];
        let runs = runs(&told, &next);
        assert_eq!(runs.changed, [&next[0], &next[1]]);
        assert_eq!(runs.gone, ["a"]);
    }

    #[test]
    fn unchanged_data_is_not_sent_again() {
        let next = Snapshot {
            runs: Arc::new(vec![run("a", 0)]),
            ..Snapshot::default()
        };
        let first = Snapshot::default();
        let message = serde_json::to_value(news(&first, &next)).unwrap();
        assert_eq!(message["runs"]["changed"][0]["run"], "a");
        let again = serde_json::to_value(news(&next, &next.clone())).unwrap();
        assert_eq!(again, serde_json::json!({}));
    }
}
