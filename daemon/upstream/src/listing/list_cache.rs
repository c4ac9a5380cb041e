//! Caches the resource, template and prompt lists of one session.
//!
//! Invariant: concurrent callers share one request for a list and its outcome.

use std::{sync::Arc, time::Duration};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use super::{list_expiry::ListExpiry, list_kind::ListKind, refresh_pacing::PacedChanges};
use crate::calls::CallError;

pub(crate) type ListedItems = Arc<Vec<Value>>;

/// The cached lists of one session.
#[derive(Debug, Default)]
pub(crate) struct ListCaches {
    resources: ListCache,
    templates: ListCache,
    prompts: ListCache,
    resource_changes: PacedChanges,
    prompt_changes: PacedChanges,
}

/// A list from a server's answer.
#[derive(Debug, Default)]
pub(crate) struct FetchedList {
    pub(crate) items: ListedItems,
    pub(crate) expiry: ListExpiry,
    /// Warnings for the user about the list's texts.
    pub(crate) warnings: Vec<String>,
}

/// All waiters for a list share its outcome, so none of them repeats a request that has just failed.
type SharedFetch = Shared<BoxFuture<'static, Result<Arc<FetchedList>, CallError>>>;

/// One fetch of a list, which continues even if its waiters give up.
#[derive(Clone, Debug)]
struct ListFetch {
    outcome: SharedFetch,
    started: Instant,
}

/// Caches one list. The fetch is replaced after a change (a list in flight is then not kept), after a failure, and when
/// the list expires.
#[derive(Debug, Default)]
pub(crate) struct ListCache {
    current: Mutex<Option<ListFetch>>,
    /// The last list that was fetched, which may be outdated.
    last: Mutex<Option<ListedItems>>,
}

impl ListCache {
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.fetched(), Some(Ok(_)))
    }

    /// How long the current fetch of the list has lasted.
    pub(crate) fn fetching_for(&self) -> Option<Duration> {
        let current = self.current.lock();
        let fetch = current.as_ref()?;
        let is_pending = fetch.outcome.peek().is_none();
        is_pending.then(|| fetch.started.elapsed())
    }

    fn forget(&self) {
        *self.current.lock() = None;
    }

    fn fetched(&self) -> Option<Result<Arc<FetchedList>, CallError>> {
        self.current.lock().as_ref()?.outcome.peek().cloned()
    }

    fn warnings(&self) -> Vec<String> {
        match self.fetched() {
            Some(Ok(list)) => list.warnings.clone(),
            Some(Err(_)) | None => Vec::new(),
        }
    }

    /// Returns the cached list. If there is none, one of the callers starts `fetch` as a task, and all wait for it.
    pub(crate) async fn get(
        &self,
        fetch: impl FnOnce() -> BoxFuture<'static, Result<FetchedList, CallError>>,
    ) -> Result<ListedItems, CallError> {
        let outcome = self.current_fetch(fetch).outcome;
        let listed = outcome.clone().await;
        if listed.is_err() {
            let mut current = self.current.lock();
            let is_same = |fetch: &ListFetch| fetch.outcome.ptr_eq(&outcome);
            if current.as_ref().is_some_and(is_same) {
                *current = None;
            }
        }
        listed.map(|list| Arc::clone(&list.items))
    }

    fn current_fetch(
        &self,
        fetch: impl FnOnce() -> BoxFuture<'static, Result<FetchedList, CallError>>,
    ) -> ListFetch {
        let mut current = self.current.lock();
        if let Some(known) = &*current {
            let is_over = match known.outcome.peek() {
                Some(Ok(list)) => list.expiry.claim_expired(),
                Some(Err(_)) => true,
                None => false,
            };
            if !is_over {
                return known.clone();
            }
        }
        let fetching = tokio::spawn(fetch());
        let outcome = async move {
            // A task that has panicked has logged why.
            fetching
                .await
                .unwrap_or(Err(CallError::NotSent))
                .map(Arc::new)
        };
        let started = ListFetch {
            outcome: outcome.boxed().shared(),
            started: Instant::now(),
        };
        current.insert(started).clone()
    }
}

impl ListCaches {
    pub(crate) fn forget_resources(&self) {
        self.resources.forget();
        self.templates.forget();
    }

    pub(crate) fn forget_prompts(&self) {
        self.prompts.forget();
    }

    /// Announced changes of resources and resource templates.
    pub(crate) fn resource_changes(&self) -> &PacedChanges {
        &self.resource_changes
    }

    pub(crate) fn prompt_changes(&self) -> &PacedChanges {
        &self.prompt_changes
    }

    /// Records a list that was fetched now.
    pub(crate) fn record_fetched(&self, kind: ListKind, items: &ListedItems) {
        let cache = self.cache_for(kind);
        let Some(before) = cache.last.lock().replace(Arc::clone(items)) else {
            return;
        };
        let changes = match kind {
            ListKind::Resources | ListKind::ResourceTemplates => &self.resource_changes,
            ListKind::Prompts => &self.prompt_changes,
        };
        changes.record_outcome(before != *items);
    }

    /// Warnings for the user about the known lists.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let all = [&self.resources, &self.templates, &self.prompts];
        all.into_iter().flat_map(ListCache::warnings).collect()
    }

    pub(crate) fn cache_for(&self, kind: ListKind) -> &ListCache {
        match kind {
            ListKind::Resources => &self.resources,
            ListKind::ResourceTemplates => &self.templates,
            ListKind::Prompts => &self.prompts,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn failure_is_shared_by_waiters_and_not_cached() {
        let cache = ListCache::default();
        let tries = Arc::new(Mutex::new(Vec::new()));
        let waiter = || {
            let tries = Arc::clone(&tries);
            cache.get(move || {
                let (done, outcome) = oneshot::channel();
                tries.lock().push(done);
                async move { outcome.await.unwrap() }.boxed()
            })
        };
        let mut all = std::pin::pin!(join_all([waiter(), waiter(), waiter()]));
        assert!(all.as_mut().now_or_never().is_none());
        let first = tries.lock().remove(0);
        first.send(Err(CallError::NotSent)).unwrap();
        let outcomes = all.await;
        assert!(outcomes.iter().all(Result::is_err) && tries.lock().is_empty());
        let mut next = std::pin::pin!(waiter());
        assert!(next.as_mut().now_or_never().is_none());
        let second = tries.lock().remove(0);
        second.send(Ok(FetchedList::default())).unwrap();
        assert!(next.await.is_ok());
        assert!(cache.is_known());
    }

    #[tokio::test(start_paused = true)]
    async fn fetch_goes_on_when_its_waiter_gives_up() {
        let cache = ListCache::default();
        let (done, outcome) = oneshot::channel();
        let fetch = || async move { outcome.await.unwrap() }.boxed();
        assert!(cache.get(fetch).now_or_never().is_none());
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(cache.fetching_for(), Some(Duration::from_secs(3)));
        done.send(Ok(FetchedList::default())).unwrap();
        let never = || std::future::pending().boxed();
        assert!(cache.get(never).await.is_ok());
        assert_eq!(cache.fetching_for(), None);
    }
}
