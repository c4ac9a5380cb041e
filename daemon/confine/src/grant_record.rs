//! The paths to which each server's grants led when the server first got them.
//!
//! Any program that the user runs could have made a link that appears later, or that leads elsewhere later: the server
//! is not started until the user has written the new target into the entry. If the user changes `read` or `write` in
//! the entry, everything in it is granted again.
//!
//! Invariant: a recorded path is never replaced because it leads elsewhere.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use mux_files::atomic_file;
use mux_settings::ServerSandbox;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::{granted_paths::GrantedPath, plan::ConfineError};

/// A record that grows beyond this size starts over.
const MAX_RECORD_BYTES: u64 = 4 << 20;

/// The record of all servers, in a file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct GrantRecord {
    file: PathBuf,
    /// Held while the file is read and written.
    turn: Arc<Mutex<()>>,
}

/// The content of the file.
#[derive(Default, Deserialize, Serialize)]
struct RecordedGrants {
    /// Keyed by the server and its entry's grants: each granted path and where it led.
    entries: BTreeMap<String, BTreeMap<PathBuf, PathBuf>>,
}

impl GrantRecord {
    pub fn new(file: PathBuf) -> Self {
        Self {
            file,
            turn: Arc::default(),
        }
    }

    /// Refuses a path of a server that led elsewhere when it was recorded. `granted` are the keys and paths of the entry.
    /// Blocks on the disk. A failure to read the record is logged.
    pub(super) fn check(
        &self,
        identity: &str,
        sandbox: &ServerSandbox,
        granted: &[(&'static str, &GrantedPath)],
    ) -> Result<(), ConfineError> {
        let _turn = self.turn.lock();
        let recorded = self.read_or_begin();
        match recorded.entries.get(&entry_key(identity, sandbox)) {
            Some(paths) => refuse_moved(paths, granted),
            None => Ok(()),
        }
    }

    /// Like [`Self::check`], and records where the other paths lead. A failure to write the record is logged.
    pub(super) fn check_and_record(
        &self,
        identity: &str,
        sandbox: &ServerSandbox,
        granted: &[(&'static str, &GrantedPath)],
    ) -> Result<(), ConfineError> {
        if granted.is_empty() {
            return Ok(());
        }
        let _turn = self.turn.lock();
        let mut recorded = self.read_or_begin();
        let entry = recorded.entries.entry(entry_key(identity, sandbox));
        let paths = entry.or_default();
        refuse_moved(paths, granted)?;
        let known = paths.len();
        paths.extend(
            granted
                .iter()
                .map(|(_, path)| (path.named.clone(), path.real.clone())),
        );
        if paths.len() > known
            && let Err(error) = self.write(&recorded)
        {
            warn!(file = %self.file.display(), %error, "the record of sandbox grants cannot be written");
        }
        Ok(())
    }

    fn read_or_begin(&self) -> RecordedGrants {
        self.read().unwrap_or_else(|error| {
            warn!(file = %self.file.display(), %error, "the record of sandbox grants is unreadable; starting a new one");
            RecordedGrants::default()
        })
    }

    fn read(&self) -> io::Result<RecordedGrants> {
        match atomic_file::read(&self.file, MAX_RECORD_BYTES)? {
            Some(text) => serde_json::from_str(&text).map_err(io::Error::from),
            None => Ok(RecordedGrants::default()),
        }
    }

    fn write(&self, recorded: &RecordedGrants) -> io::Result<()> {
        atomic_file::write(&self.file, &serde_json::to_vec(recorded)?)
    }
}

fn refuse_moved(
    recorded: &BTreeMap<PathBuf, PathBuf>,
    granted: &[(&'static str, &GrantedPath)],
) -> Result<(), ConfineError> {
    let moved = granted.iter().find_map(|(key, path)| {
        let before = recorded.get(&path.named)?;
        (*before != path.real).then(|| moved(key, path, before))
    });
    moved.map_or(Ok(()), Err)
}

fn moved(key: &str, path: &GrantedPath, before: &Path) -> ConfineError {
    let GrantedPath { named, real, .. } = path;
    ConfineError::BadPath(format!(
        "{} led to {} when this server first got it, and leads to {} now; if you want that, write {:?} in sandbox.{key} instead",
        named.display(),
        before.display(),
        real.display(),
        real.display().to_string()
    ))
}

fn entry_key(identity: &str, sandbox: &ServerSandbox) -> String {
    let mut hasher = blake3::Hasher::new();
    for (key, paths) in [("read", &sandbox.read), ("write", &sandbox.write)] {
        for path in paths {
            let path = path.as_os_str().as_encoded_bytes();
            hasher.update(key.as_bytes());
            hasher.update(&path.len().to_le_bytes()).update(path);
        }
    }
    format!("{identity} {}", &hasher.finalize().to_hex()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(at: &str, real: &str) -> GrantedPath {
        GrantedPath {
            named: at.into(),
            real: real.into(),
            ..GrantedPath::default()
        }
    }

    #[test]
    fn path_that_leads_elsewhere_is_refused_until_the_entry_changes() {
        let dir = tempfile::tempdir().unwrap();
        let record = || GrantRecord::new(dir.path().join("grants.json"));
        let sandbox = |read: &[&str]| ServerSandbox {
            read: read.iter().map(PathBuf::from).collect(),
            ..ServerSandbox::default()
        };
        let one = sandbox(&["/p/docs"]);
        let check = |sandbox: &ServerSandbox, at: &str, real: &str| {
            let path = path(at, real);
            let granted = [("read", &path)];
            let checked = record().check("a", sandbox, &granted).is_ok();
            let recorded = record().check_and_record("a", sandbox, &granted);
            assert_eq!(checked, recorded.is_ok());
            recorded
        };
        check(&one, "/p/docs", "/p/docs").unwrap();
        check(&one, "/p/docs", "/p/docs").unwrap();
        for _ in 0..2 {
            let error = check(&one, "/p/docs", "/h/.ssh").unwrap_err().to_string();
            assert!(
                error.contains("write \"/h/.ssh\" in sandbox.read instead"),
                "{error}"
            );
        }
        // Another server of the same paths, and this one after the user has changed its entry.
        record()
            .check_and_record("b", &one, &[("read", &path("/p/docs", "/h/.ssh"))])
            .unwrap();
        check(&sandbox(&["/p/docs", "/q"]), "/p/docs", "/h/.ssh").unwrap();
    }

    #[test]
    fn unreadable_record_begins_anew() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("grants.json");
        std::fs::write(&file, "{").unwrap();
        let record = GrantRecord::new(file);
        let sandbox = ServerSandbox::default();
        let granted = path("/p", "/p");
        record
            .check_and_record("a", &sandbox, &[("read", &granted)])
            .unwrap();
        let elsewhere = path("/p", "/q");
        record
            .check("a", &sandbox, &[("read", &elsewhere)])
            .unwrap_err();
    }
}
