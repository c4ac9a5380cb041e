//! What is known of all servers' tools, connected or not: their lists, the values that they take and give,
//! what was learned of their results, and the types that programs are checked against.
//!
//! Invariant: nothing here asks a server or waits for the disk; what it knows can be learned again.

mod arguments;
mod description;
mod draft;
mod eras;
mod imitation;
pub mod inventory;
mod learned;
mod lessons;
mod names;
pub mod pins;
mod remembered;
mod results;
mod scope;
pub mod search;
mod shelf;
mod standing;
mod tool;
mod tools;
mod types;
mod usage;

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

pub use self::results::MAX_MESSAGE;
pub use self::{
    description::ToolDescription,
    imitation::imitations,
    learned::Learned,
    remembered::ListKey,
    results::{contents_of, value_of},
    scope::{Scope, Scopes},
    standing::{Change, Standing},
    tool::Tool,
    tools::ToolSet,
    types::{Known, Wording},
};
use self::{
    eras::Eras, lessons::Lessons, remembered::Remembered, shelf::Shelf, types::Texts, usage::Usage,
};
use mux_cache::Cache;
pub use mux_settings::Era;
use mux_text::digest::Digest;
use mux_typecheck::Types;

pub struct Catalog {
    remembered: Remembered,
    eras: Eras,
    usage: Usage,
    learned: Arc<Learned>,
    lessons: Lessons,
    texts: Texts,
    /// Sent whenever types may have changed.
    news: watch::Sender<()>,
    shelf: Shelf,
}

impl Catalog {
    /// Knows nothing yet. Must be called inside a tokio runtime.
    pub fn new() -> Arc<Self> {
        let shelf = Shelf::default();
        let (learned, news) = (Arc::new(Learned::new(&shelf)), watch::Sender::new(()));
        Arc::new(Self {
            remembered: Remembered::new(&shelf),
            eras: Eras::new(&shelf),
            usage: Usage::new(&shelf),
            lessons: Lessons::start(Arc::clone(&learned), news.clone()),
            learned,
            texts: Texts::new(&shelf),
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
        self.changed();
    }

    /// Everything that was learned is on the disk, and another process can open the store.
    pub async fn let_go(&self, within: Duration) {
        self.settle(within).await;
        if let Some(cache) = self.shelf.take_down() {
            cache.close(within).await;
        }
    }

    /// The store is ours again.
    pub fn take_up(&self, cache: Cache) {
        self.shelf.put_up(cache);
    }

    /// The cache, once it is open.
    pub fn cache(&self) -> Option<Arc<Cache>> {
        self.shelf.cache()
    }

    /// The tools that a server listed when it was last connected.
    pub fn recall(&self, key: &ListKey) -> Option<Vec<ToolDescription>> {
        self.remembered.recall(key)
    }

    /// Whether they take longer to recall than anybody should wait.
    pub fn is_long(&self, key: &ListKey) -> bool {
        self.remembered.is_long(key)
    }

    /// What a server lists now.
    pub fn remember(&self, key: &ListKey, tools: &[ToolDescription]) {
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
    pub fn era(&self, key: &ListKey) -> Option<Era> {
        self.eras.recall(key)
    }

    /// What a server, which gives itself this name, speaks now.
    pub fn spoke(&self, key: &ListKey, era: Era, identity: &str) {
        self.eras.keep(key, era, identity);
    }

    /// The server's tools ask in a way that only the old era carries. False if it is known not to speak that one.
    pub fn needs_legacy(&self, key: &ListKey, identity: &str) -> bool {
        self.eras.needs_legacy(key, identity)
    }

    /// It could not be opened in the old era, and then it could in the new one.
    pub fn only_modern(&self, key: &ListKey) {
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
    pub fn changed(&self) {
        self.news.send_replace(());
    }

    /// Is told whenever types may have changed.
    pub fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    pub fn learned(&self) -> &Learned {
        &self.learned
    }

    /// A tool gave this. `bytes` is about how much room it takes.
    pub fn observe(&self, tool: &Arc<Tool>, value: serde_json::Value, bytes: usize) {
        self.lessons.give(tool, value, bytes);
    }

    /// The tool is being called.
    pub fn used(&self, tool: &Tool) {
        self.usage.count(tool);
    }

    /// How much a tool was used: 0 for never, one more for each four times as many calls.
    pub fn use_level(&self, tool: &Tool) -> u32 {
        self.usage.level(tool)
    }

    /// Forgets what was learned of the results of one tool, of one server's tools, or of all. How many
    /// tools that were.
    pub fn forget(&self, server: Option<&str>, tool: Option<&str>) -> usize {
        let forgotten = self.learned.forget(server, tool);
        if forgotten > 0 {
            self.changed();
        }
        forgotten
    }

    /// A tool on one line, with what was learned of its results.
    pub fn signature(&self, tool: &Tool, wording: Wording) -> String {
        let shape = self.learned.shape(tool);
        match wording.observed(shape.as_deref()) {
            None => tool.signature().to_owned(),
            observed => mux_typegen::signature(&tool.server, &tool.declaration(observed)),
        }
    }

    /// The same as programs reach the tool among the others of its server.
    pub fn signature_in(&self, tools: &ToolSet, tool: &Tool) -> String {
        tools.with_path(tool, self.signature(tool, Wording::Checker))
    }

    /// A tool with its documentation and the types that it names, for a reader.
    pub fn declaration(&self, tool: &Tool) -> String {
        let shape = self.learned.shape(tool);
        let observed = Wording::Reader.observed(shape.as_deref());
        mux_typegen::tool_declaration(&tool.server, &tool.whole_declaration(observed))
    }

    /// The `mux.d.ts` of these servers.
    pub async fn types(&self, servers: &[Known], wording: Wording) -> Types {
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
