//! The event stream of one tab: the daemon's state, its changes, and the events of the run that the tab shows.
//!
//! Invariant: each message contains only what has changed since the previous ones; the first ones contain everything.

use std::{collections::HashMap, sync::Arc};

use mux_proto::{
    ApprovalList, Error, Event, EventKind, EventsRequest, MuxClient, RunInfo, Status, version,
};
use serde::Serialize;
use tokio::sync::mpsc;

use super::{
    UiState,
    feed::{FeedSnapshot, TimedApprovals},
    latencies::LatencySummary,
    shared_connection::{LinkInfo, SharedConnection},
};

/// How long the daemon holds a poll for events.
const RUN_EVENTS_POLL_SECONDS: u64 = 20;

#[serde_with::skip_serializing_none]
#[derive(Default, Serialize)]
struct TabMessage<'a> {
    /// The build of this program.
    build: Option<&'a str>,
    link: Option<LinkInfo>,
    status: Option<&'a Status>,
    runs: Option<RunChanges<'a>>,
    approvals: Option<ApprovalList>,
    latencies: Option<&'a [LatencySummary]>,
    /// Events of the run that the tab shows, in order and without gaps.
    events: Option<&'a [Event]>,
    /// Why the run has no events.
    missing: Option<&'a Error>,
}

#[derive(Debug, PartialEq, Serialize)]
struct RunChanges<'a> {
    changed: Vec<&'a RunInfo>,
    gone: Vec<&'a str>,
}

/// The run that a tab shows.
pub(super) struct ShownRun {
    pub(super) run: String,
    /// The number of the last event that the tab has.
    pub(super) after: u64,
}

/// Sends messages until the tab is closed, or the server stops.
pub(super) async fn stream_to_tab(
    state: Arc<UiState>,
    shown: Option<ShownRun>,
    tab: mpsc::Sender<String>,
) {
    let sending = async {
        let pool = stream_daemon_state(&state, &tab);
        let run = stream_run_events(&state.connection, shown, &tab);
        tokio::join!(pool, run);
    };
    tokio::select! {
        () = sending => {}
        () = tab.closed() => {}
        () = state.over.cancelled() => {}
    }
}

async fn stream_daemon_state(state: &UiState, tab: &mpsc::Sender<String>) {
    let mut connection_state = state.connection.watch_state();
    let mut feed = state.feed.watch_feed();
    let mut sent = FeedSnapshot::default();
    let mut link = None;
    let mut build = Some(version::BUILD);
    loop {
        let now = connection_state.borrow_and_update().link_info();
        let next = feed.borrow_and_update().clone();
        let mut message = message_between(&sent, &next);
        message.build = build.take();
        if link.as_ref() != Some(&now) {
            message.link = Some(now.clone());
            link = Some(now);
        }
        if !send_to_tab(tab, &message).await {
            return;
        }
        sent = next;
        let changed = tokio::select! {
            changed = connection_state.changed() => changed,
            changed = feed.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
    }
}

/// A message with the differences between two snapshots.
fn message_between<'a>(sent: &'a FeedSnapshot, next: &'a FeedSnapshot) -> TabMessage<'a> {
    let status = next.status.as_deref();
    let approvals = next.approvals.as_deref();
    let runs = run_changes(&sent.runs, &next.runs);
    let latencies = &next.latencies;
    TabMessage {
        status: status.filter(|_| !is_same_snapshot(sent.status.as_ref(), next.status.as_ref())),
        runs: (runs
            != RunChanges {
                changed: vec![],
                gone: vec![],
            })
        .then_some(runs),
        approvals: approvals
            .filter(|_| !is_same_snapshot(sent.approvals.as_ref(), next.approvals.as_ref()))
            .map(TimedApprovals::now),
        latencies: (!Arc::ptr_eq(&sent.latencies, latencies)).then_some(latencies),
        ..TabMessage::default()
    }
}

fn is_same_snapshot<T>(one: Option<&Arc<T>>, other: Option<&Arc<T>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

fn run_changes<'a>(sent: &'a [RunInfo], next: &'a [RunInfo]) -> RunChanges<'a> {
    let mut before: HashMap<&str, &RunInfo> =
        sent.iter().map(|run| (run.run.as_str(), run)).collect();
    let mut changed = Vec::new();
    for run in next {
        if before.remove(run.run.as_str()) != Some(run) {
            changed.push(run);
        }
    }
    let mut gone: Vec<&str> = before.into_keys().collect();
    gone.sort_unstable();
    RunChanges { changed, gone }
}

/// Sends the events of the shown run. Continues after a restart of the daemon, which then reports the run as missing.
async fn stream_run_events(
    connection: &SharedConnection,
    shown: Option<ShownRun>,
    tab: &mpsc::Sender<String>,
) {
    let Some(ShownRun { run, mut after }) = shown else {
        return;
    };
    loop {
        let number = connection.wait_until_connected().await;
        let request = EventsRequest {
            run: run.clone(),
            after,
            wait_ms: RUN_EVENTS_POLL_SECONDS * 1_000,
        };
        let message = match connection
            .request(2 * RUN_EVENTS_POLL_SECONDS, request, MuxClient::events)
            .await
        {
            Ok(page) => {
                let Some(last) = page.events.last() else {
                    continue;
                };
                after = last.seq;
                let over = matches!(last.event, EventKind::Ended { .. });
                let message = TabMessage {
                    events: Some(&page.events),
                    ..TabMessage::default()
                };
                if !send_to_tab(tab, &message).await || over {
                    return;
                }
                continue;
            }
            // The daemon has ended; the next one reports that it does not know the run.
            Err(_) if connection.is_lost(number) => continue,
            Err(error) => error,
        };
        let missing = TabMessage {
            missing: Some(&message),
            ..TabMessage::default()
        };
        send_to_tab(tab, &missing).await;
        return;
    }
}

/// Sends a message; returns whether the tab is still open.
async fn send_to_tab(tab: &mpsc::Sender<String>, message: &TabMessage<'_>) -> bool {
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
            approvals: 0,
            error: None,
            events: 1,
        }
    }

    #[test]
    fn only_changed_and_removed_runs_are_sent() {
        let sent = [run("a", 0), run("b", 0), run("c", 0)];
        let next = [run("d", 0), run("b", 1), run("c", 0)];
        let runs = run_changes(&sent, &next);
        assert_eq!(runs.changed, [&next[0], &next[1]]);
        assert_eq!(runs.gone, ["a"]);
    }

    #[test]
    fn unchanged_data_is_not_sent_again() {
        let next = FeedSnapshot {
            runs: Arc::new(vec![run("a", 0)]),
            ..FeedSnapshot::default()
        };
        let first = FeedSnapshot::default();
        let message = serde_json::to_value(message_between(&first, &next)).unwrap();
        assert_eq!(message["runs"]["changed"][0]["run"], "a");
        let again = serde_json::to_value(message_between(&next, &next.clone())).unwrap();
        assert_eq!(again, serde_json::json!({}));
    }
}
