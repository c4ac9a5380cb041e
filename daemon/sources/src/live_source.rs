//! An open source, and the description that it follows.
//!
//! A cached description is used immediately, whatever its age, and refreshed in the background: only the first start
//! waits for the network. When the description changes, the receivers of the source get a new source. Calls in flight
//! finish with the source with which they started.
//!
//! Invariant: a source is replaced only by a source whose description was read completely. The state of the entry
//! survives: its rate limiter, its tokens, its request count.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use mux_messages::{RefreshedSource, SourceNote};
use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, watch},
    task::spawn_blocking,
    time::timeout,
};
use tracing::{info, warn};

use super::{
    description::{
        self, CachedDescription, DescriptionCache, DescriptionDocument, DescriptionOrigin,
        FetchOutcome, HttpValidators,
    },
    source::{Source, SourceReport},
    source_config::SourceConfig,
};
use mux_text::{canonical_json, digest::DigestKey};

/// The time between attempts after a failed fetch.
const FETCH_RETRY_INTERVAL: Duration = Duration::from_mins(10);
/// The lower bound of the entry's `refresh`.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct LiveSource {
    config: Arc<SourceConfig>,
    origin: DescriptionOrigin,
    cache: Arc<DescriptionCache>,
    current: watch::Sender<Arc<dyn Source>>,
    seen: Mutex<DescriptionState>,
    /// Allows one refresh at a time.
    looking: Semaphore,
}

/// The state of the description in use, which `LiveSource::seen` guards.
#[derive(Clone, Debug)]
struct DescriptionState {
    text: blake3::Hash,
    version: HttpValidators,
    fetched: SystemTime,
    /// The reason a newer description is not used.
    problem: Option<String>,
    functions: usize,
    /// Set if the description came from a private network. `None` means unknown: the description is then fetched again
    /// immediately.
    private: Option<bool>,
}

/// The state of a source's description.
#[derive(Clone, Debug, Default)]
pub struct DescriptionStatus {
    /// The time when the description was last known to be current. `None` for a file, which is watched.
    pub fetched: Option<SystemTime>,
    /// The reason a newer description is not used.
    pub problem: Option<String>,
    /// The report of an open source.
    pub facts: SourceReport,
}

/// The changes of a source's functions.
fn changed_functions(before: &dyn Source, after: &dyn Source) -> RefreshedSource {
    let old = digests_by_name(before);
    let new = digests_by_name(after);
    let missing = |these: &ToolDigests, those: &ToolDigests| {
        let names = these.keys().filter(|name| !those.contains_key(*name));
        names.cloned().collect()
    };
    let differs =
        |(name, tool): &(&String, &DigestKey)| new.get(*name).is_some_and(|after| after != *tool);
    RefreshedSource {
        functions: new.len(),
        added: missing(&new, &old),
        removed: missing(&old, &new),
        changed: old
            .iter()
            .filter(differs)
            .map(|(name, _)| name.clone())
            .collect(),
        ..RefreshedSource::default()
    }
}

/// The digests of tools, by their names.
type ToolDigests = BTreeMap<String, DigestKey>;

fn digests_by_name(source: &dyn Source) -> ToolDigests {
    let pages = (0..source.tool_page_count()).map(|page| source.tools(page));
    let digests = pages.flatten().filter_map(|tool| {
        let name = tool.get("name")?.as_str()?.to_owned();
        Some((name, canonical_json::digest(&tool)))
    });
    digests.collect()
}

impl LiveSource {
    /// Waits for the network only if nothing is cached. The timeout does not stop a description that is being read, so
    /// reading has its own limits.
    pub(super) async fn open(
        config: SourceConfig,
        cache: Arc<DescriptionCache>,
        within: Duration,
    ) -> Result<(Arc<Self>, watch::Receiver<Arc<dyn Source>>), String> {
        let origin = config.origin()?;
        let opened = timeout(within, Self::opened(config, origin, cache)).await;
        opened.unwrap_or_else(|_| {
            Err(format!(
                "its description did not load within {within:?} (start_timeout)"
            ))
        })
    }

