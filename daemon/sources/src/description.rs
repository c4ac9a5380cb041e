//! Where descriptions come from: files, and addresses whose answers are kept (`shelf`, `fetch`).
//!
//! Invariant: what is kept was read once without an error; a description that cannot be used takes no other's place.

mod fetch;
mod shelf;

use std::{
    fmt, fs,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::future::BoxFuture;
use reqwest::Url;

pub(super) use self::{
    fetch::{Get, OwnHost},
    shelf::{Kept, Shelf},
};

/// The longest that is read; those of the largest APIs have 15 MiB.
pub(super) const LONGEST_DESCRIPTION: usize = 64 << 20;

/// A description as it was found.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) text: Arc<str>,
    /// Against which relative addresses in it are read.
    pub(super) base: Option<Url>,
}

#[derive(Clone, Debug)]
pub(super) enum Origin {
    File(PathBuf),
    Far(Far),
}

/// A description that somebody has to be asked for.
#[derive(Clone)]
pub(super) struct Far {
    /// Tells it apart from others of the same source; never shown.
    pub(super) address: String,
    pub(super) base: Option<Url>,
    pub(super) fetch: Arc<dyn Fetch>,
}

/// Asks for a description.
pub(super) trait Fetch: Send + Sync {
    /// With what the answer said of itself that is kept, if one is. An error tells a person what to do, and holds no
    /// secret.
    fn fetch<'a>(&'a self, known: Option<&'a Version>) -> BoxFuture<'a, Result<Fetched, String>>;
}

/// By which a server knows what it gave.
#[derive(Clone, Debug, Default, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
pub(super) struct Version {
    pub(super) etag: Option<String>,
    pub(super) modified: Option<String>,
}

/// `private`: it came from an address in a private network, to which its host's name led.
#[derive(Clone, Debug)]
pub(super) enum Fetched {
    /// What is known is right.
    Same { private: bool },
    New {
        text: String,
        version: Version,
        private: bool,
    },
}

impl fmt::Debug for Far {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Far").finish_non_exhaustive()
    }
}

/// A file's text. An error tells a person what to do.
pub(super) fn file(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| format!("cannot read {shown}: {error}");
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    let most = LONGEST_DESCRIPTION as u64 + 1;
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > LONGEST_DESCRIPTION {
        let most = LONGEST_DESCRIPTION >> 20;
        return Err(format!(
            "{shown} is longer than {most} MiB, the longest description that is read"
        ));
    }
    String::from_utf8(bytes).map_err(|_| format!("{shown} is no text in UTF-8"))
}
