//! The locations of descriptions: files, and URLs (`description_fetcher`) whose responses are cached
//! (`description_cache`). `description_bytes` decodes both.
//!
//! Invariant: a cached description has been read once without an error. An unreadable description replaces no other.

mod description_bytes;
mod description_cache;
mod description_fetcher;
#[cfg(test)]
mod fuzz;

use std::{
    fmt,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::future::BoxFuture;
use mux_paths::regular_file;
use reqwest::Url;

pub(super) use self::{
    description_cache::{CachedDescription, DescriptionCache},
    description_fetcher::{DescriptionFetcher, OwnHostResolver},
};

/// The size limit of a description. The largest APIs' descriptions have 15 MiB.
pub(super) const MAX_DESCRIPTION_BYTES: usize = 64 << 20;

/// The text of a description, before it is read.
#[derive(Clone, Debug)]
pub(super) struct DescriptionDocument {
    pub(super) text: Arc<str>,
    /// The URL against which relative URLs in the text are resolved.
    pub(super) base: Option<Url>,
}

#[derive(Clone, Debug)]
pub(super) enum DescriptionOrigin {
    File(PathBuf),
    Far(RemoteDescription),
}

/// A description that is requested over the network.
#[derive(Clone)]
pub(super) struct RemoteDescription {
    /// The cache key, never shown because it may contain a secret.
    pub(super) address: String,
    pub(super) base: Option<Url>,
    pub(super) fetch: Arc<dyn FetchDescription>,
}

/// Requests a description.
pub(super) trait FetchDescription: Send + Sync {
    /// Requests the description, conditionally if `known` holds the validators of the cached description. An error
    /// tells the user what to do, and contains no secret.
    fn fetch<'a>(
        &'a self,
        known: Option<&'a HttpValidators>,
    ) -> BoxFuture<'a, Result<FetchOutcome, String>>;
}

/// The validators of a response, for conditional requests.
#[derive(Clone, Debug, Default, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
pub(super) struct HttpValidators {
    pub(super) etag: Option<String>,
    pub(super) modified: Option<String>,
}

/// The outcome of a request.
#[derive(Clone, Debug)]
pub(super) enum FetchOutcome {
    /// The cached description is current. This answer's origin says nothing about the description.
    Same,
    New {
        text: String,
        version: HttpValidators,
        /// The host's name resolves to private addresses, and the text came from such an address.
        private: bool,
    },
}

impl fmt::Debug for RemoteDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteDescription").finish_non_exhaustive()
    }
}

/// The text of a file. An error tells the user what to do.
pub(super) fn read_description_file(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| format!("cannot read {shown}: {error}");
    let mut bytes = Vec::new();
    let file = regular_file::open(path).map_err(unreadable)?;
    let most = MAX_DESCRIPTION_BYTES as u64 + 1;
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > MAX_DESCRIPTION_BYTES {
        let most = MAX_DESCRIPTION_BYTES >> 20;
        return Err(format!(
            "{shown} is larger than {most} MiB, the limit for descriptions"
        ));
    }
    description_bytes::decode(bytes).map_err(|why| format!("{shown} {why}"))
}
