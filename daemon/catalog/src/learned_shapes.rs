//! The shapes of results, for tools without an output schema.
//!
//! The shapes also record how the texts of each tool are read (`text_reading`), which must not change between two
//! calls.
//!
//! Invariants:
//!
//! - Names of fields and kinds of values are stored, never values.
//! - The author of a result chose its names. Only [`LearnedShapes::shape_for`] gives shapes away: to each reader the
//!   part that it may see, and names that may instruct a model only to the user.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};

use mux_typegen::{ResultShape, TextForm, Witness};
use serde_json::Value;

use super::{CatalogReader, Tool, cache_slot::CacheSlot, injection_signs::signs_of_names};
use mux_cache::{Cache, CacheSpace};
use mux_text::digest::DigestKey;

pub struct LearnedShapes {
    cache_slot: CacheSlot,
    state: Mutex<LearnedState>,
    /// Increases when types change, not when counts do.
    version: AtomicU64,
}

/// The state behind [`LearnedShapes::state`].
#[derive(Default)]
struct LearnedState {
    /// By the tool's key: a tool whose schema or description changes starts over.
    shapes: HashMap<DigestKey, LearnedShape>,
    /// Changed since they were last written.
    unwritten: HashSet<DigestKey>,
}

struct LearnedShape {
    server: String,
    tool: String,
    shape: Arc<ResultShape>,
    /// Set if the names may instruct a model.
    has_signs: bool,
}

impl LearnedShapes {
    pub(super) fn new(cache_slot: &CacheSlot) -> Self {
        Self {
            cache_slot: cache_slot.clone(),
            state: Mutex::default(),
            version: AtomicU64::new(0),
        }
    }

