//! Writes runs, and removes old ones.
//!
//! Invariant: an error costs the changes that were to be written, and is counted. A database that turns out to be damaged
//! is set aside.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use mux_messages::{RunInfo, RunState};
use mux_secrets::{KnownSecrets, Masker};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::{
    HistoryError, HistoryLimits, OpenError, Shared, masking,
    schema::{self, is_damage},
    stored_entry::{MIN_SHARED_TEXT_BYTES, StoredCall, StoredEntries, StoredText},
};
use crate::{
    program::Program,
    run_journal::{RunJournal, UnwrittenPart, run_number},
};

/// How long the history rests after a write failed.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);
/// The number of runs that one transaction removes.
const REMOVED_RUNS_PER_STEP: u32 = 500;
/// The time by which a clock may differ from the time that has passed, before runs are removed by age.
const MAX_CLOCK_JUMP: Duration = Duration::from_hours(1);

pub(super) struct Store {
    path: Option<PathBuf>,
    /// Set until the runs of a dead daemon were ended.
    ends_lost_runs: bool,
    connection: Option<Connection>,
    /// Set after a failure: nothing is written before.
    pub(super) retry_at: Option<Instant>,
    /// Secrets that the values of a run announced, while it runs.
    announced: HashMap<String, KnownSecrets>,
    /// The clocks at the last removal of old runs.
    pub(super) last_removal: (Instant, SystemTime),
    pub(super) shared: Arc<Shared>,
}

/// A transaction that adds to the history, with what it needs to know.
struct RunWriter<'a> {
    transaction: &'a Transaction<'a>,
    limits: &'a HistoryLimits,
    bare_servers: &'a BTreeSet<String>,
    secrets: &'a KnownSecrets,
}

impl Store {
    pub(super) fn new(path: Option<PathBuf>, is_alone: bool, shared: Arc<Shared>) -> Self {
        Self {
            path,
            ends_lost_runs: is_alone,
            connection: None,
            retry_at: None,
            announced: HashMap::new(),
            last_removal: (Instant::now(), SystemTime::now()),
            shared,
        }
    }

    /// Opens the database. A database that cannot be used is set aside, and a new one is created.
    pub(super) fn open(&mut self) {
        let Some(path) = self.path.clone() else {
            return;
        };
        let opened = self.open_usable(&path).or_else(|error| {
            if error.needs_new_file() {
                self.begin_anew(&path, &error)
            } else {
                Err(error)
            }
        });
        match opened {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => self.fail(&path, &error),
        }
    }

    /// Sets the database aside, and creates a new one.
    fn begin_anew(
        &mut self,
        path: &Path,
        error: &dyn std::error::Error,
    ) -> Result<Connection, OpenError> {
        let aside = schema::set_aside(path)?;
        let set_aside = format!(
            "{} could not be used: {error}. It is now {}, and a new history was begun",
            path.display(),
            aside.display()
        );
        tracing::warn!(set_aside, "the history is begun anew");
        self.shared.status.lock().set_aside = Some(set_aside);
        self.open_usable(path)
    }

    fn open_usable(&mut self, path: &Path) -> Result<Connection, OpenError> {
        let connection = schema::open(path)?;
        if self.ends_lost_runs {
            connection.execute("UPDATE runs SET has_ended = 1 WHERE has_ended = 0", [])?;
            // After this, open rows are of runs that live.
            self.ends_lost_runs = false;
        }
        Ok(connection)
    }

    pub(super) fn has_path(&self) -> bool {
        self.path.is_some()
    }

    fn fail(&mut self, path: &Path, error: &OpenError) {
        self.retry_at = Some(Instant::now() + RETRY_INTERVAL);
        self.shared.set_failure(format!(
            "{} cannot be written: {error}; runs are not kept meanwhile",
            path.display()
        ));
    }

    /// The connection, if writing is possible now.
    pub(super) fn connection(&mut self) -> Result<&mut Connection, HistoryError> {
        if self.retry_at.is_some_and(|at| at <= Instant::now()) {
            self.retry_at = None;
            if self.connection.is_none() {
                self.open();
            }
        }
        let problem = || self.shared.status.lock().failure.clone();
        self.connection.as_mut().ok_or_else(|| {
            HistoryError::Unavailable(problem().unwrap_or_else(|| "it is not kept".into()))
        })
    }

