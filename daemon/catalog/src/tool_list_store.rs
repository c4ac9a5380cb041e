//! The lists of each server's last session, which a new daemon knows before it connects.
//!
//! Invariant: a list belongs to a server definition. A server that is started differently is another server.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use serde_json::{Value, value::RawValue};
use tracing::debug;

use super::{Digest, ToolDescription, cache_slot::CacheSlot};
use mux_cache::{Cache, CacheSpace};
use mux_files::gzip_text::GzipText;
use mux_settings::{ServerDefinition, ServerEndpoint, SourceKind};
use mux_text::digest::DigestKey;

/// Increased when more of a tool is stored, because old lists lack it.
const TOOL_LIST_FORMAT: u32 = 3;
/// The longest list that is loaded, as JSON: more than any server may list.
const MAX_TOOL_LIST_BYTES: usize = 256 << 20;
/// The longest list that is read on a runtime thread, as JSON.
const MAX_INLINE_LIST_BYTES: usize = 256 << 10;

/// The longest list of resources or prompts that is stored, as JSON.
const MAX_OFFERS_BYTES: usize = 1 << 20;

/// Identifies a server by its configuration.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ListKey(pub(super) DigestKey);

impl ListKey {
    /// Leaves out the values of environment variables and headers: they may be secrets, and a renewed token does not
    /// make another server.
    pub fn of(name: &str, definition: &ServerDefinition) -> Self {
        let digest = Digest::new()
            .bytes(&TOOL_LIST_FORMAT.to_le_bytes())
            .text(name);
        let digest = match &definition.endpoint {
            ServerEndpoint::Process(process) => {
                let digest = digest
                    .text(&process.command)
                    .text(&process.cwd.to_string_lossy());
                let digest = process
                    .args
                    .iter()
                    .fold(digest.text("args"), |digest, arg| digest.text(arg.expose()));
                let names = process.env.keys();
                names.fold(digest.text("env"), |digest, name| digest.text(name))
            }
            ServerEndpoint::Remote(remote) => {
                let digest = digest.text("url").text(remote.url.expose());
                let names = remote.headers.keys();
                let digest = names.fold(digest.text("headers"), |digest, name| digest.text(name));
                match &remote.account {
                    // A list may be private to the login.
                    Some(account) => digest.text("account").text(account),
                    None => digest,
                }
            }
            ServerEndpoint::Source(source) => {
                let digest = digest.text("source").text(&source.shown());
                let digest = digest.text(&source.depth.to_string());
                if source.kind == SourceKind::Graphql {
                    return Self(digest.key());
                }
                // An excluded function is not even listed.
                let digest = digest.text(&source.max_functions.to_string());
                let patterns = source.exclude.iter();
                patterns.fold(digest, |digest, pattern| digest.text(pattern))
            }
        };
        Self(digest.key())
    }
}

impl ListKey {
    /// The key of the marker for roots.
    fn of_roots(&self) -> DigestKey {
        Digest::new().text("roots").bytes(&self.0).key()
    }

    /// The key of a list of resources or prompts: its MCP method, and the session's owner.
    fn of_offers(&self, method: &str, owner: &str) -> DigestKey {
        let digest = Digest::new().text("offers").bytes(&self.0);
        digest.text(method).text(owner).key()
    }

    /// The key of the instructions.
    fn of_instructions(&self) -> DigestKey {
        Digest::new().text("instructions").bytes(&self.0).key()
    }
}

/// The tools, instructions, resources and prompts that each server listed when it was last connected.
pub struct ToolListStore {
    cache_slot: CacheSlot,
    /// Lists of tools, resources and prompts as JSON, instructions, and marks of servers that ask for roots, each by its
    /// own key.
    records: Mutex<HashMap<DigestKey, GzipText>>,
}

impl ToolListStore {
    pub(super) fn new(cache_slot: &CacheSlot) -> Self {
        Self {
            cache_slot: cache_slot.clone(),
            records: Mutex::default(),
        }
    }

    pub(super) async fn load(&self, cache: &Cache) {
        let stored = cache.all(CacheSpace::Catalogs).await.into_iter();
        let records = stored.filter_map(|(key, bytes)| Some((key, GzipText::from_bytes(bytes)?)));
        self.records.lock().extend(records);
    }

    /// True if the list is too long to be read on a runtime thread.
    pub fn is_long(&self, key: &ListKey) -> bool {
        let records = self.records.lock();
        let list = records.get(&key.0);
        list.is_some_and(|list| list.unpacked_bytes() > MAX_INLINE_LIST_BYTES)
    }

