//! Where each source was called, and its tokens fetched, when its description was first read.
//!
//! Pins see that a function has moved, but a function that is new is pinned where it stands, and pins may be off. So
//! what a description named at first is kept beside them, in the state directory, and credentials go to nothing that
//! it names later, and no function is called there.
//!
//! Invariant: what is kept of a description changes by the user's hand only; what cannot be read is not made anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use tracing::warn;

use mux_files::atomic_file;

/// Of the file; a source takes some hundred bytes.
const MAX_ORIGINS_FILE_BYTES: u64 = 16 << 20;

/// What is kept of all sources.
#[derive(Debug)]
pub(super) struct FirstSeenOrigins {
    path: PathBuf,
    /// Guards the file, too. `None`: it was not read yet.
    book: Mutex<Option<Result<OriginsBySource, String>>>,
}

/// By the names of sources.
type OriginsBySource = BTreeMap<String, FirstSeenRecord>;

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct FirstSeenRecord {
    /// Of the text by which the entry names the description: another description is another acquaintance.
    of: String,
    #[serde(flatten)]
    named: DescribedOrigins,
}

/// Origins that a description names. What the user has put into an address stands there by its name, in braces.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct DescribedOrigins {
    /// Where functions are called; absent where the user says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) calls: Option<String>,
    /// Where functions are called that have an address of their own; absent where the user says it, and in what
    /// versions have kept that did not look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) functions: Option<BTreeSet<String>>,
    /// Where tokens are fetched.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) tokens: BTreeSet<String>,
}

impl FirstSeenOrigins {
    /// The file is made with the first source.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            book: Mutex::default(),
        }
    }

    /// What this description named when it was first read; now, if nobody has seen it before. Waits for the disk.
    pub(super) fn first(
        &self,
        source: &str,
        written: &str,
        named: &DescribedOrigins,
    ) -> Result<DescribedOrigins, String> {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let book = book.get_or_insert_with(|| self.read());
        let book = book.as_mut().map_err(|problem| problem.clone())?;
        let of = blake3::hash(written.as_bytes()).to_hex().to_string();
        let before = book.get(source).filter(|kept| kept.of == of);
        let now = match before {
            Some(kept) => DescribedOrigins {
                // The user has said it until now.
                calls: kept.named.calls.clone().or_else(|| named.calls.clone()),
                functions: kept
                    .named
                    .functions
                    .clone()
                    .or_else(|| named.functions.clone()),
                tokens: kept.named.tokens.clone(),
            },
            None => named.clone(),
        };
        if before.is_none_or(|kept| kept.named != now) {
            let named = now.clone();
            book.insert(source.to_owned(), FirstSeenRecord { of, named });
            self.write(book);
        }
        Ok(now)
    }

    fn read(&self) -> Result<OriginsBySource, String> {
        let shown = self.path.display();
        let unreadable = |why: String| {
            format!(
                "where it was first called cannot be read from {shown} ({why}); remove that file if you trust what all \
                 descriptions say now"
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

    /// What is not written is known until the daemon ends.
    fn write(&self, book: &OriginsBySource) {
        let text = serde_json::to_string_pretty(book).unwrap_or_default();
        if let Err(why) = atomic_file::write(&self.path, text.as_bytes()) {
            let path = self.path.display();
            warn!(%path, %why, "where sources were first called cannot be written");
        }
    }
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
    fn what_was_named_first_stays_over_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/sources.json");
        let first = named(Some("https://a"), &["https://login"]);
        let moved = named(Some("https://b"), &["https://login", "https://c"]);
        let addresses = FirstSeenOrigins::new(path.clone());
        assert_eq!(addresses.first("s", "x.json", &first).unwrap(), first);
        assert_eq!(addresses.first("s", "x.json", &moved).unwrap(), first);
        let again = FirstSeenOrigins::new(path);
        assert_eq!(again.first("s", "x.json", &moved).unwrap(), first);
        // Another source, and another description of the same.
        assert_eq!(again.first("t", "x.json", &moved).unwrap(), moved);
        assert_eq!(again.first("s", "y.json", &moved).unwrap(), moved);
    }

    #[test]
    fn an_address_that_the_user_gave_is_the_descriptions_once_he_gives_none() {
        let folder = tempfile::tempdir().unwrap();
        let addresses = FirstSeenOrigins::new(folder.path().join("sources.json"));
        let given = named(None, &["https://login"]);
        assert_eq!(addresses.first("s", "x", &given).unwrap(), given);
        let told = named(Some("https://a"), &[]);
        let both = named(Some("https://a"), &["https://login"]);
        assert_eq!(addresses.first("s", "x", &told).unwrap(), both);
        let moved = named(Some("https://b"), &[]);
        assert_eq!(addresses.first("s", "x", &moved).unwrap(), both);
    }

    #[test]
    fn functions_are_known_by_the_first_look_that_sees_where_they_are_called() {
        let folder = tempfile::tempdir().unwrap();
        let addresses = FirstSeenOrigins::new(folder.path().join("sources.json"));
        let of = |functions: Option<&[&str]>| DescribedOrigins {
            functions: functions.map(|all| all.iter().map(|it| (*it).to_owned()).collect()),
            ..named(Some("https://a"), &[])
        };
        // A file of an earlier version.
        addresses.first("s", "x", &of(None)).unwrap();
        let first = of(Some(&["https://up"]));
        assert_eq!(addresses.first("s", "x", &first).unwrap(), first);
        let more = of(Some(&["https://up", "https://b"]));
        assert_eq!(addresses.first("s", "x", &more).unwrap(), first);
    }

    #[test]
    fn what_cannot_be_read_is_said_and_left_alone() {
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
