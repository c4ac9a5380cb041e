//! The origins at which each source was called, and its tokens fetched, when its description was first read.
//!
//! Pins detect a function that moved, but a new function is pinned where it is, and pins may be off. So the origins
//! that a description first named are stored next to the pins, in the state directory: credentials go to no origin that
//! the description names later, and no function is called there.
//!
//! The record also stores whether a description came from a private network: once one did not, no later description of
//! the entry counts as private.
//!
//! Invariant: only the user changes the record of a description, and an unreadable file is not replaced.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tracing::warn;

use mux_files::atomic_file;

/// The size limit of the file. A source takes a few hundred bytes.
const MAX_ORIGINS_FILE_BYTES: u64 = 16 << 20;

/// The recorded origins of all sources.
#[derive(Debug)]
pub(super) struct FirstSeenOrigins {
    path: PathBuf,
    /// Also guards the file. `None`: not read yet.
    book: Mutex<Option<Result<OriginsBySource, String>>>,
}

/// Records, by source name.
type OriginsBySource = BTreeMap<String, FirstSeenRecord>;

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct FirstSeenRecord {
    /// The hash of the text by which the entry names the description: another description gets a new record.
    of: String,
    #[serde(flatten)]
    named: DescribedOrigins,
    /// Set if no origins were recorded so far.
    #[serde(default, skip_serializing_if = "is_false")]
    is_unnamed: bool,
    /// Set if a description did not come from a private network.
    #[serde(default, skip_serializing_if = "is_false")]
    elsewhere: bool,
}

/// Origins that a description names. A value that the user put into an address is replaced by its name, in braces.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct DescribedOrigins {
    /// The origin of functions without their own address. Absent if the entry names it.
    pub(super) calls: Option<String>,
    /// The origins of functions with their own address. Absent if the entry names the address, and in records of
    /// versions that did not store them.
    pub(super) functions: Option<BTreeSet<String>>,
    /// The origins at which tokens are fetched.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) tokens: BTreeSet<String>,
}

impl FirstSeenOrigins {
    /// Creates nothing: the file appears with the first source.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            book: Mutex::default(),
        }
    }

    /// The origins that this description named when it was first read. Records `named` if the description was not read
    /// before. Waits for the disk.
    pub(super) fn first(
        &self,
        source: &str,
        written: &str,
        named: &DescribedOrigins,
    ) -> Result<DescribedOrigins, String> {
        self.change(source, written, |record| {
            let known = &mut record.named;
            if std::mem::take(&mut record.is_unnamed) {
                *known = named.clone();
            } else {
                // Until now the entry named them.
                known.calls = known.calls.take().or_else(|| named.calls.clone());
                known.functions = known.functions.take().or_else(|| named.functions.clone());
            }
            known.clone()
        })
    }

    /// True if any text of this description did not come from a private network. Waits for the disk.
    pub(super) fn came_from_elsewhere(&self, source: &str, written: &str) -> Result<bool, String> {
        self.change(source, written, |record| record.elsewhere)
    }

    /// Records that a text of this description did not come from a private network. Waits for the disk. An unreadable
    /// file counts as if it recorded that.
    pub(super) fn record_elsewhere(&self, source: &str, written: &str) {
        drop(self.change(source, written, |record| record.elsewhere = true));
    }

    /// Changes the record of a description, and writes the file if that makes a difference.
    fn change<T>(
        &self,
        source: &str,
        written: &str,
        change: impl FnOnce(&mut FirstSeenRecord) -> T,
    ) -> Result<T, String> {
        let mut book = self.book.lock();
        let book = book.get_or_insert_with(|| self.read());
        let book = book.as_mut().map_err(|problem| problem.clone())?;
        let of = description_key(written);
        let known = book.get(source).filter(|known| known.of == of).cloned();
        let known = known.unwrap_or_else(|| FirstSeenRecord {
            of,
            named: DescribedOrigins::default(),
            is_unnamed: true,
            elsewhere: false,
        });
        let mut record = known.clone();
        let outcome = change(&mut record);
        if record != known {
            book.insert(source.to_owned(), record);
            self.write(book);
        }
        Ok(outcome)
    }

    fn read(&self) -> Result<OriginsBySource, String> {
        let shown = self.path.display();
        let unreadable = |why: String| {
            format!(
                "the recorded origins cannot be read from {shown} ({why}); remove that file if you trust the current \
                 descriptions of all sources"
            )
        };
        match atomic_file::read(&self.path, MAX_ORIGINS_FILE_BYTES) {
            Ok(None) => Ok(OriginsBySource::new()),
            Ok(Some(text)) => {
                serde_json::from_str(&text).map_err(|why| unreadable(why.to_string()))
            }
            Err(why) => Err(unreadable(why.to_string())),
        }
    }

    /// On an error the records last until the daemon ends.
    fn write(&self, book: &OriginsBySource) {
        let text = serde_json::to_string_pretty(book).unwrap_or_default();
        if let Err(why) = atomic_file::write(&self.path, text.as_bytes()) {
            let path = self.path.display();
            warn!(%path, %why, "cannot write the origins that descriptions first named");
        }
    }
}

