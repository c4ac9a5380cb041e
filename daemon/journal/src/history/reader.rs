//! Reads past runs on a read-only connection. Callers must be on a blocking thread.
//!
//! Invariant: a run is read only by clients that may access it. A row that cannot be read costs that row.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use mux_caller::RunAccess;
use mux_wire::{Fault, FaultKind};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;

use super::{
    History, HistoryError, schema,
    stored_entry::{StoredCall, StoredEntries, StoredOutcome, StoredText},
    writer::to_i64,
};
use crate::{
    event::{RunEvent, SequencedEvent},
    program::Program,
    run_journal::{RunSnapshot, RunStatus, page_of, run_number},
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
    pub snapshot: RunSnapshot,
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
    pub fn list(&self, filter: &RunFilter) -> Result<(Vec<RunSnapshot>, usize), HistoryError> {
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
                "SELECT snapshot, has_ended FROM runs WHERE {is_own} ORDER BY accepted_ms DESC, number DESC LIMIT ?3"
            );
            let limit = to_i64(filter.limit as u64);
            let mut statement = connection.prepare_cached(&query)?;
            let rows = statement.query_map(params![client, agent, limit], snapshot_of)?;
            let runs = rows.collect::<Result<_, _>>()?;
            Ok((runs, usize::try_from(total).unwrap_or(0)))
        })
    }

    /// The run with this id, or, for the user, the latest with this number.
    pub fn find(&self, id: &str, access: &RunAccess) -> Result<Option<RunSnapshot>, HistoryError> {
        self.read(None, |connection| {
            Ok(find(connection, id, access)?.map(|(_, snapshot)| snapshot))
        })
    }

    /// A page of a run's events. `None` if there is no such run.
    pub fn events(
        &self,
        id: &str,
        access: &RunAccess,
        after: u64,
        max_bytes: usize,
    ) -> Result<Option<Vec<SequencedEvent>>, HistoryError> {
        self.read(None, |connection| {
            let Some((run, snapshot)) = find(connection, id, access)? else {
                return Ok(None);
            };
            let mut events = Vec::new();
            each_row(connection, run, after, |entries| {
                events.extend(entries.events);
            })?;
            let skipped = events.partition_point(|event: &SequencedEvent| event.seq <= after);
            events.drain(..skipped);
            if !events.last().is_some_and(|event| event.what.is_last()) && after <= snapshot.events
            {
                events.push(lost_end(&snapshot));
            }
            Ok(Some(page_of(&events, 0, max_bytes)))
        })
    }

    /// The program of a run, and its calls with arguments and results. `None` if there is no such run.
    pub fn record(&self, id: &str, access: &RunAccess) -> Result<Option<RunRecord>, HistoryError> {
        self.read(None, |connection| {
            let Some((run, snapshot)) = find(connection, id, access)? else {
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
                snapshot,
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
) -> rusqlite::Result<Option<(i64, RunSnapshot)>> {
    let read = |row: &Row<'_>| Ok((row.get("id")?, snapshot_of(row)?));
    let mut by_id =
        connection.prepare_cached("SELECT id, snapshot, has_ended FROM runs WHERE run = ?1")?;
    let mut found = by_id.query_row([id], read).optional()?;
    if found.is_none()
        && access.is_user()
        && let Ok(number) = id.parse::<i64>()
    {
        let latest = "SELECT id, snapshot, has_ended FROM runs WHERE number = ?1 ORDER BY accepted_ms DESC LIMIT 1";
        found = connection
            .prepare_cached(latest)?
            .query_row([number], read)
            .optional()?;
    }
    Ok(found.filter(|(_, snapshot)| access.allows(&snapshot.origin)))
}

fn snapshot_of(row: &Row<'_>) -> rusqlite::Result<RunSnapshot> {
    let mut snapshot: RunSnapshot = json_column(row, "snapshot")?;
    if row.get("has_ended")? {
        snapshot.end_if_lost();
    }
    Ok(snapshot)
}

pub(super) fn json_column<T: DeserializeOwned>(row: &Row<'_>, name: &str) -> rusqlite::Result<T> {
    let index = row.as_ref().column_index(name)?;
    let text = row.get_ref(index)?.as_str()?;
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(index, rusqlite::types::Type::Text, error.into())
    })
}

impl RunSnapshot {
    /// Marks a run as failed if it has no end, because its daemon has died.
    pub fn end_if_lost(&mut self) {
        if matches!(self.state, RunStatus::Waiting | RunStatus::Running) {
            self.state = RunStatus::Failed;
            self.error = Some(lost_run_fault());
        }
    }
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
fn lost_end(snapshot: &RunSnapshot) -> SequencedEvent {
    SequencedEvent {
        seq: snapshot.events + 1,
        at: snapshot.took,
        what: RunEvent::Ended(Err(lost_run_fault())),
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
