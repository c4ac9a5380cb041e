//! Holds the cache once it is open.
//!
//! Invariant: nothing waits for the cache to open. While it is closed, or the next daemon has it, reads find nothing
//! and writes are dropped.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use mux_cache::{Cache, CacheSpace};
use mux_text::digest::DigestKey;

#[derive(Clone, Default)]
pub(super) struct CacheSlot(Arc<ArcSwapOption<Cache>>);

impl CacheSlot {
    pub(super) fn put_up(&self, cache: Cache) {
        self.0.store(Some(Arc::new(cache)));
    }

    pub(super) fn take_down(&self) -> Option<Arc<Cache>> {
        self.0.swap(None)
    }

    pub(super) fn cache(&self) -> Option<Arc<Cache>> {
        self.0.load_full()
    }

    pub(super) async fn get(&self, space: CacheSpace, key: DigestKey) -> Option<Vec<u8>> {
        self.cache()?.get(space, key).await
    }

    pub(super) fn put(&self, space: CacheSpace, key: DigestKey, value: Vec<u8>) {
        if let Some(cache) = self.cache() {
            cache.put(space, key, value);
        }
    }

    pub(super) fn remove(&self, space: CacheSpace, key: DigestKey) {
        if let Some(cache) = self.cache() {
            cache.remove(space, key);
        }
    }
}
