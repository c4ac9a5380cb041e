//! The place for what can be computed again: the cache, as soon as it is open.
//!
//! Invariant: nobody waits for it to open. Until then nothing is found, and what is put is lost; so it is when
//! the next daemon has it.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use mux_cache::{Cache, Space};
use mux_text::digest::Key;

#[derive(Clone, Default)]
pub(super) struct Shelf(Arc<ArcSwapOption<Cache>>);

impl Shelf {
    pub(super) fn put_up(&self, cache: Cache) {
        self.0.store(Some(Arc::new(cache)));
    }

    pub(super) fn take_down(&self) -> Option<Arc<Cache>> {
        self.0.swap(None)
    }

    pub(super) fn cache(&self) -> Option<Arc<Cache>> {
        self.0.load_full()
    }

    pub(super) async fn get(&self, space: Space, key: Key) -> Option<Vec<u8>> {
        self.cache()?.get(space, key).await
    }

    pub(super) fn put(&self, space: Space, key: Key, value: Vec<u8>) {
        if let Some(cache) = self.cache() {
            cache.put(space, key, value);
        }
    }

    pub(super) fn remove(&self, space: Space, key: Key) {
        if let Some(cache) = self.cache() {
            cache.remove(space, key);
        }
    }
}
