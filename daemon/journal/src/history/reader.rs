//! Reads past runs on a read-only connection. Callers must be on a blocking thread.
//!
//! Invariant: a run is read only by clients that may access it. A row that cannot be read costs that row.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use mux_caller::RunAccess;
use mux_messages::{Event, EventKind, Outcome, RunInfo, RunState, millis};
use mux_wire::{Fault, FaultKind};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;

use super::{
    History, HistoryError, schema,
    stored_entry::{StoredCall, StoredEntries, StoredOutcome, StoredText},
    writer::to_i64,
};
use crate::{
    event::is_last,
    program::Program,
    run_journal::{page_of, run_number},
};

/// Which runs a client wants to list.
#[derive(Clone, Debug)]
pub struct RunFilter {
    pub access: RunAccess,
    pub limit: usize,
}

/// A run of the past with everything that is kept of it.
#[derive(Clone, Debug)]
pub struct RunRecord {
    pub info: RunInfo,
    pub program: Program,
    pub calls: Vec<PastCall>,
    /// Set if further calls were not kept, because the run's calls exceeded their limit.
    pub is_incomplete: bool,
}

/// A call of a past run, masked.
#[derive(Clone, Debug)]
pub struct PastCall {
    /// The number of the call in the run's events. `None` if it did not reach a server.
    pub number: Option<u32>,
    pub tool: String,
    /// Time since the run was accepted.
    pub at: Duration,
    pub took: Duration,
    /// JSON. An error is the length of arguments that are not kept.
    pub arguments: Result<String, usize>,
    /// `None` if the call had not ended.
    pub outcome: Option<Result<Result<String, usize>, Fault>>,
}

impl History {
    /// The runs in the database that `filter` selects, latest first, and how many there are without its limit.
    pub fn list(&self, filter: &RunFilter) -> Result<(Vec<RunInfo>, usize), HistoryError> {
        self.read((Vec::new(), 0), |connection| {
            let (client, agent) = owner_names(&filter.access);
            let is_own = if client.is_some() {
                "client = ?1 AND agent IS ?2"
            } else {
                "?1 IS NULL AND ?2 IS NULL"
            };
            let total: i64 = connection
                .prepare_cached(&format!("SELECT count(*) FROM runs WHERE {is_own}"))?
                .query_row(params![client, agent], |row| row.get(0))?;
            let query = format!(
                "SELECT info, has_ended FROM runs WHERE {is_own} ORDER BY accepted_ms DESC, number DESC LIMIT ?3"
            );
            let limit = to_i64(filter.limit as u64);
            let mut statement = connection.prepare_cached(&query)?;
            let rows = statement.query_map(params![client, agent, limit], info_of)?;
            let runs = rows.collect::<Result<_, _>>()?;
            Ok((runs, usize::try_from(total).unwrap_or(0)))
        })
    }

    /// The run with this id, or, for the user, the latest with this number.
    pub fn find(&self, id: &str, access: &RunAccess) -> Result<Option<RunInfo>, HistoryError> {
        self.read(None, |connection| {
            Ok(find(connection, id, access)?.map(|(_, info)| info))
        })
    }

