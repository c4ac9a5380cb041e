//! The catalog of all servers' tools, connected or not: their lists, schemas of arguments and results, learned result
//! types, and the types against which programs are checked.
//!
//! The crate depends on the cache, schemas, the type checker, settings, policy, and the crates for files, text and
//! processes. The crate does not know sessions: `mux-upstream` passes lists and results to it.
//!
//! # Modules
//!
//! - `description` is a server's description of one tool, parsed or written as MCP. `tool_drafts` builds the tools of a
//!   list with their long texts in one allocation, and `tool_overrides` applies the user's overrides. `tool` is one
//!   tool, `tool_set` the tools of one server, `tool_names` resolves names.
//! - `pins` are the definitions that were first trusted: a `pin_book` for each server, in a `pin_file`, written by a
//!   `pin_writer`, compared by `definition_diff` and `list_order`. `pin_status` is a tool's pin status.
//! - `lookalikes` finds names made to look like others, and `injection_signs` finds texts that may instruct a model. A
//!   `server_warning` has its fix.
//! - `scope` is one agent's view in one workspace. `search` ranks tools (`search_cursor`, `ranking`,
//!   `forward_index`) by their words (`word_splitting`, `vocabulary`, `synonyms`), `inventory` lists them within a
//!   budget (`token_estimate`), the most needed first (`tool_order`). `tool_usage` counts calls, and `server_usage`
//!   remembers when each server was last called.
//! - `argument_check` and `tool_results` apply a tool's schemas, which `mux-schema` compiles, limits and caches
//!   schemas.
//! - `tool_list_store` keeps the lists of the last session, `server_eras` the MCP era of each server.
//! - `catalog_reader` decides what each caller may see of others' activity.
//! - `shape_learning` passes results to `learned_shapes`, the shapes of results. `type_declarations` is the text
//!   against which programs are checked, named by digests. `cache_slot` holds the cache once it is open.
//!
//! # Types
//!
//! `mux-typegen` generates TypeScript from JSON Schema. `type_declarations` assembles the text of all servers,
//! connected or not. Across restarts the text is found in the cache under the hash of its inputs.
//!
//! The gateway passes each result of a tool without an output schema to `shape_learning`, without waiting.
//! `mux-typegen`'s `observe` joins it into a shape, which contains field names and kinds of values. Names reach other
//! callers once two callers, or results of three different arguments, had them. Learned types are marked `Seen<…>`:
//! compiler errors about them become warnings.
//!
//! # Large APIs
//!
//! A large API has a thousand tools. All long texts of a list share one allocation, schemas are parsed only when
//! needed, and lists of the last session, pinned definitions and long type texts are kept as `gzip_text`. A second
//! after such work the allocator returns free memory.
//!
//! # Scope and instructions
//!
//! Only an agent's `Scope` hides tools: from a tool set it derives a set without hidden tools (`view`, for calls), and
//! a set that also lacks the tools for MCP Apps pages (`offered`, for everything that shows tools).
//!
//! A server's `instructions` are part of its tool set, cleaned (`mux_text::sanitize`) and bounded, and remembered with
//! its list. Code that shows them quotes them as that server's words.
//!
//! Invariants:
//!
//! - Nothing here sends requests to a server or blocks on the disk, and everything can be learned again.
//! - Learned types contain no value of a result.
//! - A pin changes only when the user has accepted the definition, by its digest.

mod argument_check;
mod cache_slot;
mod catalog_reader;
mod description;
mod injection_signs;
pub mod inventory;
mod learned_shapes;
mod lookalikes;
mod pin_status;
pub mod pins;
mod schema_text;
mod scope;
pub mod search;
mod server_eras;
mod server_usage;
mod server_warning;
mod shape_learning;
mod text_reading;
mod tool;
mod tool_drafts;
mod tool_list_store;
mod tool_names;
mod tool_overrides;
mod tool_results;
mod tool_set;
mod tool_usage;
mod type_declarations;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::Value;
use tokio::sync::watch;

