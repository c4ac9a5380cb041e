//! Caches the resource, template and prompt lists of one session.
//!
//! Invariant: concurrent callers share one request for a list and its outcome.

use std::{sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::OnceCell;

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

/// A list that a server answered.
#[derive(Debug, Default)]
pub(crate) struct FetchedList {
    pub(crate) items: ListedItems,
    pub(crate) ttl: Option<Duration>,
    /// For the user, about its texts.
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug)]
struct CachedList {
    items: ListedItems,
    expiry: ListExpiry,
    warnings: Vec<String>,
}

/// All waiters for a list share its outcome, so that none of them repeats a request that has just failed.
type ListCell = Arc<OnceCell<Result<CachedList, CallError>>>;

/// Caches one list. The cell is replaced after a change (a list that was in flight is not kept), after a failure, and
/// when the list expires.
#[derive(Debug, Default)]
pub(crate) struct ListCache {
    current: Mutex<ListCell>,
    /// The last list that was fetched, which may be outdated.
    last: Mutex<Option<ListedItems>>,
}

impl ListCache {
    pub(crate) fn is_known(&self) -> bool {
        self.cell().initialized()
    }

    fn cell(&self) -> ListCell {
        let mut current = self.lock();
        if let Some(Ok(list)) = current.get()
            && list.expiry.claim_expired()
        {
            *current = Arc::default();
        }
        Arc::clone(&current)
    }

    fn forget(&self) {
        *self.lock() = Arc::default();
    }

    fn warnings(&self) -> Vec<String> {
        match self.lock().get() {
            Some(Ok(list)) => list.warnings.clone(),
            Some(Err(_)) | None => Vec::new(),
        }
    }

    /// The cached list; otherwise one of the callers runs `list`.
    pub(crate) async fn get(
        &self,
        list: impl Future<Output = Result<FetchedList, CallError>>,
    ) -> Result<ListedItems, CallError> {
        let cell = self.cell();
        let listed = async {
            list.await.map(|list| CachedList {
                items: list.items,
                expiry: ListExpiry::new(list.ttl),
                warnings: list.warnings,
            })
        };
        match cell.get_or_init(|| listed).await {
            Ok(list) => Ok(Arc::clone(&list.items)),
            Err(error) => {
                let mut current = self.lock();
                if Arc::ptr_eq(&current, &cell) {
                    *current = Arc::default();
                }
                Err(error.clone())
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, ListCell> {
        self.current.lock()
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

    /// Warnings for the user about the lists that are known.
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
    use futures::{FutureExt as _, future::join_all};
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn failure_is_shared_by_waiters_and_not_cached() {
        let shelf = ListCache::default();
        let tries = Mutex::new(Vec::new());
        let waiter = || {
            shelf.get(async {
                let (done, outcome) = oneshot::channel();
                tries.lock().push(done);
                outcome.await.unwrap()
            })
        };
        let mut all = std::pin::pin!(join_all([waiter(), waiter(), waiter()]));
        assert!(all.as_mut().now_or_never().is_none());
        let first = tries.lock().remove(0);
        first.send(Err(CallError::NotSent)).unwrap();
        let outcomes = all.now_or_never().expect("nobody asks again");
        assert!(outcomes.iter().all(Result::is_err) && tries.lock().is_empty());
        let mut next = std::pin::pin!(waiter());
        assert!(next.as_mut().now_or_never().is_none());
        let second = tries.lock().remove(0);
        second.send(Ok(FetchedList::default())).unwrap();
        assert!(next.now_or_never().unwrap().is_ok());
        assert!(shelf.cell().initialized());
    }
}
