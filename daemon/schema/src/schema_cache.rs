//! Compiles schemas on first use and caches them.
//!
//! Invariant: a schema is compiled once for all tasks that wait for it, and none of them blocks a thread. The estimated
//! size of the cache is at most [`MAX_KEPT_BYTES`].

use std::{
    sync::{Arc, LazyLock, OnceLock, Weak},
    time::Duration,
};

use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{OnceCell, Semaphore},
    time::timeout,
};

use super::{CompiledSchema, UncheckableSchema};
use mux_process::{blocking_pool, malloc_trim};
use mux_typegen::normal_form::SchemaNote;

/// The maximum size of the cache, for all servers together. The least recently used schema is dropped first, and
/// compiled again when it is needed.
const MAX_KEPT_BYTES: usize = 64 << 20;
/// How long a caller waits for one schema. A schema within the weight limits takes a small part of this.
const COMPILE_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of schemas compiled at the same time.
const MAX_CONCURRENT_COMPILES: usize = 2;
/// Memory is returned to the system after compiling a schema larger than this, which leaves about as much garbage.
const MEMORY_TRIM_BYTES: usize = 1 << 20;

/// The cache. The cache is global because it limits the memory of the process.
static SCHEMA_CACHE: LazyLock<Mutex<SchemaCache>> = LazyLock::new(Mutex::default);
static COMPILE_PERMITS: Semaphore = Semaphore::const_new(MAX_CONCURRENT_COMPILES);

/// A slot for one schema, which is compiled on first use.
#[derive(Debug, Default)]
pub struct SchemaSlot {
    state: Mutex<SlotState>,
    /// The parts of the compiled schema that are not checked.
    notes: OnceLock<Box<[SchemaNote]>>,
}

#[derive(Debug, Default)]
enum SlotState {
    #[default]
    New,
    /// Compiled. May have been dropped from the cache.
    Made(Weak<CompiledCell>),
    /// The schema cannot be compiled, for this reason.
    Refused(Arc<str>),
}

/// Holds `None` if the schema cannot be compiled.
type CompiledCell = OnceCell<Option<Arc<CompiledSchema>>>;

impl SchemaSlot {
    /// The compiled schema, or `None` if it cannot be compiled. Calls `refused` with the reason, once per slot.
    pub async fn get(
        &self,
        text: impl FnOnce() -> String,
        refused: impl FnOnce(&UncheckableSchema),
    ) -> Option<Arc<CompiledSchema>> {
        let cell = self.cell()?;
        let make = || async {
            let made = compile(text()).await;
            match made {
                Ok(schema) => {
                    if !schema.notes.is_empty() {
                        self.notes.get_or_init(|| schema.notes.as_slice().into());
                    }
                    Some(Arc::new(schema))
                }
                Err(error) => {
                    refused(&error);
                    *self.state.lock() = SlotState::Refused(error.to_string().into());
                    None
                }
            }
        };
        let made = cell.get_or_init(make).await.clone();
        if let Some(schema) = &made {
            kept().use_one(&cell, schema.weight.bytes);
        }
        made
    }

    /// The parts of the schema that are not checked. Empty before its first use.
    pub fn notes(&self) -> Vec<String> {
        if let SlotState::Refused(why) = &*self.state.lock() {
            return vec![format!("nothing is checked: {why}")];
        }
        let notes = self.notes.get().map(|notes| &**notes);
        notes
            .unwrap_or_default()
            .iter()
            .map(SchemaNote::to_string)
            .collect()
    }

    fn cell(&self) -> Option<Arc<CompiledCell>> {
        let mut state = self.state.lock();
        let known = match &*state {
            SlotState::Refused(_) => return None,
            SlotState::Made(cell) => cell.upgrade(),
            SlotState::New => None,
        };
        Some(known.unwrap_or_else(|| {
            let cell = Arc::<CompiledCell>::default();
            *state = SlotState::Made(Arc::downgrade(&cell));
            cell
        }))
    }
}

async fn compile(text: String) -> Result<CompiledSchema, UncheckableSchema> {
    let _turn = COMPILE_PERMITS.acquire().await;
    let compile = blocking_pool::run(move || {
        let schema = serde_json::from_str(&text)?;
        let compiled = CompiledSchema::compile(&schema)?;
        if compiled.weight.bytes > MEMORY_TRIM_BYTES {
            malloc_trim::give_back_soon();
        }
        Ok(compiled)
    });
    let late = |_| Err(UncheckableSchema::Timeout(COMPILE_TIMEOUT));
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
        let slot = SchemaSlot::default();
        let made = Counter::new(0);
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

        let slot = SchemaSlot::default();
        let compilations = Counter::new(0);
        for _ in 0..2 {
            let text = || "{".into();
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
        *slot.state.lock() = SlotState::Made(Weak::new());
        assert!(slot.get(schema, |why| panic!("{why}")).await.is_some());
    }
}