    async fn opened(
        config: SourceConfig,
        origin: DescriptionOrigin,
        cache: Arc<DescriptionCache>,
    ) -> Result<(Arc<Self>, watch::Receiver<Arc<dyn Source>>), String> {
        let config = Arc::new(config);
        let cached = match &origin {
            DescriptionOrigin::File(_) => None,
            DescriptionOrigin::Far(far) => {
                let cache = Arc::clone(&cache);
                let name = config.name.clone();
                let address = far.address.clone();
                blocking(move || Ok(cache.read(&name, &address))).await?
            }
        };
        let known = match cached {
            // The description may have been cached by another version of muxd.
            Some(mut kept) => of_kept(&config, &origin, &mut kept).await.ok(),
            None => None,
        };
        let (source, seen) = if let Some(known) = known {
            known
        } else {
            let kept = request_description(&origin, None).await?;
            let mut kept = kept
                .ok_or("the server answered `not modified` to a request that had no validators")?;
            let found = of_kept(&config, &origin, &mut kept).await?;
            keep(&cache, &config, &origin, kept).await;
            found
        };
        let (current, receiver) = watch::channel(source);
        let this = Arc::new(Self {
            config,
            origin,
            cache,
            current,
            seen: Mutex::new(seen),
            looking: Semaphore::new(1),
        });
        if matches!(this.origin, DescriptionOrigin::Far(_)) {
            tokio::spawn(Arc::clone(&this).follow());
        }
        Ok((this, receiver))
    }

    /// Passes the state of this source to the configuration with which it is opened next.
    pub(super) fn followed_by(&self, config: SourceConfig) -> SourceConfig {
        config.after(&self.config)
    }

    /// The status of a source that is not open, from the cache.
    pub(super) fn unopened(config: &SourceConfig, cache: &DescriptionCache) -> DescriptionStatus {
        let address = config.address();
        DescriptionStatus {
            fetched: address.and_then(|address| cache.fetched(&config.name, &address)),
            ..DescriptionStatus::default()
        }
    }

    /// True if the source has receivers.
    pub(super) fn is_open(&self) -> bool {
        self.current.receiver_count() > 0
    }

    pub(super) fn current(&self) -> Arc<dyn Source> {
        Arc::clone(&self.current.borrow())
    }

    pub(super) fn described(&self) -> DescriptionStatus {
        let seen = self.seen.lock().clone();
        DescriptionStatus {
            fetched: matches!(self.origin, DescriptionOrigin::Far(_)).then_some(seen.fetched),
            problem: seen.problem,
            facts: self.current.borrow().report(),
        }
    }

    /// Refreshes the description now. On an error nothing changes.
    pub(super) async fn refresh(&self) -> Result<RefreshedSource, String> {
        // Never closed, so this cannot fail.
        let _looking = self.looking.acquire().await;
        let name = &self.config.name;
        let outcome = self.look().await.map(|found| RefreshedSource {
            source: name.clone(),
            ..found
        });
        let mut seen = self.seen.lock();
        seen.problem = outcome.as_ref().err().cloned();
        drop(seen);
        match &outcome {
            Ok(found) if found.is_same() => {}
            Ok(found) => info!(
                source = name,
                added = found.added.len(),
                removed = found.removed.len(),
                changed = found.changed.len(),
                "description changed"
            ),
            Err(problem) => warn!(source = name, problem, "description refresh failed"),
        }
        // Also in the log, for refreshes that no client requested: new destinations of calls and secrets.
        for origin in outcome.iter().flat_map(|found| &found.origins) {
            warn!(
                source = name,
                origin, "description names a new origin for calls or tokens"
            );
        }
        for note in outcome.iter().flat_map(|found| &found.notes) {
            warn!(source = name, note, "new note on the description");
        }
        outcome
    }

    async fn look(&self) -> Result<RefreshedSource, String> {
        let before = self.seen.lock().clone();
        // If the text's origin is not known, the whole text must be fetched again.
        let known = before.private.map(|_| &before.version);
        let Some(kept) = request_description(&self.origin, known).await? else {
            self.note_unchanged().await?;
            return Ok(self.same());
        };
        let (mut kept, same) = blocking(move || {
            let same = blake3::hash(kept.text.as_bytes()) == before.text;
            Ok((kept, same))
        })
        .await?;
        let found = if same && before.private.is_some() {
            kept.private = before.private;
            let mut seen = self.seen.lock();
            (seen.version, seen.fetched) = (kept.version.clone(), kept.fetched);
            drop(seen);
            self.same()
        } else {
            let (source, seen) = of_kept(&self.config, &self.origin, &mut kept).await?;
            *self.seen.lock() = seen;
            let before = self.current.send_replace(Arc::clone(&source));
            let old = before.report();
            let new = source.report();
            let compare = move || Ok(changed_functions(&*before, &*source));
            let notes = new.notes.iter().filter(|note| !old.notes.contains(note));
            RefreshedSource {
                origins: new.origins.difference(&old.origins).cloned().collect(),
                notes: notes.map(SourceNote::to_string).collect(),
                ..blocking(compare).await?
            }
        };
        keep(&self.cache, &self.config, &self.origin, kept).await;
        Ok(found)
    }