    /// A page of a run's events. `None` if there is no such run.
    pub fn events(
        &self,
        id: &str,
        access: &RunAccess,
        after: u64,
        max_bytes: usize,
    ) -> Result<Option<Vec<Event>>, HistoryError> {
        self.read(None, |connection| {
            let Some((run, info)) = find(connection, id, access)? else {
                return Ok(None);
            };
            let mut events = Vec::new();
            each_row(connection, run, after, |entries| {
                events.extend(entries.events);
            })?;
            let skipped = events.partition_point(|event: &Event| event.seq <= after);
            events.drain(..skipped);
            let has_end = events.last().is_some_and(|event| is_last(&event.event));
            if !has_end && after <= info.events {
                events.push(lost_end(&info));
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now_ms = millis(now.unwrap_or_default()).saturating_sub(info.accepted_ms);
            Ok(Some(page_of(&events, 0, max_bytes, now_ms)))
        })
    }

    /// The program of a run, and its calls with arguments and results. `None` if there is no such run.
    pub fn record(&self, id: &str, access: &RunAccess) -> Result<Option<RunRecord>, HistoryError> {
        self.read(None, |connection| {
            let Some((run, info)) = find(connection, id, access)? else {
                return Ok(None);
            };
            let mut calls = BTreeMap::new();
            let mut is_incomplete = false;
            each_row(connection, run, 0, |entries| {
                calls.extend(entries.calls);
                is_incomplete |= entries.is_full;
            })?;
            let calls = calls.into_values().map(|call| past_call(connection, call));
            Ok(Some(RunRecord {
                info,
                program: program_of(connection, run)?,
                calls: calls.collect::<Result<_, _>>()?,
                is_incomplete,
            }))
        })
    }

    /// The highest number of a run, or 0. Blocks until the database is open.
    pub fn last_number(&self) -> u64 {
        let last = self.write_blocking(|store| {
            let connection = store.connection()?;
            let last = connection.query_row("SELECT max(number) FROM runs", [], |row| {
                row.get::<_, Option<i64>>(0)
            })?;
            // A run with a held call is stored before its row in `runs`.
            let mut owners = connection.prepare_cached("SELECT owner FROM held_owners")?;
            let held = owners.query_map([], |row| Ok(run_number(row.get_ref(0)?.as_str()?)))?;
            let held: Vec<u64> = held.collect::<Result<_, _>>()?;
            Ok(held.into_iter().chain(last.map(unsigned)).max())
        });
        last.ok().flatten().unwrap_or(0)
    }

    /// Reads from the database, or returns `otherwise` if there is none.
    pub(super) fn read<T>(
        &self,
        otherwise: T,
        read: impl FnOnce(&Connection) -> Result<T, HistoryError>,
    ) -> Result<T, HistoryError> {
        let Some(path) = &self.shared.path else {
            return Ok(otherwise);
        };
        let mut reader = self.shared.reader.lock();
        if reader.is_none() {
            *reader = schema::open_for_reading(path)?;
        }
        let Some(connection) = &*reader else {
            return Ok(otherwise);
        };
        let result = read(connection);
        if matches!(&result, Err(HistoryError::Database(_))) {
            // The file may have been replaced.
            *reader = None;
        }
        result
    }
}

/// The client and agent whose runs are accessible. `None` for all.
fn owner_names(access: &RunAccess) -> (Option<&str>, Option<&str>) {
    match access {
        RunAccess::Everyone => (None, None),
        RunAccess::Own(origin) => (Some(&origin.client), origin.agent.as_deref()),
    }
}

/// Also returns the number of the row.
fn find(
    connection: &Connection,
    id: &str,
    access: &RunAccess,
) -> rusqlite::Result<Option<(i64, RunInfo)>> {
    let read = |row: &Row<'_>| Ok((row.get("id")?, info_of(row)?));
    let mut by_id =
        connection.prepare_cached("SELECT id, info, has_ended FROM runs WHERE run = ?1")?;
    let mut found = by_id.query_row([id], read).optional()?;
    if found.is_none()
        && access.is_user()
        && let Ok(number) = id.parse::<i64>()
    {
        let latest = "SELECT id, info, has_ended FROM runs WHERE number = ?1 ORDER BY accepted_ms DESC LIMIT 1";
        found = connection
            .prepare_cached(latest)?
            .query_row([number], read)
            .optional()?;
    }
    Ok(found.filter(|(_, info)| access.allows_names(&info.client, info.agent.as_deref())))
}

fn info_of(row: &Row<'_>) -> rusqlite::Result<RunInfo> {
    let info: RunInfo = json_column(row, "info")?;
    let has_ended: bool = row.get("has_ended")?;
    Ok(if has_ended { end_if_lost(info) } else { info })
}

pub(super) fn json_column<T: DeserializeOwned>(row: &Row<'_>, name: &str) -> rusqlite::Result<T> {
    let index = row.as_ref().column_index(name)?;
    let text = row.get_ref(index)?.as_str()?;
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(index, rusqlite::types::Type::Text, error.into())
    })
}

/// Marks a run as failed if it has no end, because its daemon has died.
pub fn end_if_lost(mut info: RunInfo) -> RunInfo {
    if matches!(info.state, RunState::Waiting | RunState::Running) {
        info.state = RunState::Failed;
        info.error = Some(lost_run_fault().into());
    }
    info
}

/// The error of a run whose end is not known.
fn lost_run_fault() -> Fault {
    Fault::new(
        FaultKind::UnknownOutcome,
        "the muxd that executed this run exited before it reported the outcome",
    )
    .hint("see `mux logs`")
}

/// The last event of a run whose end is not known.
fn lost_end(info: &RunInfo) -> Event {
    Event {
        seq: info.events + 1,
        at_ms: info.ms,
        event: EventKind::Ended {
            outcome: Outcome::Error(lost_run_fault().into()),
        },
    }
}

fn program_of(connection: &Connection, run: i64) -> rusqlite::Result<Program> {
    let mut program: Program = connection
        .prepare_cached("SELECT program FROM runs WHERE id = ?1")?
        .query_row([run], |row| json_column(row, "program"))?;
    for text in [&mut program.source, &mut program.input] {
        *text = shared_text(connection, text)?.unwrap_or_default().into();
    }
    Ok(program)
}

/// Reads the rows of a run that have events after `after`, in order.
fn each_row(
    connection: &Connection,
    run: i64,
    after: u64,
    mut take: impl FnMut(StoredEntries),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT entries FROM entries WHERE run = ?1 AND (?2 = 0 OR last_seq > ?2) ORDER BY id",
    )?;
    let mut rows = statement.query(params![run, to_i64(after)])?;
    while let Some(row) = rows.next()? {
        match serde_json::from_str(row.get_ref(0)?.as_str()?) {
            Ok(entries) => take(entries),
            Err(error) => tracing::warn!(%error, "cannot read a row of the history"),
        }
    }
    Ok(())
}

fn past_call(connection: &Connection, call: StoredCall) -> Result<PastCall, HistoryError> {
    let outcome = match call.outcome {
        StoredOutcome::Open | StoredOutcome::Asked => None,
        StoredOutcome::Result(text) => Some(Ok(read_text(connection, text)?)),
        StoredOutcome::Error(fault) => Some(Err(Arc::unwrap_or_clone(fault))),
    };
    Ok(PastCall {
        number: call.number,
        tool: call.tool.as_ref().to_owned(),
        at: call.at,
        took: call.took,
        arguments: read_text(connection, call.arguments)?,
        outcome,
    })
}

fn read_text(connection: &Connection, text: StoredText) -> rusqlite::Result<Result<String, usize>> {
    Ok(match text {
        StoredText::Text(text) => Ok(text.as_ref().to_owned()),
        StoredText::Withheld(bytes) => Err(bytes),
        StoredText::Shared(digest) => shared_text(connection, &digest)?.ok_or(0),
    })
}

fn shared_text(connection: &Connection, digest: &str) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT text FROM texts WHERE digest = ?1")?
        .query_row([digest], |row| row.get(0))
        .optional()
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
