//! Starts, follows and lists runs for clients, and checks programs without running them.
//!
//! Invariant: an answer fits into a frame, however long the clients' names are. Only clients with access to a run find
//! it ([`RunAccess`]).

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use mux_proto as wire;
use tokio::time::timeout;

use super::{MAX_LONG_POLL, connection::ConnectionState, convert, run_journal};
use crate::daemon::Daemon;
use mux_caller::RunAccess;
use mux_journal::{
    History, Program, RunJournal,
    history::{HistoryError, RunFilter, end_if_lost},
};
use mux_process::blocking_pool;
use mux_runs::{RunSpec, Runs, recording::RunRecording};
use mux_telemetry::trace::TraceContext;
use mux_text::{json_depth, json_weight::MIN_OFFLOAD_BYTES};

/// The approximate length of one page of events, in bytes. A frame has room for much more.
const EVENT_PAGE_BYTES: usize = 1 << 20;
/// How long a request waits for the history to be written.
const HISTORY_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// The number of runs that are listed if a request does not name a number.
const DEFAULT_LISTED_RUNS: usize = 20;
/// The approximate maximum length of a list, in bytes. A frame has room for more.
const MAX_RUN_LIST_BYTES: usize = 4 << 20;

pub(super) async fn start(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::RunRequest,
) -> wire::Result<wire::RunStarted> {
    let recording = match request.replay {
        Some(recording) => {
            let read = blocking_pool::run(move || RunRecording::parse(&recording.to_string()));
            Some(read.await?)
        }
        None => None,
    };
    let (language, source, input, timeout_ms) = match &recording {
        Some(RunRecording { program, .. }) => (
            program.language(),
            program.source.clone(),
            program.input.get().to_owned(),
            program.timeout_ms,
        ),
        None => (
            request.language,
            request.source,
            request.input.into_boxed_str().into_string(),
            request.timeout_ms,
        ),
    };
    let is_long = input.len() > MIN_OFFLOAD_BYTES;
    let check = move || json_depth::check(&input, "the input").map(|()| input);
    let input = blocking_pool::run_if(is_long, check).await?;
    let spec = RunSpec {
        program: Program {
            source: source.into(),
            language,
            name: request.name.map(Into::into),
            input: input.into(),
            origin: connection.origin(),
            ..Program::default()
        },
        wall: timeout_ms.map(Duration::from_millis),
        record: request.record,
        // A replayed program is not checked: the types at that time are not known.
        check: !request.no_check && recording.is_none(),
        replay: recording,
        turn: connection.turn(),
        scope: connection.scope(),
        mailbox: Some(Arc::clone(connection.mailbox())),
        trace: request
            .traceparent
            .and_then(|parent| TraceContext::parse(&parent, request.tracestate.as_deref())),
        resumed: None,
        detached: request.detach.then(|| daemon.activity.admit_detached_run()),
    };
    let run = daemon.runs.start(spec)?;
    connection.adopt_run(&run);
    let run = run.id.clone();
    Ok(wire::RunStarted { run })
}

pub(super) async fn events(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::EventsRequest,
) -> wire::Result<wire::EventPage> {
    let access = connection.access();
    let run = match daemon.runs.find(&request.run, &access) {
        Ok(run) => run,
        Err(unknown) => {
            if let Some(page) = daemon.predecessor.events(&request, &access).await {
                return Ok(page);
            }
            let id = request.run;
            let after = request.after;
            let past = read_history(daemon, move |history| {
                history.events(&id, &access, after, EVENT_PAGE_BYTES)
            });
            let events = past.await.ok_or(unknown)?;
            return Ok(wire::EventPage { events });
        }
    };
    let wait = Duration::from_millis(request.wait_ms).min(MAX_LONG_POLL);
    let events = run.read_after(request.after, wait, EVENT_PAGE_BYTES).await;
    if matches!(
        events.last().map(|event| &event.event),
        Some(wire::EventKind::Ended { .. })
    ) {
        connection.mark_end_read(&run);
    }
    Ok(wire::EventPage { events })
}

