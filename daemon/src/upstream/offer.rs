//! What a server offers: its list of tools made into what can be called, and remembered.

use std::sync::Arc;

use tracing::warn;

use crate::{
    catalog::{Catalog, ListKey, ToolDescription, ToolSet},
    settings::ServerDefinition,
};

#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) name: String,
    exclude: Vec<String>,
    key: ListKey,
    catalog: Arc<Catalog>,
}

impl Offer {
    pub(super) fn new(name: &str, definition: &ServerDefinition, catalog: Arc<Catalog>) -> Self {
        Self {
            name: name.to_owned(),
            exclude: definition.exclude.clone(),
            key: ListKey::of(name, definition),
            catalog,
        }
    }

    /// What the server lists now.
    pub(super) fn list(&self, tools: Vec<ToolDescription>) -> ToolSet {
        self.catalog.remember(&self.key, &tools);
        let set = ToolSet::new(&self.name, tools, &self.exclude);
        for warning in &set.warnings {
            warn!(server = self.name, "{warning}");
        }
        set
    }

    /// What it listed when it was last connected.
    pub(super) fn recall(&self) -> Option<ToolSet> {
        let tools = self.catalog.recall(&self.key)?;
        Some(ToolSet::new(&self.name, tools, &self.exclude))
    }

    pub(super) fn remember_roots(&self) {
        self.catalog.remember_roots(&self.key);
    }

    pub(super) fn asks_for_roots(&self) -> bool {
        self.catalog.asks_for_roots(&self.key)
    }

    /// To be called when everybody can see what it lists.
    pub(super) fn tell(&self) {
        self.catalog.changed();
    }
}