    /// Notes that the cached description is current.
    async fn note_unchanged(&self) -> Result<(), String> {
        let fetched = SystemTime::now();
        self.seen.lock().fetched = fetched;
        let DescriptionOrigin::Far(far) = &self.origin else {
            return Ok(());
        };
        let cache = Arc::clone(&self.cache);
        let name = self.config.name.clone();
        let address = far.address.clone();
        let touch = move || {
            if let Some(kept) = cache.read(&name, &address) {
                let kept = CachedDescription { fetched, ..kept };
                cache.keep(&name, &address, &kept);
            }
            Ok(())
        };
        blocking(touch).await
    }

    fn same(&self) -> RefreshedSource {
        RefreshedSource {
            functions: self.seen.lock().functions,
            ..RefreshedSource::default()
        }
    }

    /// Refreshes the description when it is due, as long as the source has receivers.
    async fn follow(self: Arc<Self>) {
        let refresh = self.config.settings.refresh.max(MIN_REFRESH_INTERVAL);
        loop {
            let (age, failed, placed) = {
                let seen = self.seen.lock();
                (
                    seen.fetched.elapsed().unwrap_or_default(),
                    seen.problem.is_some(),
                    seen.private.is_some(),
                )
            };
            let due = match (failed, placed) {
                (true, _) => FETCH_RETRY_INTERVAL.min(refresh),
                (false, true) => refresh.saturating_sub(age),
                (false, false) => Duration::ZERO,
            };
            tokio::select! {
                () = tokio::time::sleep(due) => {}
                () = self.current.closed() => return,
            }
            // `seen` holds the outcome.
            drop(self.refresh().await);
        }
    }
}

type SourceWithState = (Arc<dyn Source>, DescriptionState);

/// Reads the file, or fetches the description. `None` if the description with the validators in `known` is current.
async fn request_description(
    origin: &DescriptionOrigin,
    known: Option<&HttpValidators>,
) -> Result<Option<CachedDescription>, String> {
    let (text, version, private) = match origin {
        DescriptionOrigin::File(path) => {
            let path = path.clone();
            let text = blocking(move || description::read_description_file(&path)).await?;
            (text, HttpValidators::default(), None)
        }
        DescriptionOrigin::Far(far) => match far.fetch.fetch(known).await? {
            FetchOutcome::New {
                text,
                version,
                private,
            } => (text, version, Some(private)),
            FetchOutcome::Same => return Ok(None),
        },
    };
    Ok(Some(CachedDescription {
        text,
        version,
        fetched: SystemTime::now(),
        private,
    }))
}

/// Reads a description. Its class is never higher than that of an earlier description of the entry, and is recorded once
/// the description was read.
async fn of_kept(
    config: &Arc<SourceConfig>,
    origin: &DescriptionOrigin,
    kept: &mut CachedDescription,
) -> Result<SourceWithState, String> {
    let document = DescriptionDocument {
        text: kept.text.as_str().into(),
        base: match origin {
            DescriptionOrigin::File(_) => None,
            DescriptionOrigin::Far(far) => far.base.clone(),
        },
    };
    let version = kept.version.clone();
    let fetched = kept.fetched;
    let private = kept.private;
    let config = Arc::clone(config);
    let read = move || {
        let private = private.map(|private| config.may_name_private(private));
        let before = config.let_name_private(private == Some(true));
        let source = config.read(&document).inspect_err(|_| {
            config.let_name_private(before);
        })?;
        if private == Some(false) {
            config.record_elsewhere();
        }
        let seen = DescriptionState {
            text: blake3::hash(document.text.as_bytes()),
            version,
            fetched,
            problem: None,
            functions: source.function_count(),
            private,
        };
        Ok((source, seen))
    };
    let read = blocking(read).await?;
    kept.private = read.1.private;
    Ok(read)
}

async fn keep(
    cache: &Arc<DescriptionCache>,
    config: &SourceConfig,
    origin: &DescriptionOrigin,
    kept: CachedDescription,
) {
    let DescriptionOrigin::Far(far) = origin else {
        return;
    };
    let cache = Arc::clone(cache);
    let name = config.name.clone();
    let address = far.address.clone();
    let keep = move || {
        cache.keep(&name, &address, &kept);
        Ok(())
    };
    // A description that could not be cached is fetched again.
    drop(blocking(keep).await);
}

/// Runs work off the runtime's threads: reading a long description takes a few hundred milliseconds.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err("the description could not be read: see `mux logs`".into()))
}

#[cfg(test)]
mod tests;