    /// Notes that a write failed, and prepares the next one.
    pub(super) fn write_failed(&mut self, error: &rusqlite::Error) {
        let Some(path) = self.path.clone() else {
            return;
        };
        if is_damage(error) {
            self.connection = None;
            // A reader would keep the damaged file.
            *self.shared.reader.lock() = None;
            match self.begin_anew(&path, error) {
                Ok(connection) => self.connection = Some(connection),
                Err(error) => self.fail(&path, &error),
            }
            return;
        }
        self.retry_at = Some(Instant::now() + RETRY_INTERVAL);
        self.shared.set_failure(format!(
            "{} cannot be written: {error}; what happens meanwhile is not kept",
            path.display()
        ));
    }

    /// Writes the changes of these runs.
    pub(super) fn write_runs(&mut self, runs: Vec<Arc<RunJournal>>) {
        if runs.is_empty() {
            return;
        }
        let limits = self.shared.limits();
        let parts = runs.into_iter().map(|run| {
            let part = run.take_unwritten();
            (run, part)
        });
        let parts: Vec<_> = parts.collect();
        if self.path.is_some() && !limits.keep.is_zero() {
            // Also if this write fails: a later row may show a secret that these values announce.
            self.add_announced_secrets(&parts);
            let is_resting = self.retry_at.is_some_and(|at| at > Instant::now());
            let written = if is_resting {
                Err(HistoryError::Unavailable("a write failed".into()))
            } else {
                self.write_parts(&parts, &limits)
            };
            match written {
                Ok(()) => self.shared.status.lock().failure = None,
                Err(error) => {
                    self.shared.status.lock().incomplete_runs += parts.len() as u64;
                    if let HistoryError::Database(error) = &error {
                        self.write_failed(error);
                    }
                }
            }
        }
        for (run, part) in parts {
            if part.is_last {
                self.announced.remove(&run.id);
                run.release_calls();
            }
        }
    }

    fn add_announced_secrets(&mut self, parts: &[(Arc<RunJournal>, UnwrittenPart)]) {
        for (run, part) in parts {
            let calls = part.calls.calls.iter();
            let texts = calls.flat_map(|(_, call)| masking::texts_of(call));
            let input = part.is_first.then_some(&*run.program.input);
            let secrets = self.announced.entry(run.id.clone()).or_default();
            let shown = part.events.iter().filter_map(masking::shown_value);
            masking::add_announced_secrets(secrets, texts.chain(input).chain(shown));
        }
    }

