//! Compiles schemas on first use and caches them.
//!
//! Invariant: a schema is compiled once for all tasks that wait for it, and none of them blocks a thread. The estimated
//! size of the cache is at most [`MAX_KEPT_BYTES`].

use std::{
    sync::{Arc, LazyLock, Weak},
    time::Duration,
};

use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{OnceCell, Semaphore},
    time::timeout,
};

use super::CompiledSchema;
use mux_process::{blocking_pool, malloc_trim};

/// The maximum size of the cache, for all servers together. The least recently used schema is dropped first, and
/// compiled again when it is needed.
const MAX_KEPT_BYTES: usize = 64 << 20;
/// How long a caller waits for one schema. A schema within the weight limits takes a small part of this.
const COMPILE_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of schemas compiled at the same time.
const MAX_CONCURRENT_COMPILES: usize = 2;
/// Memory is returned to the system after compiling a schema larger than this, which leaves about as much garbage.
const MEMORY_TRIM_BYTES: usize = 1 << 20;

/// The cache. It is global because it limits the memory of the process.
static SCHEMA_CACHE: LazyLock<Mutex<SchemaCache>> = LazyLock::new(Mutex::default);
static COMPILE_PERMITS: Semaphore = Semaphore::const_new(MAX_CONCURRENT_COMPILES);

/// A slot for one schema, which is compiled on first use.
#[derive(Debug, Default)]
pub struct SchemaSlot(Mutex<SlotState>);

#[derive(Debug, Default)]
enum SlotState {
    #[default]
    New,
    /// Compiled; may have been dropped from the cache.
    Made(Weak<CompiledCell>),
    /// The schema cannot be compiled.
    Refused,
}

/// Holds `None` if the schema cannot be compiled.
type CompiledCell = OnceCell<Option<Arc<CompiledSchema>>>;

impl SchemaSlot {
    /// The compiled schema, or `None` if it cannot be compiled. Calls `refused` with the reason, once per slot.
    pub async fn get(
        &self,
        text: impl FnOnce() -> String,
        refused: impl FnOnce(&str),
    ) -> Option<Arc<CompiledSchema>> {
        let cell = self.cell()?;
        let make = || async {
            let made = compile(text()).await;
            made.inspect_err(|why| refused(why)).ok().map(Arc::new)
        };
        let made = cell.get_or_init(make).await.clone();
        match &made {
            Some(schema) => kept().use_one(&cell, schema.weight.bytes),
            None => *self.state() = SlotState::Refused,
        }
        made
    }

    fn cell(&self) -> Option<Arc<CompiledCell>> {
        let mut state = self.state();
        let known = match &*state {
            SlotState::Refused => return None,
            SlotState::Made(cell) => cell.upgrade(),
            SlotState::New => None,
        };
        Some(known.unwrap_or_else(|| {
            let cell = Arc::<CompiledCell>::default();
            *state = SlotState::Made(Arc::downgrade(&cell));
            cell
        }))
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.0.lock()
    }
}

async fn compile(text: String) -> Result<CompiledSchema, String> {
    let _turn = COMPILE_PERMITS.acquire().await;
    let compile = blocking_pool::run(move || {
        let schema = serde_json::from_str(&text).map_err(|why| why.to_string())?;
        let compiled = CompiledSchema::compile(&schema)?;
        if compiled.weight.bytes > MEMORY_TRIM_BYTES {
            malloc_trim::give_back_soon();
        }
        Ok(compiled)
    });
    let late = |_| Err(format!("it took longer than {COMPILE_TIMEOUT:?}"));
    timeout(COMPILE_TIMEOUT, compile).await.unwrap_or_else(late)
}

struct SchemaCache {
    /// The schemas with their sizes, by their addresses.
    schemas: LruCache<usize, (Arc<CompiledCell>, usize)>,
    bytes: usize,
}

impl Default for SchemaCache {
    fn default() -> Self {
        Self {
            schemas: LruCache::unbounded(),
            bytes: 0,
        }
    }
}

fn kept() -> MutexGuard<'static, SchemaCache> {
    SCHEMA_CACHE.lock()
}

impl SchemaCache {
    fn use_one(&mut self, used: &Arc<CompiledCell>, bytes: usize) {
        let address = Arc::as_ptr(used).addr();
        if self.schemas.get(&address).is_none() {
            self.schemas.put(address, (Arc::clone(used), bytes));
            self.bytes += bytes;
        }
        while self.bytes > MAX_KEPT_BYTES
            && let Some((_, (_, bytes))) = self.schemas.pop_lru()
        {
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell as Counter;

    use super::*;

    fn schema() -> String {
        r#"{"type": "object"}"#.into()
    }

    #[tokio::test]
    async fn schema_is_compiled_once_and_failure_is_reported_once() {
        let (slot, made) = (SchemaSlot::default(), Counter::new(0));
        let get = || {
            let text = || {
                made.set(made.get() + 1);
                schema()
            };
            slot.get(text, |why| panic!("{why}"))
        };
        let (one, two) = tokio::join!(get(), get());
        assert!(Arc::ptr_eq(&one.unwrap(), &two.unwrap()));
        assert_eq!(made.get(), 1);

        let (slot, compilations) = (SchemaSlot::default(), Counter::new(0));
        for _ in 0..2 {
            let text = || r#"{"type": 7}"#.into();
            let schema = slot
                .get(text, |_| compilations.set(compilations.get() + 1))
                .await;
            assert!(schema.is_none());
        }
        assert_eq!(compilations.get(), 1);
    }

    #[tokio::test]
    async fn cache_is_bounded_and_dropped_schemas_are_recompiled() {
        let mut kept = SchemaCache::default();
        let cells: Vec<Arc<CompiledCell>> = (0..10).map(|_| Arc::default()).collect();
        for cell in &cells {
            kept.use_one(cell, MAX_KEPT_BYTES / 4);
            kept.use_one(&cells[0], MAX_KEPT_BYTES / 4);
        }
        let left: Vec<usize> = kept
            .schemas
            .iter()
            .rev()
            .map(|(_, (kept, _))| {
                cells
                    .iter()
                    .position(|cell| Arc::ptr_eq(cell, kept))
                    .unwrap()
            })
            .collect();
        assert_eq!(left, [7, 8, 9, 0]);
        assert!(kept.bytes <= MAX_KEPT_BYTES);

        // A slot whose schema was dropped from the cache.
        let slot = SchemaSlot::default();
        *slot.state() = SlotState::Made(Weak::new());
        assert!(slot.get(schema, |why| panic!("{why}")).await.is_some());
    }
}
