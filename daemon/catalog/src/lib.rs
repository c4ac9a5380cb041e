//! What is known of all servers' tools, connected or not: their lists, the values that they take and give, what was
//! learned of their results, and the types that programs are checked against.
//!
//! It knows the cache, schemas, the type checker, settings, policy, and the crates for files, text and processes. It
//! knows no session: `mux-upstream` gives it lists and results.
//!
//! # Modules
//!
//! - `description` is what a server says of one tool, read or written as MCP; `tool_drafts` takes a list apart into one text;
//!   `tool` is one tool, `tool_set` the tools of one server, `tool_names` what leads to one.
//! - `pins` are the definitions that were first trusted: a `pin_book` for each server, in a `pin_file`, written by a `pin_writer`,
//!   and their `definition_diff`; `pin_status` is a tool's pin status.
//! - `lookalikes` finds names made to look like others.
//! - `scope` is what one agent sees in one directory. `search` ranks tools (`search_cursor`, `search_index`, `index_segment`, `word_splitting`),
//!   `inventory` lists them within a budget of `token_estimate`, in the `tool_order` of need; `tool_usage` counts how often tools are
//!   called.
//! - `argument_check` and `tool_results` apply a tool's schemas; the weighing, caching and metering of schemas is `mux-schema`.
//! - `tool_list_store` has the lists of the last session, `server_eras` which era of MCP a server speaks.
//! - `shape_learning` are results on their way to `learned_shapes`, the shapes of results; `type_declarations` is the text that programs are
//!   checked against, named by digests, and kept on the `cache_slot`, which is the cache as soon as it is open.
//!
//! # Types
//!
//! `mux-typegen` makes TypeScript of JSON Schema. `type_declarations` puts together the text of all servers, connected or not; over
//! restarts it is found in the cache under the hash of everything that it is made of.
//!
//! The gateway gives each result of a tool without an output schema to `shape_learning`, without waiting. `mux-typegen`'s
//! `observe` joins it into a shape, which holds names of fields and kinds of values. Learned types are marked
//! `Seen<…>`: whatever the compiler says of one is a warning.
//!
//! # Large APIs
//!
//! A large API is a thousand tools. All long texts of a list are in one allocation, schemas are read only where a
//! reader looks at them, and lists of the last session, pinned definitions and long type texts are kept as `gzip_text`.
//! A second after such work the allocator returns what is free.
//!
//! # Scope and instructions
//!
//! An agent's `Scope` is the one place that hides: it gives, of a set of tools, another without the hidden ones
//! (`view`, for calls), and one that also lacks those for pages of MCP Apps (`offered`, for all that shows tools).
//!
//! A server's `instructions` are part of its set of tools, cleaned (`mux_text::hygiene`) and bounded, and remembered
//! with its list. What shows them quotes them as that server's words.
//!
//! Invariants:
//!
//! - Nothing here asks a server or waits for the disk; what it knows can be learned again.
//! - What was learned of a result holds no value of it.
//! - A pin changes only when the user has accepted the definition, by its digest.

mod argument_check;
mod cache_slot;
mod description;
pub mod inventory;
mod learned_shapes;
mod lookalikes;
mod pin_status;
pub mod pins;
mod scope;
pub mod search;
mod server_eras;
mod shape_learning;
mod tool;
mod tool_drafts;
mod tool_list_store;
mod tool_names;
mod tool_results;
mod tool_set;
mod tool_usage;
mod type_declarations;

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

pub use self::tool_results::MAX_ERROR_MESSAGE_BYTES;
use self::{
    cache_slot::CacheSlot, server_eras::ServerEras, shape_learning::ShapeLearner,
    tool_list_store::ToolListStore, tool_usage::ToolUsage, type_declarations::TypeTexts,
};
pub use self::{
    description::ToolDescription,
    learned_shapes::LearnedShapes,
    lookalikes::imitations,
    pin_status::{DefinitionChange, PinStatus},
    scope::{Scope, Scopes},
    tool::Tool,
    tool_list_store::ListKey,
    tool_results::{contents_of, value_of},
    tool_set::ToolSet,
    type_declarations::{KnownServer, TypeTextAudience},
};
use mux_cache::Cache;
pub use mux_settings::ProtocolEra;
use mux_text::digest::Digest;
use mux_typecheck::TypeDeclarations;

pub struct Catalog {
    remembered: ToolListStore,
    eras: ServerEras,
    usage: ToolUsage,
    learned: Arc<LearnedShapes>,
    lessons: ShapeLearner,
    texts: TypeTexts,
    /// Sent whenever types may have changed.
    news: watch::Sender<()>,
    shelf: CacheSlot,
}

impl Catalog {
    /// Knows nothing yet. Must be called inside a tokio runtime.
    pub fn new() -> Arc<Self> {
        let shelf = CacheSlot::default();
        let (learned, news) = (Arc::new(LearnedShapes::new(&shelf)), watch::Sender::new(()));
        Arc::new(Self {
            remembered: ToolListStore::new(&shelf),
            eras: ServerEras::new(&shelf),
            usage: ToolUsage::new(&shelf),
            lessons: ShapeLearner::start(Arc::clone(&learned), news.clone()),
            learned,
            texts: TypeTexts::new(&shelf),
            news,
            shelf,
        })
    }

