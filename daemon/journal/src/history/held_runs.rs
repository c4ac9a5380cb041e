//! Rows that a later run has to trust: calls that wait for approval, and the calls of their runs.
//!
//! Invariant: a row is written durably before its caller continues, and one transaction replaces the rows of the resumed
//! run. The rows are unmasked, and are deleted with the last approval of their owner.

use std::{collections::BTreeMap, sync::Arc};

use mux_caller::ClientOrigin;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::{
    History, HistoryError,
    reader::json_column,
    writer::{Store, to_i64},
};
use crate::{call_log::LoggedCall, program::Program, run_journal::RunJournal};

/// The run or the single call that owns approvals.
#[derive(Clone)]
pub struct HeldOwner {
    pub name: String,
    /// `None` for a single call.
    pub run: Option<Arc<RunJournal>>,
    pub origin: Arc<ClientOrigin>,
    /// The owner whose rows these rows replace.
    pub replaces: Option<String>,
}

/// An approval, as its owner stores it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HeldApproval {
    pub number: u64,
    pub subject: String,
    pub answer: Option<String>,
}

/// The approvals of one owner, restored after a restart.
#[derive(Debug)]
pub struct HeldRun {
    pub owner: String,
    pub origin: Arc<ClientOrigin>,
    pub approvals: Vec<HeldApproval>,
}

/// The saved program and calls of an owner.
#[derive(Debug)]
pub struct SavedRun {
    /// Without a source for a single call.
    pub program: Program,
    /// `None` if the calls exceeded the limit of the run.
    pub calls: Option<Vec<LoggedCall>>,
}

impl History {
    /// Writes the current state of an owner: its approvals, and the calls of its run that are not written yet. Without
    /// approvals, the rows are deleted. `is_durable` waits until the rows are on disk.
    pub async fn save_held(
        &self,
        owner: HeldOwner,
        approvals: impl FnOnce() -> Vec<HeldApproval> + Send + 'static,
        is_durable: bool,
    ) -> Result<(), HistoryError> {
        self.write(move |store| {
            let run = owner.run.clone();
            let saved = store.transact(is_durable, |transaction| {
                save(transaction, &owner, &approvals())
            });
            if saved.is_err()
                && let Some(run) = run
            {
                // The next write writes all rows.
                run.forget_held_rows();
            }
            saved
        })
        .await
    }

    /// Writes the approvals of an owner whose run does not execute. Fails if the owner has no rows, unless
    /// `is_being_written` says that its run is about to write them.
    pub async fn amend_held(
        &self,
        owner: String,
        approvals: impl FnOnce() -> Vec<HeldApproval> + Send + 'static,
        is_being_written: impl FnOnce() -> bool + Send + 'static,
    ) -> Result<(), HistoryError> {
        self.write(move |store| {
            store.transact(true, |transaction| {
                let approvals = approvals();
                if approvals.is_empty() {
                    return delete_owner(transaction, &owner);
                }
                if has_owner(transaction, &owner)? {
                    return save_approvals(transaction, &owner, &approvals);
                }
                if is_being_written() {
                    Ok(())
                } else {
                    Err(HistoryError::Missing)
                }
            })
        })
        .await
    }

    /// All owners with approvals. Blocks.
    pub fn read_held(&self) -> Result<Vec<HeldRun>, HistoryError> {
        self.write_blocking(|store| {
            if !store.has_path() {
                return Ok(Vec::new());
            }
            read_all(store.connection()?)
        })
    }

    /// The saved program and calls of an owner. `None` if there are none.
    pub async fn read_held_run(&self, owner: String) -> Result<Option<SavedRun>, HistoryError> {
        self.write(move |store| read_run(store.connection()?, &owner))
            .await
    }

    /// Adopts the rows of an earlier build's files. Blocks.
    pub fn import_held(
        &self,
        owner: String,
        program: Program,
        calls: Option<Vec<LoggedCall>>,
        approvals: Vec<HeldApproval>,
    ) -> Result<(), HistoryError> {
        self.write_blocking(move |store| {
            store.transact(true, |transaction| {
                insert_owner(transaction, &owner, &program, calls.is_none())?;
                for (place, call) in calls.iter().flatten().enumerate() {
                    save_call(transaction, &owner, place, call)?;
                }
                save_approvals(transaction, &owner, &approvals)
            })
        })
    }
}

