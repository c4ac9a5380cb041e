//! The lists of one session: what its server offers beside tools, as far as somebody wanted to know.
//!
//! Invariant: a list is asked for by one of those who want it, and all of them get the same outcome.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::sync::OnceCell;

use super::{list_expiry::ListExpiry, resources_and_prompts::ListKind, session::CallError};

pub(super) type ListedItems = Arc<Vec<Value>>;

/// The lists of one session, as far as somebody wanted them.
#[derive(Debug, Default)]
pub(super) struct ListCaches {
    resources: ListCache,
    templates: ListCache,
    prompts: ListCache,
}

/// All who wait for the same list get the same outcome, so that none of them asks a server again which has just
/// failed another.
type ListCell = Arc<OnceCell<Result<(ListedItems, ListExpiry), CallError>>>;

/// The cell is another one after a change, so that a list which was on its way then is not kept, after a
/// failure, and when the life of the list is over.
#[derive(Debug, Default)]
pub(super) struct ListCache(Mutex<ListCell>);

impl ListCache {
    pub(super) fn is_known(&self) -> bool {
        self.cell().initialized()
    }

    fn cell(&self) -> ListCell {
        let mut current = self.lock();
        if let Some(Ok((_, lifetime))) = current.get()
            && lifetime.claim_expired()
        {
            *current = Arc::default();
        }
        Arc::clone(&current)
    }

    fn forget(&self) {
        *self.lock() = Arc::default();
    }

    /// The list, asked for by one of those who want it, who says how long it is good.
    pub(super) async fn get(
        &self,
        list: impl Future<Output = Result<(ListedItems, Option<Duration>), CallError>>,
    ) -> Result<ListedItems, CallError> {
        let cell = self.cell();
        let listed = async { list.await.map(|(list, ttl)| (list, ListExpiry::new(ttl))) };
        match cell.get_or_init(|| listed).await {
            Ok((list, _)) => Ok(Arc::clone(list)),
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ListCaches {
    pub(super) fn forget_resources(&self) {
        self.resources.forget();
        self.templates.forget();
    }

    pub(super) fn forget_prompts(&self) {
        self.prompts.forget();
    }

    pub(super) fn cache_for(&self, kind: ListKind) -> &ListCache {
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
    fn a_failure_is_that_of_all_who_wait_and_of_nobody_after() {
        let shelf = ListCache::default();
        let tries = Mutex::new(Vec::new());
        let waiter = || {
            shelf.get(async {
                let (done, outcome) = oneshot::channel();
                tries.lock().unwrap().push(done);
                outcome.await.unwrap()
            })
        };
        let mut all = std::pin::pin!(join_all([waiter(), waiter(), waiter()]));
        assert!(all.as_mut().now_or_never().is_none());
        let first = tries.lock().unwrap().remove(0);
        first.send(Err(CallError::NotSent)).unwrap();
        let outcomes = all.now_or_never().expect("nobody asks again");
        assert!(outcomes.iter().all(Result::is_err) && tries.lock().unwrap().is_empty());
        let mut next = std::pin::pin!(waiter());
        assert!(next.as_mut().now_or_never().is_none());
        let second = tries.lock().unwrap().remove(0);
        second.send(Ok((ListedItems::default(), None))).unwrap();
        assert!(next.now_or_never().unwrap().is_ok());
        assert!(shelf.cell().initialized());
    }
}