pub(super) async fn cancel(daemon: &Daemon, access: &RunAccess, run: &str) -> wire::Result<()> {
    match daemon.runs.find(run, access) {
        Ok(run) => run.cancel(),
        Err(unknown) if !daemon.predecessor.cancel(run, access).await => {
            return Err(unknown.into());
        }
        Err(_) => {}
    }
    Ok(())
}

pub(super) async fn info(
    daemon: &Daemon,
    access: &RunAccess,
    run: &str,
) -> wire::Result<wire::RunInfo> {
    match daemon.runs.find(run, access) {
        Ok(run) => Ok(run.info()),
        Err(unknown) => {
            if let Some(info) = daemon.predecessor.info(run, access).await {
                return Ok(info);
            }
            let id = run.to_owned();
            let access = access.clone();
            let past = read_history(daemon, move |history| history.find(&id, &access)).await;
            Ok(past.ok_or(unknown)?)
        }
    }
}

pub(super) async fn journal(
    daemon: &Daemon,
    access: RunAccess,
    request: wire::RunJournalRequest,
) -> wire::Result<wire::RunJournal> {
    let id = daemon.runs.find(&request.run, &access);
    let id = id.map_or(request.run, |run| run.id.clone());
    let unknown = daemon.runs.unknown_run_fault(&id, &access);
    // The latest events may not be written yet.
    flush_history(daemon).await;
    let record = read_history(daemon, move |history| history.record(&id, &access)).await;
    let record = record.ok_or(unknown)?;
    Ok(run_journal::run_journal(record, request.call))
}

pub(super) async fn check(
    runs: &Runs,
    connection: &ConnectionState,
    request: wire::CheckRequest,
) -> wire::Result<wire::Diagnostics> {
    let turn = connection.turn();
    let origin = connection.origin();
    let agent = origin.agent.as_deref();
    let viewer = connection.viewer();
    let found = runs.check(request.source, agent, &viewer, &turn);
    Ok(convert::check_diagnostics(found.await?))
}

pub(super) async fn list(
    daemon: &Daemon,
    access: &RunAccess,
    request: &wire::RunsRequest,
) -> wire::RunList {
    let is_shown = |run: &Arc<RunJournal>| {
        access.allows(run.origin()) && !(request.running && run.has_ended())
    };
    let own = daemon.runs.list().into_iter().filter(is_shown);
    let mut all: Vec<wire::RunInfo> = own.map(|run| run.info()).collect();
    // Runs that continue in the predecessor were accepted before this daemon's own.
    all.extend(daemon.predecessor.list(access).await);
    let limit = request.limit.unwrap_or(DEFAULT_LISTED_RUNS);
    let mut total = all.len();
    // A successor also has its list written before it reads the history.
    flush_history(daemon).await;
    if !request.running {
        let filter = RunFilter {
            access: access.clone(),
            // The first rows may be runs that are listed already.
            limit: limit.saturating_add(total),
        };
        let past = read_history(daemon, move |history| history.list(&filter).map(Some)).await;
        if let Some((past, kept)) = past {
            total = total.max(kept);
            let known: BTreeSet<String> = all.iter().map(|info| info.run.clone()).collect();
            let past = past.into_iter().filter(|run| !known.contains(&run.run));
            // If such a run has no end, its daemon has died.
            all.extend(past.map(end_if_lost));
        }
    }
    let mut room = MAX_RUN_LIST_BYTES;
    let shown = all.into_iter().take(limit).take_while(|info| {
        let length = serde_json::to_vec(info).map_or(0, |text| text.len());
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    });
    wire::RunList {
        runs: shown.collect(),
        total,
    }
}

/// Waits until what happened before is written, but not for a disk that hangs.
async fn flush_history(daemon: &Daemon) {
    drop(timeout(HISTORY_FLUSH_TIMEOUT, daemon.runs.history().flush()).await);
}

/// Reads from the history on another thread. `None` if there is nothing, or if the history cannot be read.
async fn read_history<T: Send + 'static>(
    daemon: &Daemon,
    read: impl FnOnce(&History) -> Result<Option<T>, HistoryError> + Send + 'static,
) -> Option<T> {
    let history = daemon.runs.history().clone();
    blocking_pool::run(move || {
        read(&history).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read the history");
            None
        })
    })
    .await
}
