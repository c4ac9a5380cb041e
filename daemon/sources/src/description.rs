//! Where descriptions come from: files, and addresses whose answers are kept (`shelf`, `fetch`).
//!
//! Invariant: what is kept was read once without an error; a description that cannot be used takes no other's place.

mod description_cache;
mod description_fetcher;

use std::{
    fmt, fs,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::future::BoxFuture;
use reqwest::Url;

pub(super) use self::{
    description_cache::{CachedDescription, DescriptionCache},
    description_fetcher::{DescriptionFetcher, OwnHostResolver},
};

/// The longest that is read; those of the largest APIs have 15 MiB.
pub(super) const MAX_DESCRIPTION_BYTES: usize = 64 << 20;

/// A description as it was found.
#[derive(Clone, Debug)]
pub(super) struct DescriptionDocument {
    pub(super) text: Arc<str>,
    /// Against which relative addresses in it are read.
    pub(super) base: Option<Url>,
}

#[derive(Clone, Debug)]
pub(super) enum DescriptionOrigin {
    File(PathBuf),
    Far(RemoteDescription),
}

/// A description that somebody has to be asked for.
#[derive(Clone)]
pub(super) struct RemoteDescription {
    /// Tells it apart from others of the same source; never shown.
    pub(super) address: String,
    pub(super) base: Option<Url>,
    pub(super) fetch: Arc<dyn FetchDescription>,
}

/// Asks for a description.
pub(super) trait FetchDescription: Send + Sync {
    /// With what the answer said of itself that is kept, if one is. An error tells a person what to do, and holds no
    /// secret.
    fn fetch<'a>(
        &'a self,
        known: Option<&'a HttpValidators>,
    ) -> BoxFuture<'a, Result<FetchOutcome, String>>;
}

/// By which a server knows what it gave.
#[derive(Clone, Debug, Default, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
pub(super) struct HttpValidators {
    pub(super) etag: Option<String>,
    pub(super) modified: Option<String>,
}

/// `private`: it came from an address in a private network, to which its host's name led.
#[derive(Clone, Debug)]
pub(super) enum FetchOutcome {
    /// What is known is right.
    Same { private: bool },
    New {
        text: String,
        version: HttpValidators,
        private: bool,
    },
}

impl fmt::Debug for RemoteDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteDescription").finish_non_exhaustive()
    }
}

/// A file's text. An error tells a person what to do.
pub(super) fn read_description_file(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| format!("cannot read {shown}: {error}");
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    let most = MAX_DESCRIPTION_BYTES as u64 + 1;
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > MAX_DESCRIPTION_BYTES {
        let most = MAX_DESCRIPTION_BYTES >> 20;
        return Err(format!(
            "{shown} is longer than {most} MiB, the longest description that is read"
        ));
    }
    String::from_utf8(bytes).map_err(|_| format!("{shown} is no text in UTF-8"))
}