pub use self::tool_results::MAX_ERROR_MESSAGE_BYTES;
use self::{
    cache_slot::CacheSlot, server_usage::ServerUsage, shape_learning::ShapeLearner,
    tool_usage::ToolUsage, type_declarations::TypeTexts,
};
pub use self::{
    catalog_reader::{CatalogReader, caller_digest},
    description::ToolDescription,
    injection_signs::{InjectionSign, warnings_of_list},
    learned_shapes::LearnedShapes,
    lookalikes::imitations,
    pin_status::{ChangeReaction, DefinitionChange, PinStatus},
    schema_text::SchemaText,
    scope::{Scope, Scopes},
    server_eras::ServerEras,
    server_warning::{ServerWarning, ServerWarningCode},
    tool::Tool,
    tool_list_store::{ListKey, ToolListStore},
    tool_overrides::{OverriddenTool, OverrideMistake},
    tool_results::{contents_of, value_of},
    tool_set::ToolSet,
    type_declarations::{KnownServer, TypeTextAudience},
};
use mux_cache::Cache;
pub use mux_settings::ProtocolEra;
use mux_text::digest::Digest;
use mux_typecheck::TypeDeclarations;
pub use mux_typegen::Witness;

pub struct Catalog {
    remembered: ToolListStore,
    eras: ServerEras,
    usage: ToolUsage,
    server_usage: ServerUsage,
    learned: Arc<LearnedShapes>,
    learner: ShapeLearner,
    texts: TypeTexts,
    /// Notified whenever types may have changed.
    news: watch::Sender<()>,
    cache_slot: CacheSlot,
}

impl Catalog {
    /// Creates an empty catalog. Must be called inside a tokio runtime.
    pub fn new() -> Arc<Self> {
        let cache_slot = CacheSlot::default();
        let learned = Arc::new(LearnedShapes::new(&cache_slot));
        let news = watch::Sender::new(());
        Arc::new(Self {
            remembered: ToolListStore::new(&cache_slot),
            eras: ServerEras::new(&cache_slot),
            usage: ToolUsage::new(&cache_slot),
            server_usage: ServerUsage::new(&cache_slot),
            learner: ShapeLearner::start(Arc::clone(&learned), news.clone()),
            learned,
            texts: TypeTexts::new(&cache_slot),
            news,
            cache_slot,
        })
    }

    /// Loads the data of the last daemon. Must be called once.
    pub async fn load(&self, cache: Cache) {
        tokio::join!(
            self.remembered.load(&cache),
            self.eras.load(&cache),
            self.usage.load(&cache),
            self.server_usage.load(&cache, SystemTime::now()),
            self.learned.load(&cache)
        );
        self.cache_slot.put_up(cache);
        self.notify_changed();
    }

    /// Saves learned data and closes the cache, which another process can then open.
    pub async fn release_cache(&self, within: Duration) {
        self.settle(within).await;
        if let Some(cache) = self.cache_slot.take_down() {
            cache.close(within).await;
        }
    }

    /// Attaches the cache again after [`release_cache`](Self::release_cache).
    pub fn attach_cache(&self, cache: Cache) {
        self.cache_slot.put_up(cache);
    }

    /// The cache, once it is open.
    pub fn cache(&self) -> Option<Arc<Cache>> {
        self.cache_slot.cache()
    }

    /// The lists of each server's last session.
    pub fn lists(&self) -> &ToolListStore {
        &self.remembered
    }

    pub fn eras(&self) -> &ServerEras {
        &self.eras
    }

    /// Notifies subscribers that the servers or their tools have changed.
    pub fn notify_changed(&self) {
        self.news.send_replace(());
    }

