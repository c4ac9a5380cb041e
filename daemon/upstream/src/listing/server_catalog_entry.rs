//! A server's entry in the catalog: turns its tool list, compared with the pins, into a set of callable tools, and
//! remembers it.
//!
//! Invariant: every list is compared with the pins here before it becomes a set of tools.

use std::{sync::Arc, time::SystemTime};

use serde_json::Value;
use tokio::sync::watch;
use tracing::warn;

use super::list_kind::ListKind;
use mux_catalog::{
    Catalog, ListKey, ProtocolEra, ToolDescription, ToolSet,
    pins::{PinKey, Pins},
};
use mux_process::{blocking_pool, malloc_trim};
use mux_settings::{ServerDefinition, ToolOverrides};

/// Processing a longer list frees enough memory to return some to the system.
const LARGE_TOOLS_LIST_LEN: usize = 100;

#[derive(Clone, Debug)]
pub(crate) struct ServerCatalogEntry {
    pub(crate) name: String,
    exclude: Vec<String>,
    overrides: ToolOverrides,
    key: ListKey,
    catalog: Arc<Catalog>,
    pub(crate) pinned: PinKey,
    pins: Arc<Pins>,
}

impl ServerCatalogEntry {
    pub(crate) fn new(
        (name, identity): (&str, &str),
        definition: &ServerDefinition,
        catalog: Arc<Catalog>,
        pins: Arc<Pins>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            exclude: definition.exclude.clone(),
            overrides: definition.overrides.clone(),
            key: ListKey::of(identity, definition),
            catalog,
            pinned: PinKey::of(identity, definition),
            pins,
        }
    }

    /// Builds the tool set from the server's present list and its instructions. A long list takes a second.
    pub(crate) async fn build_tool_set(
        &self,
        tools: Vec<ToolDescription>,
        instructions: Option<&str>,
    ) -> ToolSet {
        let entry = self.clone();
        let is_large = tools.len() > LARGE_TOOLS_LIST_LEN;
        let instructions = instructions.map(str::to_owned);
        let judge = move || entry.judge_tools(tools, instructions.as_deref());
        let set = blocking_pool::run(judge).await;
        let text = set.instructions().map(|text| &**text);
        if self.catalog.lists().keep_instructions(&self.key, text) {
            warn!(
                server = self.name,
                "its instructions have changed since its last session"
            );
        }
        if is_large {
            malloc_trim::give_back_soon();
        }
        set
    }

    fn judge_tools(&self, tools: Vec<ToolDescription>, instructions: Option<&str>) -> ToolSet {
        self.catalog.lists().keep(&self.key, &tools);
        let tools = self.pins.compare_with_pins(&self.pinned, tools);
        let set = ToolSet::new(&self.name, tools, &self.exclude, &self.overrides);
        let set = set.saying(instructions);
        let remarks = set.remarks().into_iter().map(|remark| remark.text);
        for warning in set.warnings.iter().cloned().chain(remarks) {
            warn!(server = self.name, "{warning}");
        }
        set
    }

    /// The tool set from the last connection.
    pub(crate) fn recall_tools(&self) -> Option<ToolSet> {
        let tools = self.catalog.lists().recall(&self.key)?;
        let is_large = tools.len() > LARGE_TOOLS_LIST_LEN;
        let tools = self.pins.compare_remembered(&self.pinned, tools);
        let set = ToolSet::new(&self.name, tools, &self.exclude, &self.overrides);
        let set = set.saying(
            self.catalog
                .lists()
                .recall_instructions(&self.key)
                .as_deref(),
        );
        if is_large {
            malloc_trim::give_back_soon();
        }
        Some(set)
    }

    /// True if the remembered list is too long to load synchronously.
    pub(crate) fn is_long(&self) -> bool {
        self.catalog.lists().is_long(&self.key)
    }

    /// The tool set of a session whose server refuses to list its tools: the set of its last session, or an empty set.
    pub(crate) fn unlisted_tools(&self, instructions: Option<&str>) -> ToolSet {
        let empty = || ToolSet::new(&self.name, Vec::new(), &self.exclude, &self.overrides);
        self.recall_tools()
            .unwrap_or_else(empty)
            .saying(instructions)
    }

    /// Stores a list of resources or prompts for the owner of its session.
    pub(crate) fn remember_offers(&self, kind: ListKind, owner: &str, items: &[Value]) {
        let lists = self.catalog.lists();
        lists.keep_offers(&self.key, kind.method(), owner, items);
    }

    pub(crate) fn recall_offers(&self, kind: ListKind, owner: &str) -> Option<Vec<Value>> {
        let lists = self.catalog.lists();
        lists.recall_offers(&self.key, kind.method(), owner)
    }

    /// The era in which the server was last connected.
    pub(crate) fn era(&self) -> Option<ProtocolEra> {
        self.catalog.eras().recall(&self.key)
    }

    pub(crate) fn remember_era(&self, era: ProtocolEra, identity: &str) {
        self.catalog.eras().keep(&self.key, era, identity);
    }

    /// Records that its tools need the legacy era. Returns false if the server cannot be opened in that era.
    pub(crate) fn needs_legacy(&self, identity: &str) -> bool {
        self.catalog.eras().needs_legacy(&self.key, identity)
    }

    pub(crate) fn remember_only_modern(&self) {
        self.catalog.eras().only_modern(&self.key);
    }

    pub(crate) fn remember_roots(&self) {
        self.catalog.lists().keep_roots(&self.key);
    }

    pub(crate) fn asks_for_roots(&self) -> bool {
        self.catalog.lists().asks_for_roots(&self.key)
    }

    pub(crate) fn record_call(&self) {
        self.catalog.record_call(&self.key);
    }

    /// When the server was last called, by this daemon or an earlier one.
    pub(crate) fn last_call(&self) -> Option<SystemTime> {
        self.catalog.last_call(&self.key)
    }

    /// Changes when the user accepts a pin: the tools must then be listed again.
    pub(crate) fn pin_approvals(&self) -> watch::Receiver<()> {
        self.pins.accepted()
    }

    /// Announces a new list. Must be called once the list is visible to all readers.
    pub(crate) fn publish_tools(&self) {
        self.catalog.notify_changed();
    }
}