    /// The tools that a server listed when it was last connected.
    pub fn recall(&self, key: &ListKey) -> Option<Vec<ToolDescription>> {
        let text = self.read(key.0)?;
        let definitions: Vec<Box<RawValue>> = serde_json::from_str(&text)
            .inspect_err(|error| debug!(%error, "a remembered list of tools cannot be read"))
            .ok()?;
        let tools = definitions.iter().map(|definition| {
            let members = serde_json::from_str(definition.get()).ok()?;
            ToolDescription::of_members(members)
        });
        tools.collect()
    }

    /// Stores the list, unless it is unchanged.
    pub fn keep(&self, key: &ListKey, tools: &[ToolDescription]) {
        self.store(key.0, GzipText::json(&ToolListJson(tools)));
    }

    /// Stores a list of resources or prompts, unless it is unchanged or too long.
    pub fn keep_offers(&self, key: &ListKey, method: &str, owner: &str, items: &[Value]) {
        let key = key.of_offers(method, owner);
        let packed = GzipText::json(&items);
        if packed.unpacked_bytes() > MAX_OFFERS_BYTES {
            self.forget(key);
        } else {
            self.store(key, packed);
        }
    }

    /// The list of resources or prompts that a server gave in its last session with this owner.
    pub fn recall_offers(&self, key: &ListKey, method: &str, owner: &str) -> Option<Vec<Value>> {
        serde_json::from_str(&self.read(key.of_offers(method, owner))?).ok()
    }

    /// Stores the server's instructions. Returns true if different instructions were known before.
    pub fn keep_instructions(&self, key: &ListKey, text: Option<&str>) -> bool {
        let before = self.recall_instructions(key);
        if before.as_deref() == text {
            return false;
        }
        match text {
            Some(text) => self.store(key.of_instructions(), GzipText::of(text)),
            None => self.forget(key.of_instructions()),
        }
        before.is_some()
    }

    /// The instructions that a server gave when it was last connected.
    pub fn recall_instructions(&self, key: &ListKey) -> Option<String> {
        self.read(key.of_instructions())
    }

    /// Records that the server asks for roots, its clients' directories.
    pub fn keep_roots(&self, key: &ListKey) {
        self.store(key.of_roots(), GzipText::of("asks for roots"));
    }

    pub fn asks_for_roots(&self, key: &ListKey) -> bool {
        self.records.lock().contains_key(&key.of_roots())
    }

    fn read(&self, key: DigestKey) -> Option<String> {
        let packed = self.records.lock().get(&key)?.clone();
        packed.read(MAX_TOOL_LIST_BYTES)
    }

    fn store(&self, key: DigestKey, packed: GzipText) {
        let mut records = self.records.lock();
        if records.get(&key) != Some(&packed) {
            let bytes = packed.bytes().to_vec();
            self.cache_slot.put(CacheSpace::Catalogs, key, bytes);
            records.insert(key, packed);
        }
    }

    fn forget(&self, key: DigestKey) {
        self.records.lock().remove(&key);
        self.cache_slot.remove(CacheSpace::Catalogs, key);
    }
}

/// Serializes the definitions of a list one by one.
struct ToolListJson<'a>(&'a [ToolDescription]);

impl Serialize for ToolListJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(ToolDescription::definition))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list() -> Vec<ToolDescription> {
        let described = ToolDescription::of_definition(&json!({
            "name": "n",
            "description": "D",
            "inputSchema": { "type": "object", "properties": { "a": { "type": "string" } } },
            "outputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true },
        }));
        vec![described.unwrap()]
    }

    #[tokio::test]
    async fn lists_are_kept_across_daemons() {
        let cache = Cache::memory();
        let cache_slot = CacheSlot::default();
        cache_slot.put_up(cache.clone());
        let new = ListKey([1; 32]);
        let asking = ListKey([3; 32]);
        let remembered = ToolListStore::new(&cache_slot);
        remembered.keep(&new, &list());
        remembered.keep_roots(&asking);
        assert!(!remembered.keep_instructions(&new, Some("first")));
        assert!(remembered.keep_instructions(&new, Some("Read the manual.")));
        assert!(!remembered.keep_instructions(&new, Some("Read the manual.")));
        cache.put(CacheSpace::Catalogs, [4; 32], b"rubbish".to_vec());
        cache.flush().await;

        let later = ToolListStore::new(&cache_slot);
        later.load(&cache).await;
        let instructions = later.recall_instructions(&new);
        assert_eq!(instructions.as_deref(), Some("Read the manual."));
        assert!(later.keep_instructions(&new, None));
        assert_eq!(later.recall_instructions(&new), None);
        let recalled = later.recall(&new).unwrap();
        assert_eq!(recalled[0].definition(), list()[0].definition());
        assert_eq!(recalled[0].read_only, Some(true));
        assert!(later.asks_for_roots(&asking) && !later.asks_for_roots(&new));
        assert!(later.recall(&ListKey([4; 32])).is_none());
        assert!(!later.is_long(&new));
    }
}
