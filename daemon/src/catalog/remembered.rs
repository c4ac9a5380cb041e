//! The lists of tools that servers gave when they were last connected, so that a daemon knows them before
//! it has asked.
//!
//! Invariant: a list belongs to a definition. A server that is started in another way is another server.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tracing::debug;

use super::{Digest, Standing, ToolDescription, shelf::Shelf};
use crate::{
    cache::{Cache, Key, Space},
    settings::{Link, ServerDefinition},
};

/// Counts up whenever more is written down of a tool, so that no list lacks it.
const FORMAT: u32 = 2;

/// Names a server as it is configured.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ListKey(pub(super) Key);

impl ListKey {
    /// The values of its environment are left out: they may be secrets, and a token that was renewed
    /// makes no other server.
    pub fn of(name: &str, definition: &ServerDefinition) -> Self {
        let digest = Digest::new().bytes(&FORMAT.to_le_bytes()).text(name);
        let digest = match &definition.link {
            Link::Process(process) => {
                let digest = digest
                    .text(&process.command)
                    .text(&process.cwd.to_string_lossy());
                let digest = process
                    .args
                    .iter()
                    .fold(digest.text("args"), |digest, arg| digest.text(arg));
                let names = process.env.keys();
                names.fold(digest.text("env"), |digest, name| digest.text(name))
            }
            Link::Remote(remote) => {
                let digest = digest.text("url").text(&remote.url);
                let names = remote.headers.keys();
                names.fold(digest.text("headers"), |digest, name| digest.text(name))
            }
            Link::Source(source) => {
                let digest = digest.text("source").text(&source.shown());
                digest.text(&source.depth.to_string())
            }
        };
        Self(digest.key())
    }
}

impl ListKey {
    /// That the server asks for roots is kept beside its list.
    fn of_roots(&self) -> Key {
        Digest::new().text("roots").bytes(&self.0).key()
    }
}

pub(super) struct Remembered {
    shelf: Shelf,
    lists: Mutex<HashMap<Key, Vec<u8>>>,
}

impl Remembered {
    pub(super) fn new(shelf: &Shelf) -> Self {
        Self {
            shelf: shelf.clone(),
            lists: Mutex::default(),
        }
    }

    pub(super) async fn load(&self, cache: &Cache) {
        let lists = cache.all(Space::Catalogs).await;
        self.lists().extend(lists);
    }

    pub(super) fn recall(&self, key: &ListKey) -> Option<Vec<ToolDescription>> {
        let lists = self.lists();
        let stored: Vec<Stored> = serde_json::from_slice(lists.get(&key.0)?)
            .inspect_err(|error| debug!(%error, "a remembered list of tools cannot be read"))
            .ok()?;
        Some(stored.into_iter().map(Into::into).collect())
    }

    /// Writes the list down, unless it is what was known before.
    pub(super) fn keep(&self, key: &ListKey, tools: &[ToolDescription]) {
        let stored: Vec<Stored> = tools.iter().map(Into::into).collect();
        let Ok(bytes) = serde_json::to_vec(&stored) else {
            return;
        };
        let mut lists = self.lists();
        if lists.get(&key.0) != Some(&bytes) {
            self.shelf.put(Space::Catalogs, key.0, bytes.clone());
            lists.insert(key.0, bytes);
        }
    }

    /// The server asks for the directories in which its clients work.
    pub(super) fn keep_roots(&self, key: &ListKey) {
        const YES: &[u8] = b"true";
        self.shelf.put(Space::Catalogs, key.of_roots(), YES.into());
        self.lists().insert(key.of_roots(), YES.into());
    }

    pub(super) fn asks_for_roots(&self, key: &ListKey) -> bool {
        self.lists().contains_key(&key.of_roots())
    }

    fn lists(&self) -> MutexGuard<'_, HashMap<Key, Vec<u8>>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tool as it is written down.
#[derive(Deserialize, Serialize)]
struct Stored {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    input: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_only: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    destructive: Option<bool>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    extra: Map<String, Value>,
}

impl From<&ToolDescription> for Stored {
    fn from(tool: &ToolDescription) -> Self {
        Self {
            name: tool.name.clone(),
            title: tool.title.clone(),
            description: tool.description.clone(),
            input: tool.input_schema.clone(),
            output: tool.output_schema.clone(),
            read_only: tool.read_only,
            destructive: tool.destructive,
            extra: tool.extra.clone(),
        }
    }
}

impl From<Stored> for ToolDescription {
    fn from(tool: Stored) -> Self {
        Self {
            name: tool.name,
            title: tool.title,
            description: tool.description,
            input_schema: tool.input,
            output_schema: tool.output,
            read_only: tool.read_only,
            destructive: tool.destructive,
            extra: tool.extra,
            standing: Standing::default(),
        }
    }
}