    /// Takes over what was known when the last daemon ended. To be called once.
    pub async fn load(&self, cache: Cache) {
        tokio::join!(
            self.remembered.load(&cache),
            self.eras.load(&cache),
            self.usage.load(&cache),
            self.learned.load(&cache)
        );
        self.shelf.put_up(cache);
        self.notify_changed();
    }

    /// Everything that was learned is on the disk, and another process can open the store.
    pub async fn release_cache(&self, within: Duration) {
        self.settle(within).await;
        if let Some(cache) = self.shelf.take_down() {
            cache.close(within).await;
        }
    }

    /// The store is ours again.
    pub fn attach_cache(&self, cache: Cache) {
        self.shelf.put_up(cache);
    }

    /// The cache, once it is open.
    pub fn cache(&self) -> Option<Arc<Cache>> {
        self.shelf.cache()
    }

    /// The tools that a server listed when it was last connected.
    pub fn recall_tools(&self, key: &ListKey) -> Option<Vec<ToolDescription>> {
        self.remembered.recall(key)
    }

    /// Whether they take longer to recall than anybody should wait.
    pub fn is_long_list(&self, key: &ListKey) -> bool {
        self.remembered.is_long(key)
    }

    /// What a server lists now.
    pub fn remember_tools(&self, key: &ListKey, tools: &[ToolDescription]) {
        self.remembered.keep(key, tools);
    }

    /// What a server tells its users now. Whether it told something else before.
    pub fn remember_instructions(&self, key: &ListKey, text: Option<&str>) -> bool {
        self.remembered.keep_instructions(key, text)
    }

    /// What a server told its users when it was last connected.
    pub fn recall_instructions(&self, key: &ListKey) -> Option<String> {
        self.remembered.recall_instructions(key)
    }

    /// The era of MCP in which a server was last spoken to.
    pub fn era(&self, key: &ListKey) -> Option<ProtocolEra> {
        self.eras.recall(key)
    }

    /// What a server, which gives itself this name, speaks now.
    pub fn remember_era(&self, key: &ListKey, era: ProtocolEra, identity: &str) {
        self.eras.keep(key, era, identity);
    }

    /// The server's tools ask in a way that only the old era carries. False if it is known not to speak that one.
    pub fn needs_legacy(&self, key: &ListKey, identity: &str) -> bool {
        self.eras.needs_legacy(key, identity)
    }

    /// It could not be opened in the old era, and then it could in the new one.
    pub fn mark_only_modern(&self, key: &ListKey) {
        self.eras.only_modern(key);
    }

    /// The server has asked for roots: from now on it is known that it does.
    pub fn remember_roots(&self, key: &ListKey) {
        self.remembered.keep_roots(key);
    }

    pub fn asks_for_roots(&self, key: &ListKey) -> bool {
        self.remembered.asks_for_roots(key)
    }

    /// The servers, or their tools, are others than before.
    pub fn notify_changed(&self) {
        self.news.send_replace(());
    }

    /// Is told whenever types may have changed.
    pub fn subscribe_changes(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    pub fn learned(&self) -> &LearnedShapes {
        &self.learned
    }

    /// A tool gave this. `bytes` is about how much room it takes.
    pub fn observe(&self, tool: &Arc<Tool>, value: serde_json::Value, bytes: usize) {
        self.lessons.give(tool, value, bytes);
    }

    /// The tool is being called.
    pub fn count_use(&self, tool: &Tool) {
        self.usage.count(tool);
    }

    /// How much a tool was used: 0 for never, one more for each four times as many calls.
    pub fn use_level(&self, tool: &Tool) -> u32 {
        self.usage.level(tool)
    }

    /// Forgets what was learned of the results of one tool, of one server's tools, or of all. How many
    /// tools that were.
    pub fn forget_learned(&self, server: Option<&str>, tool: Option<&str>) -> usize {
        let forgotten = self.learned.forget(server, tool);
        if forgotten > 0 {
            self.notify_changed();
        }
        forgotten
    }

    /// A tool on one line, with what was learned of its results.
    pub fn signature(&self, tool: &Tool, wording: TypeTextAudience) -> String {
        let shape = self.learned.shape(tool);
        match wording.observed(shape.as_deref()) {
            None => tool.signature().to_owned(),
            observed => mux_typegen::signature(&tool.server, &tool.declaration(observed)),
        }
    }

    /// The same as programs reach the tool among the others of its server.
    pub fn signature_in(&self, tools: &ToolSet, tool: &Tool) -> String {
        tools.with_path(tool, self.signature(tool, TypeTextAudience::Checker))
    }

    /// A tool with its documentation and the types that it names, for a reader.
    pub fn declaration(&self, tool: &Tool) -> String {
        let shape = self.learned.shape(tool);
        let observed = TypeTextAudience::Reader.observed(shape.as_deref());
        mux_typegen::tool_declaration(&tool.server, &tool.whole_declaration(observed))
    }

    /// The `mux.d.ts` of these servers.
    pub async fn declare_types(
        &self,
        servers: &[KnownServer],
        wording: TypeTextAudience,
    ) -> TypeDeclarations {
        self.texts.types(servers, &self.learned, wording).await
    }

    /// Writes down what was learned so far.
    pub async fn settle(&self, within: Duration) {
        // Nobody can wait longer; what is lost is learned again.
        _ = tokio::time::timeout(within, self.lessons.settled()).await;
        self.learned.save();
        self.texts.save();
        self.usage.save();
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
