//! Opens the database: its tables, its version, and what happens to a database that cannot be used.
//!
//! Invariant: a database that is damaged or newer is renamed, never deleted and never written.

use std::{
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use mux_files::private_file::PrivateMode as _;
use rusqlite::{Connection, ErrorCode, OpenFlags};

/// The version of the tables below.
const SCHEMA_VERSION: i64 = 1;
/// How long a write waits for another daemon's.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// `info` and `program` are JSON. A program's `source` and `input` are digests there. Long texts are in `texts`, once
/// (see `stored_entry`). The `held_` tables have what a resumed run needs, unmasked.
const TABLES: &str = "
CREATE TABLE runs(
    id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, number INTEGER NOT NULL,
    accepted_ms INTEGER NOT NULL, client TEXT NOT NULL, agent TEXT, has_ended INTEGER NOT NULL,
    info TEXT NOT NULL, program TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_time ON runs(accepted_ms);
CREATE INDEX runs_by_owner ON runs(client, agent, accepted_ms);
CREATE INDEX runs_by_number ON runs(number);
CREATE TABLE entries(
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, last_seq INTEGER NOT NULL,
    entries TEXT NOT NULL
) STRICT;
CREATE INDEX entries_by_run ON entries(run);
CREATE TABLE texts(digest TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE TABLE run_texts(
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, digest TEXT NOT NULL, PRIMARY KEY(run, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_texts_by_digest ON run_texts(digest);
CREATE TABLE held_owners(
    owner TEXT PRIMARY KEY, program TEXT NOT NULL, is_full INTEGER NOT NULL
) STRICT;
CREATE TABLE held_calls(
    owner TEXT NOT NULL REFERENCES held_owners ON DELETE CASCADE, place INTEGER NOT NULL, call TEXT NOT NULL,
    PRIMARY KEY(owner, place)
) STRICT;
CREATE TABLE held_approvals(
    number INTEGER PRIMARY KEY, owner TEXT NOT NULL REFERENCES held_owners ON DELETE CASCADE, subject TEXT NOT NULL,
    answer TEXT
) STRICT;
CREATE INDEX held_approvals_by_owner ON held_approvals(owner);
";

/// The reason a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error("it was written by a newer muxd (version {0})")]
    Newer(i64),
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    #[error(transparent)]
    File(#[from] io::Error),
}

impl OpenError {
    /// True if the file itself is the reason, so that a new one would help.
    pub(super) fn needs_new_file(&self) -> bool {
        match self {
            Self::Newer(_) => true,
            Self::Database(error) => is_damage(error),
            Self::File(_) => false,
        }
    }
}

/// True if the database is damaged.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// Opens the database for the writer. Creates it if there is none.
pub(super) fn open(path: &Path) -> Result<Connection, OpenError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // SQLite gives its other files the permissions of this one.
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .private()
        .open(path);
    match created {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    let mut connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let version = user_version(&connection)?;
    if version > SCHEMA_VERSION {
        return Err(OpenError::Newer(version));
    }
    if version == 0 {
        // Must come before the first table.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    // On file systems without shared memory, SQLite stays with its rollback journal.
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    for (name, value) in [
        ("synchronous", "NORMAL"),
        ("foreign_keys", "ON"),
        // Held runs are stored unmasked.
        ("secure_delete", "ON"),
        ("cache_size", "-512"),
        ("journal_size_limit", "4194304"),
        ("temp_store", "MEMORY"),
    ] {
        connection
            .pragma_update_and_check(None, name, value, |_| Ok(()))
            .or_else(no_answer)?;
    }
    if version == 0 {
        let creation =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Another daemon may have created them meanwhile.
        if user_version(&creation)? == 0 {
            creation.execute_batch(TABLES)?;
            creation.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        }
        creation.commit()?;
    }
    Ok(connection)
}

/// Most pragmas answer nothing when they are set.
fn no_answer(error: rusqlite::Error) -> Result<(), rusqlite::Error> {
    match error {
        rusqlite::Error::QueryReturnedNoRows => Ok(()),
        error => Err(error),
    }
}

fn user_version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Opens the database for reading. `None` if there is none.
pub(super) fn open_for_reading(path: &Path) -> Result<Option<Connection>, rusqlite::Error> {
    if !path.exists() {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "cache_size", -512)?;
    Ok(Some(connection))
}

/// Renames the database and its other files. Returns the new path of the database.
pub(super) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0, |now| now.as_secs());
    let renamed = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let target = renamed(&format!(".set-aside-{seconds}"));
    fs::rename(path, &target)?;
    for suffix in ["-wal", "-shm"] {
        let mut aside = target.as_os_str().to_owned();
        aside.push(suffix);
        // Without them, the database only lacks its last changes.
        drop(fs::rename(renamed(suffix), aside));
    }
    Ok(target)
}