    fn write_parts(
        &mut self,
        parts: &[(Arc<RunJournal>, UnwrittenPart)],
        limits: &HistoryLimits,
    ) -> Result<(), HistoryError> {
        let rules = self.shared.server_rules();
        let announced = self.announced.clone();
        let connection = self.connection()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (run, part) in parts {
            let mut secrets = rules.secrets.clone();
            secrets.extend(&announced[&run.id]);
            let writer = RunWriter {
                transaction: &transaction,
                limits,
                bare_servers: &rules.bare_servers,
                secrets: &secrets,
            };
            writer.write(run, part)?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Removes runs that are too old, and the oldest while the database is too large.
    pub(super) fn remove_old(&mut self) {
        let limits = self.shared.limits();
        let now = (Instant::now(), SystemTime::now());
        let passed = now.0.duration_since(self.last_removal.0);
        let by_clock = now
            .1
            .duration_since(self.last_removal.1)
            .unwrap_or_default();
        self.last_removal = now;
        // A clock that was wrong is usually corrected before the next removal.
        let is_clock_plausible = by_clock <= passed + MAX_CLOCK_JUMP;
        let cutoff = is_clock_plausible
            .then(|| now.1.checked_sub(limits.keep))
            .flatten();
        let Ok(connection) = self.connection() else {
            return;
        };
        let removed = remove_runs(connection, cutoff.map(epoch_ms), limits.size);
        if let Err(error) = removed {
            self.write_failed(&error);
        }
    }
}

impl RunWriter<'_> {
    fn write(&self, run: &RunJournal, part: &UnwrittenPart) -> Result<(), HistoryError> {
        let masker = Masker::new(self.secrets);
        let program = &*run.program;
        let is_bare_agent = program
            .origin
            .agent
            .as_ref()
            .is_some_and(|agent| self.limits.bare_agents.contains(agent));
        let id = self.write_run(&masker, program, &part.info, is_bare_agent)?;
        let mut events = part.events.clone();
        if is_bare_agent {
            events.iter_mut().for_each(masking::withhold_values);
        }
        let mut entries = StoredEntries {
            events,
            is_full: part.calls.full,
            ..StoredEntries::default()
        };
        let mut shared = Vec::new();
        for (index, call) in &part.calls.calls {
            let is_bare = is_bare_agent || masking::is_bare(call, self.bare_servers);
            let stored = StoredCall::of(call, |text| {
                if is_bare {
                    return masking::withheld_text(text);
                }
                if text.len() < MIN_SHARED_TEXT_BYTES {
                    // Masked with the whole row.
                    return StoredText::Text(Arc::clone(text));
                }
                let text = masking::masked(&masker, text);
                let digest = digest_of(&text);
                shared.push((digest.clone(), text));
                StoredText::Shared(digest)
            });
            entries.calls.insert(*index, stored);
        }
        for (digest, text) in shared {
            self.write_text(id, &digest, &text)?;
        }
        if entries.events.is_empty() && entries.calls.is_empty() && !entries.is_full {
            return Ok(());
        }
        let last_seq = entries.events.last().map_or(0, |event| event.seq);
        let row = masker.json(&serde_json::to_string(&entries)?);
        self.transaction
            .prepare_cached("INSERT INTO entries(run, last_seq, entries) VALUES(?1, ?2, ?3)")?
            .execute(params![id, to_i64(last_seq), row])?;
        Ok(())
    }

    /// Writes the row of the run. Returns its number in the database.
    fn write_run(
        &self,
        masker: &Masker,
        program: &Program,
        info: &RunInfo,
        is_bare: bool,
    ) -> Result<i64, HistoryError> {
        let has_ended = matches!(info.state, RunState::Succeeded | RunState::Failed);
        let shown = masker.json(&serde_json::to_string(info)?);
        let update = "UPDATE runs SET has_ended = ?2, info = ?3 WHERE run = ?1 RETURNING id";
        let known: Option<i64> = self
            .transaction
            .prepare_cached(update)?
            .query_row(params![info.run, has_ended, shown], |row| row.get(0))
            .optional()?;
        if let Some(id) = known {
            return Ok(id);
        }
        let source = masker.text(&program.source);
        let input = if is_bare {
            "null".to_owned()
        } else {
            masking::masked(masker, &program.input)
        };
        let stored = Program {
            source: digest_of(&source).into(),
            input: digest_of(&input).into(),
            title: masker.text(&program.title),
            ..program.clone()
        };
        let insert = "INSERT INTO runs(run, number, accepted_ms, client, agent, has_ended, info, program) \
                      VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id";
        let id = self.transaction.prepare_cached(insert)?.query_row(
            params![
                info.run,
                to_i64(run_number(&info.run)),
                to_i64(info.accepted_ms),
                info.client,
                info.agent,
                has_ended,
                shown,
                serde_json::to_string(&stored)?,
            ],
            |row| row.get(0),
        )?;
        self.write_text(id, &stored.source, &source)?;
        self.write_text(id, &stored.input, &input)?;
        Ok(id)
    }

    fn write_text(&self, run: i64, digest: &str, text: &str) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached("INSERT OR IGNORE INTO texts(digest, text) VALUES(?1, ?2)")?
            .execute(params![digest, text])?;
        self.transaction
            .prepare_cached("INSERT OR IGNORE INTO run_texts(run, digest) VALUES(?1, ?2)")?
            .execute(params![run, digest])?;
        Ok(())
    }
}

fn digest_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Removes the runs before `cutoff_ms`, then the oldest runs while the database has more than `max_bytes`.
fn remove_runs(
    connection: &mut Connection,
    cutoff_ms: Option<i64>,
    max_bytes: u64,
) -> rusqlite::Result<()> {
    loop {
        let is_too_large = used_bytes(connection)? > max_bytes;
        let before = if is_too_large {
            i64::MAX
        } else {
            cutoff_ms.unwrap_or(0)
        };
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let removed = transaction.execute(
            "DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE accepted_ms < ?1 \
             AND has_ended ORDER BY accepted_ms LIMIT ?2)",
            params![before, REMOVED_RUNS_PER_STEP],
        )?;
        if removed > 0 {
            transaction.execute(
                "DELETE FROM texts WHERE NOT EXISTS \
                 (SELECT 1 FROM run_texts WHERE run_texts.digest = texts.digest)",
                [],
            )?;
        }
        transaction.commit()?;
        if removed == 0 {
            break;
        }
    }
    connection
        .pragma_update_and_check(None, "incremental_vacuum", 0, |_| Ok(()))
        .or_else(|error| match error {
            rusqlite::Error::QueryReturnedNoRows => Ok(()),
            error => Err(error),
        })
}

/// The bytes of the database that are in use.
fn used_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = number("page_count")? - number("freelist_count")?;
    Ok(u64::try_from(pages * number("page_size")?).unwrap_or(0))
}

pub(super) fn epoch_ms(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