    /// A receiver that is notified whenever types may have changed.
    pub fn subscribe_changes(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    pub fn learned(&self) -> &LearnedShapes {
        &self.learned
    }

    /// Learns from a tool's result. The size of the value is approximate.
    pub fn observe(&self, tool: &Arc<Tool>, value: (Value, usize), witness: Witness) {
        self.learner.give(tool, value.0, value.1, witness);
    }

    /// Counts a call of the tool.
    pub fn count_use(&self, tool: &Tool) {
        self.usage.count(tool);
    }

    /// A tool's usage level: 0 for never, and one level higher whenever the number of calls quadruples. Calls of a tool
    /// that the reader's policy denies, which others made, do not count.
    pub fn use_level(&self, tool: &Tool, reader: &CatalogReader) -> u32 {
        match self.usage.level(tool) {
            0 => 0,
            _ if reader.is_denied(tool) => 0,
            level => level,
        }
    }

    /// Records a call of the server.
    pub fn record_call(&self, key: &ListKey) {
        self.server_usage.record_call(key, SystemTime::now());
    }

    /// When the server was last called, by this daemon or an earlier one.
    pub fn last_call(&self, key: &ListKey) -> Option<SystemTime> {
        self.server_usage.last_call(key)
    }

    /// Forgets the types learned from the results of one tool, of one server's tools, or of all tools. Returns the
    /// number of tools.
    pub fn forget_learned(&self, server: Option<&str>, tool: Option<&str>) -> usize {
        let forgotten = self.learned.forget(server, tool);
        if forgotten > 0 {
            self.notify_changed();
        }
        forgotten
    }

    /// A tool's signature on one line, with the learned type of its results. A model, which did not ask for the names
    /// in the type, gets only their kinds.
    pub fn signature(&self, tool: &Tool, reader: &CatalogReader) -> String {
        let shape = self.learned.shape_for(tool, reader);
        let observed = TypeTextAudience::Checker.observed(shape.as_deref());
        let declaration = tool.declaration(observed);
        match (observed, reader.is_user()) {
            (None, _) => tool.signature().to_owned(),
            (Some(_), true) => mux_typegen::signature(&tool.server, &declaration),
            (Some(_), false) => mux_typegen::signature_with_kinds(&tool.server, &declaration),
        }
    }

    /// A tool's signature with the path by which programs reach it.
    pub fn signature_in(&self, tools: &ToolSet, tool: &Tool, reader: &CatalogReader) -> String {
        tools.with_path(tool, self.signature(tool, reader))
    }

    /// A tool's declaration with its documentation and types. A model gets a learned type without the names of fields:
    /// [`Self::learned_outline`] has the names, to be shown as data.
    pub fn declaration(&self, tool: &Tool, reader: &CatalogReader) -> String {
        let shape = self.learned.shape_for(tool, reader);
        let shape = shape.map(|shape| {
            if reader.is_user() {
                shape
            } else {
                Arc::new(shape.without_names())
            }
        });
        let audience = TypeTextAudience::Reader.for_reader(reader);
        let observed = audience.observed(shape.as_deref());
        mux_typegen::tool_declaration(&tool.server, &tool.whole_declaration(observed))
    }

    /// The learned type of a tool's results with the names of fields, which are data, for a reader whose declarations
    /// lack them. `None` if there are none.
    pub fn learned_outline(&self, tool: &Tool, reader: &CatalogReader) -> Option<String> {
        if reader.is_user() || tool.has_output_schema() {
            return None;
        }
        let shape = self.learned.shape_for(tool, reader)?;
        let has_names = !shape.names().is_empty();
        has_names.then(|| shape.outline()).flatten()
    }

    /// The `mux.d.ts` of these servers.
    pub async fn declare_types(
        &self,
        servers: &[KnownServer],
        wording: TypeTextAudience,
        reader: &CatalogReader,
    ) -> TypeDeclarations {
        self.texts
            .types(servers, &self.learned, wording, reader)
            .await
    }

    /// Saves the data learned so far.
    pub async fn settle(&self, within: Duration) {
        // After the timeout the rest is dropped: it can be learned again.
        _ = tokio::time::timeout(within, self.learner.settled()).await;
        self.learned.save();
        self.texts.save();
        self.usage.save();
        self.server_usage.save();
        if let Some(cache) = self.cache() {
            cache.flush().await;
        }
    }
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalog").finish_non_exhaustive()
    }
}