    pub(super) async fn load(&self, cache: &Cache) {
        let written = cache.all(CacheSpace::Shapes).await;
        let mut state = self.state();
        for (key, bytes) in written {
            match LearnedShape::read(&bytes) {
                Some(mut lesson) => {
                    // The stored results came first: they decide how texts are read.
                    if let Some(newer) = state.shapes.get(&key) {
                        Arc::make_mut(&mut lesson.shape).merge(&newer.shape);
                    }
                    lesson.search_names();
                    state.shapes.insert(key, lesson);
                }
                None => cache.remove(CacheSpace::Shapes, key),
            }
        }
        drop(state);
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// The part of this tool's result shape and text form that the reader may see, if any.
    pub fn shape_for(&self, tool: &Tool, reader: &CatalogReader) -> Option<Arc<ResultShape>> {
        let (shape, has_signs) = {
            let state = self.state();
            let lesson = state.shapes.get(&tool.key)?;
            (Arc::clone(&lesson.shape), lesson.has_signs)
        };
        let hides_names = has_signs && !reader.sees_signs();
        let visible = match reader.caller_key() {
            None if hides_names => Arc::new(shape.without_names()),
            None => shape,
            Some(_) if reader.is_denied(tool) => return None,
            Some(caller) => {
                let visible = shape.visible_to(caller)?;
                Arc::new(if hides_names {
                    visible.without_names()
                } else {
                    visible
                })
            }
        };
        Some(visible)
    }

    /// The number of this tool's results that were seen, for the user.
    pub fn calls(&self, tool: &Tool) -> u64 {
        let state = self.state();
        state.shapes.get(&tool.key).map_or(0, |l| l.shape.calls())
    }

    /// How the texts of this tool are read.
    pub(super) fn text_form(&self, tool: &Tool) -> TextForm {
        let state = self.state();
        let lesson = state.shapes.get(&tool.key);
        lesson.map_or_else(TextForm::default, |lesson| lesson.shape.texts())
    }

    /// Adds the text form that a result has shown, before any later result is read.
    pub(super) fn add_text_form(&self, tool: &Tool, told: TextForm) {
        if told == TextForm::default() {
            return;
        }
        let mut state = self.state();
        let lesson = state.lesson(tool);
        let before = lesson.shape.texts();
        let mut after = before;
        after.merge(told);
        if after == before {
            return;
        }
        Arc::make_mut(&mut lesson.shape).add_text_form(told);
        state.unwritten.insert(tool.key);
        drop(state);
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Adds a result. Returns true if the type has changed for any reader.
    pub(super) fn add(&self, tool: &Tool, value: &Value, witness: Witness) -> bool {
        // Calls that read a text do not wait for this.
        let shape = ResultShape::of_result(value, witness);
        let mut state = self.state();
        let lesson = state.lesson(tool);
        let is_first = lesson.shape.calls() == 0;
        let changed = Arc::make_mut(&mut lesson.shape).merge(&shape) || is_first;
        let merged = changed.then(|| {
            // Hidden until they are searched, for which readers do not wait.
            lesson.has_signs = true;
            Arc::clone(&lesson.shape)
        });
        state.unwritten.insert(tool.key);
        drop(state);
        if let Some(merged) = merged {
            let has_signs = signs_of_names(&merged.names());
            let mut state = self.state();
            let lesson = state.lesson(tool);
            // Otherwise another result was added, which searches them all.
            if Arc::ptr_eq(&lesson.shape, &merged) {
                lesson.has_signs = has_signs;
            }
            drop(state);
            self.version.fetch_add(1, Ordering::AcqRel);
        }
        changed
    }

    pub(super) fn forget(&self, server: Option<&str>, tool: Option<&str>) -> usize {
        let mut state = self.state();
        let before = state.shapes.len();
        let mut gone = Vec::new();
        state.shapes.retain(|key, lesson| {
            let is_meant = server.is_none_or(|name| name == lesson.server)
                && tool.is_none_or(|name| name == lesson.tool);
            if is_meant {
                gone.push(*key);
            }
            !is_meant
        });
        for key in gone {
            state.unwritten.remove(&key);
            self.cache_slot.remove(CacheSpace::Shapes, key);
        }
        let forgotten = before - state.shapes.len();
        drop(state);
        self.version.fetch_add(1, Ordering::AcqRel);
        forgotten
    }

    /// Writes changed shapes to the cache.
    pub(super) fn save(&self) {
        let mut state = self.state();
        for key in std::mem::take(&mut state.unwritten) {
            if let Some(lesson) = state.shapes.get(&key) {
                self.cache_slot
                    .put(CacheSpace::Shapes, key, lesson.written());
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, LearnedState> {
        self.state.lock()
    }
}

impl LearnedState {
    fn lesson(&mut self, tool: &Tool) -> &mut LearnedShape {
        let lesson = self.shapes.entry(tool.key);
        lesson.or_insert_with(|| LearnedShape {
            server: tool.server.to_string(),
            tool: tool.name.clone(),
            shape: Arc::default(),
            has_signs: false,
        })
    }
}

impl LearnedShape {
    fn search_names(&mut self) {
        self.has_signs = signs_of_names(&self.shape.names());
    }

    /// Encodes a line with the names as JSON, then the shape.
    fn written(&self) -> Vec<u8> {
        let names = serde_json::json!([self.server, self.tool]).to_string();
        let mut bytes = names.into_bytes();
        bytes.push(b'\n');
        bytes.extend(self.shape.to_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let (server, tool) = serde_json::from_slice(&bytes[..end]).ok()?;
        let shape = ResultShape::from_bytes(&bytes[end + 1..])?;
        Some(Self {
            server,
            tool,
            shape: Arc::new(shape),
            has_signs: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use mux_settings::ToolOverrides;

    use super::*;
    use crate::{ToolDescription, ToolSet};

    fn tool(name: &str, description: &str) -> Arc<Tool> {
        let described = ToolDescription {
            name: name.into(),
            description: Some(description.into()),
            input_schema: json!({}).into(),
            ..ToolDescription::default()
        };
        let set = ToolSet::new("s", vec![described], &[], &ToolOverrides::default());
        Arc::clone(set.find(name).unwrap())
    }

    #[tokio::test]
    async fn shapes_survive_a_restart_but_not_a_changed_tool() {
        let cache = Cache::memory();
        let cache_slot = CacheSlot::default();
        cache_slot.put_up(cache.clone());
        let learned = LearnedShapes::new(&cache_slot);
        let before = learned.version();
        let add = |tool: &Tool, value| learned.add(tool, &value, seen(1, 1));
        assert!(add(&tool("t", "one"), json!({ "id": 1 })));
        assert!(!add(&tool("t", "one"), json!({ "id": 2 })));
        assert_eq!(learned.version(), before + 1);
        assert!(add(&tool("u", ""), json!("text")));
        learned.save();
        cache.flush().await;

        let learned = LearnedShapes::new(&cache_slot);
        learned.load(&cache).await;
        assert_eq!(learned.calls(&tool("t", "one")), 2);
        let user = CatalogReader::user();
        assert_eq!(learned.shape_for(&tool("t", "another"), &user), None);
        assert_eq!(learned.forget(Some("s"), Some("t")), 1);
        assert_eq!(learned.forget(Some("x"), None), 0);
        cache.flush().await;

        let learned = LearnedShapes::new(&cache_slot);
        learned.load(&cache).await;
        assert_eq!(learned.calls(&tool("t", "one")), 0);
        assert_eq!(learned.calls(&tool("u", "")), 1);
    }

    fn seen(caller: u64, arguments: u32) -> Witness {
        Witness { caller, arguments }
    }

    fn reader(caller: u64) -> CatalogReader {
        CatalogReader::caller(caller, 0, |_| false)
    }

    fn names(learned: &LearnedShapes, tool: &Tool, reader: &CatalogReader) -> Option<String> {
        let shape = learned.shape_for(tool, reader)?;
        Some(shape.names().replace('\n', " "))
    }

    #[tokio::test]
    async fn names_belong_to_their_caller_until_another_or_three_calls_have_them() {
        let cache = Cache::memory();
        let cache_slot = CacheSlot::default();
        cache_slot.put_up(cache.clone());
        let learned = LearnedShapes::new(&cache_slot);
        let tool = tool("t", "");
        let shown = |learned: &LearnedShapes, reader| names(learned, &tool, &reader);
        learned.add(&tool, &json!({ "id": 1, "bob": 1 }), seen(1, 1));
        learned.add(&tool, &json!({ "id": 1, "bob": 1 }), seen(1, 1));
        learned.add(&tool, &json!({ "id": 1 }), seen(1, 2));
        assert_eq!(shown(&learned, reader(1)).as_deref(), Some("bob id "));
        assert_eq!(shown(&learned, reader(2)), None);
        assert_eq!(
            shown(&learned, CatalogReader::user()).as_deref(),
            Some("bob id ")
        );
        // The third arguments confirm the names in their result, and only those.
        assert!(learned.add(&tool, &json!({ "id": 1 }), seen(1, 3)));
        assert_eq!(shown(&learned, reader(2)).as_deref(), Some("id "));
        // So does another caller.
        assert!(learned.add(&tool, &json!({ "id": 1, "at": { "eve": 1 } }), seen(3, 1)));
        assert_eq!(shown(&learned, reader(2)).as_deref(), Some("id "));
        assert!(learned.add(&tool, &json!({ "id": 1, "at": { "ann": 1 } }), seen(4, 1)));
        assert_eq!(shown(&learned, reader(2)).as_deref(), Some("at id "));
        assert_eq!(shown(&learned, reader(3)).as_deref(), Some("at id eve "));
        assert_eq!(shown(&learned, reader(1)).as_deref(), Some("at bob id "));
        let denied = CatalogReader::caller(1, 0, |_| true);
        assert_eq!(shown(&learned, denied), None);
        // The next daemon has all of it.
        learned.save();
        cache.flush().await;
        let next = LearnedShapes::new(&cache_slot);
        next.load(&cache).await;
        for caller in 1..=4 {
            let before = shown(&learned, reader(caller));
            let after = shown(&next, reader(caller));
            assert_eq!(before, after, "{caller}");
        }
    }

    #[tokio::test]
    async fn names_that_may_instruct_a_model_are_for_the_user() {
        let learned = LearnedShapes::new(&CacheSlot::default());
        let tool = tool("t", "");
        for caller in [1, 2] {
            let value = json!({ "id": 1, "never_tell_the_user": "x" });
            learned.add(&tool, &value, seen(caller, 1));
        }
        assert_eq!(names(&learned, &tool, &reader(1)).as_deref(), Some(""));
        let user = names(&learned, &tool, &CatalogReader::user());
        assert_eq!(user.as_deref(), Some("id never_tell_the_user "));
    }
}