impl Store {
    /// Executes `write` in one transaction. With `is_durable` it is on disk when this returns.
    fn transact<T>(
        &mut self,
        is_durable: bool,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, HistoryError>,
    ) -> Result<T, HistoryError> {
        let connection = self.connection()?;
        let written = || {
            if is_durable {
                connection.pragma_update(None, "synchronous", "FULL")?;
            }
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = write(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        let written = written();
        if is_durable && let Err(error) = connection.pragma_update(None, "synchronous", "NORMAL") {
            tracing::warn!(%error, "the history stays durable");
        }
        if let Err(HistoryError::Database(error)) = &written {
            self.write_failed(error);
        }
        written
    }
}

fn save(
    transaction: &Transaction<'_>,
    owner: &HeldOwner,
    approvals: &[HeldApproval],
) -> Result<(), HistoryError> {
    if approvals.is_empty() {
        if let Some(run) = &owner.run {
            run.forget_held_rows();
            run.set_held(false);
        }
        delete_owner(transaction, &owner.name)?;
    } else {
        if let Some(run) = &owner.run {
            run.set_held(true);
            save_calls(transaction, owner, run)?;
        } else if !has_owner(transaction, &owner.name)? {
            let program = Program {
                origin: Arc::clone(&owner.origin),
                ..Program::default()
            };
            insert_owner(transaction, &owner.name, &program, false)?;
        }
        save_approvals(transaction, &owner.name, approvals)?;
    }
    match &owner.replaces {
        Some(replaced) => delete_owner(transaction, replaced),
        None => Ok(()),
    }
}

/// Writes the calls of a run that are not written yet.
fn save_calls(
    transaction: &Transaction<'_>,
    owner: &HeldOwner,
    run: &RunJournal,
) -> Result<(), HistoryError> {
    let (has_rows, changes) = run.take_held_changes();
    if !has_rows {
        delete_owner(transaction, &owner.name)?;
        insert_owner(transaction, &owner.name, &run.program, false)?;
    }
    if changes.full {
        transaction.execute("DELETE FROM held_calls WHERE owner = ?1", [&owner.name])?;
        transaction.execute(
            "UPDATE held_owners SET is_full = 1 WHERE owner = ?1",
            [&owner.name],
        )?;
    }
    for (place, call) in &changes.calls {
        save_call(transaction, &owner.name, *place, call)?;
    }
    Ok(())
}

fn insert_owner(
    transaction: &Transaction<'_>,
    owner: &str,
    program: &Program,
    is_full: bool,
) -> Result<(), HistoryError> {
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO held_owners(owner, program, is_full) VALUES(?1, ?2, ?3)",
        )?
        .execute(params![owner, serde_json::to_string(program)?, is_full])?;
    Ok(())
}

fn save_call(
    transaction: &Transaction<'_>,
    owner: &str,
    place: usize,
    call: &LoggedCall,
) -> Result<(), HistoryError> {
    transaction
        .prepare_cached("INSERT OR REPLACE INTO held_calls(owner, place, call) VALUES(?1, ?2, ?3)")?
        .execute(params![
            owner,
            to_i64(place as u64),
            serde_json::to_string(call)?
        ])?;
    Ok(())
}

fn save_approvals(
    transaction: &Transaction<'_>,
    owner: &str,
    approvals: &[HeldApproval],
) -> Result<(), HistoryError> {
    let known: Vec<i64> = transaction
        .prepare_cached("SELECT number FROM held_approvals WHERE owner = ?1")?
        .query_map([owner], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for number in known {
        if !approvals
            .iter()
            .any(|approval| to_i64(approval.number) == number)
        {
            transaction.execute("DELETE FROM held_approvals WHERE number = ?1", [number])?;
        }
    }
    let mut save = transaction.prepare_cached(
        "INSERT INTO held_approvals(number, owner, subject, answer) VALUES(?1, ?2, ?3, ?4) \
         ON CONFLICT(number) DO UPDATE SET owner = excluded.owner, answer = excluded.answer",
    )?;
    for approval in approvals {
        let number = to_i64(approval.number);
        save.execute(params![number, owner, approval.subject, approval.answer])?;
    }
    Ok(())
}

fn has_owner(transaction: &Transaction<'_>, owner: &str) -> Result<bool, HistoryError> {
    let mut found = transaction.prepare_cached("SELECT 1 FROM held_owners WHERE owner = ?1")?;
    Ok(found.exists([owner])?)
}

fn delete_owner(transaction: &Transaction<'_>, owner: &str) -> Result<(), HistoryError> {
    transaction
        .prepare_cached("DELETE FROM held_owners WHERE owner = ?1")?
        .execute([owner])?;
    Ok(())
}

fn read_all(connection: &Connection) -> Result<Vec<HeldRun>, HistoryError> {
    let mut held: BTreeMap<String, HeldRun> = BTreeMap::new();
    let mut statement = connection.prepare_cached(
        "SELECT owner, program, number, subject, answer FROM held_approvals JOIN held_owners USING(owner) \
         ORDER BY number",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let owner: String = row.get("owner")?;
        let program: Program = json_column(row, "program")?;
        let run = held.entry(owner.clone()).or_insert_with(|| HeldRun {
            owner,
            origin: program.origin,
            approvals: Vec::new(),
        });
        run.approvals.push(HeldApproval {
            number: u64::try_from(row.get::<_, i64>("number")?).unwrap_or(0),
            subject: row.get("subject")?,
            answer: row.get("answer")?,
        });
    }
    Ok(held.into_values().collect())
}

fn read_run(connection: &Connection, owner: &str) -> Result<Option<SavedRun>, HistoryError> {
    let found = connection
        .prepare_cached("SELECT program, is_full FROM held_owners WHERE owner = ?1")?
        .query_row([owner], |row| {
            Ok((json_column(row, "program")?, row.get::<_, bool>("is_full")?))
        })
        .optional()?;
    let Some((program, is_full)) = found else {
        return Ok(None);
    };
    let calls = connection
        .prepare_cached("SELECT call FROM held_calls WHERE owner = ?1 ORDER BY place")?
        .query_map([owner], |row| json_column(row, "call"))?
        .collect::<Result<_, _>>()?;
    Ok(Some(SavedRun {
        program,
        calls: (!is_full).then_some(calls),
    }))
}
