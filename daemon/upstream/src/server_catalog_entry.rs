//! What a server offers: its list of tools held against its pins, made into what can be called, and remembered.
//!
//! Invariant: whatever list becomes a set of tools has been held against the pins here.

use std::sync::Arc;

use tokio::sync::watch;
use tracing::warn;

use mux_catalog::{
    Catalog, ListKey, ProtocolEra, ToolDescription, ToolSet,
    pins::{PinKey, Pins},
};
use mux_process::{blocking_pool, malloc_trim};
use mux_settings::ServerDefinition;

/// Work on a list of more than that leaves memory behind that is worth asking for.
const LARGE_TOOLS_LIST_LEN: usize = 100;

#[derive(Clone, Debug)]
pub(super) struct ServerCatalogEntry {
    pub(super) name: String,
    exclude: Vec<String>,
    key: ListKey,
    catalog: Arc<Catalog>,
    pub(super) pinned: PinKey,
    pins: Arc<Pins>,
}

impl ServerCatalogEntry {
    pub(super) fn new(
        (name, identity): (&str, &str),
        definition: &ServerDefinition,
        catalog: Arc<Catalog>,
        pins: Arc<Pins>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            exclude: definition.exclude.clone(),
            key: ListKey::of(identity, definition),
            catalog,
            pinned: PinKey::of(identity, definition),
            pins,
        }
    }

    /// What the server lists now, and tells its users. A long list takes a second.
    pub(super) async fn build_tool_set(
        &self,
        tools: Vec<ToolDescription>,
        instructions: Option<&str>,
    ) -> ToolSet {
        let offer = self.clone();
        let many = tools.len() > LARGE_TOOLS_LIST_LEN;
        let set = blocking_pool::run(move || offer.judge_tools(tools)).await;
        let set = set.saying(instructions);
        let told = set.instructions().map(|text| &**text);
        if self.catalog.remember_instructions(&self.key, told) {
            warn!(
                server = self.name,
                "its instructions are others than before"
            );
        }
        if many {
            malloc_trim::give_back_soon();
        }
        set
    }

    fn judge_tools(&self, tools: Vec<ToolDescription>) -> ToolSet {
        self.catalog.remember_tools(&self.key, &tools);
        let tools = self.pins.compare_with_pins(&self.pinned, tools);
        let set = ToolSet::new(&self.name, tools, &self.exclude);
        for warning in set.warnings.iter().chain(&set.remarks()) {
            warn!(server = self.name, "{warning}");
        }
        set
    }

    /// What it listed when it was last connected.
    pub(super) fn recall_tools(&self) -> Option<ToolSet> {
        let tools = self.catalog.recall_tools(&self.key)?;
        let many = tools.len() > LARGE_TOOLS_LIST_LEN;
        let tools = self.pins.compare_remembered(&self.pinned, tools);
        let set = ToolSet::new(&self.name, tools, &self.exclude);
        let set = set.saying(self.catalog.recall_instructions(&self.key).as_deref());
        if many {
            malloc_trim::give_back_soon();
        }
        Some(set)
    }

    /// Whether it takes longer to recall than anybody should wait.
    pub(super) fn is_long(&self) -> bool {
        self.catalog.is_long_list(&self.key)
    }

    /// In which era it was last spoken to.
    pub(super) fn era(&self) -> Option<ProtocolEra> {
        self.catalog.era(&self.key)
    }

    pub(super) fn remember_era(&self, era: ProtocolEra, identity: &str) {
        self.catalog.remember_era(&self.key, era, identity);
    }

    /// Whether it may be opened in the old era from now on, which its tools need.
    pub(super) fn needs_legacy(&self, identity: &str) -> bool {
        self.catalog.needs_legacy(&self.key, identity)
    }

    pub(super) fn remember_only_modern(&self) {
        self.catalog.mark_only_modern(&self.key);
    }

    pub(super) fn remember_roots(&self) {
        self.catalog.remember_roots(&self.key);
    }

    pub(super) fn asks_for_roots(&self) -> bool {
        self.catalog.asks_for_roots(&self.key)
    }

    /// Is told when somebody has accepted something: what was listed before is to be listed again.
    pub(super) fn pin_approvals(&self) -> watch::Receiver<()> {
        self.pins.accepted()
    }

    /// To be called when everybody can see what it lists.
    pub(super) fn publish_tools(&self) {
        self.catalog.notify_changed();
    }
}