fn description_key(written: &str) -> String {
    blake3::hash(written.as_bytes()).to_hex().to_string()
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn named(calls: Option<&str>, tokens: &[&str]) -> DescribedOrigins {
        DescribedOrigins {
            calls: calls.map(str::to_owned),
            functions: None,
            tokens: tokens.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    #[test]
    fn first_named_origins_survive_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/sources.json");
        let first = named(Some("https://a"), &["https://login"]);
        let moved = named(Some("https://b"), &["https://login", "https://c"]);
        let addresses = FirstSeenOrigins::new(path.clone());
        assert_eq!(addresses.first("s", "x.json", &first).unwrap(), first);
        assert_eq!(addresses.first("s", "x.json", &moved).unwrap(), first);
        let again = FirstSeenOrigins::new(path);
        assert_eq!(again.first("s", "x.json", &moved).unwrap(), first);
        // Another source, and another description of the same source.
        assert_eq!(again.first("t", "x.json", &moved).unwrap(), moved);
        assert_eq!(again.first("s", "y.json", &moved).unwrap(), moved);
    }

    #[test]
    fn described_address_is_recorded_once_the_entry_names_none() {
        let folder = tempfile::tempdir().unwrap();
        let addresses = FirstSeenOrigins::new(folder.path().join("sources.json"));
        let given = named(None, &["https://login"]);
        assert_eq!(addresses.first("s", "x", &given).unwrap(), given);
        let origins = named(Some("https://a"), &[]);
        let both = named(Some("https://a"), &["https://login"]);
        assert_eq!(addresses.first("s", "x", &origins).unwrap(), both);
        let moved = named(Some("https://b"), &[]);
        assert_eq!(addresses.first("s", "x", &moved).unwrap(), both);
    }

    #[test]
    fn function_origins_are_added_to_a_record_without_them() {
        let folder = tempfile::tempdir().unwrap();
        let addresses = FirstSeenOrigins::new(folder.path().join("sources.json"));
        let of = |functions: Option<&[&str]>| DescribedOrigins {
            functions: functions.map(|all| all.iter().map(|it| (*it).to_owned()).collect()),
            ..named(Some("https://a"), &[])
        };
        // A record of an earlier version.
        addresses.first("s", "x", &of(None)).unwrap();
        let first = of(Some(&["https://up"]));
        assert_eq!(addresses.first("s", "x", &first).unwrap(), first);
        let more = of(Some(&["https://up", "https://b"]));
        assert_eq!(addresses.first("s", "x", &more).unwrap(), first);
    }

    #[test]
    fn description_from_elsewhere_is_recorded_until_the_entry_names_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sources.json");
        let origins = named(Some("https://a"), &["https://login"]);
        for is_named_before in [false, true] {
            let source = if is_named_before { "s" } else { "t" };
            let addresses = FirstSeenOrigins::new(path.clone());
            if is_named_before {
                addresses.first(source, "x", &origins).unwrap();
            }
            assert_eq!(addresses.came_from_elsewhere(source, "x"), Ok(false));
            addresses.record_elsewhere(source, "x");
            let again = FirstSeenOrigins::new(path.clone());
            assert_eq!(again.first(source, "x", &origins).unwrap(), origins);
            assert_eq!(again.came_from_elsewhere(source, "x"), Ok(true));
            assert_eq!(again.came_from_elsewhere(source, "y"), Ok(false));
        }
    }

    #[test]
    fn unreadable_file_is_an_error_and_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sources.json");
        fs::write(&path, "{ half").unwrap();
        let addresses = FirstSeenOrigins::new(path.clone());
        let named = named(Some("https://a"), &[]);
        let problem = addresses.first("s", "x", &named).unwrap_err();
        assert!(problem.contains("sources.json"), "{problem}");
        assert_eq!(fs::read_to_string(path).unwrap(), "{ half");
    }
}
